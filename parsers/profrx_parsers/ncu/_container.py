"""The container of an `.ncu-rep`: header, blocks, items. Finds where everything lies, decodes none of it.

    magic "NVR\\0", u32 length, file header; then blocks up to the end of the file:
    u32 length, block header, payload = a run of (u32 length, message) items, counted in the block header.

There is no index and no checksum. A damaged length is survived where the rest of the file says how: the
payload size of the block header bounds its items, and a lost block start is searched for.
Source: the format documentation shipped with Nsight Compute 2022.3 to 2025.3; observed in 209 public reports.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from profrx_parsers.errors import InputError
from profrx_parsers.ncu import MAGIC
from profrx_parsers.ncu._block import KINDS, Block, decode, next_start, plausible, repair, u32, well_formed
from profrx_parsers.ncu._names import NameTable
from profrx_parsers.ncu._pages import Passage
from profrx_parsers.wire import Message, Span, WireError

if TYPE_CHECKING:
    from profrx_parsers.problems import ProblemLog

KNOWN_VERSION = 7
_MAGIC = int.from_bytes(MAGIC, "little")
MAX_BLOCKS = 1_000_000
MAX_ITEMS = 500_000
"""Items kept per report; a kernel is one."""
_COPY_AGAIN = "the file was cut or altered after the capture: copy or collect it again"


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
        names: the cumulative name table.
        blocks: how many blocks were read.
    """

    items: list[Item] = field(default_factory=list)
    sessions: list[Span] = field(default_factory=list)
    names: NameTable = field(default_factory=NameTable)
    blocks: int = 0


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
    pos = 8 + u32(data, 4)
    if pos <= size:
        _check_version(Message(data, (8, pos)), problems)
    else:
        found = next_start(data, 8)
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
    passage = Passage(data)
    while pos < size:
        pos = _step(data, pos, layout, problems)
        if layout.blocks >= MAX_BLOCKS:
            problems.add(
                "data-loss", "ncu-too-many-blocks", f"more than {MAX_BLOCKS:,} blocks: the rest was left out",
                where=f"byte {pos}", advice="no capture writes so many: check where the file comes from",
            )  # fmt: skip
            break
        passage.reached(pos)
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
    length = u32(data, pos)
    if size - pos < 4 or not length:
        return _padding(data, pos, problems)
    if length == _MAGIC and layout.blocks:
        problems.add(
            "data-loss", "ncu-second-report", f"a second report of {size - pos:,} bytes is appended",
            where=f"byte {pos}", advice=f"cut the file at byte {pos} and read the second part on its own",
        )  # fmt: skip
        return size
    try:
        block = decode(data, pos)
        damage = block.damaged
    except WireError as err:
        damage = err
    if damage is not None:
        repaired = repair(data, pos)
        if repaired is None:
            return _lost(data, pos, damage, layout, problems)
        block = repaired
        problems.add(
            "warning", "ncu-damaged-block", f"a block header is damaged ({damage.reason}); its items were found",
            where=f"byte {pos}", advice=_COPY_AGAIN,
        )  # fmt: skip
    layout.blocks += 1
    if block.unknown:
        listed = ", ".join(map(str, sorted(block.unknown)[:8]))
        problems.add(
            "info", "ncu-unknown-field", f"block header fields not known: {listed}", where=f"byte {pos}"
        )
    if 3 in block.spans:
        layout.sessions.append(block.spans[3])
    if 4 in block.spans:
        layout.names.add(data, block.spans[4], problems)
    elif block.damaged:
        layout.names.lost = True
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
    layout.names.lost = True
    found = next_start(data, pos + 1)
    if found is None:
        problems.add(
            "data-loss", "ncu-truncated-block", f"{size - pos:,} bytes hold no readable block ({err.reason})",
            where=f"byte {pos}", advice=_COPY_AGAIN,
        )  # fmt: skip
        return size
    problems.add(
        "data-loss", "ncu-damaged-block",
        f"a block header is damaged ({err.reason}); {found - pos:,} bytes were skipped",
        where=f"byte {pos}", advice="names of metrics may be missing: " + _COPY_AGAIN,
    )  # fmt: skip
    return found


def _payload(data: memoryview, block: Block, layout: Layout, problems: ProblemLog) -> int:
    """Add the items of a block and return where the next block starts."""
    size = len(data)
    pos = block.body
    counts = block.counts
    left = sum(counts)
    if not left:
        return _after(data, block, pos, problems) if block.payload else pos
    declared = pos + block.payload if block.payload else size
    limit = min(declared, size)
    process = block.process(data)
    for (_, kind), count in zip(KINDS, counts, strict=True):
        for _ in range(count):
            if pos + 4 > limit or len(layout.items) >= MAX_ITEMS:
                problems.add(
                    "data-loss", "ncu-missing-items", f"{left:,} counted items ({kind} first) are not in their block",
                    where=f"byte {pos}", advice=_COPY_AGAIN,
                )  # fmt: skip
                return _after(data, block, pos, problems)
            start, stop = pos + 4, pos + 4 + u32(data, pos)
            if stop > limit and stop < size and plausible(data, stop):
                limit = declared = size  # the payload size is wrong, not the item's length
            cut = stop > limit
            if cut:
                _report_cut(pos, kind, stop, limit, left, declared > size or not block.payload, problems)
                stop = limit
            elif left == 1 and declared <= size and stop < declared and _too_short(data, stop, declared):
                problems.add(
                    "warning", "ncu-damaged-length", f"a {kind} item ends before its block; taken to the end",
                    where=f"byte {pos}", advice=_COPY_AGAIN,
                )  # fmt: skip
                stop = declared
            if start < stop:
                layout.items.append(Item(kind, start, stop, process, cut))
            elif not cut:
                problems.add(
                    "data-loss",
                    "ncu-missing-items",
                    f"{kind} items are empty",
                    where=f"byte {pos}",
                    advice=_COPY_AGAIN,
                )
            pos = stop
            left -= 1
            if cut:
                return limit
    return _after(data, block, pos, problems)


def _report_cut(
    pos: int, kind: str, stop: int, limit: int, left: int, at_end: bool, problems: ProblemLog
) -> None:
    length, remain = stop - pos - 4, limit - pos - 4
    if at_end:
        problems.add(
            "data-loss", "ncu-truncated-item",
            f"the file ends inside a {kind} item: {length:,} bytes declared, {remain:,} remain",
            where=f"byte {pos}", advice=_COPY_AGAIN,
        )  # fmt: skip
        return
    lost = f"; {left - 1:,} further items are lost" if left > 1 else "; taken as its length"
    problems.add(
        "data-loss" if left > 1 else "warning", "ncu-damaged-length",
        f"a {kind} item declares {length:,} bytes, {remain:,} are left in its block{lost}",
        where=f"byte {pos}", advice=_COPY_AGAIN,
    )  # fmt: skip


def _too_short(data: memoryview, stop: int, declared: int) -> bool:
    """Whether an item's length is wrong, rather than items of an unknown kind following it."""
    return plausible(data, declared) and not plausible(data, stop) and not well_formed(data, stop, declared)


def _after(data: memoryview, block: Block, pos: int, problems: ProblemLog) -> int:
    """Decide where the next block starts when the items end at `pos`."""
    declared = block.body + block.payload
    if pos == declared:
        return pos
    if pos < declared <= len(data) and plausible(data, declared):
        nothing = not sum(block.counts)
        problems.add(
            "data-loss" if nothing else "info", "ncu-unknown-items",
            f"{declared - pos:,} bytes of a block hold items that its header does not count"
            if nothing else f"{declared - pos:,} bytes of a block hold items of an unknown kind",
            where=f"byte {pos}", advice=_COPY_AGAIN if nothing else "",
        )  # fmt: skip
        return declared
    if not plausible(data, pos):
        found = next_start(data, pos)
        if found is not None:
            pos = found
        elif declared <= len(data):
            pos = max(pos, declared)
    problems.add(
        "warning", "ncu-damaged-length", "the payload size of a block disagrees with its items",
        where=f"byte {block.start}", advice=_COPY_AGAIN,
    )  # fmt: skip
    return pos
