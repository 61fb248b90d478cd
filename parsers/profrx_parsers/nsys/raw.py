"""Raw tables: nsys' own tables and columns, whatever file they came from.

Every input form (binary report, SQLite, Parquet, Arrow) is a `RawTables`; `capture.py` turns one into the
normalised tables. Columns may be missing: a reader looks for columns, never for versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

PID_SHIFT, TID_MASK, PID_MASK = 24, 0xFF_FFFF, 0xFF_FFFF
"""globalTid = hardware << 56 | vm << 48 | pid << 24 | tid; globalPid is the same with tid 0."""


class RawTables(Protocol):
    """One capture in the vendor's terms."""

    def names(self) -> frozenset[str]:
        """Return the raw tables that exist (they may be empty)."""

    def table(self, name: str, columns: Sequence[str]) -> pa.Table | None:
        """Return a table with those of `columns` that exist; None when there is no such table.

        The result is not kept: ask once. Integers may be narrower than 64 bits.
        """

    def strings(self) -> Strings:
        """Return the string block."""


class Strings:
    """The string block: id -> text. Ids without a text give null, and so do texts that are no names.

    The block holds the environments of processes and what they printed beside the names. A damaged or made-up id must not
    bring them to light: texts with a NUL (environments) and `hidden` ids are never looked up.

    Args:
        ids: sorted ids, or None for 0, 1, 2, …
        texts: one text per id.
        hidden: ids whose texts are files of the capture: paths and what the program printed.
    """

    def __init__(self, ids: Ints | None, texts: pa.Array, hidden: Iterable[int] = ()) -> None:
        if ids is not None and len(ids) and ids[0] == 0 and ids[-1] == len(ids) - 1:
            ids = None
        self._ids = ids
        self._texts = texts
        self._private = np.asarray(pc.match_substring(texts, "\0").fill_null(False)) if len(texts) else None
        if self._private is not None:
            numbers = np.arange(len(texts)) if ids is None else ids
            self._private |= np.isin(numbers, np.array([*hidden], np.int64))
            self._private = self._private if self._private.any() else None

    def __len__(self) -> int:
        return len(self._texts)

    def look_up(self, ids: npt.NDArray[np.integer], known: Bools | None = None) -> pa.DictionaryArray:
        """Return the texts of `ids` as a dictionary that holds nothing but the texts used."""
        if self._ids is None:
            at = ids
            good = (ids >= 0) & (ids < len(self._texts))
        else:
            at = np.searchsorted(self._ids, ids).astype(np.int32)
            at[at == len(self._ids)] = 0
            good = self._ids[at] == ids if len(self._ids) else np.zeros(len(ids), bool)
        if known is not None:
            good &= known
        if self._private is not None:
            good &= ~self._private[np.where(good, at, 0)]
        return compact(at, good, self._texts)

    def name(self, number: int | None) -> str | None:
        """Return one name; see `look_up`."""
        if number is None:
            return None
        value: str | None = self.look_up(np.array([number], np.int64))[0].as_py()
        return value

    def text(self, number: int | None) -> str | None:
        """Return one text, whatever it is: for comparing files, not for output."""
        if number is None:
            return None
        place = number if self._ids is None else int(np.searchsorted(self._ids, number))
        if not 0 <= place < len(self._texts) or (self._ids is not None and self._ids[place] != number):
            return None
        value: str | None = self._texts[place].as_py()
        return value


def compact(at: npt.NDArray[np.integer], good: Bools, texts: pa.Array) -> pa.DictionaryArray:
    """Build a dictionary array of ``texts[at]``, null where not `good`, without unused texts."""
    all_good = bool(good.all())
    safe = at if all_good else np.where(good, at, at.dtype.type(0))
    used = np.zeros(max(len(texts), 1), bool)
    used[safe if all_good else safe[good]] = True
    count = int(used.sum())
    kind = np.int8 if count < 1 << 7 else np.int16 if count < 1 << 15 else np.int32
    place = (np.cumsum(used) - 1).astype(kind)
    indices = pa.array(place[safe], mask=None if all_good else ~good)
    return pa.DictionaryArray.from_arrays(indices, texts.take(pa.array(np.flatnonzero(used[: len(texts)]))))


def stack(parts: Sequence[pa.Table]) -> pa.Table:
    """Put tables of the same columns below each other; texts get one dictionary that is large enough for all."""
    columns = {}
    for name in parts[0].column_names:
        chunks = [chunk for part in parts for chunk in part.column(name).chunks]
        if any(pa.types.is_dictionary(chunk.type) for chunk in chunks):
            columns[name] = _one_dictionary(chunks)
        else:
            whole = [part.select([name]) for part in parts]
            columns[name] = pa.concat_tables(whole, promote_options="permissive").column(name)
    return pa.table(columns)


def _one_dictionary(chunks: Sequence[pa.Array]) -> pa.DictionaryArray:
    places: dict[str, int] = {}
    codes, known = [], []
    for chunk in chunks:
        if not pa.types.is_dictionary(chunk.type):
            chunk = chunk.cast(pa.string()).dictionary_encode()
        texts = chunk.dictionary.to_pylist()
        place = np.array([places.setdefault(text, len(places)) for text in texts] or [0], np.int32)
        codes.append(place[chunk.indices.fill_null(0).to_numpy()] if len(chunk) else np.empty(0, np.int32))
        known.append(np.asarray(chunk.is_valid()))
    return compact(np.concatenate(codes), np.concatenate(known), pa.array(list(places), pa.string()))


def encode(
    texts: Sequence[str], codes: npt.NDArray[np.integer], known: Bools | None = None
) -> pa.DictionaryArray:
    """Build a dictionary array from small integer codes into `texts`; codes outside are null."""
    good = (codes >= 0) & (codes < len(texts))
    if known is not None:
        good = good & known
    return compact(codes, good, pa.array(list(texts), pa.string()))


class Frame:
    """Columns of one raw table as numpy arrays with masks; a missing column is all null."""

    def __init__(self, table: pa.Table | None) -> None:
        self._table = table
        self.rows = 0 if table is None else table.num_rows

    def has(self, name: str) -> bool:
        """Whether any row has a value."""
        if self._table is None or name not in self._table.column_names:
            return False
        return bool(self._table.column(name).null_count < self.rows)

    def ints(self, name: str, fill: int = 0) -> Ints:
        """Return a column as int64, nulls as `fill`; a view of the table's own memory where that holds the same."""
        if not self.has(name):
            return np.full(self.rows, fill, np.int64)
        column = self._column(name)
        if column.null_count:
            column = column.cast(pa.int64()).fill_null(fill)
        if not pa.types.is_integer(column.type):
            column = column.cast(pa.int64())
        found = column.chunk(0).to_numpy() if column.num_chunks == 1 else column.to_numpy()
        return np.ascontiguousarray(found, np.int64)

    def stored(self, name: str) -> pa.ChunkedArray | pa.Array:
        """Return an integer column as it is held, nulls and all: for output that changes nothing."""
        column = self.array(name)
        return column if pa.types.is_integer(column.type) or not self.has(name) else column.cast(pa.int64())

    def pids(self, name: str) -> npt.NDArray[np.integer]:
        """Return the process ids inside a column of global ids, in a small type."""
        codes, distinct = self.ids(name)
        found: npt.NDArray[np.integer] = pid_of(distinct).astype(np.int32)[codes]
        return found

    def codes(self, name: str) -> npt.NDArray[np.integer]:
        """Return a column of small codes in its own type, nulls as -1."""
        if not self.has(name):
            return np.full(self.rows, -1, np.int8)
        column = self._column(name)
        if not pa.types.is_signed_integer(column.type):
            return self.ints(name, -1)
        column = column.fill_null(-1) if column.null_count else column
        found: npt.NDArray[np.integer] = (
            column.chunk(0).to_numpy() if column.num_chunks == 1 else column.to_numpy()
        )
        return found

    def ids(self, name: str) -> tuple[npt.NDArray[np.integer], Ints]:
        """Return a column of 64-bit ids as (code of each row, distinct ids); nulls are id 0."""
        if not self.has(name):
            return np.zeros(self.rows, np.int8), np.zeros(1, np.int64)
        column = self._column(name)
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        column = column.unify_dictionaries().combine_chunks()
        held = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
        distinct = np.asarray(held.dictionary.cast(pa.int64()))
        codes = held.indices
        if codes.null_count:
            return codes.fill_null(len(distinct)).to_numpy(), np.append(distinct, 0)
        return codes.to_numpy(), distinct

    def known(self, name: str) -> Bools:
        """Return where a column has a value."""
        if not self.has(name):
            return np.zeros(self.rows, bool)
        return np.asarray(self._table.column(name).is_valid().to_numpy())  # type: ignore[union-attr]

    def array(self, name: str) -> pa.ChunkedArray | pa.Array:
        """Return a column as it is, or nulls."""
        return self._column(name) if self.has(name) else pa.nulls(self.rows)

    def take(self, rows: Ints | Bools) -> Frame:
        """Return some of the rows."""
        if self._table is None:
            return self
        chosen = pa.array(rows)
        return Frame(self._table.filter(chosen) if rows.dtype == bool else self._table.take(chosen))

    def drop(self, names: Iterable[str]) -> None:
        """Forget columns that are no longer needed (they can be large)."""
        if self._table is not None:
            self._table = self._table.drop_columns([n for n in names if n in self._table.column_names])

    def _column(self, name: str) -> pa.ChunkedArray:
        return self._table.column(name)  # type: ignore[union-attr]


def pid_of(global_id: Ints) -> Ints:
    """Return the process id inside a globalPid or globalTid."""
    return (global_id >> PID_SHIFT) & PID_MASK


def tid_of(global_id: Ints) -> Ints:
    """Return the thread id inside a globalTid."""
    return global_id & TID_MASK
