"""Decoding many small protobuf values at once: the eight bytes at every offset as one number, no copy of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from profrx_parsers.wire import decode_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Bytes = NDArray[np.uint8]
    Words = NDArray[np.uint64]

MAX_LETTERS = (1 << 31) - 1
"""Bytes that a text array can hold."""
CHUNK = 1 << 14
"""Values decoded at a time: what is computed for them stays in the processor's cache."""

ABSENT, TEXT, FLOAT, DOUBLE, UINT32, UINT64, ODD = 0, 1, 2, 3, 4, 5, 255
"""Kinds of a metric value, by field number; ODD = not of the usual shape, decode field by field."""

_TAGS = np.full(256, ODD, dtype=np.uint8)
_TAGS[[0x0A, 0x15, 0x19, 0x20, 0x28]] = [TEXT, FLOAT, DOUBLE, UINT32, UINT64]

_SIZES = np.zeros(256, dtype=np.uint8)
_SIZES[[FLOAT, DOUBLE]] = [5, 9]
"""Bytes of the kinds that always have the same number of them."""

_ARROW = {
    np.dtype(kind).char: pa.from_numpy_dtype(kind) for kind in (np.int16, np.int32, np.int64, np.float64)
}

_MORE = np.uint64(0x8080808080808080)
"""The bit of every byte that says that a number goes on."""
_PAIRS = (
    (np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00), np.uint64(1)),
    (np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000), np.uint64(2)),
    (np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000), np.uint64(4)),
)
"""Low and high halves of neighbouring groups of bits, and by how far the high ones are apart from the low ones."""
_ONE = np.uint64(1)
_LOW = np.uint64(0xFF)


def words(data: Bytes, at: Ints) -> Words:
    """Return the eight bytes at every offset as a little-endian number; behind the data there are zeros."""
    if len(data) < 8:
        padded: Bytes = np.zeros(8, dtype=np.uint8)
        padded[: len(data)] = data
        data = padded
    last = len(data) - 8
    view: Words = np.ndarray((last + 1,), "<u8", data, strides=(1,))
    if not len(at) or at.max() <= last:
        return view[at]
    word = view[np.minimum(at, last)]
    beyond = np.flatnonzero(at > last)
    if len(beyond):
        shift = np.minimum(at[beyond] - last, 8).astype(np.uint64) * np.uint64(4)
        word[beyond] = word[beyond] >> shift >> shift  # in two steps: by 64 bits at once is undefined
    return word


def unpacked(word: Words) -> tuple[Words, NDArray[np.uint8]]:
    """Decode the number that begins in the lowest byte of every word; return values and lengths in bytes.

    The length of a number that does not end within its word is 0, its value what the word holds of it.
    """
    ends = ~word & _MORE
    mask = ends ^ (ends - _ONE)  # all bits up to the lowest end; all of them where there is none
    value = word & mask & ~_MORE
    for low, high, distance in _PAIRS:
        value = (value & low) | ((value & high) >> distance)
    length: NDArray[np.uint8] = np.bitwise_count(mask) >> np.uint8(3)
    length[ends == 0] = 0
    return value, length


def varints(data: Bytes, at: Ints, stop: Ints) -> tuple[Words, Ints]:
    """Decode a number at every offset; return values and the offset behind each (-1 where it does not fit)."""
    if len(at) <= CHUNK:
        return _varints(data, at, stop)
    values = np.empty(len(at), dtype=np.uint64)
    after = np.empty(len(at), dtype=np.int64)
    for low in range(0, len(at), CHUNK):
        part = slice(low, low + CHUNK)
        values[part], after[part] = _varints(data, at[part], stop[part])
    return values, after


def _varints(data: Bytes, at: Ints, stop: Ints) -> tuple[Words, Ints]:
    first = data.take(at, mode="clip")
    value, after = first.astype(np.uint64), at + 1
    wide = np.flatnonzero(first >= 0x80)
    if len(wide):
        begin = at[wide]
        found, length = unpacked(words(data, begin))
        after[wide] = begin + length
        long = np.flatnonzero(length == 0)
        if len(long):
            rest, more = unpacked(words(data, begin[long] + 8) & np.uint64(0xFFFF))
            found[long] |= rest << np.uint64(56)
            after[wide[long]] = np.where((more == 1) | (more == 2), begin[long] + 8 + more, -1)
        value[wide] = found
    after[after > stop] = -1
    return value, after


def short_varints(data: Bytes, at: Ints, stop: Ints) -> tuple[Words, Ints]:
    """Do the same, faster where all numbers have one or two bytes, as ids of names do."""
    low, high = data.take(at, mode="clip"), data.take(at + 1, mode="clip")
    wide = low >= 0x80
    if (wide & (high >= 0x80)).any():
        return varints(data, at, stop)
    value = (low & 0x7F).astype(np.uint16)
    value |= (high * wide).astype(np.uint16) << np.uint16(7)
    after = at + wide
    after += 1
    beyond = after > stop
    if beyond.any():
        after[beyond] = -1
    return value.astype(np.uint64), after


def arrow(values: NDArray[Any], present: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers as an Arrow array over the same memory; null where not present.

    Made from its buffers, as the texts are: `pyarrow.array` first imports pandas where that is installed, which
    takes longer than reading a hundred reports.
    """
    valid = None
    if present is not None and not present.all():
        valid = pa.py_buffer(np.packbits(present, bitorder="little"))
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(
            pa.bool_(), len(values), [valid, pa.py_buffer(np.packbits(values, bitorder="little"))]
        )
    kind = _ARROW[values.dtype.char]
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(np.ascontiguousarray(values))])


def binary(texts: Iterable[bytes]) -> pa.BinaryArray:
    """Return byte strings as an Arrow array. Raises `OverflowError` for more than 2 GiB."""
    held = list(texts)
    offsets = np.zeros(len(held) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, held), np.int64, len(held)), out=offsets[1:])
    if offsets[-1] > MAX_LETTERS:
        raise OverflowError("more text than an array can hold")
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(b"".join(held))]
    return pa.Array.from_buffers(pa.binary(), len(held), buffers)


def strings(texts: Iterable[str]) -> pa.StringArray:
    """Return texts as an Arrow array. Raises `OverflowError` for more than 2 GiB."""
    return binary(text.encode("utf-8", "replace") for text in texts).view(pa.string())


def texts(data: memoryview, raw: Bytes, start: Ints, stop: Ints) -> pa.Array:
    """Decode short texts, all of which must lie inside the data; damaged UTF-8 is replaced."""
    offsets = np.zeros(len(start) + 1, dtype=np.int32)
    np.cumsum(stop - start, out=offsets[1:])
    at = np.repeat(start - offsets[:-1], stop - start) + np.arange(offsets[-1])
    letters = raw[at]
    if (letters >= 0x80).any():
        return strings(decode_text(data, span) for span in zip(start.tolist(), stop.tolist(), strict=True))
    return pa.StringArray.from_buffers(len(start), pa.py_buffer(offsets), pa.py_buffer(letters))


def values(data: Bytes, at: Ints, stop: Ints) -> tuple[NDArray[np.uint8], NDArray[np.float64], Ints, Ints]:
    """Decode value messages (one of: text, float, double, uint32, uint64) whose body is at..stop.

    Returns:
        kind (ABSENT for an empty message, ODD when the shape is unusual), number (NaN when there is none), and
        start and stop of the text (0 when there is none).
    """
    size = stop - at
    kind = _TAGS.take(data.take(at, mode="clip"))
    kind[size <= 0] = ABSENT
    fixed = _SIZES.take(kind)
    kind[(fixed > 0) & (fixed != size)] = ODD
    word = words(data, at + 1)
    number = np.where(kind == DOUBLE, word.view(np.float64), np.nan)
    here = np.bincount(kind, minlength=ODD)
    if here[FLOAT]:
        chosen = (kind == FLOAT).nonzero()[0]
        number[chosen] = word[chosen].astype(np.uint32).view(np.float32)
    if here[UINT64] or here[UINT32]:
        chosen = ((kind == UINT64) | (kind == UINT32)).nonzero()[0]
        whole, length = unpacked(word[chosen])
        number[chosen] = whole
        long = (length + 1 != size[chosen]).nonzero()[0]
        if len(long):
            rest = chosen[long]
            number[rest], after = varints(data, at[rest] + 1, stop[rest])
            kind[rest[after != stop[rest]]] = ODD
    text_start, text_stop = np.zeros((2, len(at)), dtype=np.int64)
    if here[TEXT]:
        chosen = (kind == TEXT).nonzero()[0]
        fits = (word[chosen] & _LOW) + 2 == size[chosen].view(np.uint64)
        text_start[chosen], text_stop[chosen] = at[chosen] + 2, stop[chosen]
        kind[chosen[~fits]] = ODD  # damaged, or of 128 bytes or more
    return kind, number, text_start, text_stop
