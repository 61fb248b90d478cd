"""The name table of an `.ncu-rep`: strings of all blocks, one after the other; a metric's name id is the index.

The strings of a block are found all at once where they prove to form one gapless chain, else one after the other.
Losing one string would shift every later name to a wrong metric, so a damaged table is repaired only where the
number of lost strings is certain, and otherwise not used from there on. Names hold no control characters, which
tells a string that swallowed its neighbours.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from profrx_parsers.ncu import _gather as g
from profrx_parsers.wire import WireError, varint

if TYPE_CHECKING:
    from profrx_parsers.problems import ProblemLog
    from profrx_parsers.wire import Span

MAX_STRINGS = 1_000_000
"""Strings kept; real reports hold a few thousand."""
MAX_BYTES = 1 << 28
"""Bytes of strings kept."""
NAME_BYTES = 4095
"""Longest metric name kept; real ones reach about 160 bytes."""
_TAG = 0x0A
_MAX_GAP = 8192
_AT_ONCE = 4 << 20
"""Largest block of strings that is looked at as a whole; real ones reach 140 KB."""
KEPT_BYTES = 1 << 20
"""Blocks of strings that are recognised when another report holds them too."""
_CONTROL = re.compile(rb"[\x00-\x1f]")
_ADVICE = "metrics named there are missing, none is misnamed: copy or collect the report again"


@dataclass(frozen=True)
class Strings:
    """The strings of one block.

    Attributes:
        records: a binary array of the strings as they are stored, each behind its tag and length (see `record`).
        found: what a projection found in them; kept here since many reports of one tool hold the same strings.
    """

    records: pa.BinaryArray
    found: dict[object, object] = field(default_factory=dict)


@dataclass
class NameTable:
    """All strings, in order.

    Attributes:
        parts: the strings of each block that has any.
        total: number of strings.
        size: bytes of the blocks.
        lost: True once the count of strings is no longer certain: later ones cannot be numbered.
    """

    parts: list[Strings] = field(default_factory=list)
    total: int = 0
    size: int = 0
    lost: bool = False

    def add(self, data: memoryview, span: Span, problems: ProblemLog) -> None:
        """Append the strings of one block."""
        if span[0] == span[1]:
            return
        if self.lost:
            problems.add(
                "data-loss", "ncu-lost-names", "metric names behind a damaged block cannot be numbered",
                where=f"byte {span[0]}", advice=_ADVICE,
            )  # fmt: skip
            return
        self.size += span[1] - span[0]
        found = None
        if self.size <= MAX_BYTES:
            found = _at_once(data, span) or Strings(self._one_by_one(data, span, problems))
        room = MAX_STRINGS - self.total
        if found is None or len(found.records) > room:
            self.lost = True
            problems.add(
                "data-loss", "ncu-too-many-names", f"the table of metric names exceeds {MAX_STRINGS:,} strings",
                where=f"byte {span[0]}", advice=_ADVICE,
            )  # fmt: skip
            if found is None:
                return
            found = Strings(found.records[:room])
        if len(found.records):
            self.parts.append(found)
            self.total += len(found.records)

    def _one_by_one(self, data: memoryview, span: Span, problems: ProblemLog) -> pa.BinaryArray:
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
        texts = (bytes(data[a : min(b, a + NAME_BYTES)]) for a, b in zip(starts, stops, strict=True))
        return g.binary(map(record, texts))


def record(text: bytes) -> bytes:
    """Return a string as the table stores it. Of at most `NAME_BYTES`."""
    size = len(text)
    head = (_TAG, size) if size < 0x80 else (_TAG, size & 0x7F | 0x80, size >> 7)
    return bytes(head) + text


_kept: dict[tuple[int, bytes], tuple[bytes, Strings]] = {}
"""Undamaged blocks of strings, by their length and last bytes."""


def _at_once(data: memoryview, span: Span) -> Strings | None:
    """Return the strings of a block that is not damaged, from another report if that held the same block."""
    start, stop = span
    if stop - start > _AT_ONCE:
        return None
    block = bytes(data[start:stop])
    key = (len(block), block[-64:])
    known = _kept.get(key)
    if known is not None and known[0] == block:
        return known[1]
    records = undamaged(block)
    if records is None:
        return None
    found = Strings(records)
    if len(block) <= KEPT_BYTES // 4:
        if sum(size for size, _ in _kept) + len(block) > KEPT_BYTES:
            _kept.clear()
        _kept[key] = (block, found)
    return found


def undamaged(block: bytes) -> pa.BinaryArray | None:
    """Return the records of a block; None when they are damaged or unusual.

    Tags are control characters, names hold none: what could be a tag is found at once. If then the length behind
    every one leads to the next, from the first byte to the last, those are the strings.
    """
    raw = np.frombuffer(block, dtype=np.uint8)
    control = np.flatnonzero(raw < 0x20)
    tags = control[raw[control] == _TAG]
    if not len(tags) or tags[0]:
        return None
    tags = tags[np.append(True, tags[1:] != tags[:-1] + 1)]  # a length of 10 behind a tag looks like one
    length, high = raw.take(tags + 1, mode="clip"), raw.take(tags + 2, mode="clip")
    offsets = np.empty(len(tags) + 1, dtype=np.int32)
    offsets[:-1], offsets[-1] = tags, len(raw)
    size = tags + 2 + length
    wide = length >= 0x80
    few = int(np.count_nonzero(wide))
    if few:
        if not (high[wide] < 0x20).all() or not high[wide].all():
            return None
        size[wide] += (high[wide].astype(np.int64) << 7) - 0x80 + 1
    if not np.array_equal(size, offsets[1:]):
        return None
    if len(control) != len(tags) + np.count_nonzero(length < 0x20) + few:
        return None
    return pa.Array.from_buffers(pa.binary(), len(tags), [None, pa.py_buffer(offsets), pa.py_buffer(block)])


def chain(
    data: memoryview, pos: int, stop: int, most: int | None = None
) -> tuple[array[int], array[int], int | None]:
    """Follow strings from `pos`, at most so many; return starts, stops, and where it fails (None = nowhere)."""
    starts, stops = array("q"), array("q")
    most = MAX_STRINGS + 1 if most is None else most
    try:
        while pos < stop and len(starts) < most:
            if data[pos] != _TAG or pos + 1 == stop:
                return starts, stops, pos
            length, begin = data[pos + 1], pos + 2
            if length >= 0x80:
                length, begin = varint(data, pos + 1, stop)
            if length > stop - begin or _CONTROL.search(data, begin, begin + length):
                return starts, stops, pos
            starts.append(begin)
            pos = begin + length
            stops.append(pos)
    except WireError:
        return starts, stops, pos
    return starts, stops, None


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
    return chain(data, pos, stop, 3)[2] is None
