"""Why a metric is unknown for one subject, in words, with everything that was tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from profrx.evaluate import operators
from profrx.evaluate.metrics import Metrics, Reason, bounds
from profrx.evaluate.program import metric_named
from profrx.evaluate.quantity import from_base
from profrx.evaluate.showing import text_of
from profrx.language import walk

if TYPE_CHECKING:
    from profrx.language import ast


def why(metrics: Metrics, metric: ast.Metric, row: int) -> Reason:
    """Explain an unknown value of `metric` on a row."""
    if metric.name in metrics.blocked and metrics.blocked[metric.name][0][row]:
        guard = metrics.blocked[metric.name][1]
        return Reason("blocked", f"{metric.name} is not to be trusted here: guard {guard}")
    stored = metrics.stored_of(metric)[row].as_py()
    if isinstance(stored, float):
        low, high = (from_base(end, metric.unit) for end in bounds(metric))
        shown = from_base(stored, metric.unit)
        unit = f" {metric.unit}" if metric.unit else ""
        return Reason(
            "invalid",
            f"{metric.name} is {shown:g}{unit}, outside its possible range {low:g} .. {high:g}{unit}",
        )
    tried: list[str] = []
    kinds: list[Reason] = []
    for source in metrics.sources(metric):
        mask = metrics.holds(source)
        if mask is not None and not mask[row].as_py():
            continue
        if source.formula is not None:
            kinds.append(_formula(metrics, metric, source.formula, row))
            tried.extend(kinds[-1].tried)
            continue
        for name in source.names:
            tried.append(name)
            column = metrics.stored(source.tool, name)
            value = None if column is None else column[row].as_py()
            if isinstance(value, float) and not np.isfinite(value):
                kinds.append(Reason("nan", f"{name} is stored as NaN"))
    names = tuple(dict.fromkeys(tried))
    if kinds:
        return Reason(kinds[0].kind, kinds[0].text, names)
    if not names:
        return Reason("no source", _no_source(metrics, metric), ())
    return Reason(
        "missing", f"not in the report: {', '.join(names[:4])}" + (" …" if len(names) > 4 else ""), names
    )


def _no_source(metrics: Metrics, metric: ast.Metric) -> str:
    if metric.scope != metrics.frame.scope:
        return f"{metric.name} belongs to a {metric.scope}, not to a {metrics.frame.scope}"
    if not metrics.sources(metric):
        return f"{metrics.frame.tool} does not measure {metric.name}"
    return f"no source of {metric.name} is for this architecture and tool version"


def _formula(metrics: Metrics, metric: ast.Metric, formula: ast.Expr, row: int) -> Reason:
    """Find what a formula lacks: an unknown metric it reads, else a division by zero."""
    tried: list[str] = []
    first: Reason | None = None
    for node in walk.nodes(formula):
        name = metric_named(node)
        if name in metrics.pack.metrics and name != metric.name:
            if metrics.pack.metrics[name].kind == "instances":
                continue
            inner = metrics.reason(name, row)
            if inner is not None:
                tried.extend(inner.tried or (name,))
                first = first or inner
    if first is not None:
        return Reason(first.kind, first.text, tuple(tried))
    for node in walk.nodes(formula):
        if getattr(node, "op", "") == "/" and _is_zero(metrics, node.right, row):  # type: ignore[union-attr]
            return Reason("division by zero", f"{metric.name} would divide by zero", tuple(tried))
    raws = tuple(name for node in walk.nodes(formula) if (name := _vendor_name(node)))
    return Reason("missing", f"{metric.name} needs {', '.join(raws) or 'values'} that are not known", raws)


def _vendor_name(node: ast.Expr) -> str:
    """The vendor's name that a node reads directly."""
    return getattr(node, "name", "") if type(node).__name__ == "Raw" else getattr(node, "metric", "")


def _is_zero(metrics: Metrics, expr: ast.Expr, row: int) -> bool:
    value = metrics.evaluate(expr)
    if not isinstance(value, pa.Scalar):
        value = operators.spread(value, metrics.frame.rows)[row]
    return bool(value.is_valid and value.as_py() == 0)


def origin(metrics: Metrics, metric: ast.Metric, row: int) -> tuple[str, str]:
    """Return provenance and source of a metric's value on a row: ``("exact", vendor name)`` or a formula."""
    if metric.name in metrics.given:
        return "exact", "given"
    if metric.scope != metrics.frame.scope and metric.scope in metrics.frame.wider:
        link = metrics.frame.wider[metric.scope]
        return origin(metrics.related(link.frame), metric, int(link.owner[row]))
    for source in metrics.sources(metric):
        mask = metrics.holds(source)
        if mask is not None and not mask[row].as_py():
            continue
        if source.formula is not None:
            if metrics.remembered(source.formula)[row].is_valid:
                return "derived", text_of(source.formula)
            continue
        for name in source.names:
            column = metrics.stored(source.tool, name)
            if column is not None and column[row].is_valid:
                return "exact", name
    return "exact", ""
