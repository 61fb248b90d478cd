"""Evidence: what the deciding comparisons read, with values, thresholds, margins and where they came from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from profrx.evaluate import operators, trace
from profrx.evaluate.lacking import is_narrower
from profrx.evaluate.params import Parameters
from profrx.evaluate.quantity import from_base
from profrx.evaluate.reasons import origin
from profrx.evaluate.showing import named, shown_unit, text_of
from profrx.language import ast
from profrx.report.model import Evidence

if TYPE_CHECKING:
    from profrx.evaluate.compile import Evaluator
    from profrx.evaluate.trace import Fact, Step

MAX_EVIDENCE = 40
"""Lines of evidence of one finding."""


def evidence(evaluator: Evaluator, step: Step, row: int, extra: tuple[ast.Expr, ...] = ()) -> list[Evidence]:
    """Return the evidence of a decision on a row, each metric once.

    Args:
        evaluator: of the declaration, over the frame that the step was traced on.
        step: the traced condition.
        row: which subject.
        extra: further expressions whose metrics count as evidence (the estimate).
    """
    found: dict[str, Evidence] = {}
    read: list[str] = []
    params: dict[str, ast.Param] = {}
    for leaf in trace.deciding(step, row):
        one = compared(evaluator, trace.fact(evaluator, leaf, row), row)
        found.setdefault(f"{one.metric} {one.threshold}", one)
        read += trace.metrics_in(evaluator, leaf.expr)
        params.update({p.name: p for p in trace.params_in(evaluator, leaf.expr)})
    for expr in extra:
        read += trace.metrics_in(evaluator, expr)
        params.update({p.name: p for p in trace.params_in(evaluator, expr)})
    held = {one.metric for one in found.values()}
    for name in dict.fromkeys(read):
        if name not in held and (metric := of_metric(evaluator, name, row)) is not None:
            found[name] = metric
    for name, param in params.items():
        found[f"param {name}"] = of_param(evaluator, param, row)
    return list(found.values())[:MAX_EVIDENCE]


def compared(evaluator: Evaluator, fact: Fact, row: int) -> Evidence:
    """Return one comparison as evidence."""
    name = text_of(fact.measured)
    provenance, source = "derived", ""
    if isinstance(fact.measured, ast.Name):
        let = evaluator.let(fact.measured.name)
        if let is not None:
            source = text_of(let.expr)
        elif name in evaluator.metrics.pack.metrics:
            provenance, source = origin(evaluator.metrics, evaluator.metrics.pack.metrics[name], row)
    elif isinstance(fact.measured, ast.Raw):
        name, provenance, source = fact.measured.name, "exact", fact.measured.name
    return Evidence(
        metric=name,
        value=_plain(fact.value),
        unit=fact.unit or None,
        threshold=_plain(fact.threshold),
        margin=fact.margin,
        provenance=provenance,
        source=source,
        label=_asked(fact),
    )


def _asked(fact: Fact) -> str:
    """What was asked of a value: ``>= min_share``, ``matches gemm``, ``in {1, 2}``."""
    if fact.limit is None:
        return ""
    wanted = fact.threshold if isinstance(fact.limit, ast.Matches | ast.In) else text_of(fact.limit)
    return f"{fact.op} {wanted}"


def of_metric(evaluator: Evaluator, name: str, row: int) -> Evidence | None:
    """Return a metric's value on a row as evidence; None where it has many (instances, a narrower scope)."""
    metric = evaluator.metrics.pack.metrics.get(name)
    if evaluator.let(name) is not None or evaluator.param(name) is not None:
        return None
    if metric is None:
        frame = evaluator.metrics.frame
        value = operators.spread(evaluator.metrics.raw(name), frame.rows)[row].as_py()
        if value is None and (members := frame.instances(name)) is not None and (members.row == row).any():
            return None
        unit = None if value is None else frame.supply.unit(name)
        return Evidence(metric=name, value=value, unit=unit, source=name)
    if metric.kind == "instances" or is_narrower(evaluator.metrics.frame, metric.scope):
        return None
    value = evaluator.metrics.column(name)[row].as_py()
    provenance, source = origin(evaluator.metrics, metric, row)
    shown = from_base(value, metric.unit) if isinstance(value, float) else value
    return Evidence(
        metric=name, value=_plain(shown), unit=metric.unit or None, provenance=provenance, source=source
    )


def of_param(evaluator: Evaluator, param: ast.Param, row: int) -> Evidence:
    """Return a parameter's effective value and where it came from."""
    owner = evaluator.owner.name if evaluator.owner else ""
    assert evaluator.params is not None
    unit = shown_unit(evaluator, named(param.name))
    value = operators.spread(evaluator.name(param.name), evaluator.rows)[row].as_py()
    shown = from_base(value, unit) if isinstance(value, float) else value
    return Evidence(
        metric=param.name,
        value=_plain(shown),
        unit=unit or None,
        provenance="parameter",
        source=_origin_of(evaluator.params, owner, param),
        label=param.meaning,
    )


def _origin_of(params: Parameters, owner: str, param: ast.Param) -> str:
    return params.origin(owner, param)


def add_own_lines(
    found: list[Evidence], evaluator: Evaluator, lines: tuple[ast.Evidence, ...], row: int
) -> list[Evidence]:
    """Merge a rule's own ``evidence … as "label"`` lines: a label for what is there, else a line after the compared."""
    known = {one.metric: one for one in found if one.provenance != "parameter" and one.threshold is None}
    at = sum(one.threshold is not None for one in found)
    fresh = []
    for line in lines:
        name = text_of(line.expr)
        if name in known:
            known[name].label = known[name].label or line.label
            continue
        one = of_metric(evaluator, name, row) if isinstance(line.expr, ast.Name) else None
        if one is None:
            unit = shown_unit(evaluator, line.expr)
            value = operators.plain(operators.spread(evaluator.value(line.expr), evaluator.rows))[row].as_py()
            shown = from_base(value, unit) if isinstance(value, float) else value
            one = Evidence(metric=name, value=_plain(shown), unit=unit or None, provenance="derived")
        one.label = line.label
        fresh.append(one)
    return [*found[:at], *fresh, *found[at:]]


def smallest_margin(evaluator: Evaluator, step: Step, row: int) -> float | None:
    """Return the margin of the comparison that is nearest to turning; None when none has one."""
    margins = [
        abs(one)
        for leaf in trace.deciding(step, row)
        if (one := trace.fact(evaluator, leaf, row).margin) is not None
    ]
    return min(margins, default=None)


def _plain(value: Any) -> float | str | None:
    """A value as JSON can hold it; a number beyond what its unit can show is unknown."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, str):
        return value
    return float(value) if math.isfinite(value) else None
