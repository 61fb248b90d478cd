"""Frames of a report: one per scope, linked by who belongs to whom.

Launch frames come from the `launches` table and the metric columns; kernel, device, stream, rank and report
frames from grouping launches; scopes that only a timeline knows (and timeline columns for the others) from
`profrx.timeline`. Everything but identity is decoded on demand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx.evaluate.arch import arch_number
from profrx.evaluate.frame import SUBJECTS, Frame, Link, Members, TableSupply
from profrx.evaluate.patterns import glob_to_regex
from profrx_parsers import columns
from profrx_parsers.registry import readers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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

_DOMAIN_PREFIX = re.compile(r"^(?:[A-Za-z_]+\.)?Triage[A-Za-z]*\.")
"""Counter-domain prefix of a vendor metric. Source: names observed in reports of six architectures."""


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


class LaunchSupply:
    """Columns of the launches of one report."""

    def __init__(self, report: Report, launches: pa.Table, timeline: Mapping[str, pa.Array]) -> None:
        self._report = report
        self._launches = launches
        self._timeline = timeline
        self._kept: dict[str, Members | None] = {}

    @cached_property
    def _metrics(self) -> columns.MetricColumns:
        found = self._report.extras.get(columns.EXTRA)
        if isinstance(found, columns.MetricColumns):
            return found
        return columns.MetricColumns.from_long(self._report.table("metrics"), self._launches.num_rows)

    @cached_property
    def _prefixed(self) -> dict[str, list[str]]:
        """Metric name without its counter domain -> stored names with one."""
        found: dict[str, list[str]] = {}
        for name in self._metrics.numbers:
            if match := _DOMAIN_PREFIX.match(name):
                found.setdefault(name[match.end() :], []).append(name)
        return found

    def raw(self, name: str) -> pa.Array | None:
        """Return a metric by its name, with or without counter domain."""
        column = self._metrics.column(name)
        for other in self._prefixed.get(name, ()):
            more = self._metrics.column(other)
            column = more if column is None else pc.coalesce(column, more)
        if column is not None and pa.types.is_string(column.type):
            return column.dictionary_encode()
        return column

    def unit(self, name: str) -> str | None:
        """Return the unit the reader gives for a metric."""
        return self._metrics.units.get(name)

    def names(self) -> Iterable[str]:
        """Return every metric of the report."""
        return [*self._metrics.numbers, *self._metrics.texts]

    def source(self, kind: str, column: str) -> pa.Array | None:
        """Return a column of the launches, of each launch's device, of its timeline metrics, or of how it was taken."""
        if kind == "launch":
            return table_column(self._launches, column)
        if kind == "capture":
            return self._capture_column(column)
        if kind == "device":
            return self._device_column(column)
        return self._timeline.get(column) if kind == "timeline" else None

    def _capture_column(self, column: str) -> pa.Array | None:
        """A fact that the reader gives per launch (``clock_locked``) as numbers, false 0 and true 1."""
        facts = self._report.extras.get(column)
        if not isinstance(facts, list) or len(facts) != self._launches.num_rows:
            return None
        return pa.array([None if fact is None else float(fact) for fact in facts], pa.float64())

    def _device_column(self, column: str) -> pa.Array | None:
        devices = self._report.table("devices")
        found = table_column(devices, column)
        if found is None or not len(found):
            return None
        where = pc.index_in(self._launches.column("device_id"), devices.column("device_id"))
        return found.take(where.combine_chunks())

    def instances(self, name: str) -> Members | None:
        """Return the members of an instanced metric, decoded for this metric only."""
        if name not in self._kept:
            self._kept[name] = self._read_instances(name)
        return self._kept[name]

    def _read_instances(self, name: str) -> Members | None:
        decode = self._report.extras.get("instances")
        table = decode({name}) if callable(decode) else self._report.table("instances")
        stored = [name, *self._prefixed.get(name, ())]
        table = table.filter(pc.is_in(table.column("metric"), pa.array(stored)))
        return members_of(table, self.unit(name)) if table.num_rows else None

    def alternatives(self, name: str, arch: float | None) -> tuple[str, ...]:
        """Return the names that the report's own sections use instead of a metric on an architecture.

        `extras["section_options"]` maps a metric to entries whose `resolve(arch)` gives the collected name,
        with 90 for compute capability 9.0.
        """
        options = self._report.extras.get("section_options")
        if arch is None or not isinstance(options, Mapping):
            return ()
        resolved = (entry.resolve(round(arch * 10)) for entry in options.get(name, ()))
        return tuple(dict.fromkeys(other for other in resolved if other and other != name))


def members_of(table: pa.Table, unit: str | None = None) -> Members:
    """Return rows of an `instances` table (one metric) as members, sorted by launch."""
    row = table.column("launch_id").to_numpy()
    order = np.argsort(row, kind="stable")
    table = table.take(pa.array(order))
    return Members(
        row[order].astype(np.int64),
        table.column("key").combine_chunks(),
        table.column("key_int").combine_chunks(),
        table.column("value").combine_chunks(),
        unit,
    )


def table_column(table: pa.Table, name: str) -> pa.Array | None:
    """Return a column of a normalised table as the engine wants it: float64, bool or dictionary text."""
    if name not in table.column_names:
        return None
    column = table.column(name).combine_chunks()
    if pa.types.is_boolean(column.type):
        return column
    if pa.types.is_string(column.type):
        return column.dictionary_encode()
    if pa.types.is_dictionary(column.type):
        return column
    return column.cast(pa.float64(), safe=False)


def frames_of(report: Report, position: int = 0) -> Frames:
    """Return the frames of a report; `position` is written into the `report` column of the subjects."""
    tool = source_tool(report)
    timeline = _timeline(report)
    frames = Frames(tool)
    launches = report.table("launches")
    if launches.num_rows:
        frames.scopes["launch"] = _launch_frame(report, launches, timeline.get("launch"), position)
        _group_launches(frames, report, launches, timeline, position)
    for scope, table in timeline.items():
        if scope not in frames.scopes and table.num_rows:
            frames.scopes[scope] = _timeline_frame(scope, tool, table, report, position)
    _report_frame(frames, report, timeline.get("report"), position)
    return frames


def source_tool(report: Report) -> str:
    """Return the name that sources and `applies_to` use: the reader's tool.

    One vendor's tools share it (rocprof, rocprofv3, rocprof-compute are ``rocm``): their counters have one name.
    """
    reader = readers().get(report.info.format)
    return reader.tool if reader else report.info.tool or report.info.format


def _timeline(report: Report) -> dict[str, pa.Table]:
    """Timeline metrics by scope; empty for captures without a timeline."""
    try:
        from profrx.timeline import timeline_metrics
    except ImportError:
        return {}
    return dict(timeline_metrics(report))


def _columns(table: pa.Table | None) -> dict[str, pa.Array]:
    if table is None:
        return {}
    return {name: column for name in table.column_names if (column := table_column(table, name)) is not None}


def _launch_frame(report: Report, launches: pa.Table, timeline: pa.Table | None, position: int) -> Frame:
    rows = launches.num_rows
    subjects = {
        "report": pa.repeat(pa.scalar(position, pa.int32()), rows),
        "subject_id": launches.column("launch_id"),
        "subject": launches.column("kernel"),
        "kernel": launches.column("kernel"),
        "kernel_short": launches.column("kernel_short"),
        "kernel_id": pc.coalesce(launches.column("kernel_id"), launches.column("kernel")),
        "device_id": launches.column("device_id"),
        "arch": _arch(report, launches.column("device_id")),
        "tool_version": pa.repeat(pa.scalar(report.info.tool_version, pa.string()), rows),
        "weight_ns": _positive(launches.column("duration_ns")),
    }
    aligned = _columns(timeline) if timeline is not None and timeline.num_rows == rows else {}
    supply = LaunchSupply(report, launches, aligned)
    return Frame("launch", source_tool(report), _subjects(subjects), supply)


def _positive(durations: Any) -> Any:
    """A duration that is NaN, infinite or negative is no weight."""
    usable = pc.and_(pc.is_finite(durations), pc.greater_equal(durations, 0.0))
    return pc.if_else(usable, durations, pa.scalar(None, pa.float64()))


def _subjects(given: Mapping[str, Any]) -> pa.Table:
    return pa.table({name: given[name] for name in SUBJECTS.names}).cast(SUBJECTS)


def _arch(report: Report, device_id: Any) -> pa.Array:
    devices = report.table("devices")
    numbers = pa.array([arch_number(a) for a in devices.column("arch").to_pylist()], pa.float64())
    where = pc.index_in(device_id, devices.column("device_id"))
    where = where.combine_chunks() if isinstance(where, pa.ChunkedArray) else where
    return numbers.take(where) if len(numbers) else pa.nulls(len(where), pa.float64())


def _group_launches(
    frames: Frames, report: Report, launches: pa.Table, timeline: Mapping[str, pa.Table], position: int
) -> None:
    frame = frames.scopes["launch"]
    keyed = launches.append_column("kernel_key", frame.subjects.column("kernel_id"))
    for scope, keys in _GROUPS.items():
        if all(launches.num_rows == keyed.column(k).null_count for k in keys[-1:]):
            continue
        owner, first = group_rows([keyed.column(key) for key in keys])
        table = timeline.get(scope)
        subjects = frame.subjects.take(pa.array(first))
        weight = _sum_known(owner, frame.weights, first.size)
        extra = _match(table, subjects.column("subject"), scope)
        subjects = subjects.set_column(9, SUBJECTS.field("weight_ns"), pa.array(weight, from_pandas=True))
        if scope != "kernel":
            names = [_place(scope, row) for row in keyed.select(list(keys)).take(pa.array(first)).to_pylist()]
            subjects = subjects.set_column(2, "subject", pa.array(names, pa.string()))
            for column in ("kernel", "kernel_short", "kernel_id"):
                at = subjects.column_names.index(column)
                subjects = subjects.set_column(at, column, pa.nulls(first.size, pa.string()))
        ids = pa.array(np.arange(first.size, dtype=np.int64))
        subjects = subjects.set_column(1, "subject_id", ids).cast(SUBJECTS)
        identity = {n: _shared(launches, n, owner, first) for n in ("kernel", "kernel_short", *keys[1:])}
        tables = {"launch": {n: c for n, c in identity.items() if c is not None}, "timeline": extra}
        if (devices := _device_rows(report, subjects.column("device_id"))) is not None:
            tables["device"] = devices
        group = Frame(scope, frames.tool, subjects, TableSupply(tables=tables))
        link(group, frame, owner)
        frames.scopes[scope] = group


def _shared(launches: pa.Table, name: str, owner: Any, first: Any) -> pa.Array | None:
    """A column's value per group where all launches of the group agree by construction."""
    column = table_column(launches, name) if name in launches.column_names else None
    return None if column is None else column.take(pa.array(first))


def _device_rows(report: Report, device_id: Any) -> dict[str, pa.Array] | None:
    devices = report.table("devices")
    if not devices.num_rows:
        return None
    where = pc.index_in(device_id, devices.column("device_id")).combine_chunks()
    return {name: column.take(where) for name, column in _columns(devices).items()}


def _place(scope: str, row: Mapping[str, Any]) -> str:
    known = {k.removesuffix("_id"): v for k, v in row.items() if v is not None}
    if scope in known and len(known) == 1:
        return f"{scope} {known[scope]}"
    return ", ".join(f"{name} {value}" for name, value in known.items()) or f"{scope} unknown"


def _match(table: pa.Table | None, subject: Any, scope: str) -> dict[str, pa.Array]:
    """Timeline columns of grouped launches, joined by the subject's name."""
    if table is None or not table.num_rows or "subject" not in table.column_names:
        return {}
    if scope != "kernel":
        return {}
    where = pc.index_in(subject, table.column("subject").combine_chunks())
    where = where.combine_chunks() if isinstance(where, pa.ChunkedArray) else where
    return {name: column.take(where) for name, column in _columns(table).items()}


def group_rows(keys: Sequence[Any]) -> tuple[Any, Any]:
    """Number the distinct combinations of some columns by first appearance.

    Returns:
        the group of each row, and the first row of each group (int64 numpy arrays). Null is a value of its own.
    """
    codes = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        column = key.combine_chunks() if isinstance(key, pa.ChunkedArray) else key
        part = column.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
        codes = codes * (int(part.max(initial=0)) + 1) + part
        codes = np.unique(codes, return_inverse=True)[1]
    _, first, where = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return rank[where], first[order]


def _sum_known(owner: Any, weights: Any, rows: int) -> Any:
    """Sum per group of the known weights; NaN where none is known."""
    usable = ~np.isnan(weights)
    total = np.bincount(owner[usable], weights=weights[usable], minlength=rows).astype(np.float64)
    total[np.bincount(owner[usable], minlength=rows) == 0] = np.nan
    return total


def link(wide: Frame, narrow: Frame, owner: Any) -> None:
    """Record that row i of `narrow` belongs to row `owner[i]` of `wide`."""
    domain = next((d for d, scope in DOMAINS.items() if scope == narrow.scope), narrow.scope)
    wide.members[domain] = Link(narrow, owner)
    narrow.wider[wide.scope] = Link(wide, owner)


def _timeline_frame(scope: str, tool: str, table: pa.Table, report: Report, position: int) -> Frame:
    rows = table.num_rows
    nothing = pa.nulls(rows, pa.string())
    name = table.column("subject")
    device = table.column("device_id") if "device_id" in table.column_names else pa.nulls(rows, pa.int32())
    subjects = {
        "report": pa.repeat(pa.scalar(position, pa.int32()), rows),
        "subject_id": table.column("subject_id"),
        "subject": name,
        "kernel": name if scope == "kernel" else nothing,
        "kernel_short": name if scope == "kernel" else nothing,
        "kernel_id": name if scope == "kernel" else nothing,
        "device_id": device,
        "arch": _arch(report, device.cast(pa.int32())),
        "tool_version": pa.repeat(pa.scalar(report.info.tool_version, pa.string()), rows),
        "weight_ns": table.column("weight_ns"),
    }
    return Frame(scope, tool, _subjects(subjects), TableSupply(tables={"timeline": _columns(table)}))


def _report_frame(frames: Frames, report: Report, timeline: pa.Table | None, position: int) -> None:
    if timeline is not None and timeline.num_rows == 1:
        weight = timeline.column("weight_ns")[0].as_py()
        extra = _columns(timeline)
    else:
        launch = frames.get("launch")
        known = launch.weights[~np.isnan(launch.weights)] if launch else np.zeros(0)
        weight, extra = (float(known.sum()) if known.size else None), {}
    devices = report.table("devices")
    one = devices.num_rows == 1
    device_id = pa.array([devices.column("device_id")[0].as_py() if one else None], pa.int32())
    subjects = {
        "report": pa.array([position], pa.int32()),
        "subject_id": pa.array([0], pa.int64()),
        "subject": pa.array([report.info.source]),
        "kernel": pa.nulls(1, pa.string()),
        "kernel_short": pa.nulls(1, pa.string()),
        "kernel_id": pa.nulls(1, pa.string()),
        "device_id": device_id,
        "arch": _arch(report, device_id),
        "tool_version": pa.array([report.info.tool_version], pa.string()),
        "weight_ns": pa.array([weight], pa.float64()),
    }
    tables = {"timeline": extra, "device": _columns(devices) if one else {}}
    whole = Frame("report", frames.tool, _subjects(subjects), TableSupply(tables=tables))
    for frame in frames.scopes.values():
        if frame.scope != "report":
            link(whole, frame, np.zeros(frame.rows, dtype=np.int64))
    frames.scopes["report"] = whole


def only_kernel(frames: Frames, glob: str) -> Frames:
    """Return the frames of the launches whose kernel matches a glob (full or short name), grouped anew.

    Scopes that only a timeline knows are left out: their values cannot be cut to some kernels.
    """
    pattern = glob_to_regex(glob)
    kept = Frames(frames.tool)
    launch = frames.get("launch")
    if launch is not None:
        hits = [
            pc.fill_null(pc.match_substring_regex(launch.column(name), pattern), False)
            for name in ("kernel", "kernel_short")
        ]
        rows = np.flatnonzero(pc.or_(*hits).to_numpy(zero_copy_only=False))
        part = launch.take(rows)
        part.wider = {}
        if rows.size:
            kept.scopes["launch"] = part
        for scope, link_ in launch.wider.items():
            used, owner = np.unique(link_.owner[rows], return_inverse=True)
            group = link_.frame.take(used)
            group.members, group.wider = {}, {}
            if scope == "report" and used.size:
                group.subjects = _reweighed(group.subjects, part)
            if used.size:
                link(group, part, owner)
                kept.scopes[scope] = group
        report = kept.get("report")
        for scope, frame in kept.scopes.items():
            if report is not None and scope not in ("launch", "report"):
                link(report, frame, np.zeros(frame.rows, dtype=np.int64))
    return kept


def _reweighed(subjects: pa.Table, launch: Frame) -> pa.Table:
    known = launch.weights[~np.isnan(launch.weights)]
    weight = pa.array([float(known.sum()) if known.size else None], pa.float64())
    return subjects.set_column(subjects.column_names.index("weight_ns"), SUBJECTS.field("weight_ns"), weight)
