"""The timeline of a report as numpy columns: GPU operations, host calls, ranges. Knows no tool and no format."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from profrx.timeline.intervals import Bools, Ints
from profrx.timeline.spans import Ranges, read_ranges
from profrx.timeline.texts import NONE, Names, ints, join_names, names

if TYPE_CHECKING:
    from profrx_parsers.report import Report

KERNEL, COPY, SET, GRAPH = range(4)
DIRECTIONS, MEMORY_KINDS, STREAMS = "directions", "memory-kinds", "streams"

SERIALISED = "kernels_serialised"
"""Option of a report whose tool ran kernels one by one to count: its times are no timeline of the application."""


@dataclass(frozen=True)
class Work:
    """GPU operations that have a start and an end, in order of start.

    `kind` is KERNEL, COPY, SET or GRAPH; `name` the kernel id; `call_start` and `call_end` the host call that asked
    for it (NONE when unknown); `bytes` of copies and sets (NONE when unknown), 0 of kernels; `is_host_copy` a copy
    between host and device; `is_blocking_set` a set of pinned or managed memory by a call that is not asynchronous
    (sets of device memory do not wait); `blocks` of the grid, 0 when unknown.
    """

    start: Ints
    end: Ints
    kind: Ints
    device: Ints
    process: Ints
    rank: Ints
    stream: Ints
    call_start: Ints
    call_end: Ints
    bytes: Ints
    blocks: Ints
    is_host_copy: Bools
    is_pageable: Bools
    is_pinned: Bools
    is_migration: Bools
    is_blocking_set: Bools
    name: Names
    path: Names

    def take(self, rows: Ints | Bools) -> Work:
        """Return some of the operations (itself when that is all of them)."""
        if rows.dtype == bool and rows.all():
            return self
        return Work(**{f.name: _pick(getattr(self, f.name), rows) for f in fields(self)})

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class Calls:
    """Host API calls with start and end, in order of start."""

    start: Ints
    end: Ints
    process: Ints
    name: Names

    def take(self, rows: Ints | Bools) -> Calls:
        """Return some of the calls (itself when that is all of them)."""
        if rows.dtype == bool and rows.all():
            return self
        return Calls(**{f.name: _pick(getattr(self, f.name), rows) for f in fields(self)})

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class Timeline:
    """Everything the metrics are computed from.

    `has_calls` and `has_ranges` need names: calls and ranges whose texts are lost tell nothing. `lacks` names what no operation tells although some should: DIRECTIONS, MEMORY_KINDS, STREAMS.
    """

    work: Work
    calls: Calls
    ranges: Ranges
    session_ns: int | None
    has_calls: bool
    has_ranges: bool
    lacks: frozenset[str] = frozenset()


def _pick(value: Any, rows: Ints | Bools) -> Any:
    if isinstance(value, Names):
        return value.take(rows)
    if len(value) and value.strides == (0,):
        count = int(np.count_nonzero(rows)) if rows.dtype == bool else len(rows)
        return np.broadcast_to(value[0], count)
    return value[rows]


def _slim(value: Any) -> Any:
    """Hold a column that is constant once; most columns of most captures are."""
    if isinstance(value, Names) or len(value) < 2 or (value != value[0]).any():
        return value
    return np.broadcast_to(value[0], len(value))


def read_timeline(report: Report, *, with_ranges: bool = True) -> Timeline:
    """Take what the metrics need out of a report; operations without times are left out."""
    calls_table = report.compact("api_calls")
    launches = report.compact("launches")
    if report.info.options.get(SERIALISED):
        launches = launches.slice(0, 0)
    copies = report.compact("copies")
    work = _join([_launches(launches), _copies(copies, calls_table)])
    calls = _calls(calls_table)
    end = max((int(part.max()) for part in (work.end, calls.end) if len(part)), default=0)
    ranges = read_ranges([report.compact(name) for name in ("ranges", "ops")] if with_ranges else [], end)
    session = report.extras.get("session_ns")
    return Timeline(
        work=work,
        calls=calls,
        ranges=ranges,
        session_ns=int(session) if session else None,
        has_calls=bool((calls.name.codes >= 0).any()),
        has_ranges=ranges.count > 0 and ranges.named,
        lacks=_lacks(copies, work),
    )


def _lacks(copies: pa.Table, work: Work) -> frozenset[str]:
    direction = names(copies, "direction")
    between_host = int(direction.hits("^(HtoD|DtoH)$").sum())
    copied = len(copies) - int(names(copies, "operation").hits("^set$").sum())
    lost = {
        DIRECTIONS: copied and not direction.texts,
        MEMORY_KINDS: between_host
        and not names(copies, "source_kind").texts
        and not names(copies, "target_kind").texts,
        STREAMS: _wholly(work.stream == NONE, work.kind),
    }
    return frozenset(what for what, is_lost in lost.items() if is_lost)


def _launches(table: pa.Table) -> Work:
    rows = len(table)
    workload = names(table, "workload")
    kind = np.where(workload.hits("^graph$"), np.int8(GRAPH), np.int8(KERNEL))
    blocks = np.ones(rows, np.int64)
    for column in ("grid_x", "grid_y", "grid_z"):
        part = ints(table, column)
        blocks *= np.maximum(part, 1)
        blocks[part <= 0] = 0
    no = np.broadcast_to(np.bool_(False), rows)
    identity = names(table, "kernel_id")
    if not identity.texts:
        identity = names(table, "kernel")
    return Work(
        start=ints(table, "start_ns"), end=ints(table, "end_ns"), kind=_slim(kind), device=_held(table, "device_id"),
        process=_held(table, "process_id"), rank=_held(table, "rank"), stream=_held(table, "stream_id"),
        call_start=_held(table, "launch_api_start_ns"),
        call_end=_held(table, "launch_api_end_ns"), bytes=np.broadcast_to(np.int64(0), rows),
        blocks=_slim(blocks), is_host_copy=no, is_pageable=no, is_pinned=no, is_migration=no,
        is_blocking_set=no, name=identity,
        path=names(table, "range_path"),
    )  # fmt: skip


def _held(table: pa.Table, name: str) -> Ints:
    return cast("Ints", _slim(ints(table, name)))


def _copies(table: pa.Table, calls: pa.Table) -> Work:
    rows = len(table)
    process, correlation = ints(table, "process_id"), ints(table, "correlation_id")
    called = _match(process, correlation, calls)
    direction = names(table, "direction")
    migration = direction.hits("^UM")
    host = direction.hits("^(HtoD|DtoH|HtoA|AtoH)$")
    pageable = names(table, "source_kind").hits("^pageable$") | names(table, "target_kind").hits("^pageable$")
    pinned = names(table, "source_kind").hits("^pinned$") | names(table, "target_kind").hits("^pinned$")
    is_set = names(table, "operation").hits("^set$")
    waits = np.append(~names(calls, "name").hits("Async"), False)[called]  # without a call: not known to wait
    return Work(
        start=ints(table, "start_ns"), end=ints(table, "end_ns"),
        kind=np.where(is_set, np.int8(SET), np.int8(COPY)), device=ints(table, "device_id"),
        process=process, rank=ints(table, "rank"), stream=ints(table, "stream_id"), call_start=_at(calls, "start_ns", called),
        call_end=_at(calls, "end_ns", called), bytes=_sizes(table),
        blocks=np.zeros(rows, np.int64), is_host_copy=host, is_pageable=host & pageable, is_pinned=host & pinned & ~pageable,
        is_migration=migration, is_blocking_set=is_set & waits & names(table, "target_kind").hits("^(pinned|managed)$"),
        name=Names(np.full(rows, -1, np.int64), []), path=names(table, "range_path"),
    )  # fmt: skip


def _sizes(table: pa.Table) -> Ints:
    sizes = ints(table, "bytes")
    return np.where(sizes == NONE, NONE, np.maximum(sizes, 0))


def _match(process: Ints, correlation: Ints, calls: pa.Table) -> Ints:
    """Return the row of the call with the same process and correlation id, -1 without one."""
    if not len(calls) or not len(process):
        return np.full(len(process), -1, np.int64)
    wanted = process << 32 | correlation & 0xFFFF_FFFF
    keys = ints(calls, "process_id") << 32
    number = ints(calls, "correlation_id")
    keys |= number & 0xFFFF_FFFF
    rows = np.flatnonzero(np.isin(keys, wanted) & (number != NONE))
    if not len(rows):
        return np.full(len(process), -1, np.int64)
    rows = rows[np.argsort(keys[rows], kind="stable")]
    at = np.minimum(np.searchsorted(keys[rows], wanted), len(rows) - 1)
    found = rows[at]
    known = (correlation != NONE) & (correlation != 0)
    return np.where((keys[found] == wanted) & known, found, -1)


def _at(table: pa.Table, column: str, rows: Ints) -> Ints:
    if not len(table):
        return np.full(len(rows), NONE, np.int64)
    return np.where(rows < 0, NONE, ints(table, column)[np.maximum(rows, 0)])


def _join(parts: list[Work]) -> Work:
    parts = [part for part in parts if len(part)] or parts[:1]
    if any(_wholly(~_timed(part), part.kind) for part in parts):
        parts = [
            part.take(np.zeros(len(part), bool)) for part in parts
        ]  # without one kind, gaps mean nothing
    joined: dict[str, Any] = {}
    for field in fields(Work):
        values = [getattr(part, field.name) for part in parts]
        if len(parts) == 1:
            joined[field.name] = _slim(values[0])
        elif isinstance(values[0], Names):
            joined[field.name] = join_names(values)
        else:
            joined[field.name] = _slim(np.concatenate(values))
    timed = _timed_between(joined["start"], joined["end"])
    rows = None if timed.all() else np.flatnonzero(timed)
    start = joined["start"] if rows is None else joined["start"][rows]
    if len(start) > 1 and (start[1:] < start[:-1]).any():
        order = np.argsort(start, kind="stable")
        rows = order if rows is None else rows[order]
    del start, values, parts
    if rows is not None:  # column by column: both orders of all columns at once are too much
        for name in list(joined):
            joined[name] = _pick(joined[name], rows)
    return Work(**joined)


def _wholly(lost: Bools, kinds: Ints) -> bool:
    """Whether all operations of one kind are `lost`."""
    if not lost.any():
        return False
    return any(bool(lost[kinds == kind].all()) for kind in np.unique(kinds).tolist())


def _timed(work: Work) -> Bools:
    return _timed_between(work.start, work.end)


def _timed_between(start: Ints, end: Ints) -> Bools:
    timed: Bools = (start != NONE) & (end != NONE) & (end >= start)
    return timed


def _calls(table: pa.Table) -> Calls:
    start, end = ints(table, "start_ns"), ints(table, "end_ns")
    calls = Calls(start, end, _slim(ints(table, "process_id")), names(table, "name"))
    calls = calls.take(
        (start != NONE) & (end != NONE) & (end >= start) & ~names(table, "domain").hits("^os$")
    )
    if len(calls) > 1 and (np.diff(calls.start) < 0).any():
        calls = calls.take(np.argsort(calls.start, kind="stable"))
    return calls
