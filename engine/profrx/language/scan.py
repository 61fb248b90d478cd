"""Cuts a rule file into declarations before anything is parsed, and refuses what is too large.

A broken declaration then costs itself and nothing else, and every later step works on bounded input.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from profrx.language.diagnostics import MAX_ERRORS, Diagnostic, Lines

MAX_FILE = 1 << 20
"""Bytes of one rule file."""
MAX_DECLARATIONS = 1500
"""Declarations in one rule file."""
MAX_DECLARATION = 64 << 10
"""Characters of one declaration."""
MAX_DEPTH = 100
"""Nested brackets or operators in one expression."""
MAX_TOKENS = 60_000
"""Words, numbers, strings and signs in one rule file."""
MAX_CHAIN = 150
"""Nested operators of an expression with all the lets it reads; also metrics computed from metrics."""
MAX_PATTERN = 256
"""Characters of one regular expression or glob."""

KEYWORDS = ("pack", "ruleset", "reference", "cause", "metric", "param", "verdict", "guard", "rule")

_STRING = r'"""(?:[^"]++|"(?!""))*+"""|"(?!"")(?:[^"\\\n]++|\\[^\n])*+"'


def braced(depth: int) -> str:
    """A pattern for a closed bracket with at most `depth` levels, strings and comments in it taken as a whole.

    Nothing in it can match in two ways, so it never goes back and takes linear time.
    """
    inner = f"|{braced(depth - 1)}" if depth > 1 else ""
    return rf"[{{(](?:[^{{}}()\"#]++|{_STRING}|#[^\n]*+{inner})*+[}})]"


_PIECE = re.compile(
    r'"""(?:[^"]++|"(?!""))*+"""'
    r'|(?P<unclosed_block>""")'
    r'|"(?:[^"\\\n]++|\\[^\n])*+"'
    r"|(?P<comment>#[^\n]*)"
    r"|(?P<block>\b(?:(?:override|extend)\s+)?(?:metric|verdict|guard|rule)\s+[A-Za-z_][\w.-]*\s*\{)"
    r"|(?P<open>[{(])|(?P<close>[})])"
    r'|(?P<unclosed>")'
    r"|(?P<word>[A-Za-z_][\w.-]*)"
    r"|(?P<other>[^\s\"#{}()A-Za-z_]+)"
)


@dataclass(frozen=True)
class Chunk:
    """The text of one declaration: `text[start:end]`."""

    start: int
    end: int


_HEAD = re.compile(
    r"^(?:(?:override|extend)[ \t]+)?(?:metric|verdict|guard|rule)\s+[\w.-]+\s*\{", re.MULTILINE
)
"""A block that begins a line: where reading goes on after a string that nobody closed."""
_CODE = re.compile(
    r"^[ \t]*\}[ \t]*$|" + _HEAD.pattern + r"|^[ \t]*(?:because|fix|except|meaning)[ \t]+\Z", re.MULTILINE
)
"""What prose does not hold: a bracket or a block head on a line of its own, a statement that wants a string."""
_BODY = re.compile(braced(8))
_NESTED = re.compile(r"\b(?:metric|verdict|guard|rule)\s+[A-Za-z_][\w.-]*\s*\{")
"""A block head, which no block can hold: what looks whole may lack a bracket, or a quote, and have one too many."""
MAX_RESUMED = 5
"""Unclosed blocks of one file after which reading goes on."""


def split(lines: Lines) -> tuple[list[Chunk], list[Diagnostic]]:
    """Return where each declaration begins and ends, and what no parser should see.

    A block string that is never closed swallows text up to the next one, so its declaration is left out as a whole
    and reading goes on at the next block head.
    """
    chunks: list[Chunk] = []
    problems: list[Diagnostic] = []
    at = 0
    for _ in range(MAX_RESUMED):
        starts, open_block = _starts(lines, at, problems)
        if open_block < 0:
            chunks += [Chunk(a, b) for a, b in pairwise([*starts, len(lines.text)])]
            break
        problems.append(_unclosed(lines, open_block, open_block + 3))
        chunks += [Chunk(a, b) for a, b in pairwise([start for start in starts if start <= open_block])]
        following = _HEAD.search(lines.text, open_block)
        if following is None:
            break
        at = following.start()
    return chunks, problems


def _starts(
    lines: Lines, begin: int, problems: list[Diagnostic], leaps: bool = True
) -> tuple[list[int], int]:
    """Where declarations begin from an offset on, and where the first unclosed block string opens (-1 = none).

    A declaration keyword outside braces begins one; so does a block head inside braces, because no block can
    hold another: there the closing brace before it was forgotten. A block that is whole is passed in one step;
    with a block string that is never closed all is read again without such `leaps`, for what was passed is suspect.
    """
    text = lines.text
    starts: list[int] = []
    blocks: list[re.Match[str]] = []
    depth = 0
    first = -1
    override = -1
    known = len(problems)
    search, end = _PIECE.search, begin
    while match := search(text, end):
        kind = match.lastgroup
        at, end = match.span()
        if kind == "block":
            starts.append(override if override >= 0 else at)
            depth = 1
            body = _BODY.match(text, end - 1) if leaps else None
            if body is not None and not _NESTED.search(text, end, body.end()):
                depth, end = 0, body.end()
        elif kind == "open":
            depth += 1
        elif kind == "close":
            depth = max(0, depth - 1)
        elif kind == "word" and depth == 0:
            if match[0] in KEYWORDS:
                starts.append(override if override >= 0 else at)
        elif kind == "unclosed_block":
            if leaps:
                del problems[known:]
                return _starts(lines, begin, problems, leaps=False)
            guilty = next(
                (one for one in blocks if _CODE.search(text, one.start() + 3, one.end() - 3)), match
            )
            return starts, guilty.start()
        elif kind == "unclosed":
            if len(problems) <= MAX_ERRORS:
                problems.append(_unclosed(lines, at, match.end()))
            continue
        elif kind is None and match[0].startswith('"""'):
            blocks.append(match)
        if first < 0 and kind != "comment":
            first = at
        override = at if kind == "word" and match[0] in ("override", "extend") else -1
    if first >= 0 and (not starts or first < starts[0]):
        starts.insert(0, first)
    return starts, -1


def _unclosed(lines: Lines, start: int, end: int) -> Diagnostic:
    block = end - start == 3
    hint = 'close it with """' if block else 'close it with " on the same line, or use """ for several lines'
    return Diagnostic("unclosed-string", "this string is not closed", lines.span(start, end), hint=hint)
