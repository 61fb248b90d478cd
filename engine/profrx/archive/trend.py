"""`trend`: how one kernel's time moved over the reports of an archive.

A series is one canonical kernel on one device with one launch shape, in order of capture. Change points are
found by Pettitt's test (rank sums: no assumption about the distribution), applied again to both sides
of each point found; a point counts when p <= `P_LIMIT` **and** the medians on both sides differ by at least
`MIN_CHANGE`. Fewer than `MIN_POINTS` reports cannot show a change with that test: the answer is "too few".
Set-up changes (driver, tool, clocks, runtime) between neighbours are marked, since they explain a step
without any change of code.

Source of the test: A. N. Pettitt, "A Non-Parametric Approach to the Change-Point Problem", 1979.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from profrx.archive.store import Archive

P_LIMIT = 0.05
MIN_CHANGE = 0.02
MIN_POINTS = 12
_SETUP = ("driver", "tool_version", "clocks", "runtime_version")


@dataclass(frozen=True)
class Change:
    """A change point: `index` is the first report of the new level."""

    index: int
    before_ns: float
    after_ns: float
    p: float
    setup: tuple[str, ...]
    """Set-up facts that changed between the reports on both sides of the point."""

    @property
    def ratio(self) -> float:
        """New level by old."""
        return self.after_ns / self.before_ns


@dataclass(frozen=True)
class Series:
    """One kernel, device and shape over time; lists are parallel."""

    kernel_short: str
    kernel_id: str
    device: str
    grid: str
    block: str
    when: list[str | None]
    uris: list[str]
    duration_ns: list[float]
    setup_changes: dict[int, tuple[str, ...]]
    changes: list[Change]

    @property
    def verdict(self) -> str:
        """``steady``, ``changed`` or ``too few``."""
        if self.changes:
            return "changed"
        return "steady" if len(self.duration_ns) >= MIN_POINTS else "too few"


def trend(archive: Archive, kernel: str | None = None, *, limit: int = 50) -> list[Series]:
    """Return the series of kernels whose name holds `kernel` or matches it as a glob (all when None), the costliest first."""
    # names first: there are few of them, and kernels are found by id
    where = (
        "AND k.kernel_id IN (SELECT kernel_id FROM kernel_name_rows WHERE kernel LIKE ? ESCAPE '\\' OR kernel GLOB ? OR kernel_id = ?)"
        if kernel
        else ""
    )
    like = "%" + (kernel or "").replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    rows = archive.query(
        f"""
        SELECT k.kernel_id, k.kernel_short, coalesce(k.device, '') AS device, coalesce(k.grid, '') AS grid,
               coalesce(k.block, '') AS block, k.duration_median_ns AS ns, k.duration_ns AS total, r.captured_at AS at, r.uri,
               r.driver, r.tool_version, r.clocks, r.runtime_version
        FROM kernels k JOIN reports r USING (report_id)
        WHERE r.status = 'ok' AND k.duration_median_ns IS NOT NULL {where}
        ORDER BY k.kernel_id, device, grid, block, r.captured_at IS NULL, r.captured_at, r.uri
        """,
        (like, kernel, kernel) if kernel else (),
    ).to_pylist()
    grouped: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        key = (row["kernel_id"] or "", row["device"], row["grid"], row["block"])
        grouped.setdefault(key, []).append(row)
    heaviest = sorted(
        grouped.values(), key=lambda g: (-sum(r["total"] or 0.0 for r in g), g[0]["kernel_id"] or "")
    )
    return [_series(group) for group in heaviest[:limit]]


def _series(rows: list[dict[str, Any]]) -> Series:
    values = np.array([r["ns"] for r in rows], dtype=np.float64)
    moved = _moved(rows)
    first = rows[0]
    changes = [Change(i, before, after, p, moved.get(i, ())) for i, before, after, p in change_points(values)]
    return Series(
        first["kernel_short"] or "", first["kernel_id"] or "", first["device"], first["grid"], first["block"],
        [r["at"] for r in rows], [r["uri"] for r in rows], values.tolist(), moved, changes,
    )  # fmt: skip


def _moved(rows: list[dict[str, Any]]) -> dict[int, tuple[str, ...]]:
    """Return which set-up facts each report has otherwise than the last one before it that says; unknown is no change."""
    last: dict[str, Any] = {}
    moved: dict[int, tuple[str, ...]] = {}
    for i, row in enumerate(rows):
        known = {name: row[name] for name in _SETUP if row[name] is not None}
        if changed := tuple(name for name, value in known.items() if last.get(name, value) != value):
            moved[i] = changed
        last |= known
    return moved


def change_points(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[tuple[int, float, float, float]]:
    """Return (index, median before, median after, p) of every change point, in order."""
    splits: list[tuple[int, float]] = []
    pending = [(0, len(values))]
    while pending:
        low, high = pending.pop()
        if high - low < MIN_POINTS:
            continue
        place, p = pettitt(values[low:high])
        left, right = np.median(values[low : low + place]), np.median(values[low + place : high])
        if p <= P_LIMIT and left > 0 and abs(right / left - 1) >= MIN_CHANGE:
            splits.append((low + place, p))
            pending += [(low, low + place), (low + place, high)]
    splits.sort()
    edges = [0, *(i for i, _ in splits), len(values)]
    return [
        (i, float(np.median(values[edges[n] : i])), float(np.median(values[i : edges[n + 2]])), p)
        for n, (i, p) in enumerate(splits)
    ]


def pettitt(values: np.ndarray[Any, np.dtype[np.float64]]) -> tuple[int, float]:
    """Return the likeliest change (index of the first value after it) and its approximate p value."""
    count = len(values)
    order = np.argsort(values, kind="stable")
    ranks = np.empty(count)
    ranks[order] = np.arange(1, count + 1)
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.bincount(inverse, ranks) / counts)[inverse]  # ties share their mean rank
    steps = 2 * np.cumsum(ranks)[:-1] - np.arange(1, count) * (count + 1)
    place = int(np.argmax(np.abs(steps)))
    p = 2 * np.exp(-6 * steps[place] ** 2 / (count**3 + count**2))
    return place + 1, float(min(p, 1.0))
