"""Reads `nsys export --type sqlite`, every schema generation, by the columns that are there."""

from __future__ import annotations

import atexit
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from profrx_parsers.errors import InputError
from profrx_parsers.nsys.capture import report_of
from profrx_parsers.nsys.growing import GrowingColumn
from profrx_parsers.nsys.merge import Column
from profrx_parsers.nsys.meta import facts_of
from profrx_parsers.nsys.tabular import TabularTables
from profrx_parsers.problems import ProblemLog
from profrx_parsers.report import EVERYTHING, Report, Wanted
from profrx_parsers.source import Source

BATCH = 50_000
"""Rows fetched at a time: the Python objects of one batch are all that is held besides the columns."""

_TEXT_COLUMNS = frozenset(
    (
        "text",
        "name",
        "value",
        "jsonText",
        "metricName",
        "busLocation",
        "uuid",
        "chipName",
        "pciBusId",
        "metricUnit",
    )
)
_REAL_COLUMNS = frozenset(("doubleValue", "floatValue"))


class SqliteTables(TabularTables):
    """Raw tables of one database, opened read-only and immutable."""

    def __init__(self, connection: sqlite3.Connection, name: str, log: ProblemLog) -> None:
        self._db = connection
        self._name = name
        self._log = log
        super().__init__()

    @cached_property
    def _columns(self) -> dict[str, list[str]]:
        # no views: exports have none, and one may be a recursion without end
        rows = self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchmany(10_000)
        return {
            str(table): [str(row[1]) for row in self._db.execute(f"PRAGMA table_info({_quoted(str(table))})")]
            for (table,) in rows
        }

    def names(self) -> frozenset[str]:
        """Return the tables of the database."""
        return frozenset(self._columns)

    def read(self, name: str, columns: Sequence[str]) -> pa.Table | None:
        """Read some columns of a table in batches."""
        there = self._columns.get(name)
        if there is None:
            return None
        wanted = [c for c in columns if c in there]
        if not wanted:
            return None
        texts: dict[str, list[pa.Array]] = {c: [] for c in wanted if c in _TEXT_COLUMNS | _REAL_COLUMNS}
        numbers = {c: GrowingColumn(c, "int") for c in wanted if c not in texts}
        query = f"SELECT {', '.join(map(_quoted, wanted))} FROM {_quoted(name)}"
        for batch in self._batches(name, query):
            for column, values in zip(wanted, zip(*batch, strict=True), strict=True):
                if column in texts:
                    texts[column].append(_texts(column, values))
                else:
                    numbers[column].append(*self._numbers(name, column, values))
        return pa.table(
            {c: _joined(texts.pop(c), c) if c in texts else numbers.pop(c).finish() for c in wanted}
        )

    def _batches(self, name: str, query: str) -> Iterator[list[tuple[Any, ...]]]:
        try:
            with closing(self._db.execute(query)) as cursor:
                while batch := cursor.fetchmany(BATCH):
                    yield batch
        except (sqlite3.Error, UnicodeDecodeError) as err:
            self._log.add(
                "data-loss",
                "nsys-damaged-database",
                f"table {name} could not be read to its end: {err}",
                where=name,
                advice="copy the file again, or export the report again",
            )

    def _numbers(self, table: str, column: str, values: tuple[Any, ...]) -> tuple[Column | None, int]:
        try:
            held = pa.array(values, pa.int64())
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            kept = [v if isinstance(v, int) and -(1 << 63) <= v < 1 << 63 else None for v in values]
            lost = sum(k is None and v is not None for k, v in zip(kept, values, strict=True))
            self._log.add(
                "data-loss", "nsys-not-a-number", f"values of {table}.{column} are no integers", count=lost
            )
            held = pa.array(kept, pa.int64())
        if held.null_count == len(held):
            return None, len(held)
        present = None if not held.null_count else np.asarray(held.is_valid())
        return Column(np.asarray(held.fill_null(0) if held.null_count else held), present), len(held)


def _texts(column: str, values: tuple[Any, ...]) -> pa.Array:
    if not any(v is not None for v in values):
        return pa.nulls(len(values))
    if column in _REAL_COLUMNS:
        return pa.array([float(v) if isinstance(v, int | float) else None for v in values], pa.float64())
    return pa.array([None if v is None else v if isinstance(v, str) else str(v) for v in values], pa.string())


def _joined(parts: list[pa.Array], column: str) -> pa.ChunkedArray:
    known = next((p.type for p in parts if p.type != pa.null()), None)
    if known is None:
        return pa.nulls(sum(map(len, parts)))
    return pa.chunked_array([p if p.type == known else p.cast(known) for p in parts])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def read(source: Source, wanted: Wanted = EVERYTHING) -> Report:
    """Read a database. Raises `InputError` when SQLite refuses it."""
    log = ProblemLog()
    path = _unpacked(source) if source.packed else source.path
    uri = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cache_size = -16384")
        tables = SqliteTables(connection, source.name, log)
        found = tables.names()
    except (sqlite3.Error, UnicodeDecodeError) as err:
        raise InputError(
            "nsys-unreadable",
            f"SQLite cannot open this database: {err}",
            where=source.name,
            next_step="copy it again with its -wal file; an export of nsys: nsys export --type sqlite REPORT",
        ) from err
    finally:
        if source.packed and os.name == "posix":
            path.unlink(missing_ok=True)  # the open connection keeps the data until it is closed
    if "StringIds" not in found:
        raise InputError(
            "nsys-not-an-export",
            "this database has no table StringIds, so it is no complete Nsight Systems export",
            where=source.name,
            next_step="export again: nsys export --type sqlite REPORT",
        )
    return report_of(tables, facts_of(tables, "nsys-sqlite", wanted.private), source, log, wanted)


def _unpacked(source: Source) -> Path:
    """Unpack to a temporary file: SQLite reads files only. Raises `InputError` for a bomb or damage."""
    number, name = tempfile.mkstemp(suffix=".sqlite")
    path = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            for piece in source.chunks():
                file.write(piece)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    if os.name != "posix":
        atexit.register(path.unlink, missing_ok=True)
    return path
