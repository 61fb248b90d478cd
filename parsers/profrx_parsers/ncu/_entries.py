"""Where the metric entries of an `.ncu-rep` lie: thousands per result, most of them a dozen bytes long.

They are length-delimited fields that follow each other, so that each must be looked at to find the next one. Where
many small ones do, they are found together.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

WINDOW = 32 << 10
"""Bytes that are searched for a run of entries at once."""
_LONGEST = 1 << 14
NAME, VALUE, INSTANCE, CATEGORY = 0x08, 0x12, 0x1A, 0x20
"""Tags in an entry: its name id, with which each begins, and what may follow it, in this order."""


@dataclass
class MetricEntries:
    """Where the metric entries of all results lie (offsets in the file).

    Attributes:
        starts: first byte of every entry message.
        stops: the byte behind it.
        bounds: index of the first entry of every result, and the total: length results + 1.
    """

    starts: array[int] = field(default_factory=lambda: array("q"))
    stops: array[int] = field(default_factory=lambda: array("q"))
    bounds: array[int] = field(default_factory=lambda: array("q", [0]))

    def add_run(self, data: memoryview, pos: int, stop: int, tag: int) -> int:
        """Add the entries from `pos` on that can be found at once; return the offset behind them, `pos` if none."""
        starts, stops = run(np.frombuffer(data, np.uint8, min(stop - pos, WINDOW), pos), tag, stop - pos)
        if not len(starts):
            return pos
        self.starts.frombytes((starts + pos).tobytes())
        self.stops.frombytes((stops + pos).tobytes())
        return self.stops[-1]


def run(window: NDArray[np.uint8], tag: int, size: int) -> tuple[Ints, Ints]:
    """Return starts and stops of the entries that follow each other from the first byte of a window on.

    What looks like an entry is found everywhere at once. Such bytes also occur inside entries, but there hardly
    anything leads to them; those that the first byte leads to, each ending where the next begins, are entries.

    Args:
        window: bytes of a result.
        tag: of its metric entries.
        size: bytes until the end of the result.
    """
    at = (window[:-3] == tag).nonzero()[0]
    length = window.take(at + 1).astype(np.int64)
    start = at + 2
    wide = (length >= 0x80).nonzero()[0]
    if len(wide):
        high = window.take(start[wide]).astype(np.int64)
        length[wide] = np.where(high < 0x80, length[wide] - 0x80 + (high << 7), 0)
        start[wide] += 1
    stop = start + length
    sound = ((window.take(start) == NAME) & (length > 0) & (stop <= size)).nonzero()[0]
    at, start, stop = at[sound], start[sound], stop[sound]
    count = _chained(at, stop)
    for _ in range(2):
        if count in (0, len(at)) or at[count] > stop[count - 1]:
            break  # where the next entry would be, nothing looks like one
        led_to = np.zeros(len(window) + _LONGEST, dtype=np.bool_)
        led_to[0] = True
        led_to[stop] = True
        kept = led_to[at]
        at, start, stop = at[kept], start[kept], stop[kept]
        count = _chained(at, stop)
    return start[:count], stop[:count]


def _chained(at: Ints, stop: Ints) -> int:
    """Return how many entries, from one at the first byte on, each end where the next begins."""
    if not len(at) or at[0]:
        return 0
    broken = (at[1:] != stop[:-1]).nonzero()[0]
    return int(broken[0]) + 1 if len(broken) else len(at)
