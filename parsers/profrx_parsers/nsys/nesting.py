"""Which ranges were open on a thread at a time, for millions of ranges and calls at once.

Push/pop ranges of one thread nest. A range's depth follows from counting: the ranges that started before it
minus those that ended by then. With ranges sorted by start, the range open on level d at time t is then the
last one of that level that started by t, if it has not ended: one binary search per level.

Ranges that cross instead of nesting (two domains used without order) are kept; where they cross, the path of
a call may lack the range that was opened first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from profrx_parsers.nsys.raw import Ints, compact

MAX_DEPTH = 64
"""Levels looked at; deeper ranges are left out of paths."""
SLICE = 1 << 19
"""Times looked up at once: bounds the memory of the search."""
OPEN = np.iinfo(np.int64).max >> 1
"""End of a range that was never closed."""
SEPARATOR = " / "


@dataclass(frozen=True)
class _Thread:
    starts: list[Ints]
    ends: list[Ints]
    names: list[Ints]


def depths(starts: Ints, ends: Ints) -> Ints:
    """Return the depth (0 = outermost) of ranges of one thread, sorted by start, outer before inner."""
    closed = np.sort(np.maximum(ends, starts + 1))
    before = np.searchsorted(closed, starts, side="right")
    level: Ints = np.maximum(np.arange(len(starts)) - before, 0)
    return level


def sort_key(threads: Ints, starts: Ints, ends: Ints) -> Ints:
    """Return the order: by thread, then start, then outer range first."""
    if len(starts) < 2:
        return np.arange(len(starts))
    steps = np.diff(threads) == 0
    if ((np.diff(starts) > 0) | ~steps).all() and (np.diff(threads) >= 0).all():
        return np.arange(len(starts))
    return np.lexsort((-ends, starts, threads))


class OpenRanges:
    """Ranges by thread and level.

    Args:
        threads, starts, ends, names: one element per push/pop range, in `sort_key` order; `names` are codes.
        levels: depth of each range.
        texts: code -> name.
    """

    def __init__(
        self, threads: Ints, starts: Ints, ends: Ints, names: Ints, levels: Ints, texts: pa.Array
    ) -> None:
        self._texts = texts
        self._threads: dict[int, _Thread] = {}
        if not len(threads):
            return
        cuts = np.flatnonzero(np.diff(threads)) + 1
        for low, high in zip([0, *cuts.tolist()], [*cuts.tolist(), len(threads)], strict=True):
            depth = levels[low:high]
            rows = [np.flatnonzero(depth == d) + low for d in range(min(int(depth.max()) + 1, MAX_DEPTH))]
            self._threads[int(threads[low])] = _Thread(
                [starts[r] for r in rows], [ends[r] for r in rows], [names[r] for r in rows]
            )

    def paths(self, threads: Ints, times: Ints) -> pa.DictionaryArray:
        """Return the names open on `threads` at `times`, outermost first, joined; null where none is."""
        codes = np.full(len(times), -1, np.int32)
        known: list[tuple[int, int]] = []
        for thread in np.unique(threads).tolist() if self._threads else ():
            held = self._threads.get(thread)
            if held is not None:
                rows = np.flatnonzero(threads == thread).astype(np.int32)
                for low in range(0, len(rows), SLICE):
                    part = rows[low : low + SLICE]
                    codes[part] = self._thread_paths(held, times[part], known)
        spelled, place = self._spell(known)
        codes[codes >= 0] = place[codes[codes >= 0]]
        return compact(codes, codes >= 0, pa.array(spelled, pa.string()))

    def _thread_paths(self, held: _Thread, times: Ints, known: list[tuple[int, int]]) -> Ints:
        """Return path codes; `known` grows by (code of the parent path, name) per new path."""
        codes = np.full(len(times), -1, np.int64)
        width = len(self._texts) + 1
        for starts, ends, names in zip(held.starts, held.ends, held.names, strict=True):
            at = np.searchsorted(starts, times, side="right") - 1
            rows = np.flatnonzero((at >= 0) & (ends[np.maximum(at, 0)] > times))
            if not len(rows):
                continue
            pairs = (codes[rows] + 1) * width + names[at[rows]]
            encoded = pa.array(pairs).dictionary_encode()
            found = np.asarray(encoded.dictionary)
            codes[rows] = np.asarray(encoded.indices) + len(known)
            known.extend(zip((found // width - 1).tolist(), (found % width).tolist(), strict=True))
        return codes

    def _spell(self, known: list[tuple[int, int]]) -> tuple[list[str], npt.NDArray[np.int32]]:
        """Return the distinct paths, and which of them each code means (codes of several slices may agree)."""
        names = self._texts.to_pylist() if known else []
        spelled: list[str] = []
        distinct: dict[str, int] = {}
        for parent, name in known:
            text = names[name] or ""
            spelled.append(f"{spelled[parent]}{SEPARATOR}{text}" if parent >= 0 else text)
        place = np.array([distinct.setdefault(text, len(distinct)) for text in spelled], np.int32)
        return list(distinct), place
