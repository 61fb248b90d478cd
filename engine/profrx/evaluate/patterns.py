"""`matches`: RE2 patterns and globs over text columns, once per distinct text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from profrx.evaluate.operators import Value, per_text
from profrx_parsers.errors import RuleError

if TYPE_CHECKING:
    from profrx.language.ast import Matches


def matches(column: Value, node: Matches) -> Value:
    """Match text against a pattern; unknown where the text is. Raises `RuleError` for a bad pattern."""
    pattern = glob_to_regex(node.pattern) if node.glob else node.pattern
    try:
        return per_text(column, lambda words: pc.match_substring_regex(words, pattern))
    except pa.ArrowInvalid as err:
        raise RuleError(
            "rule-pattern",
            f"not a valid pattern: {node.pattern!r}",
            where=f"{node.span.file}:{node.span.line}:{node.span.column}" if node.span.file else "",
            next_step=f"RE2 says: {str(err)[:200]}",
        ) from err


def glob_to_regex(glob: str) -> str:
    """Translate ``* ? [set] [!set]`` into an RE2 pattern over the whole text."""
    out: list[str] = []
    at = 0
    while at < len(glob):
        char = glob[at]
        at += 1
        if char == "*":
            out.append(".*")
        elif char == "?":
            out.append(".")
        elif char == "[" and (end := glob.find("]", at + 1)) > 0:
            body = glob[at:end].replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^")
            if body.startswith("!"):
                body = "^" + body[1:]
            out.append(f"[{body}]")
            at = end + 1
        else:
            out.append(re.escape(char))
    return r"(?s)\A" + "".join(out) + r"\z"
