"""`timeline_metrics`: every metric of a report's timeline, one wide table per scope.

The tables have the columns ``subject_id``, ``subject``, ``weight_ns`` (the subject's time, the base of its shares)
and then the metrics of `catalogue`. A metric that the capture cannot tell is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from profrx.timeline.between import device_turns, small_collectives_of_ranks
from profrx.timeline.calls import CallGroups, by_process
from profrx.timeline.capture import KERNEL, Calls, Timeline, Work, read_timeline
from profrx.timeline.catalogue import BY_NAME, KERNEL_METRICS, METRICS, RANGE_METRICS, Metric
from profrx.timeline.classes import DEFAULT, classify
from profrx.timeline.gaps import REASONS, find_gaps
from profrx.timeline.intervals import Bools, Ints, union
from profrx.timeline.layers import compare_layers
from profrx.timeline.measure import Context, Values, measure
from profrx.timeline.memory import memory_metrics
from profrx.timeline.ranks import communicates, rank_metrics
from profrx.timeline.texts import NONE
from profrx.timeline.validity import recorder_time
from profrx.timeline.whole import compute_time, whole_report, without_work

if TYPE_CHECKING:
    from profrx_parsers.report import Report

SCOPES = ("report", "device", "stream", "range", "rank", "kernel")
MAX_SUBJECTS = 10_000
"""Rows of one table; the heaviest are kept."""


def timeline_metrics(report: Report, classes: Path = DEFAULT) -> dict[str, pa.Table]:
    """Return the metrics of a report by scope.

    Args:
        report: any report with launches or copies that have times; others give empty tables.
        classes: table of kernel classes (see `classes.load_classes`).
    """
    timeline = read_timeline(report)
    return Metrics(report, timeline, classes).tables()


class Metrics:
    """The tables of one timeline. Parts that several scopes share are computed once."""

    def __init__(self, report: Report, timeline: Timeline, classes: Path = DEFAULT) -> None:
        self.report = report
        self.timeline = timeline
        self.classes = classes
        self.groups = by_process(timeline.calls, recorder_time(report)) if timeline.has_calls else {}
        kinds = classify(timeline.work.name.texts, classes)
        self.kernel_class = [kind for kind, _ in kinds]
        self.kernel_library = [library for _, library in kinds]
        self._whole: Values | None = None
        devices = report.table("devices")
        self.device_names = dict(
            zip(devices.column("device_id").to_pylist(), devices.column("name").to_pylist(), strict=True)
        )
        self.units = dict(
            zip(
                devices.column("device_id").to_pylist(),
                devices.column("compute_units").to_pylist(),
                strict=True,
            )
        )

    def tables(self) -> dict[str, pa.Table]:
        """Return every scope."""
        work = self.timeline.work
        if not len(work):
            return self._summarised()
        devices = self._devices(work)
        ranges = self._ranges(work)
        layers = compare_layers(ranges, union(work.start, work.end).span) if self.timeline.has_ranges else {}
        return {
            "report": _table([self._report(work, devices) | layers], METRICS),
            "device": _table(devices, METRICS),
            "stream": _table(self._streams(work), METRICS),
            "rank": _table(self._ranks(work), METRICS),
            "kernel": self._kernels(work),
            "range": _table(ranges, RANGE_METRICS),
        }

    def _summarised(self) -> dict[str, pa.Table]:
        """Tables of a capture without a timeline: what its summaries add up, if it has any."""
        from profrx.timeline.summarised import kernel_rows, report_values

        empty = {"kernel": KERNEL_METRICS, "range": RANGE_METRICS}
        tables = {scope: _table([], empty.get(scope, METRICS)) for scope in SCOPES}
        summaries = self.report.table("summaries")
        kernels = kernel_rows(summaries, self.classes) if len(summaries) else []
        idle = None if kernels else without_work(self.report, self.timeline)
        if idle is not None:
            name = Path(self.report.info.source).name
            tables["report"] = _table([_row("report", name, self.timeline.session_ns, idle)], METRICS)
        if kernels:
            values = report_values(kernels)
            weight = sum(k["weight_ns"] or 0.0 for k in kernels)
            name = Path(self.report.info.source).name
            tables["report"] = _table([_row("report", name, weight, values)], METRICS)
            tables["kernel"] = _table(kernels[:MAX_SUBJECTS], KERNEL_METRICS, ("class", "library"))
        return tables

    def _context(self, device: int | None, groups: Mapping[int, CallGroups] | None = None) -> Context:
        return Context(
            groups=self.groups if groups is None else groups,
            ranges=self.timeline.ranges,
            has_ranges=self.timeline.has_ranges,
            has_calls=self.timeline.has_calls,
            compute_units=None if device is None else self.units.get(device),
            kernel_class=self.kernel_class,
            kernel_library=self.kernel_library,
            lacks=self.timeline.lacks,
        )

    def _measure(self, work: Work, device: int | None) -> Values:
        """Measure a stretch; the whole timeline once only, however many subjects are all of it."""
        if work is not self.timeline.work:
            return measure(work, self._context(device))
        if self._whole is None:
            self._whole = measure(work, self._context(device))
        return dict(self._whole)

    def _session(self, values: Values) -> Values:
        session = self.timeline.session_ns
        busy = values["busy_ns"]
        values["session_ns"] = session
        values["busy_session_share"] = busy / session if session and busy is not None else None
        return values

    def _devices(self, work: Work) -> list[dict[str, Any]]:
        memory = memory_metrics(self.report, int(work.start.min()), int(work.end.max()))
        rows = []
        for number in np.unique(work.device).tolist():
            mine = work.take(work.device == number)
            values = self._session(self._measure(mine, number)) | memory.get(number, {})
            name = self.device_names.get(number) or "device"
            label = name if number == NONE else f"{name} ({number})"
            rows.append(_row(None if number == NONE else str(number), label, values["window_ns"], values))
        return rows

    def _report(self, work: Work, devices: Sequence[dict[str, Any]]) -> dict[str, Any]:
        values = {m.name: _fold(m, devices) for m in METRICS}
        span = union(work.start, work.end).span
        values["window_ns"] = float(span)
        values |= self._spread(work, span) | whole_report(self.report, self.timeline, self.kernel_class)
        if values["comm_wait_share"] is not None and values["busy_share"] is not None:
            values["busy_useful_share"] = max(values["busy_share"] - values["comm_wait_share"], 0.0)
        return _row("report", Path(self.report.info.source).name, span, values)

    def _spread(self, work: Work, window: int) -> Values:
        parts = [work.take(rows) for _, rows in _rank_rows(work)]
        ranks = [compute_time(part, self.kernel_class) for part in parts]
        most = max(ranks, default=0.0)
        out: Values = {"rank_count": len(ranks), "device_turns_share": device_turns(work)}
        if len(ranks) > 1 and most:
            out["rank_spread_share"] = (most - min(ranks)) / most
            out["rank_excess_share"] = (most - float(np.mean(ranks))) / most
        lost, collectives = rank_metrics(parts, self.kernel_class, self.groups, window)
        if collectives is not None:
            talks = communicates(work, self.kernel_class)
            out |= small_collectives_of_ranks(parts, collectives, talks, window, self.groups)
        return out | lost

    def _streams(self, work: Work) -> list[dict[str, Any]]:
        identity = (work.device, work.process, work.stream)
        key: Ints = np.zeros(len(work), np.int64)
        for column in identity:
            found, codes = np.unique(column, return_inverse=True)
            key = key * len(found) + codes.reshape(-1)
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
        place = place.reshape(-1)
        distinct = np.stack([column[first] for column in identity])
        rows = []
        for number in range(min(distinct.shape[1], MAX_SUBJECTS)):
            device, process, stream = (int(v) for v in distinct[:, number])
            values = self._measure(work.take(place == number), device)
            parts = [
                f"{what} {v}"
                for what, v in (("device", device), ("process", process), ("stream", stream))
                if v != NONE
            ]
            rows.append(_row("/".join(parts), ", ".join(parts), values["busy_ns"], values))
        return rows

    def _ranks(self, work: Work) -> list[dict[str, Any]]:
        rows = []
        for label, chosen in _rank_rows(work)[:MAX_SUBJECTS]:
            mine = work.take(chosen)
            device = int(mine.device[0])
            values = self._session(self._measure(mine, device))
            rows.append(_row(label, label, values["window_ns"], values))
        return rows

    def _kernels(self, work: Work) -> pa.Table:
        kernels = work.take((work.kind == KERNEL) & (work.name.codes >= 0))
        window = union(work.start, work.end).span * len(np.unique(work.device))
        duration = (kernels.end - kernels.start).astype(np.float64)
        total = float(duration.sum())
        order = np.argsort(kernels.name.codes, kind="stable")
        cuts = np.flatnonzero(np.diff(kernels.name.codes[order])) + 1
        rows = []
        for chosen in np.split(order, cuts) if len(order) else []:
            values = _kernel_values(kernels, chosen, duration, total, window, self.units)
            code = int(kernels.name.codes[chosen[0]])
            name = kernels.name.texts[code]
            row = _row(name, name, values["kernel_time_ns"], values)
            kind = self.kernel_class[code]
            row["comm_launch_count"] = len(chosen) if kind == "communication" else 0
            rows.append(row | {"class": kind, "library": self.kernel_library[code]})
        rows.sort(key=lambda r: -(r["weight_ns"] or 0))
        return _table(rows[:MAX_SUBJECTS], KERNEL_METRICS, ("class", "library"))

    def _ranges(self, work: Work) -> list[dict[str, Any]]:
        groups = self.groups
        window = union(work.start, work.end).span
        idle, late = np.zeros((2, len(work)), np.int64)
        devices = np.unique(work.device).tolist()
        for number in devices:
            mine = work.device == number
            gaps = find_gaps(work.take(mine), groups)
            at = np.flatnonzero(mine)[gaps.next]
            idle[at] = gaps.lengths
            late[at] = np.where(gaps.reason == REASONS.index("queue"), 0, gaps.lengths - gaps.profiler)
        members: dict[str, list[int]] = {}
        for code, path in enumerate(work.path.texts):
            parts = path.split(" / ")
            for depth in range(1, len(parts) + 1):
                if len(members) < MAX_SUBJECTS:
                    members.setdefault(" / ".join(parts[:depth]), []).append(code)
        is_kernel = (work.kind == KERNEL) & (work.path.codes >= 0)
        order = np.argsort(work.path.codes, kind="stable")
        bounds = np.searchsorted(work.path.codes[order], np.arange(len(work.path.texts) + 1))
        talks = np.array([*(kind == "communication" for kind in self.kernel_class), False])[work.name.codes]
        spent = np.where(work.kind == KERNEL, work.end - work.start, 0)
        shares = {"comm_share": _parts(spent, talks), "compute_share": _parts(spent, ~talks)}
        rows_out = []
        for path, codes in members.items():
            chosen = np.concatenate([order[bounds[c] : bounds[c + 1]] for c in codes])
            chosen = np.sort(chosen[is_kernel[chosen]])
            if len(chosen):
                values = _range_values(work, chosen, idle, window)
                values["idle_late_ns"] = float(late[chosen].sum()) / len(devices)
                for name, part in shares.items():
                    values[name] = None if part is None else float(part[chosen].sum())
                rows_out.append(_row(path, path, values["gpu_busy_ns"], values))
        rows_out.sort(key=lambda r: -(r["weight_ns"] or 0))
        return rows_out


def _parts(times: Ints, where: Bools) -> np.ndarray | None:
    """Return what each row holds of all marked times, None when all are zero."""
    marked = np.where(where, times, 0).astype(np.float64)
    whole = float(marked.sum())
    return marked / whole if whole else None


def _row(subject: str | None, label: str, weight: float | None, values: Mapping[str, Any]) -> dict[str, Any]:
    return {"subject_id": subject, "subject": label, "weight_ns": weight, **values}


def _table(
    rows: Sequence[Mapping[str, Any]], metrics: Iterable[Metric], texts: Sequence[str] = ()
) -> pa.Table:
    fields = [pa.field("subject_id", pa.string()), pa.field("subject", pa.string())]
    fields.append(pa.field("weight_ns", pa.float64(), metadata={"unit": "ns"}))
    fields += [pa.field(m.name, pa.float64(), metadata={"unit": m.unit, "doc": m.meaning}) for m in metrics]
    fields += [pa.field(name, pa.string()) for name in texts]
    columns = []
    for field in fields:
        values = [row.get(field.name) for row in rows]
        if field.type == pa.float64():
            values = [None if v is None else float(v) for v in values]
        columns.append(pa.array(values, field.type))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _fold(metric: Metric, devices: Sequence[Mapping[str, Any]]) -> float | None:
    known = [
        (float(d[metric.name]), float(d["window_ns"])) for d in devices if d.get(metric.name) is not None
    ]
    if not known:
        return None
    if metric.fold == "sum":
        return sum(value for value, _ in known)
    if metric.fold == "max":
        return max(value for value, _ in known)
    weight = sum(w for _, w in known)
    return sum(v * w for v, w in known) / weight if weight else None


def _rank_rows(work: Work) -> list[tuple[str, Bools]]:
    by_rank = (work.rank != NONE).all()
    keys = work.rank if by_rank else work.process
    return [
        (
            f"{'rank' if by_rank else 'process'} {key}" if key != NONE else "process",
            keys == key,
        )
        for key in np.unique(keys).tolist()
    ]


def _kernel_values(
    kernels: Work,
    rows: Ints,
    duration: np.ndarray,
    total: float,
    window: int,
    units: Mapping[Any, int | None],
) -> Values:
    mine = duration[rows]
    spent = float(mine.sum())
    many = len(rows) > 1
    later = float(np.median(mine[1:])) if many else 0.0
    called = rows[kernels.call_start[rows] != NONE]
    blocks = kernels.blocks[rows]
    known = float(np.median(blocks[blocks > 0])) if (blocks > 0).any() else None
    count = units.get(int(kernels.device[rows[0]]))
    return {
        "launch_count": len(rows),
        "kernel_time_ns": spent,
        "kernel_time_share": spent / total if total else None,
        "window_share": spent / window if window else None,
        "mean_ns": spent / len(rows),
        "median_ns": float(np.median(mine)),
        "p95_ns": float(np.percentile(mine, 95)),
        "min_ns": float(mine.min()),
        "max_ns": float(mine.max()),
        "variation_ratio": float(mine.std() / mine.mean()) if many and spent else None,
        "first_ratio": float(mine[0]) / later if later else None,
        "blocks_median_count": known,
        "launch_latency_ns": float(np.median(kernels.start[called] - kernels.call_start[called]))
        if len(called)
        else None,
        "fill_ratio": known / count if known and count else None,
    }


def _range_values(work: Work, rows: Ints, idle: Ints, window: int) -> Values:
    start, end = work.start[rows], work.end[rows]
    busy = union(start, end).total
    spent = float((end - start).sum())
    return {
        "launch_count": len(rows),
        "kernel_time_ns": spent,
        "gpu_busy_ns": busy,
        "gpu_window_share": busy / window if window else None,
        "kernel_mean_ns": spent / len(rows),
        "idle_ns": int(idle[rows].sum()),
    }


def metric(name: str) -> Metric:
    """Return the description of a metric of the wide scopes."""
    return BY_NAME[name]


__all__ = ["SCOPES", "Calls", "Metrics", "metric", "timeline_metrics"]
