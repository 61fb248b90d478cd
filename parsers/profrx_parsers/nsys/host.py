"""The host side: NVTX ranges and marks, CUDA API calls, OS runtime calls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from profrx_parsers import schema
from profrx_parsers.nsys.merge import narrow
from profrx_parsers.nsys.nesting import OPEN, OpenRanges, depths, sort_key
from profrx_parsers.nsys.raw import Bools, Frame, Ints, RawTables, compact, encode, pid_of, tid_of

NVTX_COLUMNS = (
    "start", "end", "eventType", "category", "text", "globalTid", "textId", "domainId", "uint64Value",
    "int64Value", "doubleValue", "uint32Value", "int32Value", "floatValue", "jsonText",
)  # fmt: skip
_PUSH_POP, _START_END, _MARK, _CATEGORY, _DOMAIN = 59, 60, 34, 33, 75
_KINDS = {_PUSH_POP: "push-pop", _START_END: "start-end", _MARK: "mark"}
_PAYLOADS = (
    "int64Value",
    "doubleValue",
    "uint64Value",
    "int32Value",
    "uint32Value",
    "floatValue",
    "jsonText",
)
CALL_COLUMNS = ("start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue")
_BACKTRACE_CLASS = 67
"""A second record of a call that carries its back trace; counting it would count the call twice."""
SLICE = 1 << 20
"""Rows joined at a time."""
_ABI_SUFFIX = r"_(?:v\d+|ptsz|ptds)(?:_ptsz|_ptds)?$"


def compact_table(name: str, columns: dict[str, pa.Array], rows: int) -> pa.Table:
    """Build a table in compact types (see `Report.compact`): columns that are not given are of type null."""
    names = schema.TABLES[name].names
    return pa.table({column: columns.get(column, pa.nulls(rows)) for column in names})


def ints(values: npt.NDArray[np.integer], known: Bools | None = None) -> pa.Array:
    """Return integers as narrow as they allow, null where not `known`."""
    mask = None if known is None or known.all() else ~known
    return pa.array(narrow(np.asarray(values, np.int64)), mask=mask)


@dataclass
class Ranges:
    """The `ranges` table, and what it takes to answer "what was open?".

    Attributes:
        threads: code of the thread of each row; `ids` code -> globalTid.
        order: push/pop rows in `sort_key` order; None when they are all rows, in that order.
    """

    table: pa.Table
    threads: npt.NDArray[np.integer]
    ids: Ints
    order: npt.NDArray[np.int32] | None

    def open(self) -> OpenRanges:
        """Build the index of push/pop ranges by thread; not kept, it is as large as the ranges."""
        names = self.table.column("name")
        held = names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names
        held = held.chunk(0) if isinstance(held, pa.ChunkedArray) else held
        if not pa.types.is_dictionary(held.type):
            held = held.cast(pa.string()).dictionary_encode()
        order = slice(None) if self.order is None else self.order
        names_of = held.indices.fill_null(0) if held.null_count else held.indices
        return OpenRanges(
            threads=self.threads[order],
            starts=_column(self.table, "start_ns")[order],
            ends=_column(self.table, "end_ns", OPEN)[order],
            names=names_of.to_numpy()[order],
            levels=self.table.column("depth").fill_null(0).to_numpy()[order],
            ids=self.ids,
            texts=held.dictionary,
        )


def _column(table: pa.Table, name: str, fill: int = 0) -> Ints:
    column = table.column(name).cast(pa.int64())
    return np.asarray(column.fill_null(fill) if column.null_count else column)


def read_ranges(raw: RawTables, duration_ns: int | None) -> Ranges:
    """Read NVTX ranges and marks.

    Ranges that end in the very nanosecond the session ends were closed by the recorder, not by the program:
    they stay open (null end). Domain, category and thread names are looked up, not listed.
    """
    frame = Frame(raw.table("NVTX_EVENTS", NVTX_COLUMNS))
    kinds = frame.codes("eventType")
    named = frame.take(np.isin(kinds, (_CATEGORY, _DOMAIN)))
    wanted = np.isin(kinds, tuple(_KINDS))
    if not wanted.all():
        frame, kinds = frame.take(wanted), kinds[wanted]
    columns = {
        "range_id": ints(np.arange(frame.rows, dtype=np.int32)),
        "name": _names(frame, raw),
        "kind": encode(list(_KINDS.values()), _positions(kinds, tuple(_KINDS))),
        "payload": _payload(frame),
    }
    threads, ids = frame.ids("globalTid")
    columns |= {
        "process_id": pa.array(narrow(pid_of(ids))[threads]),
        "thread_id": pa.array(narrow(tid_of(ids))[threads]),
        "domain": _labels(named, _DOMAIN, "domainId", frame, raw),
        "category": _labels(named, _CATEGORY, "category", frame, raw),
    }
    started, closed = frame.known("start"), frame.known("end")
    starts, ends = frame.ints("start"), frame.ints("end")
    rows = frame.rows
    del frame
    if duration_ns is not None:
        closed &= ends != duration_ns
    chosen = None if (kinds == _PUSH_POP).all() else np.flatnonzero(kinds == _PUSH_POP).astype(np.int32)
    levels, order = _nest(threads, starts, ends, closed, chosen)
    columns |= {
        "depth": pa.array(levels, mask=None if chosen is None else levels < 0),
        "start_ns": ints(starts, started),
        "end_ns": ints(ends, closed),
    }
    return Ranges(compact_table("ranges", columns, rows), threads, ids, order)


def _nest(
    threads: npt.NDArray[np.integer],
    starts: Ints,
    ends: Ints,
    closed: Bools,
    chosen: npt.NDArray[np.int32] | None,
) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int32] | None]:
    """Return the depth of every range (-1 for what is no push/pop range) and the order of the push/pop ranges."""
    until = ends if closed.all() else np.where(closed, ends, OPEN)
    if chosen is not None:
        threads, starts, until = threads[chosen], starts[chosen], until[chosen]
    order = sort_key(threads, starts, until)
    if order is not None:
        threads, starts, until = threads[order], starts[order], until[order]
    level = np.zeros(len(threads), np.int16)
    cuts = (np.flatnonzero(np.diff(threads)) + 1).tolist()
    for low, high in zip([0, *cuts], [*cuts, len(threads)], strict=True):
        level[low:high] = depths(starts[low:high], until[low:high])
    rows = chosen if order is None else order if chosen is None else chosen[order]
    if rows is None:
        return level, None
    levels = np.full(len(ends), -1, np.int16)
    levels[rows] = level
    return levels, rows


def _names(frame: Frame, raw: RawTables) -> pa.DictionaryArray:
    registered = raw.strings().look_up(frame.codes("textId"), frame.known("textId"))
    if not frame.has("text"):
        return registered
    inline = (
        pa.chunked_array(frame.array("text")).combine_chunks() if frame.rows else pa.array([], pa.string())
    )
    inline = inline.combine_chunks() if isinstance(inline, pa.ChunkedArray) else inline
    encoded = inline.dictionary_encode()
    if registered.null_count == len(registered):
        return encoded
    known = np.asarray(encoded.is_valid())
    codes = np.where(
        known,
        np.asarray(encoded.indices.fill_null(0)),
        np.asarray(registered.indices.fill_null(0)) + len(encoded.dictionary),
    ).astype(np.int64)
    texts = pa.concat_arrays([encoded.dictionary.cast(pa.string()), registered.dictionary.cast(pa.string())])
    return compact(codes, known | np.asarray(registered.is_valid()), texts)


def _positions(values: npt.NDArray[np.integer], choices: tuple[int, ...]) -> npt.NDArray[np.int8]:
    out = np.full(len(values), -1, np.int8)
    for place, choice in enumerate(choices):
        out[values == choice] = place
    return out


def _labels(named: Frame, kind: int, column: str, frame: Frame, raw: RawTables) -> pa.Array:
    """Return the name that rows of `kind` gave to a number in the same process; null without one."""
    rows = named.take(named.codes("eventType") == kind)
    if not rows.rows or not frame.has(column):
        return pa.nulls(frame.rows)
    threads, ids = frame.ids("globalTid")
    pids = narrow(pid_of(ids))[threads]
    values = frame.codes(column)
    labels: list[str] = []
    codes = np.full(frame.rows, -1, np.int32)
    owners = pid_of(rows.ints("globalTid")).tolist()
    for owner, number, text in zip(
        owners, rows.ints(column).tolist(), _names(rows, raw).to_pylist(), strict=True
    ):
        if text is not None:
            codes[(pids == owner) & (values == number)] = len(labels)
            labels.append(text)
    return encode(labels, codes) if labels else pa.nulls(frame.rows)


def _payload(frame: Frame) -> pa.Array:
    present = [frame.array(name).cast(pa.string()) for name in _PAYLOADS if frame.has(name)]
    return pc.coalesce(*present) if present else pa.nulls(frame.rows)


@dataclass
class Calls:
    """The `api_calls` table, and its index by (process, correlation id)."""

    table: pa.Table

    def match(
        self, pids: npt.NDArray[np.integer], correlations: npt.NDArray[np.integer], known: Bools
    ) -> npt.NDArray[np.int32]:
        """Return the row of the first call with that correlation id in that process, -1 where there is none.

        The keys that are looked for are sorted, not those of the calls, and calls are gone through piece by piece: there
        may be many more of them.
        """
        wanted = _keys(pids, correlations)
        order = None
        if len(wanted) > 1 and (wanted[1:] < wanted[:-1]).any():
            order = np.argsort(wanted, kind="stable").astype(np.int32)
            wanted = wanted[order]
        rows = self._rows_of(wanted)
        if order is not None:
            back = np.empty_like(rows)
            back[order] = rows
            rows = back
        rows[~known | (correlations == 0)] = -1
        return rows

    def _rows_of(self, wanted: Ints) -> npt.NDArray[np.int32]:
        """Return the first row of each key; `wanted` is sorted and may repeat keys."""
        rows = np.full(len(wanted), -1, np.int32)
        process, correlation = self.table.column("process_id"), self.table.column("correlation_id")
        for low in range(0, self.table.num_rows if len(wanted) else 0, SLICE):
            keys = _keys(_numbers(process.slice(low, SLICE)), _numbers(correlation.slice(low, SLICE)))
            at = np.searchsorted(wanted, keys).astype(np.int32)
            at[at == len(wanted)] = 0
            hit = np.flatnonzero((wanted[at] == keys) & (rows[at] < 0))[::-1]
            rows[at[hit]] = low + hit  # backwards, so that the first of equal keys is written last
        if len(rows) > 1:
            fresh = np.concatenate([[True], wanted[1:] != wanted[:-1]])
            if not fresh.all():
                rows = rows[np.maximum.accumulate(np.where(fresh, np.arange(len(rows)), 0))]
        return rows

    def take(self, column: str, rows: npt.NDArray[np.integer]) -> pa.Array:
        """Return a column at `rows`, null where the row is negative."""
        place = pa.array(np.maximum(rows, 0), mask=rows < 0)
        if not self.table.num_rows:
            return pa.nulls(len(rows))
        taken = self.table.column(column).take(place)
        taken = taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken
        if not pa.types.is_dictionary(taken.type):
            return taken
        codes = np.asarray(taken.indices.fill_null(0))
        return compact(codes, np.asarray(taken.is_valid()), taken.dictionary)


def _keys(pids: npt.NDArray[np.integer], correlations: npt.NDArray[np.integer]) -> Ints:
    keys = pids.astype(np.int64)
    keys <<= 32
    low = correlations.astype(np.int64)
    low &= 0xFFFF_FFFF
    keys |= low
    return keys


def _numbers(column: pa.ChunkedArray) -> npt.NDArray[np.integer]:
    """Return an integer column in its own type, nulls as 0."""
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int8)
    column = column.fill_null(0) if column.null_count else column
    found: npt.NDArray[np.integer] = (
        column.chunk(0).to_numpy() if column.num_chunks == 1 else column.to_numpy()
    )
    return found


def read_calls(raw: RawTables, ranges: Ranges) -> Calls:
    """Read CUDA runtime and driver calls; ABI suffixes such as ``_v7000`` are cut off the names."""
    frame = Frame(raw.table("CUPTI_ACTIVITY_KIND_RUNTIME", CALL_COLUMNS))
    classes = frame.codes("eventClass")
    if (classes == _BACKTRACE_CLASS).any():
        frame = frame.take(classes != _BACKTRACE_CLASS)
        classes = frame.codes("eventClass")
    names = _plain_names(raw, frame)
    return Calls(_call_table(frame, names, _api_domains(names, classes), ranges))


def _plain_names(raw: RawTables, frame: Frame) -> pa.DictionaryArray:
    named = raw.strings().look_up(frame.codes("nameId"), frame.known("nameId"))
    plain = pc.replace_substring_regex(
        named.dictionary.cast(pa.string()), _ABI_SUFFIX, ""
    ).dictionary_encode()
    codes = (
        np.asarray(plain.indices)[np.asarray(named.indices.fill_null(0))]
        if len(plain)
        else np.zeros(frame.rows, np.int8)
    )
    return compact(codes, np.asarray(named.is_valid()), plain.dictionary)


def _api_domains(names: pa.DictionaryArray, classes: npt.NDArray[np.integer]) -> pa.DictionaryArray:
    """Runtime or driver: by event class, and by the name's prefix where the class is neither."""
    codes = np.where(classes == 0, np.int8(0), np.where(classes == 1, np.int8(1), np.int8(-1)))
    return encode(["cudart", "cuda"], codes)


def _call_table(frame: Frame, names: pa.Array, domains: pa.Array, ranges: Ranges | None) -> pa.Table:
    """Build the table; columns that need no change are passed on as they are, which halves the memory it takes."""
    paths = pa.nulls(frame.rows)
    if ranges is not None and ranges.table.num_rows:
        paths = ranges.open().paths(frame.ints("globalTid"), frame.ints("start"))
    threads, ids = frame.ids("globalTid")
    columns = {
        "call_id": pa.array(np.arange(frame.rows, dtype=np.int32)),
        "name": names,
        "domain": domains,
        "process_id": pa.array(narrow(pid_of(ids))[threads]),
        "thread_id": pa.array(narrow(tid_of(ids))[threads]),
        "start_ns": frame.stored("start"),
        "end_ns": frame.stored("end"),
        "correlation_id": frame.stored("correlationId"),
        "return_value": frame.stored("returnValue"),
        "range_path": paths,
    }
    return compact_table("api_calls", columns, frame.rows)


def read_os_calls(raw: RawTables) -> pa.Table:
    """Read OS runtime calls as `api_calls` rows of domain ``os``; zero-length start and finish marks are left out."""
    frame = Frame(raw.table("OSRT_API", ("start", "end", "eventClass", "globalTid", "nameId", "returnValue")))
    frame = frame.take(~np.isin(frame.ints("eventClass"), (31, 32)))
    domains = encode(["os"], np.zeros(frame.rows, np.int64))
    return _call_table(frame, _plain_names(raw, frame), domains, None)
