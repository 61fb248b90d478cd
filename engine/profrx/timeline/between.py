"""What ranks and devices lose by each other: waits for a late rank, collectives too small, devices that take turns.

A collective ends on all its ranks at once and starts on each when that rank gets there. So the rank whose kernel is
shortest came last, and what the others' kernels take longer they waited. Durations alone say so: the clocks of
machines and reports need not agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from profrx.timeline.capture import KERNEL, Work
from profrx.timeline.intervals import Bools, Ints, union
from profrx.timeline.texts import NONE

Values = dict[str, float | None]

PAIRWISE = ("sendrecv", "ncclsend", "ncclrecv")
"""Kernels between two ranks (lower case): what one sends need not be the n-th that the other receives."""
SMALL_NS = 50_000
"""A collective shorter than this mostly pays its latency, over links inside a machine; twice that between machines."""
MAX_RANKS = 4096


@dataclass(frozen=True)
class _Collectives:
    """Collectives that all ranks took part in: arrays of shape (collective, rank), in ns."""

    length: Ints
    exposed: Ints
    """Part of each during which its device ran no other kernel."""


def rank_metrics(work: Work, ranks: Sequence[Bools], kinds: Sequence[str]) -> Values:
    """Return what ranks lose by waiting for each other; `ranks` are the rows of each, `kinds` the class by kernel name.

    Null where fewer than two ranks took part in the same collectives.
    """
    empty: Values = dict.fromkeys(
        (
            "collective_count",
            "rank_wait_share",
            "rank_late_share",
            "rank_late_device_id",
            "rank_late_idle_share",
        )
    )
    if not 1 < len(ranks) <= MAX_RANKS or "communication" not in kinds:
        return empty
    parts = [work.take(rows) for rows in ranks]
    found = _matched(parts, communicates(work, kinds))
    if found is None:
        return empty
    window = union(work.start, work.end).span
    wait = found.length - found.length.min(axis=1, keepdims=True)
    lost = np.minimum(wait, found.exposed).max(axis=1)
    total = float(lost.sum())
    last = found.length.argmin(axis=1)
    blame = np.bincount(last, weights=lost, minlength=len(parts))
    late = int(blame.argmax())
    idle = [1 - (ratio(u.total, u.span) or 0.0) for u in (union(p.start, p.end) for p in parts)]
    others = [share for rank, share in enumerate(idle) if rank != late]
    return {
        "collective_count": float(len(found.length)),
        "rank_wait_share": ratio(total, window),
        "rank_late_share": float(blame[late]) / total if total else None,
        "rank_late_device_id": _device(parts[late]) if total else None,
        "rank_late_idle_share": max(idle[late] - float(np.mean(others)), 0.0) if total else None,
    }


def ratio(part: float, whole: float) -> float | None:
    """Return a share, None of nothing."""
    return part / whole if whole else None


def _device(work: Work) -> float | None:
    number = int(work.device[0])
    return None if number == NONE else float(number)


def communicates(work: Work, kinds: Sequence[str]) -> Bools:
    """Return by kernel code (and for no code) whether it is a collective of all ranks."""
    texts = zip(kinds, work.name.texts, strict=True)
    return np.array(
        [*(k == "communication" and not any(p in t.lower() for p in PAIRWISE) for k, t in texts), False], bool
    )


def _matched(parts: Sequence[Work], talks: Bools) -> _Collectives | None:
    """Pair the n-th collective of a name over all ranks; names that occur a different number of times are left out."""
    lengths, exposed = [], []
    mine = [np.flatnonzero((part.kind == KERNEL) & talks[part.name.codes]) for part in parts]
    codes = [part.name.codes[rows] for part, rows in zip(parts, mine, strict=True)]
    open_parts = [_exposed(part, rows) for part, rows in zip(parts, mine, strict=True)]
    for code in np.unique(codes[0]).tolist():
        rows = [np.flatnonzero(one == code) for one in codes]
        if len({len(one) for one in rows}) != 1:
            continue
        lengths.append(
            np.stack([(p.end - p.start)[m[r]] for p, m, r in zip(parts, mine, rows, strict=True)], axis=1)
        )
        exposed.append(np.stack([part[r] for part, r in zip(open_parts, rows, strict=True)], axis=1))
    return _Collectives(np.concatenate(lengths), np.concatenate(exposed)) if lengths else None


def _exposed(work: Work, rows: Ints) -> Ints:
    """Return how long each of `rows` runs with no other kernel of that rank that is not among them."""
    other = work.kind == KERNEL
    other[rows] = False
    beside = union(work.start[other], work.end[other])
    exposed: Ints = work.end[rows] - work.start[rows] - beside.within(work.start[rows], work.end[rows])
    return exposed


def small_collectives(kernels: Work, talk: Bools, window: int) -> Values:
    """Return the time that short communication kernels cost one device: theirs, uncovered, and the idle time around them."""
    small = talk & (kernels.end - kernels.start < SMALL_NS)
    if not small.any():
        return {"comm_small_share": 0.0, "comm_small_count": 0.0}
    large = union(kernels.start[~small], kernels.end[~small])
    busy = union(kernels.start, kernels.end)
    gaps = busy.gaps()
    after = np.searchsorted(kernels.start, gaps.ends, side="left")
    beside = small[np.minimum(after, len(kernels) - 1)] & (gaps.ends - gaps.starts < SMALL_NS)
    time = union(kernels.start[small], kernels.end[small])
    spent = time.total - time.shared(large) + int((gaps.ends - gaps.starts)[beside].sum())
    return {"comm_small_share": ratio(spent, window), "comm_small_count": float(small.sum())}


def device_turns(work: Work) -> float | None:
    """Return (time in which any device of a process works - time of its busiest one) / window: lost by taking turns.

    Largest of the processes; None where no process uses several devices.
    """
    most: float | None = None
    window = union(work.start, work.end).span
    for process in np.unique(work.process).tolist():
        mine = work.take(work.process == process)
        devices = np.unique(mine.device)
        if len(devices) < 2 or not window:
            continue
        busy = [union(mine.start[at], mine.end[at]).total for at in (mine.device == d for d in devices)]
        together = union(mine.start, mine.end).total
        most = max(most or 0.0, (together - max(busy)) / window)
    return most
