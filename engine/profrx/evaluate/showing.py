"""Expressions and values as a reader sees them: source text, the unit to show a value in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profrx.evaluate import walk
from profrx.language import ast
from profrx.language.units import NONE, Dimension, unit

if TYPE_CHECKING:
    from profrx.evaluate.compile import Evaluator

_BINDING = {"or": 1, "and": 2, "??": 5, "+": 6, "-": 6, "*": 7, "/": 7}
MAX_TEXT = 300
"""Longest source text shown."""


def text_of(expr: ast.Expr) -> str:
    """Return an expression as text in the language's syntax, cut when very long."""
    text = _text(expr, 0, 24)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 2] + " …"


def _text(expr: ast.Expr, around: int, depth: int) -> str:
    if depth == 0:
        return "…"
    depth -= 1
    inner = (
        [_text(child, 0, depth) for child in walk.children(expr)] if not isinstance(expr, ast.Binary) else []
    )
    match expr:
        case ast.Quantity():
            return f"{expr.value:g} {expr.unit}".rstrip()
        case ast.Text():
            return f'"{expr.value}"'
        case ast.Bool():
            return str(expr.value).lower()
        case ast.Name():
            return expr.name
        case ast.Raw():
            return f'raw "{expr.name}" {expr.unit}'.rstrip()
        case ast.Fired():
            return f"fired({expr.rule})"
        case ast.Unary():
            operand = _text(expr.operand, 8 if expr.op == "-" else 3, depth)
            return f"-{operand}" if expr.op == "-" else f"not {operand}"
        case ast.Binary():
            level = _BINDING[expr.op]
            text = f"{_text(expr.left, level, depth)} {expr.op} {_text(expr.right, level + 1, depth)}"
            return f"({text})" if level < around else text
        case ast.Compare():
            sides = [_text(o, 5, depth) for o in expr.operands]
            text = sides[0] + "".join(f" {op} {side}" for op, side in zip(expr.ops, sides[1:], strict=True))
        case ast.In():
            items = " .. ".join(inner[1:]) if expr.is_range else "{" + ", ".join(inner[1:]) + "}"
            text = f"{inner[0]} in {items}"
        case ast.Matches():
            text = f'{inner[0]} matches {"glob " if expr.glob else ""}"{expr.pattern}"'
        case ast.If():
            text = f"if {inner[0]} then {inner[1]} else {inner[2]}"
            return f"({text})" if around else text
        case ast.Call():
            return f"{expr.function}({', '.join(inner)})"
        case ast.Choice():
            pairs = [f'"{label}": {value}' for label, value in zip(expr.labels, inner, strict=True)]
            return f"{expr.function}({', '.join(pairs)})"
        case ast.Aggregate():
            domain = f"{expr.domain} {expr.metric}".rstrip()
            where = f" where {inner[1]}" if expr.where is not None else ""
            return f"{expr.function}({inner[0]} over {domain}{where})"
        case _:
            return type(expr).__name__
    return f"({text})" if around > 3 else text


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
