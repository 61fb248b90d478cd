"""String literals of `.rule` files: `"one line"` and `\"\"\"blocks\"\"\"`, decoded and written back."""

from __future__ import annotations

import re

_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_BLANK = re.compile(r"\n(?:[ \t]*\n)+")


def decode(literal: str) -> str:
    """Return the text of a literal as written, quotes included.

    In a one-line string ``\\n \\t \\" \\\\`` are escapes and any other backslash stands for itself, so regular
    expressions need no doubling. In a block nothing is an escape: indentation is dropped, single line breaks
    join, blank lines separate paragraphs (one ``\\n\\n`` each).
    """
    if literal.startswith('"""'):
        return fold(literal[3:-3])
    body = literal[1:-1]
    return _ESCAPE.sub(lambda m: _ESCAPES.get(m[1], m[0]), body) if "\\" in body else body


def fold(body: str) -> str:
    """Join the lines of a block into paragraphs."""
    if "\n" not in body:
        return body.strip()
    paragraphs = _BLANK.split(body.replace("\r\n", "\n").strip())
    return "\n\n".join(" ".join(line.strip() for line in paragraph.split("\n")) for paragraph in paragraphs)


def encode(text: str) -> str:
    """Write `text` as a literal that decodes to it: a block for prose, else a one-line string."""
    if len(text) > 60 and '"""' not in text and not text.endswith('"') and fold(text) == text:
        return f'"""{text}"""'
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'
