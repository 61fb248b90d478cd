"""What the metrics need of user ranges and framework operations, in one pass over tables of many millions.

Only three things matter: ranges named after data loading, ranges named after an optimizer, and the step of a loop,
which is the name that takes most time among those that repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx.timeline.intervals import Bools, Ints, Union, union
from profrx.timeline.texts import NONE, Names, ints, names

OPTIMIZER = r"optimi[sz]er|adam|sgd\.step"
DATALOADER = r"data_?loader|dataloading|data loading|next_?batch|load_?batch|fetch_?batch|input_?pipeline"
DIRECTIVES = "^open(acc|mp)"
"""Categories of operations that the compiler made: they are no ranges somebody put around a phase."""
STEP_LEAST = 3
"""A name must occur this often to be the step of a loop."""
SLICE = 1 << 20
MOST_OUTERMOST = 1_000_000
"""Outermost ranges that are kept (24 bytes each)."""


@dataclass(frozen=True)
class Named:
    """Ranges of one meaning, with the process of each."""

    start: Ints
    end: Ints
    process: Ints

    def union(self, processes: Ints) -> Union:
        """Return the time they cover in some processes."""
        mine = np.isin(self.process, processes)
        return union(self.start[mine], self.end[mine])


@dataclass(frozen=True)
class Ranges:
    """Facts about the ranges of a report.

    Attributes:
        count: ranges and operations, marks left out.
        first_step: start and end of the first step, None without a loop.
        usual_step_ns: median duration of the later steps.
        named: whether any of them has a name.
        outermost: ranges that lie in no other one of their thread; None when they are too many to keep.
    """

    count: int
    loading: Named
    optimizing: Named
    first_step: tuple[int, int] | None
    usual_step_ns: float
    named: bool = True
    outermost: Named | None = None


@dataclass(frozen=True)
class _Part:
    """One table: times stay in Arrow until a slice or some rows are asked for."""

    table: pa.Table
    name: Names
    is_range: Bools
    is_outermost: Bools
    until: int

    def rows(self, rows: Ints) -> Named:
        some = self.table.select(["start_ns", "end_ns", "process_id"]).take(pa.array(rows))
        end = ints(some, "end_ns")
        return Named(ints(some, "start_ns"), np.where(end == NONE, self.until, end), ints(some, "process_id"))

    def times(self, low: int) -> tuple[Ints, Ints]:
        some = self.table.slice(low, SLICE)
        end = ints(some, "end_ns")
        return ints(some, "start_ns"), np.where(end == NONE, self.until, end)


def read_ranges(tables: Sequence[pa.Table], until: int) -> Ranges:
    """Read `ranges` and `ops` tables; a range that was never closed ends at `until`."""
    parts = [_part(table, until) for table in tables]
    loading = _join([p.rows(np.flatnonzero(p.is_range & p.name.hits(DATALOADER))) for p in parts])
    optimizing = _join([p.rows(np.flatnonzero(p.is_range & p.name.hits(OPTIMIZER))) for p in parts])
    step = _step(parts)
    first, usual = (None, 0.0) if step is None else _durations(step)
    count = sum(int(p.is_range.sum()) for p in parts)
    named = any(p.name.texts for p in parts)
    return Ranges(count, loading, optimizing, first, usual, named, _outermost(parts))


def _outermost(parts: Sequence[_Part]) -> Named | None:
    rows = [np.flatnonzero(p.is_range & p.is_outermost) for p in parts]
    if sum(map(len, rows)) > MOST_OUTERMOST:
        return None
    return _join([part.rows(mine) for part, mine in zip(parts, rows, strict=True)])


def _part(table: pa.Table, until: int) -> _Part:
    is_range = np.ones(len(table), bool)
    if "kind" in table.column_names and len(table):
        is_range = ~names(table, "kind").hits("^mark$")
    if "category" in table.column_names and "op_id" in table.column_names and len(table):
        is_range &= ~names(table, "category").hits(DIRECTIVES)
    if len(table) and table.column("start_ns").null_count:
        is_range &= table.column("start_ns").is_valid().to_numpy()
    return _Part(table, names(table, "name"), is_range, _is_outermost(table), until)


def _is_outermost(table: pa.Table) -> Bools:
    if "depth" not in table.column_names or table.column("depth").null_count == len(table):
        return np.zeros(len(table), bool)
    found: Bools = np.asarray(pc.fill_null(pc.equal(table.column("depth"), 0), False))
    return found


def _join(parts: Sequence[Named]) -> Named:
    parts = [*parts, Named(*(np.empty(0, np.int64) for _ in range(3)))]
    return Named(
        np.concatenate([p.start for p in parts]),
        np.concatenate([p.end for p in parts]),
        np.concatenate([p.process for p in parts]),
    )


def _step(parts: Sequence[_Part]) -> Named | None:
    """Return the ranges of the name that repeats and takes most time over all tables."""
    best, where = 0.0, None
    for part in parts:
        size = len(part.name.texts)
        count, total = np.zeros(size), np.zeros(size)
        for low in range(0, len(part.table), SLICE):
            start, end = part.times(low)
            codes = part.name.codes[low : low + SLICE]
            good = part.is_range[low : low + SLICE] & (codes >= 0)
            count += np.bincount(codes[good], minlength=size)
            total += np.bincount(codes[good], weights=(end - start)[good].astype(np.float64), minlength=size)
        total[count < STEP_LEAST] = 0
        if size and total.max() > best:
            best, where = float(total.max()), (part, int(total.argmax()))
    if where is None:
        return None
    part, code = where
    return part.rows(np.flatnonzero(part.is_range & (part.name.codes == code)))


def _durations(step: Named) -> tuple[tuple[int, int], float]:
    order = np.argsort(step.start, kind="stable")
    duration = (step.end - step.start)[order].astype(np.float64)
    return (int(step.start[order[0]]), int(step.end[order[0]])), float(np.median(duration[1:]))
