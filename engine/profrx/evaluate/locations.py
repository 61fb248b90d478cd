"""Hot lines: which source lines hold most of a metric's instances on one launch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx.evaluate.numbering import group_rows
from profrx.report.model import Location

if TYPE_CHECKING:
    from profrx.evaluate.metrics import Metrics
    from profrx.language import ast
    from profrx_parsers.report import Report


class SourceLines:
    """The source lines of a report, launch by launch; kept for as long as its findings are worked out."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._kept: dict[int, LaunchLines] = {}

    def of(self, launch: int) -> LaunchLines | None:
        """Return the lines of a launch, None where the report has none of it."""
        if not self._report.has("source_lines"):
            return None
        if launch not in self._kept:
            table = self._report.table("source_lines")
            self._kept[launch] = LaunchLines(table.filter(pc.equal(table.column("launch_id"), launch)))
        found = self._kept[launch]
        return found if found.table.num_rows else None


@dataclass(frozen=True)
class LaunchLines:
    """The source lines of one launch: rows of `source_lines`."""

    table: pa.Table

    @cached_property
    def counters(self) -> pa.Array:
        """Program counter of each row."""
        return self.table.column("pc").combine_chunks()

    @cached_property
    def line(self) -> Any:
        """Number of each row's file and line."""
        return self._numbered[0]

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """File and line by number."""
        found: list[dict[str, Any]] = (
            self.table.select(["file", "line"]).take(pa.array(self._numbered[1])).to_pylist()
        )
        return found

    @cached_property
    def _numbered(self) -> tuple[Any, Any]:
        return group_rows([self.table.column("file"), self.table.column("line")])


def locations(
    metrics: Metrics, lines: tuple[ast.Lines, ...], row: int, source: SourceLines
) -> list[Location]:
    """Return the top source lines of a row for each metric asked for; empty where the report has none.

    Args:
        metrics: over a launch frame of the report.
        lines: what the rule asks for.
        row: which launch.
        source: the report's lines.
    """
    if not lines:
        return []
    found = source.of(metrics.frame.column("subject_id")[row].as_py())
    return [] if found is None else [one for wanted in lines for one in _top(metrics, wanted, row, found)]


def _top(metrics: Metrics, wanted: ast.Lines, row: int, source: LaunchLines) -> list[Location]:
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
        where = pc.index_in(counters, source.counters)
        usable &= ~where.is_null().to_numpy(zero_copy_only=False)
        if not usable.any():
            continue
        at = where.fill_null(0).to_numpy(zero_copy_only=False)[usable]
        return _best(source, at, values[usable], total, wanted)
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


def _best(source: LaunchLines, at: Any, values: Any, total: float, wanted: ast.Lines) -> list[Location]:
    """The lines of the greatest sums; among equals by file and line. Rows without file or line count, nameless."""
    sums = np.bincount(source.line[at], weights=values, minlength=len(source.lines))
    some = np.flatnonzero(sums > 0)
    least = np.sort(sums[some])[-min(wanted.top, some.size) :][
        :1
    ]  # ties of the last place are sorted out below
    ranked = sorted(
        (-float(sums[n]), *_place(source.lines[n]), n) for n in some[sums[some] >= least].tolist()
    )
    return [
        Location(file=line["file"], line=line["line"], share=-negative / total, metric=wanted.metric)
        for negative, *_, n in ranked[: wanted.top]
        if (line := source.lines[n])["file"] and line["line"] is not None
    ]


def _place(line: dict[str, Any]) -> tuple[bool, str, bool, int]:
    """A sort key: by file, then line, unknown ones last."""
    return line["file"] is None, line["file"] or "", line["line"] is None, line["line"] or 0
