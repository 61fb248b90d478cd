"""Why the GPU was idle: every gap gets exactly one reason, so that the shares add up to the idle share.

The reasons, first that applies:

unknown     the operation after the gap has no host call in the capture
queue       it had been submitted before the gap began: the device's own latency, or a wait for another stream
first       set-up: nothing but copies and sets has run yet, or the operation is the first launch of its kernel, or the
            gap lies before `SETTLED` of all kernels were seen once (loading, compiling, tuning, first allocations)
allocation  half of the gap passed inside cudaMalloc, cudaFree and their like
copy        half of it passed inside copy calls (staging of pageable memory, blocking copies)
sync        the host was waiting for the device when the gap began, so nothing could be queued
launch      the gap is no longer than `launch_gap_ns`: the host submits as fast as it can
host        the host did something else: its own code, data loading, another library

Time in the profiler's own work (starting up, emptying its buffers) is taken off every gap whose call is known and was not
made before it, and counts as `profiler`.

A wait can be blamed for no more idle time than the GPU work it waited for: without it the host would have worked
on during that time. What a gap is longer than that counts as `launch` where the whole gap is no longer than `launch_gap_ns`,
else as `host`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from profrx.timeline.calls import CallGroups
from profrx.timeline.capture import Work
from profrx.timeline.intervals import Bools, Ints, Union, union
from profrx.timeline.texts import NONE

REASONS = ("unknown", "queue", "profiler", "first", "allocation", "copy", "sync", "launch", "host")
LAUNCH_GAP_NS = 50_000
"""Submitting one operation takes 2 to 10 us in C++ and 10 to 50 us through a framework; a longer pause is host work,
unless the host is slow throughout:"""
USUAL_PAUSES, LONGEST_LAUNCH_GAP_NS = 3, 200_000
"""a gap of up to so many usual pauses between launch calls, and at most so long, is the host's pace as well."""
PACE_LEAST = 100
"""Launches from which there is a pace."""
SETTLED = 0.9
"""Share of the distinct kernels after whose first launches a capture counts as settled."""
SLICE = 1 << 18
"""Gaps that are explained at a time: what it takes on the way is several times what comes out."""
SYNC_TAIL_NS = 5_000
"""A wait returns this long after the device is done, at most, and still counts as the reason of the gap."""


@dataclass(frozen=True)
class Gaps:
    """Idle times of one device between its first and last operation.

    Attributes:
        starts, ends: of each gap.
        reason: index into `REASONS`.
        next: index of the operation that ended the gap.
    """

    starts: Ints
    ends: Ints
    reason: npt.NDArray[np.int8]
    next: Ints
    beyond_wait: Ints
    """Part of a ``sync`` gap that would have been idle without the wait as well."""
    profiler: Ints
    """Part of each gap in which the profiler itself worked."""
    is_short: Bools
    """Gaps no longer than it takes the host to launch."""

    @property
    def lengths(self) -> Ints:
        """Length of each gap."""
        return self.ends - self.starts

    def total(self, reason: str) -> int:
        """Return the idle time with this reason."""
        if reason == "profiler":
            return int(self.profiler.sum())
        found = int((self.lengths - self.profiler)[self.reason == REASONS.index(reason)].sum())
        if reason == "sync":
            return found - int(self.beyond_wait.sum())
        if reason in ("launch", "host"):
            return found + int(self.beyond_wait[self.is_short == (reason == "launch")].sum())
        return found

    def uncovered(self, ranges: Union, least: int) -> int:
        """Return how much of the ``host`` time in pieces of at least `least` ns no range covers."""
        host = self.reason == REASONS.index("host")
        waited = ~host & ~self.is_short
        starts = np.concatenate([self.starts[host], (self.ends - self.beyond_wait)[waited]])
        ends = np.concatenate([self.ends[host], self.ends[waited]])
        long = ends - starts >= least
        starts, ends = starts[long], ends[long]
        return int((ends - starts - ranges.within(starts, ends)).sum())

    def union(self) -> Union:
        """Return the gaps as intervals."""
        return Union(self.starts, self.ends)


def find_gaps(work: Work, groups: dict[int, CallGroups]) -> Gaps:
    """Return the gaps of one device (`work` holds only its operations) with their reasons."""
    busy = union(work.start, work.end)
    idle = busy.gaps()
    after = np.searchsorted(work.start, idle.ends, side="left")
    after = np.minimum(after, max(len(work) - 1, 0))
    reason = np.full(len(idle.starts), REASONS.index("unknown"), np.int8)
    called = work.call_start[after] != NONE if len(after) else np.zeros(0, bool)
    first_use = _first_uses(work)
    profiler = np.zeros(len(idle.starts), np.int64)
    is_short = np.zeros(len(idle.starts), bool)
    for process, group in groups.items():
        mine = np.flatnonzero(called & (work.process[after] == process))
        pace = launch_gap_ns(group) if len(mine) else 0
        for low in range(0, len(mine), SLICE):
            rows = mine[low : low + SLICE]
            starts, ends, at = idle.starts[rows], idle.ends[rows], after[rows]
            reason[rows] = _reasons(starts, ends, work.call_end[at], first_use[at], group, pace)
            is_short[rows] = ends - starts <= pace
            blamed = reason[rows] != REASONS.index("queue")
            profiler[rows[blamed]] = group.recorder.within(starts[blamed], ends[blamed])
    first = int(work.start[0]) if len(work) else 0
    beyond = _beyond_wait(idle, reason, profiler, first)
    return Gaps(idle.starts, idle.ends, reason, after, beyond, profiler, is_short)


def _beyond_wait(idle: Union, reason: npt.NDArray[np.int8], profiler: Ints, first: int) -> Ints:
    rows = np.flatnonzero(reason == REASONS.index("sync"))
    beyond = np.zeros(len(idle.starts), np.int64)
    if len(rows):
        since = np.concatenate([[first], idle.ends[rows[:-1]]])
        work = idle.starts[rows] - since
        beyond[rows] = np.maximum(idle.ends[rows] - idle.starts[rows] - profiler[rows] - work, 0)
    return beyond


def _first_uses(work: Work) -> Bools:
    """Return the operations that belong to set-up: before the first kernel, first launches, and what lies before settling.

    The last holds only for a capture that settles in its first half: a program of several phases keeps meeting new kernels.
    """
    first = np.zeros(len(work), bool)
    codes, rows = np.unique(work.name.codes, return_index=True)
    rows = np.sort(rows[codes >= 0])
    if len(rows):
        first[: rows[0]] = True
        first[rows] = True
        settled = int(rows[int(np.ceil(len(rows) * SETTLED)) - 1])
        if len(rows) > 1 and settled * 2 <= len(work):
            first[:settled] = True
    return first


def launch_gap_ns(group: CallGroups) -> int:
    """Return how long a gap may be that comes from the pace at which a process launches.

    A median pause beyond `LONGEST_LAUNCH_GAP_NS` is no pace: such a host does something else between launches.
    """
    launches = group.calls.start[group.rows["launch"]]
    if len(launches) < PACE_LEAST:
        return LAUNCH_GAP_NS
    usual = float(np.median(np.diff(launches)))
    if usual > LONGEST_LAUNCH_GAP_NS:
        return LAUNCH_GAP_NS
    return int(np.clip(USUAL_PAUSES * usual, LAUNCH_GAP_NS, LONGEST_LAUNCH_GAP_NS))


def _reasons(
    starts: Ints, ends: Ints, submitted: Ints, first_use: Bools, group: CallGroups, pace: int
) -> npt.NDArray[np.int8]:
    length = ends - starts
    found = np.where(length <= pace, REASONS.index("launch"), REASONS.index("host")).astype(np.int8)
    waiting = group.time["sync"].covers(starts) | (
        group.time["sync"].within(starts, np.minimum(ends, starts + SYNC_TAIL_NS)) > 0
    )
    found[waiting] = REASONS.index("sync")
    for name in ("copy", "allocation"):
        found[group.time[name].within(starts, ends) * 2 >= length] = REASONS.index(name)
    found[first_use] = REASONS.index("first")
    found[submitted <= starts] = REASONS.index("queue")
    return found
