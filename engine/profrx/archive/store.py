"""`Archive`: one SQLite file that holds the results of many reports.

WAL journal, a schema version with migrations, one transaction per report, safe with several writers
(each waits for the lock). Reading works beside writing. Errors of the database become `InputError` with a
next step: full disk, read-only file, lock, newer schema. Opening, writing and asking stand together, because they
share one connection and its errors; that makes the module long.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profrx.archive import layout
from profrx.archive.record import Record, key_of, report_id
from profrx_parsers.errors import InputError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlite_utils import Database

LOCK_WAIT_S = 30.0
KEPT_NAMES = 10_000
"""Kernel names remembered as indexed."""
QUERY_STEPS = 200_000_000
"""SQLite instructions that one query of a user may take before it is stopped."""
MAX_CELL_BYTES = 256 << 20
"""Longest text or blob that a query of a user may make."""


_TELLING = frozenset({"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo"})


def _no_other_files(action: int, name: str | None = None, value: str | None = None, *_: str | None) -> int:
    """Deny what opens or makes another file (``ATTACH``; ``VACUUM INTO`` attaches its target) or sets a switch."""
    sets = action == sqlite3.SQLITE_PRAGMA and value is not None and (name or "").lower() not in _TELLING
    return sqlite3.SQLITE_DENY if sets or action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK


class Archive:
    """An archive file. Use as a context manager or call `close`.

    Args:
        path: the SQLite file.
        create: make it when it does not exist.
        readonly: open for questions only; never creates or migrates.
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = False, readonly: bool = False) -> None:
        self.path = Path(path)
        self.readonly = readonly
        if not create and not self.path.exists():
            raise InputError(
                "archive-missing",
                "no such archive",
                where=str(path),
                next_step="make one with `profrx batch ROOT --archive FILE`",
            )
        with self._errors():
            self.db = self._connect()
            if not readonly:
                self._migrate()
            self._check_version()
        self._metric_ids: dict[str, int] = {}
        self._names: set[str] = set()

    def _connect(self) -> Database:
        # sqlite3 speaks URIs, so the name must be quoted
        from urllib.parse import quote

        from sqlite_utils import Database

        mode = "ro" if self.readonly else "rwc"
        connection = sqlite3.connect(
            f"file:{quote(str(self.path.absolute()))}?mode={mode}",
            uri=True,
            timeout=LOCK_WAIT_S,
            isolation_level=None,
        )
        if not self.readonly:
            self._log_ahead(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        return Database(connection)

    @staticmethod
    def _log_ahead(connection: sqlite3.Connection) -> None:
        """Switch to the write-ahead log. SQLite does not wait when two connections switch at once: ask again."""
        deadline = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as err:
                if "locked" not in str(err) or time.monotonic() > deadline:
                    raise
            time.sleep(0.02)

    def _migrate(self) -> None:
        connection = self.db.conn
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise InputError(
                    "archive-foreign",
                    "this SQLite file is not an archive of profrx",
                    where=str(self.path),
                    next_step="name another file; this one was left as it is",
                )
            for step in layout.MIGRATIONS[version:]:
                for statement in step:
                    connection.execute(statement)
            if version < layout.VERSION:
                connection.execute(f"PRAGMA user_version = {layout.VERSION}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise

    def _check_version(self) -> None:
        version = self.db.conn.execute("PRAGMA user_version").fetchone()[0]
        if version > layout.VERSION:
            raise InputError(
                "archive-newer",
                f"this archive has schema {version}, this profrx knows {layout.VERSION}",
                where=str(self.path),
                next_step="update profrx",
            )
        if version == 0:
            raise InputError(
                "archive-foreign",
                "this SQLite file is not an archive of profrx",
                where=str(self.path),
                next_step="make one with `profrx batch ROOT --archive FILE`",
            )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as err:
            raise _database_error(err, str(self.path)) from err

    # --- writing ---------------------------------------------------------------------------------------

    def put(self, record: Record) -> None:
        """Store one report in one transaction, replacing what was known of it."""
        with self._errors():
            connection = self.db.conn
            connection.execute("BEGIN IMMEDIATE")
            try:
                self._put(record)
                connection.execute("COMMIT")
            except BaseException:
                self._metric_ids.clear()
                self._names.clear()
                if connection.in_transaction:  # a full disk has rolled back already
                    connection.execute("ROLLBACK")
                raise

    def _put(self, record: Record) -> None:
        key = report_id(record.uri)
        connection = self.db.conn
        if connection.execute("SELECT 1 FROM reports WHERE report_id = ?", (key,)).fetchone():
            for table in layout.CHILD_TABLES:
                connection.execute(f"DELETE FROM {table} WHERE report_id = ?", (key,))
        lacks = self._unknown_set(record.tables.get("unknowns", []))
        report = {"report_id": key, "uri": record.uri, **record.report, "unknown_set": lacks}
        self._insert("reports", [report], replace=True)
        for table, rows in record.tables.items():
            if table != "unknowns":
                self._insert(table, rows, ("report_id", key))
        if record.metrics:
            known = self._metric_ids
            values = [
                (key, row, known.get(name) or self._metric(name, unit), value)
                for row, name, unit, value in record.metrics
            ]
            connection.executemany("INSERT OR REPLACE INTO metric_values VALUES (?, ?, ?, ?)", values)
        if record.stored is not None:
            connection.execute(
                "INSERT OR REPLACE INTO stored_tables VALUES (?, ?, ?)",
                (key, record.wanted_hash, record.stored),
            )
        for row in record.tables.get("kernels", ()):
            self._index_name(row)

    def _insert(
        self,
        table: str,
        rows: list[dict[str, Any]],
        owner: tuple[str, int] | None = None,
        *,
        replace: bool = False,
    ) -> None:
        """Insert rows that have the same columns; `owner` is a column and its value for all of them."""
        if not rows:
            return
        columns = tuple(rows[0])
        first = (owner[1],) if owner else ()
        sql = _insertion(table, (owner[0], *columns) if owner else columns, replace)
        values = [
            (*first, *[v if type(v) is not str or v.isascii() else _plain(v) for v in row.values()])
            for row in rows
        ]
        self.db.conn.executemany(sql, values)

    def _metric(self, name: str, unit: str | None) -> int:
        connection = self.db.conn
        connection.execute("INSERT OR IGNORE INTO metric_names (metric, unit) VALUES (?, ?)", (name, unit))
        found = connection.execute("SELECT metric_id FROM metric_names WHERE metric = ?", (name,))
        known: int = found.fetchone()[0]
        self._metric_ids[name] = known
        return known

    def _unknown_set(self, rows: list[dict[str, Any]]) -> int | None:
        """Keep what could not be judged once for all reports that lack the same; returns its key."""
        if not rows:
            return None
        key = key_of(json.dumps(rows, sort_keys=True))
        held = self.db.conn.execute("SELECT 1 FROM unknown_sets WHERE set_id = ? LIMIT 1", (key,)).fetchone()
        if held is None:
            self._insert("unknown_sets", rows, ("set_id", key))
        return key

    def _index_name(self, row: dict[str, Any]) -> None:
        kernel, short = _plain(row.get("kernel")), _plain(row.get("kernel_short"))
        if not kernel or kernel in self._names:
            return
        if len(self._names) >= KEPT_NAMES:
            self._names.clear()
        self._names.add(kernel)
        added = self.db.conn.execute(
            "INSERT OR IGNORE INTO kernel_name_rows (kernel, kernel_short, kernel_id) VALUES (?, ?, ?)",
            (kernel, short, _plain(row.get("kernel_id"))),
        )
        if added.rowcount:
            self.db.conn.execute(
                "INSERT INTO kernel_names (rowid, kernel, kernel_short) VALUES (?, ?, ?)",
                (added.lastrowid, kernel, short),
            )

    def touch(self, uri: str, size: int | None, modified_ns: int | None) -> None:
        """Note that a file with unchanged content has a new time."""
        with self._errors():
            self.db.conn.execute(
                "UPDATE reports SET size_bytes = ?, modified_ns = ? WHERE report_id = ?",
                (size, modified_ns, report_id(uri)),
            )

    # --- reading ---------------------------------------------------------------------------------------

    def known(self) -> dict[str, tuple[str | None, int | None, int | None, str, str | None]]:
        """Return uri -> (sha256, size, modified_ns, status, analysis_key) of every report."""
        with self._errors():
            rows = self.db.conn.execute(
                "SELECT uri, sha256, size_bytes, modified_ns, status, analysis_key FROM reports"
            )
            return {
                uri: (digest, size, changed, status, key) for uri, digest, size, changed, status, key in rows
            }

    def stored(self, uri: str, wanted_hash: str) -> bytes | None:
        """Return the stored tables of a report when they hold the metrics of `wanted_hash`."""
        with self._errors():
            row = self.db.conn.execute(
                "SELECT data FROM stored_tables WHERE report_id = ? AND wanted_hash = ?",
                (report_id(uri), wanted_hash),
            ).fetchone()
            return row[0] if row else None

    def query(self, sql: str, parameters: Iterable[Any] | dict[str, Any] = ()) -> pa.Table:
        """Run one reading SQL statement and return an Arrow table. Raises `UsageError` for bad SQL."""
        import pyarrow as pa

        given = parameters if isinstance(parameters, dict) else tuple(parameters)
        connection = self.db.conn
        connection.execute("PRAGMA query_only = ON")
        # handler returns non-zero to stop: bounds runaway queries
        steps = iter(range(QUERY_STEPS // 1_000_000))
        connection.set_progress_handler(lambda: next(steps, None) is None, 1_000_000)
        connection.set_authorizer(_no_other_files)
        length = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL_BYTES)
        try:
            cursor = connection.execute(sql, given)
            names = [d[0] for d in cursor.description or ()]
            rows = cursor.fetchall()
        except sqlite3.Error as err:
            raise UsageError(
                "query-failed",
                f"the query failed: {err}",
                next_step="`profrx archive query --tables` lists tables and columns",
            ) from err
        finally:
            connection.set_progress_handler(None, 0)
            connection.set_authorizer(None)
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, length)
            connection.execute("PRAGMA query_only = OFF")
        unique: list[str] = []
        for name in names:
            unique.append(name if name not in unique else f"{name}_{len(unique)}")
        columns = [_column([row[i] for row in rows]) for i in range(len(names))]
        return pa.Table.from_arrays(columns, names=unique)

    def table(self, name: str) -> pa.Table:
        """Return a whole table of the archive, ordered by its key."""
        if name not in layout.EXPORTED:
            raise UsageError(
                "unknown-table",
                f"no archive table is called {name!r}",
                next_step="one of: " + ", ".join(layout.EXPORTED),
            )
        order = {"metrics": "report_id, kernel_row, metric", "reports": "report_id"}.get(name)
        return self.query(f"SELECT * FROM {name} ORDER BY {order or '1, 2'}")

    def search(self, text: str) -> list[str]:
        """Return kernel names that contain `text` (at least three characters)."""
        quoted = '"' + text.replace('"', '""') + '"'
        found = self.query(
            "SELECT r.kernel FROM kernel_names n JOIN kernel_name_rows r ON r.docid = n.rowid WHERE kernel_names MATCH ? ORDER BY 1",
            (quoted,),
        )
        return list(found.column(0).to_pylist())

    def close(self) -> None:
        """Close the file; a writer folds the journal into it first."""
        if not self.readonly:
            with self._errors():
                self.db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.db.conn.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        count = self.db.conn.execute("SELECT count(*) FROM reports").fetchone()[0]
        return f"<Archive {str(self.path)!r}: {count} reports>"

    def _repr_html_(self) -> str:
        from html import escape

        rows = self.query(
            "SELECT status, count(*) AS reports FROM reports GROUP BY status ORDER BY status"
        ).to_pylist()
        body = "".join(f"<tr><td>{escape(r['status'])}</td><td>{r['reports']}</td></tr>" for r in rows)
        return f"<b>Archive</b> <code>{escape(str(self.path))}</code><table><tr><th>status</th><th>reports</th></tr>{body}</table>"


@cache
def _insertion(table: str, columns: tuple[str, ...], replace: bool) -> str:
    """Return the statement that inserts a row; with `replace`, one that takes the place of the row with its id."""
    names = ", ".join(f'"{c}"' for c in columns)
    sql = f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})"
    if replace:
        # REPLACE deletes the old row and would cascade to children written by the same call
        updates = ", ".join(f'"{c}" = excluded."{c}"' for c in columns if c != "report_id")
        sql += f" ON CONFLICT (report_id) DO UPDATE SET {updates}"
    return sql


def _plain(value: str | None) -> str | None:
    """Return text that SQLite takes: broken characters replaced. (It stores NaN as null by itself.)"""
    return None if value is None else value.encode("utf-8", "replace").decode("utf-8")


def _column(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        kinds = {type(v) for v in values if v is not None}
        if kinds <= {int, float}:
            return pa.array([None if v is None else float(v) for v in values])
        return pa.array([None if v is None else str(v) for v in values])


def _database_error(err: sqlite3.Error, path: str) -> InputError:
    text = str(err)
    known = (
        (
            "disk is full",
            "archive-disk-full",
            "the disk is full: nothing of the current report was stored",
            "free some space and run the same command again: it goes on where it stopped",
        ),
        (
            "readonly",
            "archive-read-only",
            "the archive cannot be written",
            "check the owner and mode of the file and its folder",
        ),
        (
            "locked",
            "archive-locked",
            f"another program kept the archive locked for {LOCK_WAIT_S:.0f} s",
            "close it, or run again later: nothing is lost",
        ),
        (
            "not a database",
            "archive-foreign",
            "this is not a SQLite file",
            "name another file; this one was left as it is",
        ),
        (
            "malformed",
            "archive-damaged",
            "the archive is damaged",
            "restore a copy, or delete it and run the batch again",
        ),
        (
            "unable to open",
            "archive-unreadable",
            "the archive cannot be opened",
            "check the folder and its permissions",
        ),
    )
    for mark, code, message, step in known:
        if mark in text:
            return InputError(code, message, where=path, next_step=step)
    return InputError(
        "archive-failed",
        f"the archive failed: {text}",
        where=path,
        next_step="run again; if it stays, delete the archive and rebuild it",
    )
