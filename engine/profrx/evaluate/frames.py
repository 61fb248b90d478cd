"""Frames of a report: one per scope, linked by who belongs to whom.

Launch frames come from the `launches` table and the metric columns; kernel, device, stream, rank and report
frames from grouping launches; scopes that only a timeline knows (and timeline columns for the others) from
`profrx.timeline`. Everything but identity is decoded on demand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx.evaluate.arch import arch_number
from profrx.evaluate.frame import SUBJECTS, Frame, Link, TableSupply
from profrx.evaluate.numbering import group_rows
from profrx.evaluate.patterns import glob_to_regex
from profrx.evaluate.supply import LaunchSupply, TableColumns
from profrx_parsers import schema
from profrx_parsers.registry import readers

if TYPE_CHECKING:
    from profrx_parsers.report import Report

DOMAINS = {
    "launches": "launch",
    "kernels": "kernel",
    "devices": "device",
    "streams": "stream",
    "ranges": "range",
    "ranks": "rank",
    "steps": "step",
}
"""Domain of an aggregate -> scope of its members."""

_GROUPS = {
    "kernel": ("kernel_key",),
    "device": ("device_id",),
    "stream": ("rank", "process_id", "device_id", "context_id", "stream_id"),
    "rank": ("rank",),
}
"""Scope -> columns of the launches table that make one subject."""

_TEXT = pa.dictionary(pa.int32(), pa.string())
_HELD = pa.schema([f.with_type(_TEXT) if pa.types.is_string(f.type) else f for f in SUBJECTS])
"""`SUBJECTS` as held: texts dictionary-encoded, as names reach thousands of characters and repeat over all launches."""

_DEVICE_COLUMNS = schema.TABLES["devices"].names


@dataclass
class Frames:
    """All frames of one or more reports of one tool.

    Attributes:
        tool: the tool of every frame.
        scopes: scope -> frame; a scope without subjects is absent.
    """

    tool: str
    scopes: dict[str, Frame] = field(default_factory=dict)

    def get(self, scope: str) -> Frame | None:
        """Return the frame of a scope, None when the reports have none."""
        return self.scopes.get(scope)


def frames_of(report: Report, position: int = 0) -> Frames:
    """Return the frames of a report; `position` is written into the `report` column of the subjects."""
    frames = Frames(source_tool(report))
    timeline = {scope: table for scope, table in _timeline(report).items() if table.num_rows}
    launches = report.table("launches")
    if launches.num_rows:
        frames.scopes["launch"] = _launch_frame(report, launches, position)
        for scope, keys in _GROUPS.items():
            owner = _grouped(frames, report, scope, keys, launches, timeline.get(scope))
            if owner is not None:
                link(frames.scopes[scope], frames.scopes["launch"], owner)
    for scope, table in timeline.items():
        if scope not in frames.scopes and scope != "report":
            frames.scopes[scope] = _timeline_frame(scope, frames.tool, table, report, position)
    _report_frame(frames, report, timeline.get("report"), position)
    return frames


def source_tool(report: Report) -> str:
    """Return the name that sources and `applies_to` use: the reader's tool.

    One vendor's tools share it (rocprof, rocprofv3, rocprof-compute are ``rocm``): their counters have one name.
    """
    reader = readers().get(report.info.format)
    return reader.tool if reader else report.info.tool or report.info.format


def _timeline(report: Report) -> dict[str, pa.Table]:
    """Timeline metrics by scope; empty for captures that record neither times nor sums over kernels."""
    launches, copies = report.compact("launches"), report.compact("copies")
    timeless = all(table.column("start_ns").null_count == table.num_rows for table in (launches, copies))
    tells = report.table("summaries").num_rows or "recorder" in report.extras
    if timeless and (launches.num_rows or not tells):
        return {}
    from profrx.timeline import timeline_metrics

    if "timeline_tables" not in report.extras:
        report.extras["timeline_tables"] = timeline_metrics(report)  # the page's summary reads them too
        report.release("ranges", "ops")  # by the million, and read for these metrics only
    return dict(report.extras["timeline_tables"])


def _launch_frame(report: Report, launches: pa.Table, position: int) -> Frame:
    subjects = _subjects(
        report,
        position,
        launches.num_rows,
        subject_id=launches.column("launch_id"),
        subject=launches.column("kernel"),
        kernel=launches.column("kernel"),
        kernel_short=launches.column("kernel_short"),
        kernel_id=pc.coalesce(launches.column("kernel_id"), launches.column("kernel")),
        device_id=launches.column("device_id"),
        weight_ns=_positive(launches.column("duration_ns")),
    )
    return Frame("launch", source_tool(report), subjects, LaunchSupply(report, launches))


def _positive(durations: Any) -> Any:
    """A duration that is NaN, infinite or negative is no weight."""
    usable = pc.and_(pc.is_finite(durations), pc.greater_equal(durations, 0.0))
    return pc.if_else(usable, durations, pa.scalar(None, pa.float64()))


def _subjects(report: Report, position: int, rows: int, **given: Any) -> pa.Table:
    """Subjects of one report; columns that are not given are null, architecture follows the device."""
    given.setdefault("subject_id", pa.array(np.arange(rows, dtype=np.int64)))
    given["report"] = pa.array(np.full(rows, position, dtype=np.int32))
    version = report.info.tool_version
    if version is not None:
        given["tool_version"] = pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), [version])
    given["arch"] = _arch(report, given.setdefault("device_id", pa.nulls(rows, pa.int32())))
    columns = [_held(given.get(field.name), field.type, rows) for field in _HELD]
    return pa.Table.from_arrays(columns, schema=_HELD)


def _held(column: Any | None, kind: pa.DataType, rows: int) -> pa.Array:
    if column is None:
        return pa.nulls(rows, kind)
    column = _whole(column)
    if column.type == kind:
        return column
    return column.cast(pa.string()).dictionary_encode() if pa.types.is_dictionary(kind) else column.cast(kind)


def _arch(report: Report, device_id: Any) -> pa.Array:
    devices = report.table("devices")
    numbers = pa.array([arch_number(a) for a in devices.column("arch").to_pylist()], pa.float64())
    where = _whole(pc.index_in(device_id, devices.column("device_id")))
    return numbers.take(where) if len(numbers) else pa.nulls(len(where), pa.float64())


def _whole(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _grouped(
    frames: Frames,
    report: Report,
    scope: str,
    keys: tuple[str, ...],
    launches: pa.Table,
    timeline: pa.Table | None,
) -> Any | None:
    """Add the frame of a scope that launches belong to and return the owner of each launch.

    A timeline's subjects stand where it has this scope (they also count copies); kernels are always grouped
    from the launches, and a timeline adds its columns. None where nothing tells the launches apart.
    """
    launch = frames.scopes["launch"]
    position = launch.subjects.column("report")[0].as_py()
    if timeline is not None and scope != "kernel":
        names = _timeline_ids(scope, launches)
        owner = _whole(pc.index_in(names, timeline.column("subject_id").combine_chunks()))
        frames.scopes[scope] = _timeline_frame(scope, frames.tool, timeline, report, position)
        return owner.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    by = [launch.column("kernel_id")] if scope == "kernel" else [launches.column(key) for key in keys]
    if by[-1].null_count == launch.rows:
        return None
    owner, first = group_rows(by)
    if timeline is not None:
        owner, first = _known_to(timeline, launch.column("kernel_id"), owner, first)
    leads = _rows_of(launch.subjects, first)
    weight = pa.array(_sum_known(owner, launch.weights, first.size), from_pandas=True)
    same = {
        name: leads.column(name) for name in ("device_id", "kernel", "kernel_short", "kernel_id", "subject")
    }
    if scope != "kernel":
        rows = _rows_of(launches.select(list(keys)), first).to_pylist()
        same = {"subject": pa.array([_place(scope, row) for row in rows], pa.string())}
        if "device_id" in keys:
            same["device_id"] = leads.column("device_id")
    subjects = _subjects(report, position, first.size, weight_ns=weight, **same)
    shared = ("kernel", "kernel_short") if scope == "kernel" else keys
    tables: dict[str, Mapping[str, Any]] = {
        "launch": TableColumns(launches.select(list(shared)), pa.array(first)),
        "device": _device_rows(report, subjects.column("device_id")),
        "timeline": _joined(timeline, subjects.column("kernel_id")) if scope == "kernel" else {},
    }
    frames.scopes[scope] = Frame(scope, frames.tool, subjects, TableSupply(tables=tables))
    return owner


def _rows_of(table: pa.Table, first: Any) -> pa.Table:
    """The first rows of groups; all of the table where every row is a group."""
    return table if first.size == table.num_rows else table.take(pa.array(first))


def _known_to(timeline: pa.Table, kernel_id: pa.Array, owner: Any, first: Any) -> tuple[Any, Any]:
    """Leave out the groups that a timeline does not count as kernels (whole graphs)."""
    where = pc.index_in(kernel_id.take(pa.array(first)), timeline.column("subject_id").combine_chunks())
    kept = where.is_valid().to_numpy(zero_copy_only=False)
    place = np.where(kept, np.cumsum(kept) - 1, -1)
    return place[owner], first[kept]


def _timeline_ids(scope: str, launches: pa.Table) -> pa.Array:
    """The timeline's `subject_id` of each launch: ``0``, ``device 0/process 7/stream 2``, ``rank 1``."""
    if scope == "device":
        return _whole(launches.column("device_id")).cast(pa.string())
    if scope == "rank":
        ranked = launches.column("rank").null_count == 0
        word = "rank" if ranked else "process"
        keys = _whole(launches.column("rank" if ranked else "process_id")).cast(pa.string())
        return pc.coalesce(pc.binary_join_element_wise(word, keys, " "), word)
    parts = ("device", "process", "stream")
    owner, first = group_rows([launches.column(f"{part}_id") for part in parts])
    distinct = launches.select([f"{part}_id" for part in parts]).take(pa.array(first)).to_pylist()
    names = [
        "/".join(f"{part} {row[f'{part}_id']}" for part in parts if row[f"{part}_id"] is not None)
        for row in distinct
    ]
    return pa.array(names, pa.string()).take(pa.array(owner))


def _device_rows(report: Report, device_id: Any) -> Mapping[str, Any]:
    devices = report.table("devices")
    if not devices.num_rows:
        return {}
    return TableColumns(devices, _whole(pc.index_in(device_id, devices.column("device_id"))))


def _place(scope: str, row: Mapping[str, Any]) -> str:
    known = {k.removesuffix("_id"): v for k, v in row.items() if v is not None}
    return ", ".join(f"{name} {value}" for name, value in known.items()) or f"{scope} unknown"


def _joined(timeline: pa.Table | None, kernel_id: Any) -> Mapping[str, Any]:
    """Timeline columns of kernels, by the kernel's canonical id."""
    if timeline is None:
        return {}
    where = _whole(pc.index_in(_whole(kernel_id), timeline.column("subject_id").combine_chunks()))
    return TableColumns(timeline, where)


def _sum_known(owner: Any, weights: Any, rows: int) -> Any:
    """Sum per group of the known weights; NaN where none is known."""
    usable = ~np.isnan(weights) & (owner >= 0)
    total = np.bincount(owner[usable], weights=weights[usable], minlength=rows).astype(np.float64)
    total[np.bincount(owner[usable], minlength=rows) == 0] = np.nan
    return total


def link(wide: Frame, narrow: Frame, owner: Any) -> None:
    """Record that row i of `narrow` belongs to row `owner[i]` of `wide`."""
    domain = next((d for d, scope in DOMAINS.items() if scope == narrow.scope), narrow.scope)
    wide.members[domain] = Link(narrow, owner)
    narrow.wider[wide.scope] = Link(wide, owner)


def _timeline_frame(scope: str, tool: str, table: pa.Table, report: Report, position: int) -> Frame:
    name = table.column("subject")
    kernel = {c: name for c in ("kernel", "kernel_short", "kernel_id")} if scope == "kernel" else {}
    device = (
        _device_of(table.column("subject_id")) if scope == "device" else pa.nulls(table.num_rows, pa.int32())
    )
    subjects = _subjects(
        report,
        position,
        table.num_rows,
        subject=name,
        weight_ns=table.column("weight_ns"),
        device_id=device,
        **kernel,
    )
    tables = {"timeline": TableColumns(table), "device": _device_rows(report, device)}
    return Frame(scope, tool, subjects, TableSupply(tables=tables))


def _device_of(ids: Any) -> pa.Array:
    return pa.array([int(i) if i and i.isdigit() else None for i in ids.to_pylist()], pa.int32())


def _report_frame(frames: Frames, report: Report, timeline: pa.Table | None, position: int) -> None:
    """Add the frame of the whole report; its own time is what `info.base_time` says shares refer to."""
    launch = frames.get("launch")
    known = launch.weights[~np.isnan(launch.weights)] if launch else np.zeros(0)
    weight = float(known.sum()) if known.size else None
    profiled = (report.info.base_time or "").startswith("profiled")
    if timeline is not None and not profiled:
        weight = timeline.column("weight_ns")[0].as_py()
    devices = report.table("devices")
    one = devices.num_rows == 1
    subjects = _subjects(
        report,
        position,
        1,
        subject=pa.array([report.info.source.encode("utf-8", "replace").decode()]),
        device_id=pa.array([devices.column("device_id")[0].as_py() if one else None], pa.int32()),
        weight_ns=pa.array([weight], pa.float64()),
    )
    tables = {"timeline": TableColumns(timeline), "device": TableColumns(devices) if one else {}}
    whole = Frame("report", frames.tool, subjects, TableSupply(tables=tables))
    for frame in frames.scopes.values():
        link(whole, frame, np.zeros(frame.rows, dtype=np.int64))
    frames.scopes["report"] = whole


def only_kernel(frames: Frames, glob: str) -> Frames:
    """Return the frames of the launches whose kernel matches a glob (full or short name).

    Time shares still refer to the whole report. Values of a timeline cannot be cut to some kernels: scopes
    that only it knows are left out, and the report loses its timeline columns.
    """
    kept = Frames(frames.tool)
    launch = frames.get("launch")
    if launch is None:
        return kept
    pattern = glob_to_regex(glob)
    hits = [
        pc.fill_null(pc.match_substring_regex(launch.column(name), pattern), False)
        for name in ("kernel", "kernel_short")
    ]
    rows = np.flatnonzero(pc.or_(*hits).to_numpy(zero_copy_only=False))
    if not rows.size:
        return kept
    part = replace(launch.take(rows), wider={})  # a copy: all rows of a frame are the frame itself
    kept.scopes["launch"] = part
    for scope in ("kernel", "device", "report"):
        wide = launch.wider.get(scope)
        if wide is None:
            continue
        used, owner = np.unique(wide.owner[rows], return_inverse=True)
        group = replace(wide.frame.take(used[used >= 0]), members={}, wider={})
        if scope == "report":
            devices = {name: c for name in _DEVICE_COLUMNS if (c := group.source("device", name)) is not None}
            group.supply = TableSupply(tables={"device": devices})
        link(group, part, owner - int((used < 0).any()))
        kept.scopes[scope] = group
    whole = kept.scopes["report"]
    for scope, frame in kept.scopes.items():
        if scope not in ("launch", "report"):
            link(whole, frame, np.zeros(frame.rows, dtype=np.int64))
    return kept
