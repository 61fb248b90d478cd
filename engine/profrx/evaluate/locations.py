"""Hot lines: which source lines hold most of a metric's instances on one launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx.report.model import Location

if TYPE_CHECKING:
    from profrx.evaluate.metrics import Metrics
    from profrx.language import ast
    from profrx_parsers.report import Report


def locations(
    metrics: Metrics, lines: tuple[ast.Lines, ...], row: int, report: Report | None
) -> list[Location]:
    """Return the top source lines of a row for each metric asked for; empty where the report has none.

    Args:
        metrics: over a launch frame of `report`.
        lines: what the rule asks for.
        row: which launch.
        report: holds `source_lines`.
    """
    if report is None or not lines or not report.has("source_lines"):
        return []
    launch = metrics.frame.column("subject_id")[row].as_py()
    table = report.table("source_lines")
    table = table.filter(pc.equal(table.column("launch_id"), launch))
    if not table.num_rows:
        return []
    return [found for one in lines for found in _top(metrics, one, row, table)]


def _top(metrics: Metrics, wanted: ast.Lines, row: int, table: pa.Table) -> list[Location]:
    for name in _instanced(metrics, wanted.metric):
        members, _ = metrics.members(name)
        if members is None:
            continue
        chosen = members.row == row
        values = members.value.to_numpy(zero_copy_only=False)[chosen]
        counters = members.index.filter(pa.array(chosen))
        usable = np.isfinite(values) & ~counters.is_null().to_numpy(zero_copy_only=False)
        total = float(values[np.isfinite(values)].sum())
        if total <= 0 or not usable.any():
            continue
        where = pc.index_in(counters, table.column("pc").combine_chunks())
        usable &= ~where.is_null().to_numpy(zero_copy_only=False)
        if not usable.any():
            continue
        at = where.fill_null(0).to_numpy(zero_copy_only=False)[usable]
        return _best(table, at, values[usable], total, wanted)
    return []


def _instanced(metrics: Metrics, name: str) -> list[str]:
    """The vendor names behind a metric that may have instances, formula inputs included."""
    metric = metrics.pack.metrics.get(name)
    if metric is None:
        return [name]
    from profrx.evaluate.program import metric_named
    from profrx.language import ast, walk

    found: list[str] = []
    for source in metrics.sources(metric):
        found.extend(source.names)
        for node in walk.nodes(source.formula):
            if isinstance(node, ast.Raw):
                found.append(node.name)
            elif (inner := metrics.pack.metrics.get(metric_named(node))) is not None and inner is not metric:
                found.extend(n for s in metrics.sources(inner) for n in s.names)
    return found


def _best(table: pa.Table, at: object, values: object, total: float, wanted: ast.Lines) -> list[Location]:
    picked = table.select(["file", "line"]).take(pa.array(at)).append_column("value", pa.array(values))
    sums = picked.group_by(["file", "line"]).aggregate([("value", "sum")])
    sums = sums.filter(pc.greater(sums.column("value_sum"), 0.0))
    sums = sums.sort_by([("value_sum", "descending"), ("file", "ascending"), ("line", "ascending")])
    return [
        Location(file=line["file"], line=line["line"], share=line["value_sum"] / total, metric=wanted.metric)
        for line in sums.slice(0, wanted.top).to_pylist()
        if line["file"] and line["line"] is not None
    ]
