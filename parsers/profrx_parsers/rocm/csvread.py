"""Reading one CSV file of any ROCm tool into Arrow columns, damage tolerated and logged.

Seen in real files: byte-order mark, CRLF, all cells quoted, missing final newline, rows shorter or longer than the
header, 7,071-character kernel names, `N/A`, `None`, exponents in time columns, zero bytes. Cells are read typed
first; a file with a cell that does not fit is read again as text and converted cell by cell.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as pacsv

from profrx_parsers.errors import InputError

if TYPE_CHECKING:
    from profrx_parsers.problems import ProblemLog

MAX_HEADER_BYTES = 4 << 20
MAX_COLUMNS = 50_000
NULLS = ["", "N/A", "NA", "None", "null", "nan", "NaN", "-nan"]
_BOM = b"\xef\xbb\xbf"

Column = Callable[[str], pa.DataType | None]
"""Type to read a column as (string, dictionary of strings, int64 or float64); None = leave the column out."""


@dataclass(frozen=True)
class Csv:
    """A CSV file whose header is parsed and whose body is still bytes.

    Attributes:
        header: column names in file order, stripped; a repeated name is kept as given.
        body: the bytes after the header line.
        where: member or file name for messages.
    """

    header: tuple[str, ...]
    body: pa.Buffer
    where: str


def open_csv(data: memoryview | bytes, where: str) -> Csv:
    """Parse the header line. Raises `InputError` when there is none."""
    view = memoryview(data)
    start = len(_BOM) if bytes(view[:3]) == _BOM else 0
    head = bytes(view[start : start + MAX_HEADER_BYTES])
    stop = head.find(b"\n")
    line = head if stop < 0 else head[:stop]
    try:
        names = next(csv.reader(io.StringIO(line.decode("utf-8", "replace").rstrip("\r"))), [])
    except csv.Error:
        names = []
    if not names or len(names) > MAX_COLUMNS or (stop < 0 and len(head) == MAX_HEADER_BYTES):
        raise InputError(
            "input-damaged-header",
            "the first line is no usable CSV header",
            where=where,
            next_step="export or copy the file again",
        )
    body = pa.py_buffer(view)
    offset = start + (len(head) if stop < 0 else stop + 1)
    return Csv(tuple(name.strip() for name in names), body.slice(offset), where)


def read_csv(file: Csv, log: ProblemLog, column: Column) -> pa.Table:
    """Read the columns that `column` gives a type to; the first of equal names wins."""
    types: dict[str, pa.DataType] = {}
    names: list[str] = []
    for at, name in enumerate(file.header):
        kind = None if name in types else column(name)
        if kind is None:
            names.append(f"\0{at}")
        else:
            names.append(name)
            types[name] = kind
    if not file.body.size or not types:
        return pa.table({name: pa.array([], kind) for name, kind in types.items()})
    if not _is_utf8(file.body):
        log.add("warning", "csv-not-utf8", "bytes that are no UTF-8 were replaced", where=file.where)
        repaired = file.body.to_pybytes().decode("utf-8", "replace").encode()
        file = Csv(file.header, pa.py_buffer(repaired), file.where)
    try:
        return _parse(file, names, types, log)
    except pa.ArrowInvalid:
        return _parse_as_text(file, names, types, log)


def _is_utf8(body: pa.Buffer) -> bool:
    """Check without copying: the body taken as one string."""
    offsets = pa.py_buffer(np.array([0, body.size], dtype=np.int64))
    try:
        pa.LargeStringArray.from_buffers(1, offsets, body).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _one_line(err: Exception) -> str:
    return " ".join(str(err).split())[:200]


def _parse(file: Csv, names: list[str], types: dict[str, pa.DataType], log: ProblemLog) -> pa.Table:
    ragged: list[tuple[int, int | None]] = []

    def skip(row: pacsv.InvalidRow) -> str:
        ragged.append((row.actual_columns, row.number))
        return "skip"

    table = pacsv.read_csv(
        pa.BufferReader(file.body),
        read_options=pacsv.ReadOptions(column_names=names, use_threads=False, block_size=16 << 20),
        parse_options=pacsv.ParseOptions(invalid_row_handler=skip),
        convert_options=pacsv.ConvertOptions(
            column_types=types, include_columns=list(types), null_values=NULLS, strings_can_be_null=False
        ),
    )
    if ragged:
        log.add(
            "data-loss",
            "csv-ragged-rows",
            f"rows with another number of cells than the header's {len(names)} were left out (first: {ragged[0][0]})",
            where=f"{file.where} line {1 + (ragged[0][1] or 0)}",
            count=len(ragged),
            advice="the file was cut or its header belongs to another table: copy or export it again",
        )
    return table.unify_dictionaries()


def _parse_as_text(file: Csv, names: list[str], types: dict[str, pa.DataType], log: ProblemLog) -> pa.Table:
    text = dict.fromkeys(types, pa.string())
    try:
        table = _parse(file, names, text, log)
    except pa.ArrowInvalid as err:
        log.add("error", "csv-unreadable", f"the rows cannot be parsed: {_one_line(err)}", where=file.where)
        return pa.table({name: pa.array([], kind) for name, kind in types.items()})
    columns = {}
    for name, kind in types.items():
        words = table.column(name).combine_chunks()
        if pa.types.is_dictionary(kind):
            columns[name] = words.dictionary_encode().cast(kind)
        elif kind == pa.string():
            columns[name] = words
        else:
            columns[name] = convert(words, kind, log, f"{file.where} column {name}")
    return pa.table(columns)


def convert(words: pa.Array, kind: pa.DataType, log: ProblemLog, where: str) -> pa.Array:
    """Turn text cells into numbers; cells that are none become null and are counted as `csv-bad-number`."""
    words = pc.utf8_trim_whitespace(words)
    blank = pc.is_in(words, value_set=pa.array(NULLS))
    words = pc.if_else(blank, None, words)
    good = pc.match_substring_regex(words, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
    bad = pc.sum(pc.invert(good)).as_py() or 0
    if bad:
        log.add(
            "data-loss",
            "csv-bad-number",
            "cells that are no numbers were read as missing",
            where=where,
            count=bad,
        )
    numbers = pc.cast(pc.if_else(good, words, None), pa.float64())
    if kind == pa.float64():
        return numbers
    whole = pc.match_substring_regex(words, r"^[+-]?\d{1,18}$")
    exact = pc.cast(pc.if_else(pc.and_(good, whole), words, None), pa.int64())
    rounded = pc.if_else(pc.less(pc.abs(numbers), 9e18), pc.round(numbers), None)
    return pc.coalesce(exact, pc.cast(rounded, pa.int64(), safe=False))


def as_numpy(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Return a float64 array with NaN for null."""
    return np.asarray(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False))
