"""Pass: a `one_of` table has exactly one row for every known input, by exact reasoning over its thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from profrx.language import ast
from profrx.language.check.context import Context, head
from profrx.language.check.formula import Compiler, TooComplex, Variable, constant
from profrx.language.check.ranges import in_unit
from profrx.language.check.regions import OTHER, Cell, Space

MAX_SETTINGS = 400
"""Orders of the parameters of one table that are tried."""


def tables(context: Context) -> None:
    """Gaps, overlaps and rows that can never hold; first at the default thresholds, then over their ranges."""
    for node in context.judges():
        if isinstance(node, ast.Verdict) and id(node) not in context.broken:
            _table(context, node)


def _table(context: Context, node: ast.Verdict) -> None:
    try:
        compiler, scope = Compiler(), context.scope(node)
        rows = [compiler.condition(row.when, scope) for row in node.rows]
    except TooComplex:
        return _unproved(context, node, "its conditions nest too deeply")
    space = Space(rows)
    if space.too_large:
        return _unproved(context, node, "it has too many inputs and thresholds")
    truths = [space.truth(row) for row in rows]
    for row, (true, _) in zip(node.rows, truths, strict=True):
        if not true.any():
            message = f"row `{row.name}` can never hold"
            context.report(node, "unreachable-row", message, row.when.span, hint="compare its thresholds")
    if node.hit == "all":
        return None
    gap, overlap = _gap(space, truths), _overlap(space, truths)
    certain = space.exact
    if node.hit == "one_of" and overlap is not None:
        both = [
            row.name for row, (true, _) in zip(node.rows, truths, strict=True) if _at(space, true, overlap)
        ]
        message = f"rows `{both[0]}` and `{both[1]}` hold together at {describe(overlap)}"
        _report(context, node, "table-overlap", message, node.rows[_index(node, both[1])].when, certain)
    if gap is not None:
        message = f"no row holds at {describe(gap)}"
        _report(context, node, "table-gap", message, node, certain)
    if gap is None and (overlap is None or node.hit == "first"):
        _over_ranges(context, node)
    return None


def _gap(space: Space, truths: list[tuple[Any, Any]]) -> Cell | None:
    """A cell at which every row is false."""
    falses = space.full(np.array(True))
    for _, false in truths:
        falses = falses & false
    return space.witness(falses)


def _overlap(space: Space, truths: list[tuple[Any, Any]]) -> Cell | None:
    """A cell at which two rows are true."""
    count = space.full(np.array(0, dtype=np.int16))
    for true, _ in truths:
        count = count + true
    return space.witness(count > 1)


def _at(space: Space, array: Any, cell: Cell) -> bool:
    index = tuple(values.index(cell[v]) for v, values in zip(space.variables, space.candidates, strict=True))
    return bool(space.full(array)[index])


def _index(node: ast.Verdict, name: str) -> int:
    return next(number for number, row in enumerate(node.rows) if row.name == name)


def _report(
    context: Context,
    node: ast.Verdict,
    code: str,
    message: str,
    where: ast.Row | ast.Verdict | ast.Expr,
    certain: bool,
) -> None:
    """An error when proved; a warning when the inputs depend on each other, so that the cell may not exist."""
    span = head(where) if isinstance(where, ast.Verdict) else where.span
    if certain:
        hint = "exactly one row must hold for every known input: change a threshold or a `<` into a `<=`"
        context.report(node, code, message, span, hint=hint)
    else:
        hint = (
            "its inputs depend on each other, so this may not occur; write the rows over independent inputs"
        )
        context.report(node, code, f"perhaps {message}", span, severity="warning", hint=hint)


def _unproved(context: Context, node: ast.Verdict, why: str) -> None:
    message = f"this table cannot be proved: {why}"
    context.report(
        node, "table-not-proved", message, head(node), severity="warning", hint="split it into two verdicts"
    )


def _over_ranges(context: Context, node: ast.Verdict) -> None:
    """The table at every order of its parameters that `require` allows."""
    scope = context.scope(node)
    try:
        settings = _settings(context, node)
        for setting in settings:
            compiler = Compiler(at=setting)
            demands = [compiler.condition(demand, scope) for demand in node.requires]
            if any(constant(demand) is False for demand in demands):
                continue
            rows = [compiler.condition(row.when, scope) for row in node.rows]
            space = Space(rows)
            truths = [space.truth(row) for row in rows]
            broken = (_overlap(space, truths) if node.hit == "one_of" else None) or _gap(space, truths)
            if broken is not None:
                units = {p.name: p.default.unit for p in node.params if isinstance(p.default, ast.Quantity)}
                shown = ", ".join(
                    f"{name} = {in_unit(setting[name], units[name])}" for name, value in setting.items()
                )
                message = f"the table holds at its defaults, but not with {shown} (at {describe(broken)})"
                hint = "state what its parameters must satisfy, such as: require low <= high"
                context.report(
                    node, "table-needs-require", message, head(node), severity="warning", hint=hint
                )
                return
    except TooComplex:
        return


def _settings(context: Context, node: ast.Verdict) -> Iterator[dict[str, Fraction]]:
    """Values of the parameters that realise every order among those that are compared with the same inputs."""
    scope = context.scope(node)
    compiler = Compiler(free=True)
    space = Space([compiler.condition(row.when, scope) for row in node.rows])
    own = {param.name for param in node.params}
    groups = [[v for v in group if v.param and v.text in own] for group in space.groups]
    choices = [list(_orders(group)) for group in groups if group]
    if not space.exact or math.prod(map(len, choices)) > MAX_SETTINGS or not choices:
        return
    for parts in product(*choices):
        yield {variable.text: value for part in parts for variable, value in part.items()}


def _orders(group: list[Variable]) -> Iterator[dict[Variable, Fraction]]:
    """Every weak order of parameters, as values inside all their ranges."""
    low = max((v.range.low for v in group), default=Fraction(0))
    high = min((v.range.high for v in group), default=Fraction(1))
    if not isinstance(low, Fraction) or not isinstance(high, Fraction) or low >= high or len(group) > 4:
        return
    size = len(group)
    for ranks in product(range(size), repeat=size):
        if set(ranks) == set(range(max(ranks) + 1)):
            yield {
                v: low + (high - low) * Fraction(rank + 1, size + 1)
                for v, rank in zip(group, ranks, strict=True)
            }


def describe(cell: Cell) -> str:
    """``sm.throughput = 50 %, memory.throughput unknown``."""
    return ", ".join(_describe(variable, value) for variable, value in cell.items())


def _describe(variable: Variable, value: Any) -> str:
    if value is None:
        return f"{variable.text} unknown"
    if isinstance(value, bool):
        return f"{variable.text} {str(value).lower()}"
    if isinstance(value, str):
        return f"{variable.text} = {'anything else' if value == OTHER else repr(value)}"
    return f"{variable.text} = {in_unit(value, variable.unit)}"
