r"""Names from a report are untrusted text: what has to happen to them before they are shown.

`clean` comes first everywhere: it takes the power from control characters (terminal escapes, line breaks),
from invisible and direction-changing characters (a kernel name must not rewrite the line it stands in) and
from lone surrogates. The Markdown helpers then make every remaining character literal. HTML is escaped by
the template engine, XML and JSON by their writers.
"""

from __future__ import annotations

import re

MAX_NAME = 2000
"""Longer names are cut in the middle; the longest demangled name in public reports has 1,432 characters."""

_BAD = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0, DEL, C1: terminal escapes, line breaks
    "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, bidi
    "\ud800-\udfff\U000e0000-\U000e007f]"  # lone surrogates, tag characters
)
_SPACE = re.compile(r"[ \t\r\n\v\f]+")
_MARKDOWN = re.compile(r"([\\`*_\[\]<#|~$@&])")
_LINE_START = re.compile(r"^(>|[-+](?=\s|$)|[-=]+(?=\s*$))|^(\d{1,9})([.)])(?=\s|$)")
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_RUNS = re.compile(r"`+")


def clean(text: object, limit: int = MAX_NAME) -> str:
    r"""Return `text` as one line without control, invisible or direction-changing characters.

    >>> clean("a\x1b[31mb\nc")
    'a\ufffd[31mb c'
    """
    line = _BAD.sub("\ufffd", _SPACE.sub(" ", str(text))).strip()
    return middle_cut(line, limit)


def middle_cut(text: str, limit: int) -> str:
    """Cut a long text in the middle, where template arguments are, and keep both ends."""
    if len(text) <= limit:
        return text
    head = (limit - 1) * 2 // 3
    return f"{text[:head]}…{text[head - limit + 1 :]}"


def markdown(text: object) -> str:
    r"""Return `text` so that Markdown shows it literally.

    >>> markdown("a|b <i> *c*")
    'a\\|b \\<i> \\*c\\*'
    """
    line = _MARKDOWN.sub(r"\\\1", clean(text))
    line = _LINE_START.sub(lambda m: f"\\{m[1]}" if m[1] else f"{m[2]}\\{m[3]}", line)
    # An intraword underscore is literal in CommonMark: leave metric names readable.
    return re.sub(r"(?<=[A-Za-z0-9])((?:\\_)+)(?=[A-Za-z0-9])", lambda m: m[1].replace("\\", ""), line)


def code(text: object, *, cell: bool = False, limit: int = MAX_NAME) -> str:
    """Return `text` as a Markdown code span; in a table `cell` the pipe is escaped as GFM wants it.

    >>> code("a`b")
    '``a`b``'
    """
    line = clean(text, limit) or " "
    longest = max((len(run) for run in _RUNS.findall(line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    if cell:
        line = line.replace("|", "\\|")
    return f"{fence}{pad}{line}{pad}{fence}"


def prose(text: object, *, cell: bool = False) -> str:
    """Return a rule's sentence as Markdown: backtick spans stay code, everything else is literal.

    >>> prose("use `a_b` | c")
    'use `a_b` \\\\| c'
    """
    parts = _CODE.split(clean(text))
    return "".join(code(part, cell=cell) if i % 2 else _inner(part) for i, part in enumerate(parts))


def _inner(part: str) -> str:
    """Escape a piece of a sentence and keep the spaces at its ends."""
    core = part.strip(" ")
    if not core:
        return part
    start = part[: len(part) - len(part.lstrip(" "))]
    end = part[len(part.rstrip(" ")) :]
    return f"{start}{markdown(core)}{end}"


def code_spans(text: object) -> list[tuple[bool, str]]:
    """Split a rule's sentence into (is code, text) pieces, for writers other than Markdown."""
    return [(bool(i % 2), part) for i, part in enumerate(_CODE.split(clean(text))) if part]
