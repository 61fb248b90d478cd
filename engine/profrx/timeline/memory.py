"""Device memory over time: peak, growth, late allocations. Only what the capture recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profrx.timeline.texts import NONE, ints, names

if TYPE_CHECKING:
    from profrx.timeline.measure import Values
    from profrx_parsers.report import Report

KEYS = ("memory_peak_share", "memory_growth_share", "late_allocation_count")
EARLY = 1 / 3
"""What is allocated in this part of the window is set-up; later allocations count as late."""


def memory_metrics(report: Report, start: int, end: int) -> dict[int, Values]:
    """Return memory metrics per device; the window [start, end] is that of the GPU work."""
    table = report.compact("memory_events")
    if not len(table):
        return {}
    device, time, size = ints(table, "device_id"), ints(table, "time_ns"), ints(table, "bytes")
    on_device = names(table, "kind").hits("^(device|managed)") & (time != NONE) & (size != NONE)
    adds, frees = names(table, "operation").hits("^allocate$"), names(table, "operation").hits("^free$")
    capacity = dict(
        zip(
            report.table("devices").column("device_id").to_pylist(),
            report.table("devices").column("memory_bytes").to_pylist(),
            strict=True,
        )
    )
    found: dict[int, Values] = {}
    for number in np.unique(device[on_device]).tolist():
        rows = np.flatnonzero(on_device & (device == number) & (adds | frees))
        if not len(rows):
            continue
        rows = rows[np.argsort(time[rows], kind="stable")]
        live = np.cumsum(np.where(adds[rows], size[rows], -size[rows]))
        early = start + int((end - start) * EARLY)
        at = int(np.searchsorted(time[rows], early, side="right"))
        settled = float(live[at - 1]) if at else 0.0
        last = float(live[int(np.searchsorted(time[rows], end, side="right")) - 1])
        total = capacity.get(number)
        late = adds[rows] & (time[rows] > early) & (time[rows] <= end)
        found[number] = {
            "memory_peak_share": float(live.max()) / total if total else None,
            "memory_growth_share": max(last - settled, 0.0) / last if last > 0 else None,
            "late_allocation_count": int(late.sum()),
        }
    return found
