"""Pass: patterns are linear-time (RE2), short, and text literals are not too long."""

from __future__ import annotations

import contextlib
import re
from functools import lru_cache

from profrx.language import ast
from profrx.language.check.context import Context
from profrx.language.scan import MAX_PATTERN
from profrx.language.walk import expressions, nodes


def patterns(context: Context) -> None:
    """Regular expressions that RE2 refuses, or that are longer than allowed."""
    for node in (*context.judges(), *context.metrics()):
        exprs = [expr for _, expr in expressions(node)] + [let.expr for let in getattr(node, "lets", ())]
        for expr in exprs:
            for part in nodes(expr):
                if isinstance(part, ast.Matches):
                    _pattern(context, node, part)


def _pattern(context: Context, node: ast.Declaration, part: ast.Matches) -> None:
    if len(part.pattern) > MAX_PATTERN:
        message = f"this pattern has {len(part.pattern)} characters; at most {MAX_PATTERN} are allowed"
        context.report(node, "pattern-too-long", message, part.span, hint="use several patterns with `or`")
        return
    if not part.pattern:
        message = "an empty glob matches no name" if part.glob else "an empty pattern matches every text"
        hint = 'write what to look for, such as glob "*gemm*"'
        context.report(node, "bad-pattern", message, part.span, hint=hint)
        return
    problem = "" if part.glob else re2_problem(part.pattern)
    if problem:
        hint = "patterns are RE2: no backreferences, no look-around; write `matches glob` for * and ?"
        context.report(node, "bad-pattern", f"this is not a pattern: {problem}", part.span, hint=hint)


_PLAIN = re.compile(
    r"(?!.*[*+?]\+)(?:\(\?i\))?(?:[^\\(){}\[\]]|\\[.dDwWsSbB\-\[\](){}+*?|^$/]|\(\?:|\((?!\?)|\)|\[\^?[\w .\-]+\])*"
)
"""Patterns of constructs that mean the same to RE2 and to Python."""


@lru_cache(1024)
def re2_problem(pattern: str) -> str:
    """What RE2 says against a pattern; nothing when it takes it.

    Plain patterns need no RE2: they are right when Python can compile them, and Arrow is not imported for them.
    """
    if _PLAIN.fullmatch(pattern):
        with contextlib.suppress(re.error, OverflowError, RecursionError):
            re.compile(pattern)
            return ""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        return str(error).removeprefix("Invalid regular expression: ")[:200]
    return ""
