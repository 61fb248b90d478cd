"""Columns that grow chunk by chunk in little memory: narrow integers, ids as codes, no list of small arrays."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from profrx_parsers.nsys.merge import Column, narrow

ID_COLUMNS = frozenset(("globalTid", "globalPid", "endGlobalTid"))
"""64-bit ids with few distinct values: stored as codes into a dictionary."""
_FIRST = 4096
_OWN_PAGES = 1 << 17


class GrowingColumn:
    """One column. Buffers double: fresh zeroed pages that were never written cost no memory."""

    def __init__(self, name: str, kind: str) -> None:
        self._is_id = name in ID_COLUMNS
        self._is_text = kind == "bytes"
        self._rows = 0
        self._data: npt.NDArray[Any] | None = None
        self._valid: npt.NDArray[np.bool_] | None = None
        self._codes: dict[int, int] = {}
        self._texts: list[pa.Array] = []

    def append(self, column: Column | None, count: int) -> None:
        """Add the values of `count` events; None = all absent."""
        if self._is_text:
            self._texts.append(pa.nulls(count, pa.string()) if column is None else _text(column))
        elif column is None:
            self._store(None, None, count)
        else:
            values = np.asarray(column.values)
            self._store(self._encode(values) if self._is_id else narrow(values), column.present, count)
        self._rows += count

    def _encode(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if (values == values[0]).all():
            code = self._codes.setdefault(int(values[0]), len(self._codes))
            return narrow(np.full(len(values), code, np.int64))
        distinct, places = np.unique(values, return_inverse=True)
        codes = np.array([self._codes.setdefault(int(v), len(self._codes)) for v in distinct], np.int64)
        return narrow(codes[places.reshape(-1)])

    def _store(
        self, values: npt.NDArray[Any] | None, present: npt.NDArray[np.bool_] | None, count: int
    ) -> None:
        stop = self._rows + count
        if values is not None:
            self._data = _room(self._data, values.dtype, stop, self._rows)
            self._data[self._rows : stop] = values
        if values is None or present is not None or self._valid is not None:
            if self._valid is None:
                self._valid = np.zeros(max(stop, _FIRST), bool)
                self._valid[: self._rows] = True
            self._valid = _room(self._valid, self._valid.dtype, stop, self._rows)
            self._valid[self._rows : stop] = False if values is None else True if present is None else present

    def finish(self) -> pa.Array | pa.ChunkedArray:
        """Return the column and let go of the buffers."""
        rows = self._rows
        if self._is_text:
            return pa.chunked_array(self._texts, pa.string())
        if self._data is None:
            return pa.nulls(rows)
        data = _room(self._data, self._data.dtype, rows, rows)
        mask = None if self._valid is None else ~self._valid[:rows]
        self._data = self._valid = None
        found = pa.array(data[:rows], mask=mask)
        if not self._is_id:
            return found
        return pa.DictionaryArray.from_arrays(found, pa.array(list(self._codes), pa.int64()))


def _room(buffer: npt.NDArray[Any] | None, kind: np.dtype[Any], rows: int, used: int) -> npt.NDArray[Any]:
    """Return a buffer of at least `rows` elements that holds both its old values and `kind`."""
    if buffer is None:
        return _zeros(max(rows, _FIRST), kind)
    wide = np.promote_types(buffer.dtype, kind)
    if wide == buffer.dtype and rows <= len(buffer):
        return buffer
    grown = _zeros(max(rows, len(buffer) if rows <= len(buffer) else 2 * len(buffer)), wide)
    grown[:used] = buffer[:used]
    return grown


def _zeros(count: int, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return zeros in pages of their own: given back at once when the column has outgrown them, and not before they are
    written does a page cost memory. The allocator keeps freed blocks of this size to itself.
    """
    size = count * kind.itemsize
    if size < _OWN_PAGES or not hasattr(mmap, "MAP_ANONYMOUS"):
        return np.zeros(count, kind)
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(pages, kind, count)


def _text(column: Column) -> pa.Array:
    raw = column.arrow()
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array(
            [None if v is None else v.decode("utf-8", "replace") for v in raw.to_pylist()], pa.string()
        )
