"""The container of an `.ncu-rep`: header, blocks, items. Finds where everything lies, decodes none of it.

    magic "NVR\\0", u32 length, file header; then blocks up to the end of the file:
    u32 length, block header, payload = a run of (u32 length, message) items, counted in the block header.

There is no index and no checksum. A damaged length is survived where the rest of the file says how: the
payload size of the block header bounds its items, and a lost block start is searched for.
Source: the format documentation shipped with Nsight Compute 2022.3 to 2025.3; observed in 209 public reports.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from profrx_parsers.errors import InputError
from profrx_parsers.ncu import MAGIC
from profrx_parsers.wire import BYTES, VARINT, Message, Span, WireError, fields, varint

if TYPE_CHECKING:
    from profrx_parsers.problems import ProblemLog

KINDS = ((1, "source"), (2, "kernel"), (7, "range"), (8, "cmdlist"), (9, "graph"))
"""Block header field that counts a kind of item, in the order of the payload."""
KNOWN_VERSION = 7
MAX_STRINGS = 4_000_000
"""Strings of the name table kept; real reports hold a few thousand."""
MAX_ITEMS = 4_000_000
_COPY_AGAIN = "the file was cut or altered after the capture: copy or collect it again"
_HEADER_START = re.compile(rb"(?=...\x00\x08[\x00-\x7f]\x10[\x00-\x7f])", re.DOTALL)


class Item(NamedTuple):
    """One message of a payload: its kind (see `KINDS`), its bytes, its block's process, whether it is cut."""

    kind: str
    start: int
    stop: int
    process: int | None
    cut: bool


@dataclass
class Layout:
    """Where the parts of a report lie.

    Attributes:
        items: sources and results, in file order.
        sessions: spans of the session messages, to be merged in order.
        name_starts: start of every string of the cumulative name table.
        name_stops: its end.
        processes: process id -> span of the block's process message.
    """

    items: list[Item] = field(default_factory=list)
    sessions: list[Span] = field(default_factory=list)
    name_starts: array[int] = field(default_factory=lambda: array("q"))
    name_stops: array[int] = field(default_factory=lambda: array("q"))
    processes: dict[int, Span] = field(default_factory=dict)
    blocks: int = 0


@dataclass
class _Block:
    start: int
    body: int
    payload: int
    counts: tuple[int, ...]
    process: int | None
    session: Span | None
    names: Span | None
    process_span: Span | None
    unknown: frozenset[int]


def _u32(data: memoryview, pos: int) -> int:
    return int.from_bytes(data[pos : pos + 4], "little")


def _block(data: memoryview, pos: int) -> _Block:
    """Decode the block header at `pos`. Raises `WireError` when there is none."""
    size = len(data)
    length = _u32(data, pos)
    body = pos + 4 + length
    if pos + 4 > size or body > size:
        raise WireError(f"a block header of {length:,} bytes", pos)
    numbers: dict[int, int] = {}
    spans: dict[int, Span] = {}
    unknown = set()
    for number, wire, value in fields(data, pos + 4, body):
        if wire == VARINT and number in (1, 2, 5, 7, 8, 9):
            numbers[number] = value  # type: ignore[assignment]
        elif wire == BYTES and number in (3, 4, 6):
            spans[number] = value  # type: ignore[assignment]
        else:
            unknown.add(number)
    if length and not numbers and not spans:
        raise WireError("a block header without any known field", pos)
    process = Message(data, spans[6]).integer(1) if 6 in spans else None
    counts = tuple(numbers.get(number, 0) for number, _ in KINDS)
    return _Block(
        pos, body, numbers.get(5, 0), counts, process, spans.get(3), spans.get(4), spans.get(6),
        frozenset(unknown),
    )  # fmt: skip


def _plausible(data: memoryview, pos: int) -> bool:
    """Whether a block (or the end of the file) is found at `pos`, judged strictly."""
    if pos == len(data):
        return True
    if pos + 4 > len(data):
        return False
    try:
        found = _block(data, pos)
    except WireError:
        return False
    if found.body == pos + 4 or found.unknown:
        return found.body == pos + 4 and not any(data[pos : pos + 64])
    return found.body + found.payload <= len(data) and sum(found.counts) * 4 <= found.payload


def walk(data: memoryview, problems: ProblemLog, name: str) -> Layout:
    """Find every block and item. Raises `InputError` when not even the file header can be read."""
    size = len(data)
    if size < 8 or bytes(data[:4]) != MAGIC:
        raise InputError(
            "ncu-not-a-report",
            "no Nsight Compute report: the magic is missing" if size >= 8 else "a report cut in its header",
            where=f"{name}: byte 0",
            next_step=_COPY_AGAIN,
        )
    layout = Layout()
    pos = 8 + _u32(data, 4)
    if pos <= size:
        _check_version(Message(data, (8, pos)), problems)
    else:
        found = _resync(data, 8)
        if found is None:
            raise InputError(
                "ncu-header-damaged",
                f"the file header declares {pos - 8:,} bytes, {size - 8:,} follow",
                where=f"{name}: byte 4",
                next_step=_COPY_AGAIN,
            )
        problems.add(
            "warning", "ncu-header-damaged", "the length of the file header is damaged",
            where="byte 4", advice=_COPY_AGAIN,
        )  # fmt: skip
        pos = found
    while pos < size:
        pos = _step(data, pos, layout, problems)
    if not layout.blocks:
        problems.add(
            "data-loss", "ncu-no-blocks", "the report holds nothing behind its file header",
            where=f"byte {size}", advice="the capture ended before its first kernel: collect it again",
        )  # fmt: skip
    return layout


def _check_version(header: Message, problems: ProblemLog) -> None:
    version = header.integer(1)
    if version != KNOWN_VERSION:
        told = "no version" if version is None else f"version {version}"
        problems.add(
            "warning", "ncu-unknown-version", f"the file header says {told}, known is {KNOWN_VERSION}",
            where="byte 8", advice="read as far as it fits; check the numbers against the tool's own export",
        )  # fmt: skip


def _step(data: memoryview, pos: int, layout: Layout, problems: ProblemLog) -> int:
    """Read the block at `pos` and return where the next one starts."""
    size = len(data)
    if size - pos < 4 or not _u32(data, pos):
        return _padding(data, pos, problems)
    if bytes(data[pos : pos + 4]) == MAGIC and layout.blocks:
        problems.add(
            "data-loss", "ncu-second-report", f"a second report of {size - pos:,} bytes is appended",
            where=f"byte {pos}", advice=f"cut the file at byte {pos} and read the second part on its own",
        )  # fmt: skip
        return size
    try:
        block = _block(data, pos)
    except WireError as err:
        return _lost(data, pos, err, layout, problems)
    layout.blocks += 1
    if block.unknown:
        listed = ", ".join(map(str, sorted(block.unknown)[:8]))
        problems.add(
            "info", "ncu-unknown-field", f"block header fields not known: {listed}", where=f"byte {pos}"
        )
    if block.session:
        layout.sessions.append(block.session)
    if block.names:
        _names(data, block.names, layout, problems)
    if block.process is not None and block.process_span:
        layout.processes.setdefault(block.process, block.process_span)
    return _payload(data, block, layout, problems)


def _padding(data: memoryview, pos: int, problems: ProblemLog) -> int:
    size, start = len(data), pos
    while pos < size:
        piece = bytes(data[pos : pos + (1 << 16)])
        rest = piece.lstrip(b"\0")
        pos += len(piece) - len(rest)
        if rest:
            break
    if pos < size:
        pos -= (pos - start) % 4
    if pos == start:
        problems.add(
            "data-loss", "ncu-trailing-bytes", f"{size - pos} bytes at the end are no block",
            where=f"byte {pos}", advice=_COPY_AGAIN,
        )  # fmt: skip
        return size
    problems.add("info", "ncu-padding", f"{pos - start:,} zero bytes between blocks", where=f"byte {start}")
    return pos


def _lost(data: memoryview, pos: int, err: WireError, layout: Layout, problems: ProblemLog) -> int:
    """Report a block that cannot be read and search the next one."""
    size = len(data)
    resumed = _resync(data, pos + 1)
    if resumed is None:
        problems.add(
            "data-loss", "ncu-truncated-block", f"{size - pos:,} bytes hold no readable block ({err.reason})",
            where=f"byte {pos}", advice=_COPY_AGAIN,
        )  # fmt: skip
        return size
    problems.add(
        "data-loss", "ncu-damaged-block",
        f"a block header is damaged ({err.reason}); {resumed - pos:,} bytes were skipped",
        where=f"byte {pos}", advice="names of metrics may be missing: " + _COPY_AGAIN,
    )  # fmt: skip
    return resumed


def _resync(data: memoryview, pos: int) -> int | None:
    """Return the next offset from `pos` on where a whole block starts, None when there is none."""
    for tries, found in enumerate(_HEADER_START.finditer(data, pos)):
        at = found.start()
        if _plausible(data, at):
            return at
        if tries > 200_000:
            break
    return None


def _names(data: memoryview, span: Span, layout: Layout, problems: ProblemLog) -> None:
    pos, stop = span
    starts, stops = layout.name_starts, layout.name_stops
    try:
        while pos < stop:
            tag = data[pos]
            length, begin = varint(data, pos + 1, stop)
            if tag != 0x0A or length > stop - begin:
                raise WireError("no string", pos)
            pos = begin + length
            starts.append(begin)
            stops.append(pos)
            if len(starts) >= MAX_STRINGS:
                raise WireError(f"more than {MAX_STRINGS:,} strings", pos)
    except WireError as err:
        problems.add(
            "data-loss", "ncu-damaged-names", f"the table of metric names is damaged ({err.reason})",
            where=f"byte {pos}", advice=_COPY_AGAIN,
        )  # fmt: skip


def _payload(data: memoryview, block: _Block, layout: Layout, problems: ProblemLog) -> int:
    """Add the items of a block and return where the next block starts."""
    size = len(data)
    declared = block.body + block.payload
    limit = min(declared, size) if block.payload else size
    pos = block.body
    left = sum(block.counts)
    for (_, kind), count in zip(KINDS, block.counts, strict=True):
        for _ in range(count):
            if pos + 4 > limit or len(layout.items) >= MAX_ITEMS:
                _missing_items(pos, kind, left, problems)
                return _after(data, block, pos, problems)
            length = _u32(data, pos)
            start, stop = pos + 4, pos + 4 + length
            cut = stop > limit
            if cut:
                stop = limit
                if declared > size or not block.payload:
                    problems.add(
                        "data-loss", "ncu-truncated-item",
                        f"the file ends inside a {kind} item: {length:,} bytes declared, {stop - start:,} remain",
                        where=f"byte {pos}", advice=_COPY_AGAIN,
                    )  # fmt: skip
                else:
                    problems.add(
                        "data-loss" if left > 1 else "warning", "ncu-damaged-length",
                        f"a {kind} item declares {length:,} bytes, {stop - start:,} are left in its block"
                        + (f"; {left - 1:,} further items are lost" if left > 1 else "; taken as its length"),
                        where=f"byte {pos}", advice=_COPY_AGAIN,
                    )  # fmt: skip
            layout.items.append(Item(kind, start, stop, block.process, cut))
            pos = stop
            left -= 1
            if cut:
                return declared if declared <= size and block.payload else size
    return _after(data, block, pos, problems)


def _missing_items(pos: int, kind: str, left: int, problems: ProblemLog) -> None:
    problems.add(
        "data-loss", "ncu-missing-items", f"{left:,} counted items ({kind} first) are not in their block",
        where=f"byte {pos}", advice=_COPY_AGAIN,
    )  # fmt: skip


def _after(data: memoryview, block: _Block, pos: int, problems: ProblemLog) -> int:
    """Decide where the next block starts when the items end at `pos`."""
    declared = block.body + block.payload
    if pos == declared:
        return pos
    if declared <= len(data) and declared > pos and _plausible(data, declared):
        problems.add(
            "info", "ncu-unknown-items", f"{declared - pos:,} bytes of a block hold items of an unknown kind",
            where=f"byte {pos}",
        )  # fmt: skip
        return declared
    if not _plausible(data, pos):
        resumed = _resync(data, pos)
        if resumed is not None:
            pos = resumed
        elif declared <= len(data):
            pos = max(pos, declared)
    problems.add(
        "warning", "ncu-damaged-length", "the payload size of a block disagrees with its items",
        where=f"byte {block.start}", advice=_COPY_AGAIN,
    )  # fmt: skip
    return pos
