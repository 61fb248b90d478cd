"""The parts of a `.nsys-rep` whose index is lost, found by reading the event section from its start.

The index stands at the end of the file, so a copy cut by a single byte has none. What it tells can be found
without it: the event section begins with a mark, its blocks follow each other with their sizes in front, and the
collection header counts the events, so that the first block after the last event is the string block. A block cut
in the middle, and all behind it, is lost. Source: the order of the parts observed in 111 reports (`container`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from google.protobuf.message import DecodeError

from profrx_parsers.nsys.merge import Form
from profrx_parsers.wire import WireError

MAGIC = b"QDTEXT00"
SEARCH_BYTES = 64 << 20
"""The mark stands behind the analysis options (30 KB at most seen)."""
MAX_BLOCKS = 10_000_000
_PIECE = 1 << 20

ReadBlock = Callable[[int, int], tuple[bytes, int]]
"""(offset, end) -> (message, offset behind the block); raises `WireError`."""


@dataclass(frozen=True)
class Walk:
    """How far the event blocks reach.

    Attributes:
        stop: offset behind the last whole event block.
        complete: whether every counted event, or a block without events, was met: the string block starts at `stop`.
        events: events met.
        expected: events that the header counts, None when it counts none.
        damage: what ended the walk early.
    """

    stop: int
    complete: bool
    events: int
    expected: int | None
    damage: str = ""


def find_mark(data: memoryview) -> int | None:
    """Return the offset of the event section, None when the file ends before it."""
    for at in range(0, min(len(data), SEARCH_BYTES), _PIECE):
        found = bytes(data[at : at + _PIECE + len(MAGIC) - 1]).find(MAGIC)
        if found >= 0:
            return at + found
    return None


def walk(read_block: ReadBlock, first: int, end: int, expected: int | None) -> Walk:
    """Read blocks one after the other until the counted events are met or a block is damaged.

    Args:
        read_block: unpacks one block.
        first: offset of the first block.
        end: where the file ends.
        expected: events of both kinds by the collection header, None when it counts none.
    """
    at = first
    events = 0
    for _ in range(MAX_BLOCKS):
        if expected is not None and events >= expected:
            return Walk(at, True, events, expected)
        if at >= end:
            return Walk(at, False, events, expected, "the file ends")
        try:
            message, after = read_block(at, end)
            found = _events(message)
        except (WireError, DecodeError) as err:
            why = err.reason if isinstance(err, WireError) else str(err)
            return Walk(at, False, events, expected, why)
        if not found:
            return Walk(at, True, events, expected)
        events += found
        at = after
    return Walk(at, False, events, expected, f"more than {MAX_BLOCKS:,} blocks")


def _events(message: bytes) -> int:
    """Count the events of a block; 0 for the string block, whose first entry starts with no type code."""
    merged = _block_form().parse([message])
    plain, generic = merged.f1, merged.f2
    if plain and plain[0][:1] != b"\x08":
        return 0
    return len(plain) + len(generic)


@cache
def _block_form() -> Form:
    return Form({(1,): "bytes", (2,): "bytes"})
