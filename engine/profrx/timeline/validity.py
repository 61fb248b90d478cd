"""May the numbers of a capture be trusted? What was lost, what the profiler cost, whether the clocks agree.

A lost kernel looks like idle time, so what cannot be excluded here is said beside every busy share, and rules about
gaps are held back by the guards of rules/profrx_rules/timeline/validity.rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from profrx.timeline.capture import GRAPH, KERNEL, Timeline, Work
from profrx.timeline.intervals import Ints, Union, union
from profrx.timeline.texts import NONE, Names, ints, names

if TYPE_CHECKING:
    from profrx.timeline.measure import Values
    from profrx_parsers.report import Report

KEYS = (
    "loss_count", "events_lost_share", "recorder_doubt_count", "clock_disorder_share", "unmatched_launch_share",
    "unmatched_launch_count", "profiler_share",
)  # fmt: skip
LOSSES = frozenset(
    (
        "nsys-cut", "nsys-damaged-block", "nsys-damaged-database", "nsys-damaged-event", "nsys-damaged-table",
        "nsys-event-count", "nsys-recorder-lost", "nsys-too-large",
    )
)  # fmt: skip
"""Problems of the import that mean lost events: kernels, copies or calls may be missing anywhere."""
LAUNCHES = r"Launch(Cooperative)?Kernel|LaunchKernelEx|LaunchGrid|GraphLaunch$"
CAPTURE_BEGIN, CAPTURE_END = r"StreamBeginCapt", r"StreamEndCapt"


def recorder_time(report: Report) -> dict[int, Union]:
    """Return the profiler's own work by process; empty when the format does not record it."""
    recorder = _recorder(report)
    if recorder is None:
        return {}
    return {
        int(p): union(recorder.starts[recorder.process == p], recorder.ends[recorder.process == p])
        for p in np.unique(recorder.process)
    }


def validity(report: Report, timeline: Timeline) -> Values:
    """Return the metrics of `KEYS` for the whole report."""
    work = timeline.work
    out: Values = dict.fromkeys(KEYS, None)
    out |= _losses(report)
    recorder = _recorder(report)
    if recorder is not None:
        out["recorder_doubt_count"] = _doubts(recorder.kinds, work)
        out["profiler_share"] = _profiler_share(report, work)
    if not len(work):
        return out
    called = (work.call_start != NONE) & ((work.kind == KERNEL) | (work.kind == GRAPH))
    if called.any():
        out["clock_disorder_share"] = float((work.start[called] < work.call_start[called]).mean())
    if timeline.has_calls and called.any():
        out |= _unmatched(report, work)
    return out


def _recorder(report: Report) -> Any:
    ask = report.extras.get("recorder")
    return ask() if ask is not None else None


def _losses(report: Report) -> Values:
    """Kinds of loss so far, and the share of the events where the header's count tells it."""
    found = {p.code: p for p in report.problems if p.severity == "data-loss" and p.code in LOSSES}
    share = report.extras.get("events_lost_share")
    known = share() if share is not None else None
    return {"loss_count": float(len(found)), "events_lost_share": known if found else 0.0}


def _doubts(kinds: Mapping[str, frozenset[int]] | None, work: Work) -> float | None:
    if kinds is None:
        return None
    mine = {*np.unique(work.process).tolist(), 0}
    processes = {p for kind in ("doubted", "not-traced", "clock") for p in kinds.get(kind, ())}
    return float(len(processes & mine))


def _profiler_share(report: Report, work: Work) -> float | None:
    if not len(work):
        return None
    span = Union(work.start[:1], np.array([work.end.max()]))
    mine = recorder_time(report)
    inside = [mine[p].shared(span) for p in np.unique(work.process).tolist() if p in mine]
    return max(inside, default=0) / span.total if span.total else None


def _unmatched(report: Report, work: Work) -> Values:
    """Launch calls that returned without error and whose work is not in the capture, of all that should have some.

    Calls while a stream is captured into a graph launch nothing. Calls after the last one whose work is there were cut off
    by the end of the capture: no gap comes from them.
    """
    calls = report.compact("api_calls")
    label = names(calls, "name")
    launching = label.hits(LAUNCHES)
    failed = ints(calls, "return_value")
    launching &= (failed == 0) | (failed == NONE)
    rows = np.flatnonzero(launching)
    if not len(rows):
        return {}
    rows = rows[~_captured(calls, label, rows)]
    if not len(rows):
        return {}
    launches = report.compact("launches")
    held = _keys(ints(launches, "process_id"), ints(launches, "correlation_id"))
    copies = report.compact("copies")  # a graph may hold nothing but copies
    held = np.concatenate([held, _keys(ints(copies, "process_id"), ints(copies, "correlation_id"))])
    start = ints(calls, "start_ns")[rows]
    found = np.isin(_keys(ints(calls, "process_id")[rows], ints(calls, "correlation_id")[rows]), held)
    if not found.any():
        return {}
    before = start <= start[found].max()
    lost = int((before & ~found).sum())
    return {"unmatched_launch_count": float(lost), "unmatched_launch_share": lost / int(before.sum())}


def _captured(calls: pa.Table, label: Names, rows: Ints) -> np.ndarray:
    """Return which calls lie between the begin and the end of a stream capture of their process."""
    begins, ends = label.hits(CAPTURE_BEGIN), label.hits(CAPTURE_END)
    inside = np.zeros(len(rows), bool)
    if not begins.any():
        return inside
    process, start = ints(calls, "process_id"), ints(calls, "start_ns")
    for number in np.unique(process[begins]).tolist():
        opened = np.sort(start[begins & (process == number)])
        closed = np.sort(start[ends & (process == number)])
        mine = process[rows] == number
        at = start[rows]
        depth = np.searchsorted(opened, at, side="right") - np.searchsorted(closed, at, side="right")
        inside |= mine & (depth > 0)
    return inside


def _keys(process: Ints, correlation: Ints) -> Ints:
    return process << 32 | correlation & 0xFFFF_FFFF
