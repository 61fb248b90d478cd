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
    names: list[npt.NDArray[np.integer]]


def depths(starts: Ints, ends: Ints) -> npt.NDArray[np.int16]:
    """Return the depth (0 = outermost) of ranges of one thread, sorted by start, outer before inner."""
    closed = starts + 1
    np.maximum(closed, ends, out=closed)
    closed.sort()
    level = np.empty(len(starts), np.int16)
    for low in range(0, len(starts), SLICE):
        part = starts[low : low + SLICE]
        before = np.searchsorted(closed, part, side="right")
        level[low : low + SLICE] = np.clip(np.arange(low, low + len(part)) - before, 0, 32767)
    return level


def sort_key(threads: npt.NDArray[np.integer], starts: Ints, ends: Ints) -> npt.NDArray[np.int32] | None:
    """Return the order: by thread, then start, then outer range first. None when the rows lie in it already."""
    if len(starts) < 2:
        return None
    for low in range(0, len(starts) - 1, SLICE):
        part = slice(low, low + SLICE + 1)
        step = np.diff(threads[part])
        if ((step < 0) | ((step == 0) & (np.diff(starts[part]) <= 0))).any():
            return np.lexsort((-ends, starts, threads)).astype(np.int32)
    return None


class OpenRanges:
    """Ranges by thread and level.

    Args:
        threads, starts, ends, names: one element per push/pop range, in `sort_key` order; `names` are codes
            into `texts`, `threads` into `ids`.
        levels: depth of each range.
        ids: code -> thread.
        texts: code -> name.
    """

    def __init__(
        self,
        threads: npt.NDArray[np.integer],
        starts: Ints,
        ends: Ints,
        names: npt.NDArray[np.integer],
        levels: npt.NDArray[np.integer],
        ids: Ints,
        texts: pa.Array,
    ) -> None:
        self._texts = texts
        self._threads: dict[int, _Thread] = {}
        if not len(threads):
            return
        cuts = (np.flatnonzero(np.diff(threads)) + 1).tolist()
        for low, high in zip([0, *cuts], [*cuts, len(threads)], strict=True):
            part = slice(low, high)
            depth = levels[part]
            rows = [
                np.flatnonzero(depth == d).astype(np.int32)
                for d in range(min(int(depth.max()) + 1, MAX_DEPTH))
            ]
            self._threads[int(ids[threads[low]])] = _Thread(
                [starts[part][r] for r in rows], [ends[part][r] for r in rows], [names[part][r] for r in rows]
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
            pairs = (codes[rows] + 1) * width + names[at[rows]].astype(np.int64)
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
