"""Metrics that only the whole report has: what was lost, how devices share the work, calls of other interfaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx.timeline.capture import KERNEL, Timeline, Work
from profrx.timeline.intervals import Union, union
from profrx.timeline.texts import NONE, ints, names
from profrx.timeline.validity import validity

if TYPE_CHECKING:
    from profrx.timeline.measure import Values
    from profrx_parsers.report import Report

ZEROED, WRONG_WAY = 0, 1
SAMPLED = {
    "sampled_active_share": r"^GR Active \[Throughput %",
    "sampled_sm_share": r"^SMs Active \[Throughput %",
}
"""Metric -> the sampled counter in percent. Source: names in captures of nsys 2023.4 and 2025.3."""
CHUNKS, LOW_BUSY = 30, 0.5
"""Parts of the window, and the busy share below which a part counts as idle. Source: defaults of the vendor's rule gpu_time_util."""


def whole_report(report: Report, timeline: Timeline, kinds: Sequence[str]) -> Values:
    """Return the report-only metrics; `kinds` is the class of each kernel name."""
    out = validity(report, timeline) | _graphics(report, timeline)
    work = timeline.work
    if len(work):
        out |= _devices(report, work, kinds) | _directives(report, work) | _low_phase(work)
    return out


def without_work(report: Report, timeline: Timeline) -> Values | None:
    """Return what a capture without timed GPU work tells, None when it is no such capture.

    Only formats that record a session can say that nothing ran; a capture whose launches lack times cannot.
    """
    if (
        "recorder" not in report.extras
        or report.compact("launches").num_rows
        or report.compact("copies").num_rows
    ):
        return None
    out = validity(report, timeline) | _graphics(report, timeline)
    lost = bool(out["loss_count"])
    out |= {
        "session_ns": timeline.session_ns,
        "operation_count": None if lost else 0.0,
        "api_call_count": None if lost else float(len(timeline.calls)),
        "range_count": float(timeline.ranges.count) if timeline.has_ranges or not lost else None,
    }
    return out | _sampled(report)


def _sampled(report: Report) -> Values:
    """Mean of the sampled activity: all that a capture with GPU metrics alone tells about the GPU."""
    samples = report.compact("samples")
    name, value = names(samples, "metric"), samples.column("value")
    out: Values = {}
    for column, pattern in SAMPLED.items():
        hit = name.hits(pattern)
        if hit.any():
            mean = pc.mean(value.filter(pa.array(hit))).as_py()
            out[column] = None if mean is None else mean / 100
    return out


def compute_time(work: Work, kinds: Sequence[str]) -> float:
    """Return the time in kernels, communication left out (sum)."""
    mine = np.array([*(k == "communication" for k in kinds), False], bool)[work.name.codes]
    rows = (work.kind == KERNEL) & ~mine
    return float((work.end - work.start)[rows].sum())


def _devices(report: Report, work: Work, kinds: Sequence[str]) -> Values:
    numbers = np.unique(work.device)
    out: Values = {"device_count": float(len(numbers)), "device_spread_share": None, "peer_copy_count": None}
    both = np.unique(np.stack([work.process, work.device]), axis=1)
    out["process_device_count"] = float(np.unique(both[0], return_counts=True)[1].max())
    copies = names(report.compact("copies"), "direction")
    if copies.texts or not len(copies.codes):
        out["peer_copy_count"] = float(copies.hits("^PtoP$").sum())
    if len(numbers) > 1 and len(np.unique(work.process)) == 1:
        times = [compute_time(work.take(work.device == number), kinds) for number in numbers.tolist()]
        if max(times):
            out["device_spread_share"] = (max(times) - min(times)) / max(times)
    return out


def _low_phase(work: Work) -> Values:
    """Find the longest stretch of little work, with all devices as one: any that works counts."""
    busy = union(work.start, work.end)
    edges = np.linspace(int(busy.starts[0]), int(busy.ends[-1]), CHUNKS + 1).astype(np.int64)
    length = np.diff(edges)
    low = busy.within(edges[:-1], edges[1:]) < LOW_BUSY * length
    turns = np.diff(np.concatenate([[0], low.astype(np.int8), [0]]))
    first, last = np.flatnonzero(turns == 1), np.flatnonzero(turns == -1)
    if not len(first) or not busy.span:
        return {"low_phase_share": 0.0, "low_phase_start_ns": None, "low_phase_end_ns": None}
    best = int((edges[last] - edges[first]).argmax())
    start, end = int(edges[first[best]]), int(edges[last[best]])
    return {
        "low_phase_share": (end - start) / busy.span,
        "low_phase_start_ns": float(start),
        "low_phase_end_ns": float(end),
    }


def _directives(report: Report, work: Work) -> Values:
    """Time in data constructs of OpenACC; 0 where none was recorded."""
    if not report.has("ops") or "recorder" not in report.extras:
        return {}
    ops = report.compact("ops")
    data = names(ops, "category").hits("^openacc data$")
    start, end = ints(ops, "start_ns"), ints(ops, "end_ns")
    data &= (start != NONE) & (end != NONE)
    span = Union(work.start[:1], np.array([work.end.max()]))
    inside = union(start[data], end[data]).shared(span)
    return {
        "directive_data_share": inside / span.total if span.total else None,
        "directive_data_count": float(data.sum()),
    }


def _graphics(report: Report, timeline: Timeline) -> Values:
    ask = report.extras.get("graphics")
    flagged: Any = ask() if ask is not None else None
    if flagged is None:
        return {}
    time = union(flagged.starts, flagged.ends).total
    return {
        "flagged_memory_count": float(len(flagged.kind)),
        "zeroed_memory_count": float((flagged.kind == ZEROED).sum()),
        "wrong_way_memory_count": float((flagged.kind == WRONG_WAY).sum()),
        "flagged_memory_ns": float(time),
        "flagged_memory_share": time / timeline.session_ns if timeline.session_ns else None,
    }
