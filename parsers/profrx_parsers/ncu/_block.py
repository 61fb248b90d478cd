"""Block headers of an `.ncu-rep`: decoding one, judging whether there is one, repairing a damaged one.

BlockHeader: 1 sources, 2 results, 3 session, 4 string table {1 repeated string}, 5 payload size, 6 process
{1 id, 2 host, 3 name}, 7 range results, 8 command list results, 9 graph results.
Source: the format documentation shipped with Nsight Compute 2024.1; observed in 209 public reports.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field

from profrx_parsers.wire import BYTES, VARINT, Message, Span, WireError, fields, varint

KINDS = ((1, "source"), (2, "kernel"), (7, "range"), (8, "cmdlist"), (9, "graph"))
"""Block header field that counts a kind of item, in the order of the payload."""
_NUMBERS = frozenset((1, 2, 5, 7, 8, 9))
_SPANS = frozenset((3, 4, 6))
_NUMBER_TAGS = frozenset(number << 3 | VARINT for number in _NUMBERS)
_SPAN_TAGS = frozenset(number << 3 | BYTES for number in _SPANS)
_START = re.compile(rb"(?=...\x00\x08[\x00-\x7f]\x10[\x00-\x7f])", re.DOTALL)
_LENGTH = struct.Struct("<I")
_MAX_CANDIDATES = 200_000


@dataclass(slots=True)
class Block:
    """A decoded block header.

    Attributes:
        start: offset of the block.
        body: where its payload begins.
        numbers: field number -> number, for the counting fields and the payload size.
        spans: field number -> span of session, names, process.
        unknown: field numbers that are not known.
        damaged: what is wrong with the header; None when it decoded wholly.
    """

    start: int
    body: int
    numbers: dict[int, int] = field(default_factory=dict)
    spans: dict[int, Span] = field(default_factory=dict)
    unknown: set[int] = field(default_factory=set)
    damaged: WireError | None = None

    @property
    def payload(self) -> int:
        """Declared size of the payload; 0 when it is not known."""
        return self.numbers.get(5, 0)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many items of each of `KINDS` the payload holds."""
        of = self.numbers.get
        return of(1, 0), of(2, 0), of(7, 0), of(8, 0), of(9, 0)

    def process(self, data: memoryview) -> int | None:
        """Return the id of the process that the results belong to."""
        return Message(data, self.spans[6]).integer(1) if 6 in self.spans else None


def u32(data: memoryview, pos: int) -> int:
    """Return the length at `pos`; near the end of the file, of the bytes that are left."""
    if pos + 4 <= len(data):
        length: int = _LENGTH.unpack_from(data, pos)[0]
        return length
    return int.from_bytes(data[pos:], "little")


def decode(data: memoryview, pos: int) -> Block:
    """Decode the block header at `pos`; inside a plausible length, damage is kept in `Block.damaged`.

    Raises `WireError` when the length does not fit the file or nothing of a header is found.
    """
    size = len(data)
    length = u32(data, pos)
    body = pos + 4 + length
    if pos + 4 > size or body > size:
        raise WireError(f"a block header of {length:,} bytes does not fit", pos)
    block = Block(pos, body)
    try:
        _fill(block, data, pos + 4, body)
    except WireError as err:
        block.damaged = err
    if length and not block.numbers and not block.spans:
        raise WireError("a block header without any known field", pos)
    return block


def _fill(block: Block, data: memoryview, pos: int, stop: int) -> None:
    """Take the fields of a header. Raises `WireError` at the first inconsistency; what was read before is kept."""
    while pos < stop:
        tag = data[pos]
        if tag in _NUMBER_TAGS:
            block.numbers[tag >> 3], pos = varint(data, pos + 1, stop)
        elif tag in _SPAN_TAGS:
            length, start = varint(data, pos + 1, stop)
            if length > stop - start:
                raise WireError(f"field {tag >> 3} declares {length:,} bytes, {stop - start:,} remain", pos)
            pos = start + length
            block.spans[tag >> 3] = start, pos
        else:
            for number, wire, value in fields(data, pos, stop):
                _take(block, number, wire, value)
            return


def _take(block: Block, number: int, wire: int, value: int | Span) -> bool:
    if wire == VARINT and number in _NUMBERS and isinstance(value, int):
        block.numbers[number] = value
    elif wire == BYTES and number in _SPANS and isinstance(value, tuple):
        block.spans[number] = value
    else:
        block.unknown.add(number)
        return False
    return True


def plausible(data: memoryview, pos: int) -> bool:
    """Whether a whole block, padding or the end of the file is found at `pos`, judged strictly."""
    size = len(data)
    if pos >= size:
        return pos == size
    if size - pos < 4:
        return False
    if not u32(data, pos):
        return not any(data[pos : pos + 64])
    try:
        block = decode(data, pos)
    except WireError:
        return False
    if block.damaged or block.unknown:
        return False
    return block.body + block.payload <= size and sum(block.counts) * 4 <= block.payload


def repair(data: memoryview, pos: int) -> Block | None:
    """Try to read a damaged block header at `pos`; None when what follows does not confirm the attempt."""
    try:
        block = decode(data, pos)
    except WireError:
        block = None
    if block is not None and block.damaged and sum(block.counts):
        end = _items_end(data, block)
        if end is not None and plausible(data, end):
            block.numbers[5] = end - block.body
            return block
    return _without_length(data, pos)


def _items_end(data: memoryview, block: Block) -> int | None:
    pos = block.body
    count = sum(block.counts)
    if count * 4 > len(data) - pos:
        return None
    for _ in range(count):
        if pos + 4 > len(data):
            return None
        pos += 4 + u32(data, pos)
    return pos if pos <= len(data) else None


def _without_length(data: memoryview, pos: int) -> Block | None:
    """Read a header whose own length is wrong: fields ascend and end where the payload begins."""
    block = Block(pos, pos + 4)
    last = 0
    try:
        for number, wire, value in fields(data, pos + 4, len(data)):
            if number <= last or not _take(block, number, wire, value):
                break
            last = number
            block.body = value[1] if isinstance(value, tuple) else _behind(data, block.body)
            if _confirmed(data, block):
                return block
    except WireError:
        pass
    return None


def _behind(data: memoryview, pos: int) -> int:
    """Return the offset behind a numeric field at `pos` (one-byte tag)."""
    pos += 1
    while data[pos] >= 0x80:
        pos += 1
    return pos + 1


def _confirmed(data: memoryview, block: Block) -> bool:
    if not {1, 2, 5, 6} <= (block.numbers.keys() | block.spans.keys()):
        return False
    end = _items_end(data, block)
    return end == block.body + block.payload and plausible(data, end)


def next_start(data: memoryview, pos: int) -> int | None:
    """Return the next offset from `pos` on where a whole block starts, None when there is none."""
    for tries, found in enumerate(_START.finditer(data, pos)):
        at = found.start()
        if u32(data, at) and plausible(data, at):
            return at
        if tries > _MAX_CANDIDATES:
            break
    return None


def well_formed(data: memoryview, pos: int, stop: int) -> bool:
    """Whether pos..stop is a run of (length, message) items, as a kind of item from a later version would be."""
    while pos < stop:
        if stop - pos < 4:
            return False
        length = u32(data, pos)
        if not length or length > stop - pos - 4:
            return False
        try:
            for _ in fields(data, pos + 4, pos + 4 + length):
                pass
        except WireError:
            return False
        pos += 4 + length
    return True
