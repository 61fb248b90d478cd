"""Ranges named alike but for a number (layer_0, layer_1, …; stage 2): do they take the same time?

Steps of a loop are numbered, too, but are no parts of one model: names of steps, batches and epochs are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from profrx.timeline.measure import Values

STEPS = re.compile(r"step|iter|batch|epoch|warm|request|token|frame|run\b|rep\b|trial", re.IGNORECASE)
LEAST = 4
"""Members from which a middle and a spread mean something."""
PARTS = ("comm_share", "compute_share")
"""What a row holds of all communication, and of all other kernel time."""
FENCE = 1.5
"""Quartile ranges above the upper quartile from which a member stands out (Tukey's fence)."""


def compare_layers(rows: Sequence[MutableMapping[str, Any]], window: int) -> Values:
    """Add the `sibling_…` metrics to the rows of ranges; return the `layer_…` metrics of the report.

    Times of one member are added up over its parents (one per step), and stand on the row that took most of them.
    """
    report: Values = {"layer_count": 0.0, "layer_spread_ratio": None, "layer_share": None}
    for row in rows:
        row["sibling_count"] = 0
    best = 0.0
    for members in _groups(rows).values():
        if len(members) < LEAST:
            continue
        times = np.array([sum(float(rows[at]["gpu_busy_ns"]) for at in found) for found in members.values()])
        _mark(rows, list(members.values()), times, window)
        if times.sum() > best:
            best = float(times.sum())
            least = float(times.min())
            report = {
                "layer_count": float(len(times)),
                "layer_spread_ratio": float(times.max()) / least if least else None,
                "layer_share": best / window if window else None,
            }
    return report


def _groups(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], dict[str, list[int]]]:
    """Return (parent without numbers, name without numbers) -> name -> rows."""
    found: dict[tuple[str, str], dict[str, list[int]]] = {}
    for at, row in enumerate(rows):
        parent, _, leaf = str(row["subject"]).rpartition(" / ")
        plain = re.sub(r"\d+", "#", leaf)
        if plain != leaf and not STEPS.search(leaf) and row.get("gpu_busy_ns"):
            found.setdefault((re.sub(r"\d+", "#", parent), plain), {}).setdefault(leaf, []).append(at)
    return found


def _mark(
    rows: Sequence[MutableMapping[str, Any]], members: Sequence[Sequence[int]], times: np.ndarray, window: int
) -> None:
    low, middle, high = (float(v) for v in np.percentile(times, (25, 50, 75)))
    fence = high + FENCE * (high - low)
    for found, time in zip(members, times.tolist(), strict=True):
        row = rows[max(found, key=lambda at: float(rows[at]["gpu_busy_ns"]))]
        row["sibling_count"] = len(times)
        row["sibling_ratio"] = time / middle if middle else None
        row["sibling_fence_ratio"] = time / fence if fence else None
        row["sibling_excess_share"] = max(time - middle, 0.0) / window if window else None
        for kind in PARTS:
            parts = [rows[at].get(kind) for at in found]
            row[f"sibling_{kind}"] = None if None in parts else sum(float(part or 0.0) for part in parts)
