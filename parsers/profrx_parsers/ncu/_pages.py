"""Passing over a mapped report without keeping it resident.

A page fault maps whole neighbourhoods of the file, so that one pass over a report of 60 MB would count as 60 MB
of memory. Every pass tells a `Passage` how far it got, and the pages behind are given back.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXTENT = 4 << 20
"""Bytes of the file that a pass keeps resident behind it."""
_SLICE = 4 << 20
"""Bytes of the file that are decoded at once: one slice for a report of one kernel."""


class Passage:
    """One pass over a report, in ascending order of offsets.

    Args:
        data: the report; when it is no map (a packed report), nothing happens.
        start: where the pass begins.
    """

    def __init__(self, data: memoryview, start: int = 0) -> None:
        mapped: object = data.obj
        self._mapped = mapped if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED") else None
        self._passed = start

    def reached(self, pos: int) -> None:
        """Give back what lies behind `pos`; it is mapped again when touched."""
        if self._mapped is None or pos - self._passed < EXTENT:
            return
        first = self._passed // mmap.PAGESIZE * mmap.PAGESIZE
        self._mapped.madvise(mmap.MADV_DONTNEED, first, min(pos, len(self._mapped)) - first)
        self._passed = pos


def slices(data: memoryview, starts: NDArray[np.int64]) -> Iterator[slice]:
    """Yield slices of ascending offsets, each of a bounded extent, as one passage."""
    low = 0
    passage = Passage(data, int(starts[0]) if len(starts) else 0)
    while low < len(starts):
        high = max(low + 1, int(np.searchsorted(starts, starts[low] + _SLICE)))
        yield slice(low, high)
        passage.reached(int(starts[high - 1]))
        low = high
