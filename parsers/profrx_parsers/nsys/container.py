"""The container of `.nsys-rep` and `.qdrep`: banner, sections, compressed blocks.

Source: observed in 111 public and own reports of nsys 2020.3 to 2026.1. Layout::

    NVIDIA Tegra Profiler Report <token>.\\n
    sections …                         located by a table at the end
      Raw Sampling Data:  QDTEXT00 · capture state · collection header · event blocks · string block
                          · thread names · system info · (payload schemas)
    section table · u64 offset of the table · "U3w[END]"

A block is ``varint packed size, varint raw size, LZ4 data``; inside, ``varint n`` and a message of n bytes.
LZ4 blocks carry no checksum, so a flipped bit can pass as another value: the counts of the collection
header are compared with what was read, and a difference is a problem row.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from profrx_parsers.errors import InputError
from profrx_parsers.nsys.recovery import MAGIC, find_mark, walk
from profrx_parsers.problems import ProblemLog
from profrx_parsers.wire import Message, WireError, varint

TRAILER = b"U3w[END]"
RAW_SECTION, OFFSETS_SECTION = "Raw Sampling Data", "Sampling Data Offsets"

MAX_BLOCK = 64 << 20
"""Raw bytes of one event block (largest seen: 1.9 MB)."""
MAX_STRINGS_BLOCK = 512 << 20
MAX_TOTAL = 64 << 30
MAX_SECTIONS = 1000
LET_GO = 16 << 20
MAX_RATIO = 260
"""LZ4 cannot expand beyond about 255 times."""

AGAIN = "copy the file again, or collect again"


@dataclass
class Container:
    """An opened report. Blocks are decompressed one at a time, in file order.

    Attributes:
        sections: name -> bytes of the section, bounds already checked.
        state: capture state (times, system environment).
        header: collection header (counts, generic event types).
        problems: where damage is reported.
        has_index: whether the file's own index located the parts; else they were found by `recovery`.
        lost_share: events that the header counts and the first pass over the blocks did not give; None = not known.
    """

    data: memoryview
    name: str
    problems: ProblemLog
    sections: dict[str, memoryview] = field(default_factory=dict)
    state: Message = field(default_factory=lambda: Message(b"", (0, 0)))
    header: Message = field(default_factory=lambda: Message(b"", (0, 0)))
    has_index: bool = True
    lost_share: float | None = None
    _has_tail: bool = True
    _kept: int = 0
    _first_block: int = 0
    _strings_at: int = 0
    _end: int = 0

    def event_blocks(self) -> Iterator[bytes]:
        """Yield the message of every event block; stops, with a problem, at the first damaged one."""
        at, total, number = self._first_block, 0, 0
        self._kept = at
        while at < self._strings_at:
            try:
                message, at = self._block(at, self._strings_at, MAX_BLOCK)
            except WireError as err:
                self.problems.add(
                    "data-loss",
                    "nsys-damaged-block",
                    f"event block {number} is damaged, the events after it are lost: {err.reason}",
                    where=f"byte {at}",
                    advice=AGAIN,
                )
                return
            number += 1
            total += len(message)
            self._let_go(at)
            if total > MAX_TOTAL:
                self.problems.add(
                    "data-loss", "nsys-too-large", f"stopped after {MAX_TOTAL:,} bytes of events"
                )
                return
            yield message

    def _let_go(self, at: int) -> None:
        """Give back the pages of a mapped file every `LET_GO` bytes: they were read once and count as memory."""
        if at - self._kept >= LET_GO:
            self._kept = at
            mapped = self.data.obj
            if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                mapped.madvise(mmap.MADV_DONTNEED)

    def tail(self) -> Iterator[bytes]:
        """Yield what follows the events: strings, thread names, system info, payload schemas if any.

        A part that is damaged ends the iteration with a problem.
        """
        if not self._has_tail:
            return
        at = self._strings_at
        try:
            message, at = self._block(at, self._end, MAX_STRINGS_BLOCK)
            yield message
            for _ in range(2):
                start, at = _sized(self.data, at, self._end)
                yield bytes(self.data[start:at])
            if at < self._end and self.has_index:  # without one, other sections follow unmarked
                yield self._block(at, self._end, MAX_BLOCK)[0]
        except WireError as err:
            self.problems.add(
                "data-loss",
                "nsys-damaged-tail",
                f"strings, thread names or system information are damaged: {err.reason}",
                where=f"byte {at}",
                advice=AGAIN,
            )

    def _block(self, at: int, end: int, most: int) -> tuple[bytes, int]:
        packed, at = varint(self.data, at, end)
        size, at = varint(self.data, at, end)
        if packed > end - at:
            raise WireError(f"a block of {packed:,} bytes leaves its section ({end - at:,} are left)", at)
        if size > most or size > packed * MAX_RATIO + 64:
            raise WireError(f"{packed:,} packed bytes claim {size:,} raw bytes", at)
        try:
            raw = pa.Codec("lz4_raw").decompress(self.data[at : at + packed], size, asbytes=True)
        except (OSError, pa.ArrowException) as err:
            raise WireError(f"LZ4 data is damaged ({err})", at) from err
        inner, start = varint(raw, 0, len(raw))
        if inner != len(raw) - start:
            raise WireError(f"a block of {len(raw):,} bytes holds a message of {inner:,}", at)
        return raw[start:], at + packed


def open_container(data: memoryview, name: str, problems: ProblemLog) -> Container:
    """Find the sections and the parts of the event section, without the index when that is lost.

    Raises `InputError` when the file ends before its first events.
    """
    box = Container(data, name, problems)
    try:
        box.sections = _sections(data)
        raw = _locate(data, RAW_SECTION)
        _open_raw(box, raw, _message(box.sections[OFFSETS_SECTION]))
    except (WireError, KeyError) as err:
        what = f"section {err} is missing" if isinstance(err, KeyError) else err.reason
        box = Container(data, name, problems, has_index=False)
        try:
            _recover(box, what)
        except WireError as lost:
            raise InputError(
                "nsys-unreadable",
                f"the index of this report is damaged or was never written ({what}), "
                f"and no events can be found without it: {lost}",
                where=name,
                next_step=AGAIN,
            ) from err
    return box


def _recover(box: Container, why: str) -> None:
    """Locate state, header, event blocks and string block from the front. Raises `WireError`."""
    end = len(box.data)
    mark = find_mark(box.data)
    if mark is None:
        raise WireError("the file ends before its event section", end)
    _open_head(box, mark + len(MAGIC), end)
    _check_compression(box, box.header.text(9) or "lz4")
    counts = [box.header.integer(1), box.header.integer(15)]
    expected = None if counts == [None, None] else sum(count or 0 for count in counts)
    found = walk(lambda at, stop: box._block(at, stop, MAX_STRINGS_BLOCK), box._first_block, end, expected)
    if not found.events and not found.complete:
        raise WireError(f"no event block is whole, {found.damage}", found.stop)
    box._strings_at, box._end, box._has_tail = found.stop, end, found.complete
    box.problems.add(
        "data-loss",
        "nsys-no-index",
        f"the index at the end of this report is damaged or missing ({why}); its events were read in order instead",
        where=f"byte {end}",
        advice=AGAIN,
    )
    if not found.complete:
        of = "" if expected is None else f" of {expected:,}"
        box.problems.add(
            "data-loss",
            "nsys-cut",
            f"the events end early ({found.damage}): {found.events:,}{of} are there; later ones, the "
            "names of kernels and ranges, and the devices are lost",
            where=f"byte {found.stop}",
            advice=AGAIN,
        )


def _open_raw(box: Container, raw: tuple[int, int], offsets: Message) -> None:
    start, box._end = raw
    if bytes(box.data[start : start + 8]) != MAGIC:
        raise WireError("the event section does not start with its mark", start)
    _check_compression(box, offsets.text(1) or "")
    at = start + 8
    box._strings_at = at + (offsets.integer(2) or 0)
    if not at < box._strings_at <= box._end:
        raise WireError("the string block lies outside its section", at)
    _open_head(box, at, box._strings_at)


def _check_compression(box: Container, compression: str) -> None:
    if compression != "lz4":
        raise InputError(
            "nsys-compression",
            f"blocks are packed with {compression[:40]!r}, only lz4 is known",
            where=box.name,
            next_step="export it with the nsys that wrote it: nsys export --type sqlite REPORT",
        )


def _open_head(box: Container, at: int, end: int) -> None:
    start, at = _sized(box.data, at, end)
    box.state = Message(box.data, (start, at))
    start, box._first_block = _sized(box.data, at, end)
    box.header = Message(box.data, (start, box._first_block))


def _table(data: memoryview) -> list[tuple[str, int, int]]:
    end = len(data)
    if end < 64 or bytes(data[end - 8 :]) != TRAILER:
        raise WireError("the end mark is missing, the file is cut short", end)
    at = int.from_bytes(data[end - 16 : end - 8], "little")
    if not 0 < at < end - 16:
        raise WireError("the section table lies outside the file", end - 16)
    table = Message(data, (at, end - 16))
    if table.error:
        raise table.error
    rows = []
    for entry in table.messages(1)[:MAX_SECTIONS]:
        name, start, size = entry.text(1), entry.integer(2), entry.integer(3) or 0
        if name is None or start is None or start + size > at:
            raise WireError("a section lies outside the file", at)
        rows.append((name, start, start + size))
    return rows


def _sections(data: memoryview) -> dict[str, memoryview]:
    return {name: data[start:stop] for name, start, stop in _table(data)}


def _locate(data: memoryview, wanted: str) -> tuple[int, int]:
    for name, start, stop in _table(data):
        if name == wanted:
            return start, stop
    raise KeyError(wanted)


def _message(data: memoryview) -> Message:
    return Message(data, (0, len(data)))


def _sized(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """Read a length in front of a message; return (start, stop), checked against `end`."""
    size, at = varint(data, at, end)
    if size > end - at:
        raise WireError(f"a length of {size:,} leaves its parent ({end - at:,} bytes are left)", at)
    return at, at + size
