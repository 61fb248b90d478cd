"""Evidence: what the deciding comparisons read, with values, thresholds, margins and where they came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from profrx.evaluate import operators, trace, walk
from profrx.evaluate.params import Parameters
from profrx.evaluate.quantity import from_base
from profrx.evaluate.reasons import origin
from profrx.evaluate.showing import shown_unit, text_of
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
        label=f"{fact.op} {text_of(fact.limit)}" if fact.limit is not None else "",
    )


def of_metric(evaluator: Evaluator, name: str, row: int) -> Evidence | None:
    """Return a metric's value on a row as evidence; None for instanced metrics, whose value is no number."""
    metric = evaluator.metrics.pack.metrics.get(name)
    if evaluator.let(name) is not None or evaluator.param(name) is not None:
        return None
    if metric is None:
        value = operators.spread(evaluator.metrics.raw(name), evaluator.metrics.frame.rows)
        if value.null_count == len(value) and evaluator.metrics.frame.instances(name) is not None:
            return None
        unit = evaluator.metrics.frame.supply.unit(name)
        return Evidence(metric=name, value=value[row].as_py(), unit=unit, source=name)
    if metric.kind == "instances":
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
    unit = shown_unit(evaluator, ast.Name(param.name))
    value = operators.spread(evaluator.name(param.name), evaluator.rows)[row].as_py()
    shown = from_base(value, unit) if isinstance(value, float) else value
    return Evidence(
        metric=param.name,
        value=shown,
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


def missing(evaluator: Evaluator, step: Step, row: int) -> list[str]:
    """Return the metrics whose absence makes a condition unknown on a row."""
    found: dict[str, None] = {}
    frame_rows = evaluator.metrics.frame.rows
    for leaf in trace.deciding(step, row):
        if leaf.values[row] is not None:
            continue
        needed = {n for node in _needed(evaluator, leaf.expr) for n in node}
        for name in trace.metrics_in(evaluator, leaf.expr):
            if name not in needed:
                continue
            metric = evaluator.metrics.pack.metrics.get(name)
            if metric is not None and metric.kind != "instances":
                known = (
                    evaluator.metrics.column(name)[row].is_valid if _same_scope(evaluator, metric) else False
                )
            elif metric is not None:
                known = evaluator.metrics.members(name)[0] is not None
            else:
                known = operators.spread(evaluator.metrics.raw(name), frame_rows)[row].is_valid
            if not known:
                found[name] = None
    return list(found)


def zero_divisions(evaluator: Evaluator, step: Step, row: int) -> list[str]:
    """Return the divisions by zero that make a condition unknown on a row, in words."""
    found: dict[str, None] = {}
    for leaf in trace.deciding(step, row):
        pending: list[ast.Expr] = [leaf.expr] if leaf.values[row] is None else []
        seen: set[str] = set()
        while pending:
            for node in walk.strict_nodes(pending.pop()):
                if isinstance(node, ast.Name) and node.name not in seen:
                    seen.add(node.name)
                    if (let := evaluator.let(node.name)) is not None:
                        pending.append(let.expr)
                if isinstance(node, ast.Binary) and node.op == "/":
                    divisor = operators.spread(evaluator.value(node.right), evaluator.rows)[row]
                    if divisor.is_valid and divisor.as_py() == 0:
                        found[f"division by zero: {text_of(node.right)} is 0"] = None
    return list(found)


def _same_scope(evaluator: Evaluator, metric: ast.Metric) -> bool:
    frame = evaluator.metrics.frame
    return metric.scope == frame.scope or metric.scope in frame.wider or not frame.members


def _needed(evaluator: Evaluator, expr: ast.Expr) -> list[set[str]]:
    """Names that an expression cannot do without, through lets."""
    found: list[set[str]] = []
    pending: list[ast.Expr] = [expr]
    seen: set[str] = set()
    while pending:
        names = set()
        for node in walk.strict_nodes(pending.pop()):
            name = node.name if isinstance(node, ast.Name | ast.Raw) else getattr(node, "metric", "")
            if not name or name in seen:
                continue
            seen.add(name)
            names.add(name)
            let = evaluator.let(name)
            if let is not None:
                pending.append(let.expr)
        found.append(names)
    return found


def _plain(value: Any) -> float | str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return value if value is None or isinstance(value, str) else float(value)
