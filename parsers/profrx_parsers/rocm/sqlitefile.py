"""SQLite inputs, opened so that nothing can be written and nothing in the file can run.

The file is opened read-only and immutable (no journal, no lock, no side files); views and triggers of the file are
never used, only base tables whose names were looked up; every declared type is doubted.
"""

from __future__ import annotations

import sqlite3
import urllib.parse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from profrx_parsers.errors import InputError

if TYPE_CHECKING:
    from profrx_parsers.problems import ProblemLog
    from profrx_parsers.source import Source

MAX_TABLES = 20_000
DAMAGE = (sqlite3.Error, UnicodeDecodeError, OverflowError)
"""What a damaged database raises; the driver's own messages may hold bytes that are no UTF-8."""
_ROWS_AT_ONCE = 65_536


def connect(path: str) -> sqlite3.Connection:
    """Open a plain database file immutable and without trust in its schema."""
    quoted = urllib.parse.quote(str(Path(path).absolute()))
    found = sqlite3.connect(f"file:{quoted}?mode=ro&immutable=1", uri=True, check_same_thread=False)
    _harden(found)
    return found


def _harden(found: sqlite3.Connection) -> None:
    found.text_factory = lambda raw: raw.decode("utf-8", "replace")
    found.execute("PRAGMA query_only=ON")
    found.execute("PRAGMA trusted_schema=OFF")
    found.execute("PRAGMA cell_size_check=ON")


def table_names(found: sqlite3.Connection) -> list[str]:
    """Return the names of base tables."""
    rows = found.execute("SELECT name FROM sqlite_master WHERE type='table' LIMIT ?", (MAX_TABLES,))
    return [str(row[0]) for row in rows]


@contextmanager
def _reporting(where: str) -> Iterator[None]:
    try:
        yield
    except DAMAGE as err:
        raise InputError(
            "input-damaged-database",
            f"the database cannot be read: {_line(err, 200)}",
            where=where,
            next_step="copy the file again; a database still being written must be closed first",
        ) from err


class Database:
    """A database of a source; packed files are unpacked in memory.

    Raises `InputError` when the schema cannot be read; damage inside one table is logged and the rows before it
    are kept.
    """

    def __init__(self, source: Source, log: ProblemLog) -> None:
        self.log, self.where = log, source.name
        with _reporting(source.name):
            if source.packed:
                self.found = sqlite3.connect(":memory:", check_same_thread=False)
                self.found.deserialize(bytes(source.data()))
                _harden(self.found)
            else:
                self.found = connect(str(source.path))
            self.tables = table_names(self.found)
        if not source.packed and Path(f"{source.path}-wal").exists():
            log.add(
                "warning",
                "sqlite-wal-ignored",
                "there is a write-ahead log beside the database: rows in it are not read",
                where=source.name,
                advice="close the writing program, or open and close the database once with sqlite3",
            )

    def columns(self, table: str) -> list[str]:
        """Return the column names of a base table; empty when it does not exist."""
        if table not in self.tables:
            return []
        with _reporting(self.where):
            return [str(row[1]) for row in self.found.execute(f"PRAGMA table_info({_quote(table)})")]

    def read(self, table: str, columns: Sequence[str]) -> dict[str, list[Any]]:
        """Return the named columns of a base table as lists; absent columns are lists of None."""
        have = self.columns(table)
        asked = [c for c in columns if c in have]
        rows: list[tuple[Any, ...]] = []
        if asked:
            query = f"SELECT {', '.join(map(_quote, asked))} FROM {_quote(table)}"
            try:
                cursor = self.found.execute(query)
                while piece := cursor.fetchmany(_ROWS_AT_ONCE):
                    rows.extend(piece)
            except DAMAGE as err:
                self.log.add(
                    "data-loss",
                    "sqlite-damaged-table",
                    f"table {table[:60]} is damaged: {_line(err, 120)}; {len(rows):,} rows before it are kept",
                    where=self.where,
                )
        parts = list(zip(*rows, strict=True)) if rows else [()] * len(asked)
        found = dict(zip(asked, map(list, parts), strict=True))
        return {c: found.get(c, [None] * len(rows)) for c in columns}


def _line(err: Exception, size: int) -> str:
    return " ".join(str(err).split())[:size]


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def integers(values: Sequence[Any]) -> pa.Array:
    """Return int64; what is no integer (a text in an integer column) becomes null."""
    try:
        return pa.array(values, pa.int64())
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return pa.array([_int(v) for v in values], pa.int64())


def _int(value: Any) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if -(1 << 63) <= number < 1 << 63 else None


def reals(values: Sequence[Any]) -> pa.Array:
    """Return float64; what is no number becomes null."""
    try:
        return pc.cast(pa.array(values, pa.float64()), pa.float64())
    except (pa.ArrowException, TypeError, ValueError):
        return pa.array([float(v) if isinstance(v, int | float) else None for v in values], pa.float64())


def texts(values: Sequence[Any]) -> pa.Array:
    """Return strings; numbers are written out, blobs become null."""
    try:
        return pa.array(values, pa.string())
    except (pa.ArrowException, TypeError):
        return pa.array([None if v is None or isinstance(v, bytes) else str(v) for v in values], pa.string())
