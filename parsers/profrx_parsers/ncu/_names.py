"""The name table of an `.ncu-rep`: strings of all blocks, one after the other; a metric's name id is the index.

Losing one string would shift every later name to a wrong metric, so a damaged table is repaired only where the
number of lost strings is certain, and otherwise not used from there on. Names hold no control characters, which
tells a string that swallowed its neighbours.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from profrx_parsers.wire import WireError, varint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from profrx_parsers.problems import ProblemLog
    from profrx_parsers.wire import Span

MAX_STRINGS = 1_000_000
"""Strings kept; real reports hold a few thousand."""
_TAG = 0x0A
_MAX_GAP = 8192
_ADVICE = "metrics named there are missing, none is misnamed: copy or collect the report again"


@dataclass
class NameSpans:
    """Where every string lies.

    Attributes:
        starts, stops: its bytes in the file, in order of the table.
        lost: True once the count of strings is no longer certain: later ones cannot be numbered.
    """

    starts: array[int] = field(default_factory=lambda: array("q"))
    stops: array[int] = field(default_factory=lambda: array("q"))
    lost: bool = False

    def add(self, data: memoryview, span: Span, problems: ProblemLog) -> None:
        """Append the strings of one block."""
        if self.lost:
            problems.add(
                "data-loss", "ncu-lost-names", "metric names behind a damaged block cannot be numbered",
                where=f"byte {span[0]}", advice=_ADVICE,
            )  # fmt: skip
            return
        pos, stop = span
        starts, stops, failed = chain(data, pos, stop)
        while failed is not None:
            found = _one_damaged(data, failed, stop, starts, stops)
            if found is None:
                self.lost = True
                problems.add(
                    "data-loss", "ncu-damaged-names", "the table of metric names is damaged",
                    where=f"byte {failed}", advice=_ADVICE,
                )  # fmt: skip
                break
            problems.add(
                "warning", "ncu-damaged-names", "a string of the table of metric names is damaged",
                where=f"byte {failed}", advice="the name of one metric may be wrong",
            )  # fmt: skip
            more_starts, more_stops, failed = chain(data, found, stop)
            starts.extend(more_starts)
            stops.extend(more_stops)
        room = MAX_STRINGS - len(self.starts)
        if len(starts) > room:
            self.lost = True
            problems.add(
                "data-loss", "ncu-too-many-names", f"the table of metric names exceeds {MAX_STRINGS:,} strings",
                where=f"byte {starts[room]}", advice=_ADVICE,
            )  # fmt: skip
        self.starts.extend(starts[:room])
        self.stops.extend(stops[:room])

    def texts(self, data: memoryview, longest: int) -> Iterator[bytes]:
        """Yield every string, cut to `longest` bytes; neighbours are copied out of the file together."""
        if not len(self.starts):
            return
        starts = np.frombuffer(self.starts, dtype=np.int64)
        stops = np.minimum(np.frombuffer(self.stops, dtype=np.int64), starts + longest)
        apart = np.flatnonzero((starts[1:] - stops[:-1] > _MAX_GAP) | (starts[1:] < stops[:-1])) + 1
        for low, high in pairwise([0, *apart.tolist(), len(starts)]):
            first = int(starts[low])
            run = bytes(data[first : int(stops[high - 1])])
            ends = (stops[low:high] - first).tolist()
            for start, stop in zip((starts[low:high] - first).tolist(), ends, strict=True):
                yield run[start:stop]


def chain(data: memoryview, pos: int, stop: int) -> tuple[array[int], array[int], int | None]:
    """Follow strings from `pos`; return starts, stops, and where it fails (None = it reaches `stop`)."""
    starts, stops = array("q"), array("q")
    block = bytes(data[pos:stop])
    found = _sound(block, pos)
    if found is not None:
        return *found, None
    base, size = pos, stop - pos
    at = 0
    failed = None
    try:
        while at < size:
            if block[at] != _TAG:
                failed = at
                break
            length, begin = block[at + 1], at + 2
            if length >= 0x80:
                length, begin = varint(block, at + 1, size)
            if length > size - begin:
                failed = at
                break
            starts.append(base + begin)
            at = begin + length
            stops.append(base + at)
            if len(starts) > MAX_STRINGS:
                break
    except (IndexError, WireError):
        failed = at
    swallowed = _first_with_control(block, base, starts, stops)
    if swallowed is not None:
        failed = starts[swallowed] - base - 2
        del starts[swallowed:], stops[swallowed:]
    return starts, stops, None if failed is None else base + failed


def _sound(block: bytes, base: int) -> tuple[array[int], array[int]] | None:
    """Return starts and stops of an undamaged run of strings, found at once; None leaves it to the slow way.

    Sound names hold no control characters: every tag byte is a tag, or the length (10) behind one. That each string
    found so ends where the next begins proves the chain.
    """
    raw = np.frombuffer(block, dtype=np.uint8)
    tags = np.flatnonzero(raw == _TAG)
    if len(tags) < 2 or tags[0] or len(tags) > MAX_STRINGS:
        return None
    behind = np.append(False, tags[1:] == tags[:-1] + 1)
    if (behind[1:] & behind[:-1]).any():
        return None
    tags = tags[~behind]
    last = len(raw) - 1
    low, high = (
        raw[np.minimum(tags + 1, last)].astype(np.int64),
        raw[np.minimum(tags + 2, last)].astype(np.int64),
    )
    long = low >= 0x80
    if (long & (high >= 0x80)).any():
        return None
    begin = tags + 2 + long
    end = begin + np.where(long, low & 0x7F | high << 7, low)
    if end[-1] != len(raw) or (end[:-1] != tags[1:]).any():
        return None
    starts, stops = array("q", (begin + base).tobytes()), array("q", (end + base).tobytes())
    return (starts, stops) if _first_with_control(block, base, starts, stops) is None else None


def _first_with_control(block: bytes, base: int, starts: array[int], stops: array[int]) -> int | None:
    if not len(starts):
        return None
    control = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) < 0x20) + base
    first = np.searchsorted(control, np.frombuffer(starts, dtype=np.int64))
    behind = np.searchsorted(control, np.frombuffer(stops, dtype=np.int64))
    bad = np.flatnonzero(first != behind)
    return int(bad[0]) if len(bad) else None


def _one_damaged(
    data: memoryview, failed: int, stop: int, starts: array[int], stops: array[int]
) -> int | None:
    """Repair the string at `failed` if it is certain that it is exactly one; return where the next one starts.

    Three kinds of damage are told apart: a wrong tag (length and text are sound), a wrong length (the text ends
    at the next tag), and a length of the string before that is too short (its text goes on at `failed`).
    """
    window = bytes(data[failed : min(stop, failed + _MAX_GAP)])
    if len(window) < 2:
        return None
    tagged = window[0] == _TAG
    end = failed + 2 + window[1]
    text = window[2 : 2 + window[1]]
    fits = window[1] < 0x80 and end <= stop and _goes_on(data, end, stop)
    # The length leads to the next string: only the tag or a character is damaged, unless a string was swallowed.
    if fits and (_TAG not in text if tagged else _clean(text)):
        starts.append(failed + 2)
        stops.append(end)
        return end
    if not tagged and (window[0] < 0x20 or not len(stops)):
        return None
    at = window.find(bytes((_TAG,)), 2)
    end = failed + at if at >= 0 else stop
    if at < 0 and failed + len(window) != stop:
        return None
    if not _clean(window[2 if tagged else 0 : end - failed]) or not _goes_on(data, end, stop):
        return None
    if tagged:
        starts.append(failed + 2)
        stops.append(end)
    else:
        stops[-1] = end
    return end


def _clean(text: bytes) -> bool:
    return all(byte >= 0x20 for byte in text)


def _goes_on(data: memoryview, pos: int, stop: int) -> bool:
    starts, _, broken = chain(data, pos, stop)
    return broken is None or len(starts) >= 3
