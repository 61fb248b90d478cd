"""Pass: conditions that the valid ranges decide, and estimates that can leave 0 .. 100 %."""

from __future__ import annotations

from dataclasses import replace

from profrx.language import ast
from profrx.language.check.context import Context, Scope
from profrx.language.check.formula import Compiler, TooComplex
from profrx.language.check.intervals import INF, Bound, Interval, implied, interval, over_range
from profrx.language.check.regions import Space
from profrx.language.printer import expr_text
from profrx.language.units import unit
from profrx.language.walk import Judge, expressions, nodes

TOLERATED = 1.05
"""Counters of one unit can read a little over 100 %; an estimate that does so is no mistake."""


def ranges(context: Context) -> None:
    """Comparisons and whole conditions that are always or never true; estimates out of range."""
    for node in (*context.judges(), *context.metrics()):
        if id(node) in context.broken:
            continue
        _divisions(context, node)
        if isinstance(node, ast.Metric):
            continue
        _comparisons(context, node)
        if not isinstance(node, ast.Verdict) and id(node) not in context.broken:
            _whole(context, node, node.when)
        if isinstance(node, ast.Rule) and node.estimate is not None:
            _estimate(context, node, node.estimate)


def _divisions(context: Context, node: Judge | ast.Metric) -> None:
    """Divisors that are zero whatever is measured: the quotient is never known."""
    scope = context.scope(node)
    found = [(expr, scope) for _, expr in expressions(node)]
    found += [(let.expr, scope.before(let)) for let in getattr(node, "lets", ())]
    for expr, here in found:
        for part in nodes(expr):
            if isinstance(part, ast.Binary) and part.op == "/":
                divisor = interval(part.right, here, over_range)
                if divisor.low == divisor.high == 0:
                    message = f"`{expr_text(part)}` divides by zero, so it is always unknown"
                    hint = "divide by something that can differ from 0"
                    context.report(node, "division-by-zero", message, part.span, hint=hint)


def _comparisons(context: Context, node: Judge) -> None:
    scope = context.scope(node)
    conditions = [(expr, scope) for _, expr in expressions(node)]
    conditions += [(let.expr, scope.before(let)) for let in node.lets]
    for expr, here in conditions:
        for part in nodes(expr):
            if isinstance(part, ast.Aggregate):
                continue
            if isinstance(part, ast.Compare):
                for a, op, b in zip(part.operands, part.ops, part.operands[1:], strict=False):
                    _comparison(context, node, part, a, op, b, here)
            elif isinstance(part, ast.In) and part.is_range:
                _comparison(context, node, part, part.items[0], "<=", part.operand, here)
                _comparison(context, node, part, part.operand, "<=", part.items[1], here)


def _comparison(
    context: Context, node: Judge, whole: ast.Expr, a: ast.Expr, op: str, b: ast.Expr, scope: Scope
) -> None:
    left, right = (interval(side, scope, over_range) for side in (a, b))
    outcome = decided(left, op, right)
    if outcome is None or not (left.bounded and right.bounded):
        return
    side, range_ = (a, left) if not isinstance(a, ast.Quantity) else (b, right)
    word = "always" if outcome else "never"
    message = f"`{expr_text(a)} {op} {expr_text(b)}` is {word} true: {expr_text(side)} lies in {shown(range_, side, scope)}"
    hint = _percent_hint(a, b)
    context.report(node, "constant-condition", message, whole.span, severity="warning", hint=hint)


def _percent_hint(a: ast.Expr, b: ast.Expr) -> str:
    for side in (a, b):
        if isinstance(side, ast.Quantity) and not side.unit and 1 < side.value <= 100:
            return f"did you mean {side.value:g} %?"
    return "check the threshold and its unit"


def decided(left: Interval, op: str, right: Interval) -> bool | None:
    """Whether a comparison is the same for all values of both sides; None when it depends."""
    if op in (">", ">="):
        return decided(right, {">": "<", ">=": "<="}[op], left)
    if op == "<":
        return True if left.high < right.low else False if left.low >= right.high else None
    if op == "<=":
        return True if left.high <= right.low else False if left.low > right.high else None
    apart = left.high < right.low or right.high < left.low
    return (op == "!=") if apart else None


def _whole(context: Context, node: ast.Rule | ast.Guard, when: ast.Expr) -> None:
    """A `when` that no input can make true, by all its comparisons together."""
    try:
        formula = Compiler().condition(when, context.scope(node))
    except TooComplex:
        return
    space = Space([formula])
    if space.too_large:
        return
    if not space.possible(formula):
        message = "this condition can never hold: its parts exclude each other or the valid ranges"
        context.report(
            node, "impossible-condition", message, when.span, hint="compare the thresholds of its parts"
        )
    elif space.variables and not space.full(space.truth(formula)[1]).any():
        message = "this condition holds for every known input"
        context.report(
            node,
            "constant-condition",
            message,
            when.span,
            severity="warning",
            hint="a rule that always fires says nothing",
        )


def _estimate(context: Context, node: ast.Rule, estimate: ast.Estimate) -> None:
    """An estimate is clamped to 0 .. 100 %; that it needs to be is worth knowing."""
    scope = context.scope(node)
    if estimate.high is not None:
        low, high = (interval(part, scope, over_range) for part in (estimate.low, estimate.high))
        if low.low > high.high:
            message = (
                f"the estimate ends at {in_unit(high.high, '%')}, below its start at {in_unit(low.low, '%')}"
            )
            context.report(
                node, "estimate-reversed", message, estimate.high.span, hint="write the smaller end first"
            )
            return
    for part in (estimate.low, estimate.high):
        if part is None:
            continue
        range_ = interval(_without_band(part), scope, over_range, implied(node.when, scope))
        low_wrong, high_wrong = range_.low < 0, range_.high > TOLERATED
        if not (low_wrong or high_wrong):
            continue
        finite = (low_wrong and range_.low > -INF) or (high_wrong and range_.high < INF)
        message = f"this estimate can lie in {in_unit(range_.low, '%')} .. {in_unit(range_.high, '%')}; it is cut to 0 % .. 100 %"
        context.report(
            node,
            "estimate-out-of-range",
            message,
            part.span,
            severity="warning" if finite else "note",
            hint="clamp(…, 0 %, 100 %) says it, or correct the formula",
        )


def _without_band(node: ast.Expr) -> ast.Expr:
    """``saving - 15 pp`` without its band: cutting the band at 0 and 100 % is meant."""
    if isinstance(node, ast.Binary) and node.op in ("+", "-"):
        if isinstance(node.right, ast.Quantity) and node.right.unit == "pp":
            return _without_band(node.left)
        return replace(node, left=_without_band(node.left))
    return node


def shown(range_: Interval, node: ast.Expr, scope: Scope) -> str:
    """A range in the unit of what it is the range of."""
    found = scope.find(node.name) if isinstance(node, ast.Name) else None
    name = ""
    if isinstance(found, ast.Metric):
        name = found.unit
    elif isinstance(found, ast.Param) and isinstance(found.default, ast.Quantity):
        name = found.default.unit
    return f"{in_unit(range_.low, name)} .. {in_unit(range_.high, name)}"


def in_unit(value: Bound, name: str) -> str:
    """A base value in a unit, ``%`` for shares."""
    if value in (INF, -INF):
        return "infinity" if value > 0 else "-infinity"
    try:
        number = unit(name).from_base(float(value))
    except OverflowError:
        return "infinity" if value > 0 else "-infinity"
    return f"{number:.6g} {name}".rstrip()
