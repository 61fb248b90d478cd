"""Kernels of summary-only inputs: what `nsys stats`, `rocprof --stats` and their like add up, as timeline subjects.

A summary knows how often each kernel ran and how long, not when: everything about windows, gaps and order is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profrx.timeline.classes import classify

if TYPE_CHECKING:
    import pyarrow as pa

METRIC = "kernel.duration"
COLUMNS = {
    "sum": "kernel_time_ns",
    "mean": "mean_ns",
    "median": "median_ns",
    "min": "min_ns",
    "max": "max_ns",
}
"""Statistic of a summary -> metric of the scope `kernel`."""


def kernel_rows(summaries: pa.Table, classes: Path) -> list[dict[str, Any]]:
    """Return one row per kernel, the longest first; empty when nothing sums up kernels in nanoseconds."""
    found: dict[str, dict[str, Any]] = {}
    for row in summaries.to_pylist():
        if row["metric"] != METRIC or row["kernel"] is None or row["value"] is None:
            continue
        values = found.setdefault(row["kernel"], {"launch_count": row["count"], "stddev": None})
        if row["unit"] == "ns":
            name = COLUMNS.get(row["statistic"], row["statistic"])
            values.setdefault(name, row["value"]) if name != "stddev" else values.update(stddev=row["value"])
    for values in found.values():
        _complete(values)
    total = sum(v["kernel_time_ns"] or 0.0 for v in found.values())
    kinds = classify(list(found), classes)
    rows = []
    for (name, values), (kind, library) in zip(found.items(), kinds, strict=True):
        time = values["kernel_time_ns"]
        share = time / total if time is not None and total > 0 else None
        subject = {"subject_id": name, "subject": name, "weight_ns": time, "class": kind, "library": library}
        talks = values["launch_count"] if kind == "communication" else 0
        rows.append({**values, **subject, "kernel_time_share": share, "comm_launch_count": talks})
    return sorted(rows, key=lambda r: -(r["weight_ns"] or 0.0))


def _complete(values: dict[str, Any]) -> None:
    """Fill what follows from the rest: the sum from mean and count, the mean from sum and count, the variation."""
    count, mean = values["launch_count"], values.get("mean_ns")
    values.setdefault("kernel_time_ns", mean * count if mean is not None and count else None)
    total = values["kernel_time_ns"]
    if mean is None and total is not None and count:
        mean = values["mean_ns"] = total / count
    deviation = values.pop("stddev")
    values["variation_ratio"] = (
        deviation / mean if deviation is not None and mean and count and count > 1 else None
    )


def report_values(kernels: list[dict[str, Any]]) -> Mapping[str, float | None]:
    """Return what the sums say about the whole run: how many kernels, how long on average, the top one's share."""
    counts = [k["launch_count"] for k in kernels]
    times = [k["kernel_time_ns"] for k in kernels]
    if not kernels or any(c is None for c in counts) or any(t is None for t in times):
        return {}
    whole, count = float(sum(times)), sum(counts)
    return {
        "kernel_count": float(count),
        "kernel_mean_ns": whole / count if count else None,
        "kernel_top_share": max(times) / whole if whole else None,
        "library_share": sum(k["weight_ns"] for k in kernels if k["library"] != "own") / whole
        if whole
        else None,
    }
