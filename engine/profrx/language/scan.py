"""Cuts a rule file into declarations before anything is parsed, and refuses what is too large.

A broken declaration then costs itself and nothing else, and every later step works on bounded input.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from profrx.language.diagnostics import Diagnostic, Lines

MAX_FILE = 1 << 20
"""Bytes of one rule file."""
MAX_DECLARATIONS = 1500
"""Declarations in one rule file."""
MAX_DECLARATION = 64 << 10
"""Characters of one declaration."""
MAX_DEPTH = 100
"""Nested brackets or operators in one expression."""
MAX_TOKENS = 120_000
"""Words, numbers, strings and signs in one rule file."""
MAX_ERRORS = 100
"""Mistakes reported in one rule file."""
MAX_CHAIN = 150
"""Nested operators of an expression with all the lets it reads; also metrics computed from metrics."""
MAX_PATTERN = 256
"""Characters of one regular expression or glob."""

KEYWORDS = ("pack", "ruleset", "reference", "cause", "metric", "param", "verdict", "guard", "rule")

_PIECE = re.compile(
    r'"""(?:[^"]|"(?!""))*"""'
    r'|"(?:[^"\\\n]|\\[^\n])*"'
    r"|(?P<comment>#[^\n]*)"
    r"|(?P<block>\b(?:(?:override|extend)\s+)?(?:metric|verdict|guard|rule)\s+[A-Za-z_][\w.-]*\s*\{)"
    r"|(?P<open>[{(])|(?P<close>[})])"
    r'|(?P<unclosed>"{1,3})'
    r"|(?P<word>[A-Za-z_][\w.-]*)"
    r"|(?P<other>[^\s\"#{}()A-Za-z_]+)"
)


@dataclass(frozen=True)
class Chunk:
    """The text of one declaration: `text[start:end]`."""

    start: int
    end: int


def split(lines: Lines) -> tuple[list[Chunk], list[Diagnostic]]:
    """Return where each declaration begins and ends, and what no parser should see.

    A declaration keyword outside braces begins one; so does a block head inside braces, because no block can
    hold another: there the closing brace before it was forgotten.
    """
    text = lines.text
    starts: list[int] = []
    problems: list[Diagnostic] = []
    depth = 0
    first = -1
    override = -1
    for match in _PIECE.finditer(text):
        kind = match.lastgroup
        at = match.start()
        if kind == "block":
            starts.append(override if override >= 0 else at)
            depth = 1
        elif kind == "open":
            depth += 1
        elif kind == "close":
            depth = max(0, depth - 1)
        elif kind == "word" and depth == 0:
            if match[0] in KEYWORDS:
                starts.append(override if override >= 0 else at)
        elif kind == "unclosed":
            problems.append(
                Diagnostic(
                    "unclosed-string",
                    "this string is not closed",
                    lines.span(at, match.end()),
                    hint='close it with " on the same line, or use """ for several lines',
                )
            )
            if len(match[0]) == 3:
                break
            continue
        if first < 0 and kind != "comment":
            first = at
        override = at if kind == "word" and match[0] in ("override", "extend") else -1
    if first >= 0 and (not starts or first < starts[0]):
        starts.insert(0, first)
    chunks = [Chunk(a, b) for a, b in pairwise([*starts, len(text)])]
    return chunks, problems
