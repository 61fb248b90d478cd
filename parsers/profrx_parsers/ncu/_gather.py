"""Decoding many small protobuf values at once: numpy gathers from the mapped file, no copy of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from profrx_parsers.wire import decode_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Bytes = NDArray[np.uint8]

CHUNK = 1 << 14
"""Values decoded at a time: bounds the memory of the gathered windows (10 bytes each)."""

ABSENT, TEXT, FLOAT, DOUBLE, UINT32, UINT64, ODD = 0, 1, 2, 3, 4, 5, 255
"""Kinds of a metric value, by field number; ODD = not of the usual shape, decode field by field."""

_TAGS = np.full(256, ODD, dtype=np.uint8)
_TAGS[[0x0A, 0x15, 0x19, 0x20, 0x28]] = [TEXT, FLOAT, DOUBLE, UINT32, UINT64]


def varints(data: Bytes, at: Ints, stop: Ints) -> tuple[NDArray[np.uint64], Ints]:
    """Decode a number at every offset; return values and the offset behind each (-1 where it does not fit)."""
    if len(at) <= CHUNK:
        return _varints(data, at, stop)
    values = np.empty(len(at), dtype=np.uint64)
    after = np.empty(len(at), dtype=np.int64)
    for low in range(0, len(at), CHUNK):
        part = slice(low, low + CHUNK)
        values[part], after[part] = _varints(data, at[part], stop[part])
    return values, after


def _varints(data: Bytes, at: Ints, stop: Ints) -> tuple[NDArray[np.uint64], Ints]:
    byte = data.take(at, mode="clip")
    value = (byte & 0x7F).astype(np.uint64)
    after = at + 1
    open_ = np.flatnonzero(byte >= 0x80)
    for step in range(1, 10):
        if not len(open_):
            break
        byte = data.take(at[open_] + step, mode="clip")
        value[open_] |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * step)
        after[open_] += 1
        open_ = open_[byte >= 0x80]
    after[open_] = -1
    after[after > stop] = -1
    return value, after


def doubles(data: Bytes, at: Ints) -> NDArray[np.float64]:
    """Decode 8 bytes at every offset, all of which must lie inside the data."""
    out = np.empty(len(at), dtype=np.float64)
    for low in range(0, len(at), CHUNK):
        window = data[at[low : low + CHUNK, None] + np.arange(8)]
        out[low : low + CHUNK] = window.view("<f8")[:, 0]
    return out


def texts(data: memoryview, raw: Bytes, start: Ints, stop: Ints) -> pa.Array:
    """Decode short texts, all of which must lie inside the data; damaged UTF-8 is replaced."""
    offsets = np.zeros(len(start) + 1, dtype=np.int32)
    np.cumsum(stop - start, out=offsets[1:])
    at = np.repeat(start - offsets[:-1], stop - start) + np.arange(offsets[-1])
    letters = raw[at]
    if (letters >= 0x80).any():
        return pa.array([decode_text(data, span) for span in zip(start.tolist(), stop.tolist(), strict=True)])
    return pa.StringArray.from_buffers(len(start), pa.py_buffer(offsets), pa.py_buffer(letters))


def floats(data: Bytes, at: Ints) -> NDArray[np.float64]:
    """Decode 4 bytes at every offset as float32, widened."""
    single: NDArray[np.float32] = data[at[:, None] + np.arange(4)].view("<f4")[:, 0]
    return single.astype(np.float64)


def values(data: Bytes, at: Ints, stop: Ints) -> tuple[NDArray[np.uint8], NDArray[np.float64], Ints, Ints]:
    """Decode value messages (one of: text, float, double, uint32, uint64) whose body is at..stop.

    Returns:
        kind (ABSENT for an empty message, ODD when the shape is unusual), number (NaN when there is none), and
        start and stop of the text (0 when there is none).
    """
    count = len(at)
    kind = _TAGS.take(data.take(at, mode="clip"))
    size = stop - at
    kind[size <= 0] = ABSENT
    number = np.full(count, np.nan)
    text_start = np.zeros(count, dtype=np.int64)
    text_stop = np.zeros(count, dtype=np.int64)
    here = np.bincount(kind, minlength=ODD)
    if here[DOUBLE]:
        kind[(kind == DOUBLE) & (size != 9)] = ODD
        chosen = np.flatnonzero(kind == DOUBLE)
        number[chosen] = doubles(data, at[chosen] + 1)
    if here[FLOAT]:
        kind[(kind == FLOAT) & (size != 5)] = ODD
        chosen = np.flatnonzero(kind == FLOAT)
        number[chosen] = floats(data, at[chosen] + 1)
    if here[UINT64] or here[UINT32]:
        chosen = np.flatnonzero((kind == UINT64) | (kind == UINT32))
        whole, after = varints(data, at[chosen] + 1, stop[chosen])
        number[chosen] = whole.astype(np.float64)
        kind[chosen[after != stop[chosen]]] = ODD
    if here[TEXT]:
        chosen = np.flatnonzero(kind == TEXT)
        length, after = varints(data, at[chosen] + 1, stop[chosen])
        fits = (after >= 0) & (after + length.astype(np.int64) == stop[chosen])
        text_start[chosen], text_stop[chosen] = after, stop[chosen]
        kind[chosen[~fits]] = ODD
    return kind, number, text_start, text_stop
