"""Where the instances of metric entries lie: a run of small messages behind each entry's value.

Finding where each begins would be a loop over lengths; they are found by their look, many entries at once, and
confirmed by their lengths.
"""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from profrx_parsers.ncu._entries import CATEGORY, INSTANCE
from profrx_parsers.ncu._pages import Passage
from profrx_parsers.wire import WireError, varint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from profrx_parsers.ncu._metrics import MetricStore
    from profrx_parsers.problems import ProblemLog

    Ints = NDArray[np.int64]

MAX_INSTANCES = 20_000_000
"""Instances located per report; the largest real report seen holds 1.2 million."""
_REGION = 1 << 18
"""Bytes of the report that are searched for instances at once."""
_HUGE = 1 << 21
"""Entries with more bytes of instances are searched piece by piece; those of real reports reach 100 KB."""
_AT_ONCE = 1 << 14
"""Instances given at a time: what is computed for them stays in the processor's cache."""
_KEY = 0x0A
"""Tag of the key that begins an instance."""


class Found(NamedTuple):
    """Instances that were located: messages from `start` to `stop`; `owner` are the elements they belong to."""

    owner: Ints
    start: Ints
    stop: Ints


def locate(store: MetricStore, chosen: Ints, problems: ProblemLog) -> Iterator[Found]:
    """Yield the instances of the chosen elements in file order, region by region."""
    raw = np.frombuffer(store.data, dtype=np.uint8)
    owners = chosen[np.argsort(store.tail[chosen], kind="stable")]
    tail, stop = store.tail[owners], store.stop[owners]
    bounds = [0]
    while bounds[-1] < len(owners):
        low = bounds[-1]
        bounds.append(max(low + 1, int(np.searchsorted(tail, tail[low] + _REGION))))
    passage = Passage(store.data, int(tail[0]) if len(tail) else 0)
    total = 0
    for low, high in pairwise(bounds):
        passage.reached(int(tail[low]))
        begin, end = tail[low:high], stop[low:high]
        held = np.flatnonzero((raw.take(begin) != CATEGORY) | (begin + 2 != end))
        if not len(held):
            continue
        locate_in = _together if int((end - begin).max()) <= _HUGE else _one_by_one
        for found in locate_in(store, owners[low:high][held], begin[held], end[held], problems):
            total += len(found.start)
            yield found
            if total > MAX_INSTANCES:
                problems.add(
                    "data-loss", "ncu-too-many-instances",
                    f"more than {MAX_INSTANCES:,} instances: the rest was left out",
                    where=f"byte {int(found.stop[-1])}", advice="ask for single metrics",
                )  # fmt: skip
                return


def _together(
    store: MetricStore, owners: Ints, tail: Ints, stop: Ints, problems: ProblemLog
) -> Iterator[Found]:
    """Locate the instances of neighbouring entries at once; one after the other where that is not certain."""
    start, end, entry, good = _guess(np.frombuffer(store.data, dtype=np.uint8), tail, stop)
    owner = owners[entry]
    rest = np.flatnonzero(~good)
    if len(rest):
        others = [*_one_by_one(store, owners[rest], tail[rest], stop[rest], problems)]
        owner, start, end = (np.concatenate(c) for c in zip((owner, start, end), *others, strict=True))
        order = np.argsort(start, kind="stable")
        owner, start, end = owner[order], start[order], end[order]
    for low in range(0, len(start), _AT_ONCE):
        part = slice(low, low + _AT_ONCE)
        yield Found(owner[part], start[part], end[part])


def _one_by_one(
    store: MetricStore, owners: Ints, tail: Ints, stop: Ints, problems: ProblemLog
) -> Iterator[Found]:
    for owner, first, last in zip(owners.tolist(), tail.tolist(), stop.tolist(), strict=True):
        for start, end in _follow(store.data, first, last, problems):
            yield Found(np.full(len(start), owner), start, end)


def _guess(raw: NDArray[np.uint8], tail: Ints, stop: Ints) -> tuple[Ints, Ints, Ints, NDArray[np.bool_]]:
    """Find what looks like instances; return start, stop and entry of each, and which entries are certain.

    An instance looks like 0x1A, length, 0x0A. Such bytes also occur inside values, but there nothing leads to
    them: only places where an entry's instances begin or another instance ends are kept. An entry is certain when
    they cover it without a gap, up to its category field; the instances of others are left out.
    """
    low = int(tail[0])
    region = raw[low : int(stop.max())]
    begin, end = tail - low, stop - low
    places = np.flatnonzero((region[:-2] == INSTANCE) & (region[2:] == _KEY))
    length = region.take(places + 1)
    behind = places + 2 + length
    led_to = np.zeros(len(region) + 256, dtype=np.bool_)
    led_to[begin] = True
    led_to[behind[length < 0x80]] = True
    kept = led_to[places] & (length < 0x80)
    places, behind = places[kept], behind[kept]
    first = np.searchsorted(places, begin)
    last = np.maximum(np.searchsorted(places, end), first)
    good = last > first
    good[1:] &= begin[1:] >= end[:-1]
    if not good.any():
        return places[:0], places[:0], places[:0], good
    # Of every entry: the first instance is where its instances begin, the last ends where they end.
    one, other = first[good], last[good] - 1
    final = behind[other]
    category = (final + 2 == end[good]) & (region.take(final, mode="clip") == CATEGORY)
    sound = (places[one] == begin[good]) & ((final == end[good]) | category)
    joined = np.append(behind[:-1] == places[1:], True)
    joined[other] = True
    gaps = np.append(0, np.cumsum(~joined))
    good[good] = sound & (gaps[other + 1] == gaps[one])
    counts = np.where(good, last - first, 0)
    entry = np.repeat(np.arange(len(tail)), counts)
    if counts.sum() < len(places):
        index = np.arange(len(entry)) - np.repeat(np.cumsum(counts) - counts, counts) + first[entry]
        places, behind = places[index], behind[index]
    return places + (low + 2), behind + low, entry, good


def _follow(data: memoryview, pos: int, stop: int, problems: ProblemLog) -> Iterator[tuple[Ints, Ints]]:
    """Find the instances of an entry one after the other, up to the first that does not fit; piece by piece."""
    starts, stops = array("q"), array("q")
    try:
        while pos < stop:
            tag = data[pos]
            if tag != INSTANCE:
                if tag != CATEGORY:
                    raise WireError(f"tag {tag}", pos)
                _, pos = varint(data, pos + 1, stop)
                continue
            length, begin = varint(data, pos + 1, stop)
            if length > stop - begin:
                raise WireError("an instance does not fit", pos)
            pos = begin + length
            starts.append(begin)
            stops.append(pos)
            if len(starts) >= _AT_ONCE:
                yield np.array(starts, dtype=np.int64), np.array(stops, dtype=np.int64)
                starts, stops = array("q"), array("q")
    except WireError:
        problems.add(
            "data-loss", "ncu-damaged-instances", "the instances of a metric are damaged from some point on",
            where=f"byte {pos}", advice="copy or collect the report again",
        )  # fmt: skip
    if len(starts):
        yield np.array(starts, dtype=np.int64), np.array(stops, dtype=np.int64)
