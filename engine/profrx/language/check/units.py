"""Pass: every expression has one type, and every statement gets the type it needs."""

from __future__ import annotations

import math

from profrx.language import ast
from profrx.language.check.context import Context, Scope
from profrx.language.check.formula import Compiler, constant
from profrx.language.check.types import FREE, Type, Typer, metric_number, metric_type, unit_type
from profrx.language.units import NONE, UnitError, spellings, unit
from profrx.language.walk import Judge, names


def units(context: Context) -> None:
    """Dimensions, percentages and points, conditions, arguments."""
    for metric in context.metrics():
        _metric(context, metric)
    for param in context.pack.params.values():
        if context.wanted(param):
            _param(Typer(context, param), param, Scope(context.pack, param))
    for node in context.judges():
        _judge(context, node)


def _judge(context: Context, node: Judge) -> None:
    typer = Typer(context, node)
    scope = context.scope(node)
    for param in node.params:
        _param(typer, param, scope)
    for let in node.lets:
        typer.name(ast.Name(let.name), scope)
    _requires(typer, node, scope)
    if isinstance(node, ast.Verdict):
        for row in node.rows:
            typer.condition(row.when, scope)
    else:
        typer.condition(node.when, scope)
    if isinstance(node, ast.Rule):
        _rule(typer, node, scope)
    for test in node.tests if context.tests else ():
        _test(typer, test, scope)


def _requires(typer: Typer, node: Judge, scope: Scope) -> None:
    """`require` is a condition over parameters that their defaults satisfy."""
    for demand in node.requires:
        typer.condition(demand, scope)
        others = [name for name in names(demand) if not isinstance(scope.find(name.name), ast.Param | None)]
        if others:
            message = f"`require` is about parameters; `{others[0].name}` is none"
            typer.wrong("require", message, others[0], "conditions over metrics belong in `when`")
            continue
        if id(node) not in typer.context.broken and constant(Compiler().condition(demand, scope)) is False:
            typer.wrong("require", "the defaults of the parameters do not satisfy this", demand)


def _rule(typer: Typer, node: ast.Rule, scope: Scope) -> None:
    for level in (*node.severity, *node.confidence):
        if level.when is not None:
            typer.condition(level.when, scope)
    for suppressed in node.suppresses:
        if suppressed.when is not None:
            typer.condition(suppressed.when, scope)
    for evidence in node.evidence:
        typer.infer(evidence.expr, scope)
    if node.estimate is not None:
        for part in (node.estimate.low, node.estimate.high):
            if part is not None:
                _share(typer, part, scope)


def _share(typer: Typer, expr: ast.Expr, scope: Scope) -> None:
    found = typer.number(expr, scope, "`estimate`")
    if found.kind == "number" and found.dimension not in (NONE, None):
        message = f"an estimate is the share of the run time saved, not {found}"
        typer.wrong("unit-mismatch", message, expr, "divide by the duration of the subject")
    elif found.literal and isinstance(expr, ast.Quantity) and expr.value > 1:
        typer.wrong(
            "unit-mismatch",
            f"an estimate of {expr.value:g} is {expr.value * 100:g} %",
            expr,
            f"write {expr.value:g} %",
        )


def _param(typer: Typer, param: ast.Param, scope: Scope) -> None:
    """Default and range have one unit, and the default lies in the range."""
    bare = Scope(scope.pack, scope.owner)
    default = typer.infer(param.default, bare)
    if param.valid is None or default.kind != "number":
        return
    for end in (param.valid.low, param.valid.high):
        found = typer.infer(end, bare)
        if found.kind != "any" and (found.kind, found.dimension) != (default.kind, default.dimension):
            message = f"the range of `{param.name}` is {found}, its default is {default}"
            typer.wrong("unit-mismatch", message, end, "write default and range in one unit")
            return
    if _mixed(typer, param):
        return
    ends = [value_of(part) for part in (param.valid.low, param.default, param.valid.high)]
    low, value, high = ends
    if low is not None and high is not None and low > high:
        typer.wrong("empty-range", f"the range of `{param.name}` ends before it begins", param.valid)
    elif value is not None and ((low is not None and value < low) or (high is not None and value > high)):
        message = f"the default of `{param.name}` lies outside its own range"
        typer.wrong("default-outside-range", message, param.default)


def _mixed(typer: Typer, param: ast.Param) -> bool:
    """Report a bare number beside percentages: ``30 in 0 % .. 100 %``; zero needs no unit."""
    assert param.valid is not None
    parts = (param.default, param.valid.low, param.valid.high)
    literals = [part for part in parts if isinstance(part, ast.Quantity) and math.isfinite(part.value)]
    wanted = next((part.unit for part in literals if part.unit and unit(part.unit).percent), "")
    bare = [part for part in literals if not part.unit and part.value] if wanted else []
    for part in bare:
        message = f"`{param.name}` is in {wanted}, this number has no unit"
        typer.wrong("unit-mismatch", message, part, spellings(part.value, wanted))
    return bool(bare)


def value_of(expr: ast.Expr) -> float | None:
    """A literal in base units; None for anything else."""
    if not isinstance(expr, ast.Quantity):
        return None
    try:
        return float(unit(expr.unit).to_base(expr.value))
    except UnitError:
        return None


def _metric(context: Context, metric: ast.Metric) -> None:
    typer = Typer(context, metric)
    if metric.kind == "text":
        if metric.unit:
            typer.wrong("unit-mismatch", "text has no unit", metric, "drop `unit` or `kind text`")
        return
    wanted = metric_number(metric)
    scope = Scope(context.pack, metric)
    if metric.valid is not None:
        for end in (metric.valid.low, metric.valid.high):
            found = typer.number(end, scope, "`valid`")
            _agrees(typer, "the valid range", found, wanted, end)
            _scaled(typer, metric, end)
        low, high = value_of(metric.valid.low), value_of(metric.valid.high)
        if low is not None and high is not None and low > high:
            typer.wrong("empty-range", f"the range of `{metric.name}` ends before it begins", metric.valid)
    for source in metric.sources:
        if source.formula is not None:
            found = typer.number(source.formula, scope, "a source")
            _agrees(typer, "this formula", found, wanted, source.formula)
        elif source.unit:
            _agrees(typer, "the unit of this source", unit_type(source.unit), wanted, source)
    for test in metric.tests if context.tests else ():
        _test(typer, test, scope)
        if test.expect.value is not None:
            for end in (test.expect.value.low, test.expect.value.high):
                _agrees(typer, "the expected value", typer.number(end, scope), wanted, end)
                _scaled(typer, metric, end)


def _scaled(typer: Typer, metric: ast.Metric, end: ast.Expr) -> None:
    """Report a bare number over 1 where a percentage is due: ``valid 0 .. 100`` would be 10000 %."""
    if not isinstance(end, ast.Quantity) or end.unit or not 1 < abs(end.value) < math.inf:
        return
    if metric.unit and metric_number(metric).flavour != "plain":
        message = f"`{metric.name}` is in {metric.unit}, this number has no unit"
        typer.wrong("unit-mismatch", message, end, spellings(end.value, metric.unit))


def _agrees(typer: Typer, what: str, found: Type, wanted: Type, node: ast.Node) -> None:
    if found.kind != "number" or found.dimension is None or wanted.dimension is None:
        return
    zero_or_end = (
        isinstance(node, ast.Quantity) and (node.value == 0 or math.isinf(node.value)) and not node.unit
    )
    if found.dimension != wanted.dimension and not zero_or_end:
        typer.wrong("unit-mismatch", f"{what} is {found}; the metric is {wanted}", node)


def _test(typer: Typer, test: ast.Test, scope: Scope) -> None:
    """Inputs fit their metric; a bare number may stand for a unit that is a base unit."""
    for given in test.given:
        target = _given_type(given, scope)
        if target is None:
            continue
        values = [value for _, value in given.instances] if given.instances is not None else [given.value]
        for value in values:
            if value is not None:
                _input(typer, given.name, target, value, scope)
    if test.expect.estimate is not None:
        for end in (test.expect.estimate.low, test.expect.estimate.high):
            _share(typer, end, scope)


def _given_type(given: ast.Given, scope: Scope) -> tuple[Type, str] | None:
    if given.raw:
        return None
    found = scope.find(given.name)
    if isinstance(found, ast.Metric):
        return metric_type(found), found.unit
    if isinstance(found, ast.Param) and isinstance(found.default, ast.Quantity):
        return unit_type(found.default.unit), found.default.unit
    return None


def _input(typer: Typer, name: str, target: tuple[Type, str], value: ast.Expr, scope: Scope) -> None:
    wanted, written = target
    found = typer.infer(value, scope)
    if found.kind == "any" or wanted == FREE:
        return
    if found.kind != wanted.kind and wanted.kind != "text":
        typer.wrong("type-mismatch", f"`{name}` is {wanted}, not {found}", value)
    elif found.kind != wanted.kind:
        typer.wrong("type-mismatch", f"`{name}` is text, not {found}", value, "put it in quotes")
    elif wanted.kind == "number" and isinstance(value, ast.Quantity) and found.literal:
        if value.value and math.isfinite(value.value) and unit(written).scale != 1:
            message = f"`{name}` is in {written}, this number has no unit"
            typer.wrong("unit-mismatch", message, value, spellings(value.value, written))
    elif (
        wanted.kind == "number"
        and None not in (found.dimension, wanted.dimension)
        and found.dimension != wanted.dimension
    ):
        typer.wrong(
            "unit-mismatch",
            f"`{name}` is {wanted}, this is {found}",
            value,
            f"write it in {written or 'ratio'}",
        )
