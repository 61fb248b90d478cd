"""Expressions and values as a reader sees them: source text, the unit to show a value in."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from profrx.evaluate.notes import noted
from profrx.language import ast, walk
from profrx.language.printer import expr_text
from profrx.language.units import NONE, Dimension, unit

if TYPE_CHECKING:
    from profrx.evaluate.compile import Evaluator

MAX_TEXT = 300
"""Longest source text shown."""

MAX_TEXTS = 20_000
"""Texts kept; beyond, they are written anew."""

_TEXTS: dict[int, tuple[str, ast.Expr]] = {}
"""Identity of an expression -> its text, and the expression, so that the identity stays its own."""


def text_of(expr: ast.Expr) -> str:
    """Return an expression as text in the language's syntax, cut when very long."""
    found = _TEXTS.get(id(expr))
    if found is None:
        if len(_TEXTS) >= MAX_TEXTS:
            _TEXTS.clear()
        found = _TEXTS[id(expr)] = (_text_of(expr), expr)
    return found[0]


def _text_of(expr: ast.Expr) -> str:
    try:
        text = expr_text(expr)
    except RecursionError:
        return "…"
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 2] + " …"


@lru_cache(maxsize=4096)
def named(name: str) -> ast.Name:
    """Return a name as an expression, the same each time."""
    return ast.Name(name)


@noted
def shown_unit(evaluator: Evaluator, *exprs: ast.Expr) -> str:
    """Return the unit to show a value in: the first that one of the expressions was written or declared with.

    The first expression is the value itself; the others (its threshold) help when it has no unit of its own
    but the same dimension.
    """
    wanted = dimension(evaluator, exprs[0])
    for expr in exprs:
        found = _declared_unit(evaluator, expr, set())
        if found and (wanted is None or unit(found).dimension == wanted):
            return found
    return _base_unit(wanted)


def _base_unit(found: Dimension | None) -> str:
    """The base unit of a dimension where it is one word or a quotient of two that the language knows."""
    if found is None or found == NONE:
        return ""
    from profrx.language.units import UnitError

    name = str(found).replace(" / ", "/")
    try:
        return name if unit(name).dimension == found else ""
    except UnitError:
        return ""


def _declared_unit(evaluator: Evaluator, expr: ast.Expr, seen: set[str]) -> str:
    """The unit of the first quantity, param or metric on the value's own path (not below ``*`` and ``/``)."""
    match expr:
        case ast.Quantity() | ast.Raw():
            return expr.unit
        case ast.Name():
            if expr.name in seen:
                return ""
            seen.add(expr.name)
            param, let = evaluator.param(expr.name), evaluator.let(expr.name)
            if let is not None:
                return _declared_unit(evaluator, let.expr, seen)
            if param is not None:
                return _declared_unit(evaluator, param.default, seen)
            metric = evaluator.metrics.pack.metrics.get(expr.name)
            return metric.unit if metric else ""
        case ast.Binary() if expr.op in ("+", "-", "??"):
            return _declared_unit(evaluator, expr.left, seen) or _declared_unit(evaluator, expr.right, seen)
        case ast.Unary() | ast.If() | ast.Call():
            sides = walk.children(expr)[1 if isinstance(expr, ast.If) else 0 :]
            return next((u for side in sides if (u := _declared_unit(evaluator, side, seen))), "")
        case _:
            return ""


def dimension(evaluator: Evaluator, expr: ast.Expr, depth: int = 40) -> Dimension | None:
    """Return the dimension of a numeric expression, None when it is not known here."""
    if depth == 0:
        return None
    depth -= 1
    match expr:
        case ast.Quantity() | ast.Raw():
            return unit(expr.unit).dimension if isinstance(expr, ast.Quantity) or expr.unit else None
        case ast.Name():
            let, param = evaluator.let(expr.name), evaluator.param(expr.name)
            if let is not None:
                return dimension(evaluator, let.expr, depth)
            if param is not None:
                return dimension(evaluator, param.default, depth)
            metric = evaluator.metrics.pack.metrics.get(expr.name)
            return unit(metric.unit).dimension if metric and metric.kind == "number" else None
        case ast.Binary() if expr.op in ("*", "/"):
            left, right = dimension(evaluator, expr.left, depth), dimension(evaluator, expr.right, depth)
            if left is None or right is None:
                return None
            return left * right if expr.op == "*" else left / right
        case ast.Binary() if expr.op in ("+", "-", "??"):
            found = dimension(evaluator, expr.left, depth)
            return found if found is not None else dimension(evaluator, expr.right, depth)
        case ast.Unary():
            return dimension(evaluator, expr.operand, depth)
        case ast.If():
            return dimension(evaluator, expr.then, depth)
        case ast.Call():
            if expr.function in ("log2", "amdahl"):
                return NONE
            found = dimension(evaluator, expr.arguments[0], depth) if expr.arguments else None
            return found.root() if found is not None and expr.function == "sqrt" else found
        case ast.Aggregate() if expr.function in ("share", "topshare"):
            return NONE
        case _:
            return None
