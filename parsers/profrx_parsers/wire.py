"""Protobuf wire format, decoded by hand and bounded: no schema, no recursion, no trust in lengths.

Readers that need a handful of fields of a large message walk it with `fields`, which yields spans instead of
copies. Everything is checked against the enclosing span; the first inconsistency raises `WireError` with the
offset, so that a reader can keep what it has read up to there.

Source: the public protobuf encoding document; groups (wire types 3 and 4) occur in no profiler report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

Buffer = bytes | memoryview
Span = tuple[int, int]
"""Start and stop offsets of a length-delimited value."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MAX_TEXT = 1 << 20
"""Longest text decoded, in bytes; real names reach about 1,500."""
MAX_FIELDS = 200_000
"""Fields kept of one message; messages with more are bulk data, which `Message` is not for."""


class WireError(ValueError):
    """The bytes are not a message. `offset` is where that shows."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(f"{message} at byte {offset}")
        self.reason = message
        self.offset = offset


def varint(data: Buffer, pos: int, stop: int) -> tuple[int, int]:
    """Return the unsigned number at `pos` and the offset behind it."""
    if pos + 1 < stop:  # most have one or two bytes
        low = data[pos]
        if low < 0x80:
            return low, pos + 1
        high = data[pos + 1]
        if high < 0x80:
            return low & 0x7F | high << 7, pos + 2
    value = shift = 0
    start = pos
    while pos < stop:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, pos
        shift += 7
        if shift > 63:
            raise WireError("number longer than 10 bytes", start)
    raise WireError("number cut short", start)


def fields(data: Buffer, start: int, stop: int) -> Iterator[tuple[int, int, int | Span]]:
    """Yield (field number, wire type, value): a number, or the span of a length-delimited value.

    Fixed-width values come as the unsigned number of their little-endian bytes.
    """
    pos = start
    while pos < stop:
        here = pos
        byte = data[pos]
        if byte < 0x80:
            tag, pos = byte, pos + 1
        else:
            tag, pos = varint(data, pos, stop)
        number, wire = tag >> 3, tag & 7
        if number == 0 or number > 0x1FFFFFFF:
            raise WireError(f"field number {number}", here)
        if wire == VARINT:
            value, pos = varint(data, pos, stop)
            yield number, wire, value
        elif wire == BYTES:
            length, pos = varint(data, pos, stop)
            if length > stop - pos:
                raise WireError(f"field {number} declares {length:,} bytes, {stop - pos:,} remain", here)
            yield number, wire, (pos, pos + length)
            pos += length
        elif wire in (FIXED64, FIXED32):
            width = 8 if wire == FIXED64 else 4
            if width > stop - pos:
                raise WireError(f"field {number} cut short", here)
            yield number, wire, int.from_bytes(data[pos : pos + width], "little")
            pos += width
        else:
            raise WireError(f"wire type {wire}", here)


class Message:
    """A small message, indexed by field number; for structure, never for bulk values.

    Args:
        data: the buffer that holds the message.
        span: where in it.

    A message that turns out damaged keeps the fields before the damage; `error` says what was wrong.
    """

    __slots__ = ("_fields", "data", "error", "span")

    def __init__(self, data: Buffer, span: Span) -> None:
        self.data = data
        self.span = span
        self.error: WireError | None = None
        self._fields: dict[int, list[int | Span]] = {}
        try:
            for count, (number, _wire, value) in enumerate(fields(data, *span)):
                self._fields.setdefault(number, []).append(value)
                if count >= MAX_FIELDS:
                    raise WireError(f"more than {MAX_FIELDS:,} fields", span[0])
        except WireError as err:
            self.error = err.with_traceback(None)  # which would hold this message, and with it the whole file

    def __contains__(self, number: int) -> bool:
        return number in self._fields

    @property
    def numbers(self) -> frozenset[int]:
        """Field numbers that occur."""
        return frozenset(self._fields)

    def integer(self, number: int) -> int | None:
        """Return the last number of a field, None when absent or not a number."""
        value = self._fields.get(number, [None])[-1]
        return value if isinstance(value, int) else None

    def integers(self, number: int) -> list[int]:
        """Return every number of a repeated field (unpacked)."""
        return [v for v in self._fields.get(number, ()) if isinstance(v, int)]

    def spans(self, number: int) -> list[Span]:
        """Return the spans of every length-delimited value of a field."""
        return [v for v in self._fields.get(number, ()) if isinstance(v, tuple)]

    def text(self, number: int) -> str | None:
        """Return the last text of a field, None when absent."""
        found = self.spans(number)
        return decode_text(self.data, found[-1]) if found else None

    def texts(self, number: int) -> list[str]:
        """Return every text of a repeated field."""
        return [decode_text(self.data, span) for span in self.spans(number)]

    def message(self, number: int) -> Message | None:
        """Return a sub-message: all occurrences merged, as protobuf prescribes; None when absent."""
        found = self.spans(number)
        if not found:
            return None
        merged = Message(self.data, found[0])
        for span in found[1:]:
            later = Message(self.data, span)
            merged.error = merged.error or later.error
            for key, values in later._fields.items():
                merged._fields.setdefault(key, []).extend(values)
        return merged

    def messages(self, number: int) -> list[Message]:
        """Return every message of a repeated field."""
        return [Message(self.data, span) for span in self.spans(number)]


def decode_text(data: Buffer, span: Span) -> str:
    """Decode UTF-8 text, damaged bytes replaced, at most `MAX_TEXT` bytes of it."""
    start, stop = span
    return bytes(data[start : min(stop, start + MAX_TEXT)]).decode("utf-8", "replace")


def signed(value: int, bits: int = 64) -> int:
    """Read an unsigned number as two's complement."""
    return value - (1 << bits) if value >> (bits - 1) & 1 else value
