"""What short collectives cost, and what devices lose that take turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from profrx.timeline.calls import CallGroups
from profrx.timeline.capture import KERNEL, Work
from profrx.timeline.gaps import LAUNCH_GAP_NS, LONGEST_LAUNCH_GAP_NS, launch_gap_ns
from profrx.timeline.intervals import Bools, Ints, union
from profrx.timeline.ranks import Collectives, Values, ratio

SMALL_NS = 50_000
"""A collective shorter than this mostly pays its latency, over links inside a machine; twice that between machines."""


def launch_pause_ns(work: Work, groups: Mapping[int, CallGroups]) -> int:
    """Return how long the device may be idle before a collective because the host launches no faster."""
    found = (launch_gap_ns(groups[p]) for p in np.unique(work.process).tolist() if p in groups)
    return max(found, default=LAUNCH_GAP_NS)


def small_collectives(
    kernels: Work, talk: Bools, window: int, pause: int, waited: Ints | None = None
) -> Values:
    """Return the time that short communication kernels cost one device: theirs, uncovered, and the idle time before them.

    `pause` is the longest idle time before a collective that counts as that of its launch (see `launch_pause_ns`); between two
    short ones the host did nothing but that, so it may take as long as any launch. `waited` is the part of each kernel's time
    that passed until the last rank was there: it makes no collective long, and is no time of the collective's.
    """
    start = kernels.start if waited is None else kernels.start + waited
    small = talk & (kernels.end - start < SMALL_NS)
    if not small.any():
        return {"comm_small_share": 0.0, "comm_small_count": 0.0}
    large = union(start[~small], kernels.end[~small])
    busy = union(kernels.start, kernels.end)
    gaps = busy.gaps()
    after = np.searchsorted(kernels.start, gaps.ends, side="left")
    before = np.where(small[np.maximum(after - 1, 0)], max(pause, LONGEST_LAUNCH_GAP_NS), pause)
    beside = small[np.minimum(after, len(kernels) - 1)] & (gaps.ends - gaps.starts <= before)
    time = union(start[small], kernels.end[small])
    spent = time.total - time.shared(large) + int((gaps.ends - gaps.starts)[beside].sum())
    return {"comm_small_share": ratio(spent, window), "comm_small_count": float(small.sum())}


def small_collectives_of_ranks(
    parts: Sequence[Work], found: Collectives, talks: Bools, window: int, groups: Mapping[int, CallGroups]
) -> Values:
    """Return the same for a job: the time of the rank that they cost most, because the others wait for that one; all counts."""
    each = []
    for rank, part in enumerate(parts):
        waited = np.zeros(len(part), np.int64)
        waited[found.rows[:, rank]] = (found.length - found.transfer)[:, rank]
        rows = np.flatnonzero(part.kind == KERNEL)
        pause = launch_pause_ns(part, groups)
        each.append(
            small_collectives(part.take(rows), talks[part.name.codes[rows]], window, pause, waited[rows])
        )
    return {
        "comm_small_share": max(one["comm_small_share"] or 0.0 for one in each),
        "comm_small_count": sum(one["comm_small_count"] or 0.0 for one in each),
    }


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
