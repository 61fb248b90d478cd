"""Kernel rows of the archive: launches of one kernel, device and shape, their times and medians of metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from profrx.evaluate.metrics import Metrics

_SHAPE = ("kernel_id", "device_id", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")


def kernels(
    launches: pa.Table, devices: dict[int, dict[str, Any]], base_ns: float | None, verdicts: dict[str, str]
) -> tuple[Any, list[dict[str, Any]]]:
    """Group launches by kernel, device and shape; returns the group of each launch and one row per group."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if not launches.num_rows:
        return np.empty(0, dtype=np.int64), []
    keys = [pc.cast(launches.column(n), pa.string()) for n in _SHAPE]
    joined = pc.binary_join_element_wise(*keys, "\x1f", null_handling="replace", null_replacement="")
    encoded = (
        joined.combine_chunks().dictionary_encode()
        if isinstance(joined, pa.ChunkedArray)
        else joined.dictionary_encode()
    )
    group = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    count = len(encoded.dictionary)
    first = np.full(count, -1, dtype=np.int64)
    first[group[::-1]] = np.arange(launches.num_rows)[::-1]
    duration = launches.column("duration_ns").to_numpy()
    rows = []
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(count + 1))
    heads = launches.select(["kernel", "kernel_short", *_SHAPE]).take(pa.array(first)).to_pylist()
    for n, head in enumerate(heads):
        times = duration[order[bounds[n] : bounds[n + 1]]]
        times = times[np.isfinite(times)]
        device = devices.get(head["device_id"], {})
        total = float(times.sum()) if times.size else None
        rows.append(
            {
                "kernel_row": n,
                "kernel_id": head["kernel_id"],
                "kernel": head["kernel"],
                "kernel_short": head["kernel_short"],
                "device": device.get("name"),
                "arch": device.get("arch"),
                "grid": _shape(head, "grid"),
                "block": _shape(head, "block"),
                "launches": int(bounds[n + 1] - bounds[n]),
                "duration_ns": total,
                "duration_median_ns": float(np.median(times)) if times.size else None,
                "duration_min_ns": float(times.min()) if times.size else None,
                "duration_max_ns": float(times.max()) if times.size else None,
                "time_share": total / base_ns if total is not None and base_ns else None,
                "verdict": verdicts.get(head["kernel"]),
            }
        )
    return group, rows


def _shape(head: dict[str, Any], what: str) -> str | None:
    sides = [head[f"{what}_{axis}"] for axis in "xyz"]
    return None if sides[0] is None else "x".join(str(s if s is not None else 1) for s in sides)


BLOCK = 1 << 21
"""Values that are sorted at a time."""


def medians(
    metrics: Metrics, names: Sequence[str], owner: Any, count: int
) -> Iterator[tuple[str, int, float]]:
    """Yield (metric, group, median of its known values) for every group that has one, metric by metric.

    Args:
        metrics: over a frame of launches.
        names: numeric metrics of the catalogue.
        owner: group of each launch, 0..count-1.
        count: number of groups.
    """
    import numpy as np

    from profrx.evaluate import operators
    from profrx.evaluate.outcomes import KEPT_ROWS

    rows = owner.size
    step = max(1, BLOCK // max(rows, 1))
    for first in range(0, len(names), step):
        block = names[first : first + step]
        values = np.stack([operators.as_floats(metrics.column(name), rows) for name in block])
        if rows > KEPT_ROWS:
            for name in block:
                metrics.release(name)
        known = np.isfinite(values)
        key = (np.arange(len(block))[:, None] * count + owner)[known]
        ordered = values[known]
        ordered = ordered[np.lexsort((ordered, key))]
        tally = np.bincount(key, minlength=len(block) * count)
        start = np.cumsum(tally) - tally
        some = np.flatnonzero(tally)
        low = ordered[start[some] + (tally[some] - 1) // 2]
        middle = (low + ordered[start[some] + tally[some] // 2]) / 2
        for cell, value in zip(some.tolist(), middle.tolist(), strict=True):
            yield block[cell // count], cell % count, value
