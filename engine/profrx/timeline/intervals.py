"""Sets of time intervals as numpy arrays: union, overlap, gaps. No loop over intervals.

A `Union` is a sorted list of intervals that neither touch nor overlap; all questions are answered on it with
binary searches, so a million events cost milliseconds. Times are integers (ns); intervals are half open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Union:
    """Disjoint intervals in order of time."""

    starts: Ints
    ends: Ints

    @property
    def total(self) -> int:
        """Covered time."""
        return int((self.ends - self.starts).sum())

    @property
    def span(self) -> int:
        """Time from the first start to the last end."""
        return int(self.ends[-1] - self.starts[0]) if len(self.starts) else 0

    def before(self, times: Ints) -> Ints:
        """Return how much is covered before each time."""
        if not len(self.starts):
            return np.zeros(len(times), np.int64)
        sums = np.concatenate([[0], np.cumsum(self.ends - self.starts)])
        at = np.searchsorted(self.starts, times, side="right")
        last = np.maximum(at - 1, 0)
        inside = np.minimum(times - self.starts[last], self.ends[last] - self.starts[last])
        found: Ints = np.where(at == 0, 0, sums[last] + np.maximum(inside, 0))
        return found

    def within(self, starts: Ints, ends: Ints) -> Ints:
        """Return how much of each interval is covered."""
        return self.before(ends) - self.before(starts)

    def covers(self, times: Ints) -> Bools:
        """Return which times lie inside."""
        if not len(self.starts):
            return np.zeros(len(times), bool)
        at = np.searchsorted(self.starts, times, side="right") - 1
        found: Bools = (at >= 0) & (times < self.ends[np.maximum(at, 0)])
        return found

    def shared(self, other: Union) -> int:
        """Return the time that both cover."""
        return int(self.within(other.starts, other.ends).sum())

    def gaps(self) -> Union:
        """Return the time between the intervals."""
        return Union(self.ends[:-1], self.starts[1:])


def nothing() -> Union:
    """Return no time at all."""
    return Union(np.empty(0, np.int64), np.empty(0, np.int64))


def union(starts: Ints, ends: Ints) -> Union:
    """Merge intervals; empty and negative ones vanish."""
    good = ends > starts
    if not good.all():
        starts, ends = starts[good], ends[good]
    if not len(starts):
        return nothing()
    if len(starts) > 1 and (starts[1:] < starts[:-1]).any():
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
    reach = np.maximum.accumulate(ends)
    fresh = np.concatenate([[True], starts[1:] > reach[:-1]])
    first = np.flatnonzero(fresh)
    last = np.concatenate([first[1:] - 1, [len(starts) - 1]])
    return Union(starts[first], reach[last])


def overlapping(starts: Ints, ends: Ints, least: int = 2) -> Union:
    """Return the time during which at least `least` of the intervals run."""
    good = ends > starts
    if not good.all():
        starts, ends = starts[good], ends[good]
    if len(starts) < least:
        return nothing()
    if (starts[1:] < starts[:-1]).any():
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
    if least == 2:
        return _twice(starts, ends)
    times = np.concatenate([starts, ends])
    steps = np.repeat(np.array([1, -1], np.int8), len(starts))
    order = np.lexsort((steps, times))
    times, running = times[order], np.cumsum(steps[order], dtype=np.int32)
    enough = running >= least
    rises = enough & ~np.concatenate([[False], enough[:-1]])
    falls = ~enough & np.concatenate([[False], enough[:-1]])
    return union(times[rises], times[falls])


def _twice(starts: Ints, ends: Ints) -> Union:
    """In order of their starts, an interval overlaps earlier ones until the latest end so far."""
    until = np.maximum.accumulate(ends)[:-1]
    np.minimum(until, ends[1:], out=until)
    both = until > starts[1:]
    return union(starts[1:][both], until[both])


def intersection(one: Union, other: Union) -> Union:
    """Return the time that both cover, as intervals."""
    starts = np.concatenate([one.starts, other.starts])
    ends = np.concatenate([one.ends, other.ends])
    return overlapping(starts, ends)
