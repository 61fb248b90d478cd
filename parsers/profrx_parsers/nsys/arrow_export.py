"""Reads the columnar exports of nsys: parquetdir, arrowdir, and the single `arrow` file.

A folder holds one file per table (`TABLE.parquet`, or `TABLE.arrow` as an IPC stream); the single file is
IPC streams back to back, each naming its table in the schema metadata. Source: exports of nsys 2023.4 and 2025.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.ipc

from profrx_parsers.errors import InputError
from profrx_parsers.nsys.capture import report_of
from profrx_parsers.nsys.meta import facts_of
from profrx_parsers.nsys.tabular import TabularTables
from profrx_parsers.problems import ProblemLog
from profrx_parsers.report import EVERYTHING, Report, Wanted

if TYPE_CHECKING:
    from profrx_parsers.source import Source

MAX_TABLES = 1000
TABLE_KEY = b"table_name"
_AGAIN = "export again: nsys export --type sqlite REPORT (the form with the fewest surprises)"


class _ColumnarTables(TabularTables):
    """Base: reads a whole Arrow table and keeps the columns asked for."""

    def __init__(self, log: ProblemLog) -> None:
        self._log = log

    def _clean(self, table: pa.Table) -> pa.Table:
        """Return unsigned columns as signed 64 bit (the SQLite export's view of ids)."""
        for at, field in enumerate(table.schema):
            if pa.types.is_uint64(field.type):
                table = table.set_column(at, field.name, table.column(at).cast(pa.int64(), safe=False))
        return table

    def _damaged(self, name: str, err: Exception) -> None:
        self._log.add(
            "data-loss",
            "nsys-damaged-table",
            f"table {name} cannot be read: {str(err)[:200]}",
            where=name,
            advice=_AGAIN,
        )


class FolderTables(_ColumnarTables):
    """A parquetdir or an arrowdir."""

    def __init__(self, folder: Path, log: ProblemLog) -> None:
        super().__init__(log)
        self._files = {
            path.stem: path
            for path in sorted(folder.iterdir())[:MAX_TABLES]
            if path.suffix in (".parquet", ".arrow") and path.is_file()
        }

    def names(self) -> frozenset[str]:
        """Return the tables of the folder."""
        return frozenset(self._files)

    def read(self, name: str, columns: Sequence[str]) -> pa.Table | None:
        """Read some columns of a table."""
        path = self._files.get(name)
        if path is None:
            return None
        try:
            if path.suffix == ".parquet":
                import pyarrow.parquet as pq

                with pq.ParquetFile(path) as file:
                    wanted = [c for c in columns if c in file.schema_arrow.names]
                    return self._clean(file.read(columns=wanted)) if wanted else None
            with pa.memory_map(str(path)) as mapped, pa.ipc.open_stream(mapped) as stream:
                return _chosen(self._clean(stream.read_all()), columns)
        except (pa.ArrowException, OSError) as err:
            self._damaged(name, err)
            return None


class StreamTables(_ColumnarTables):
    """The single file: streams back to back, found once, mapped and not copied."""

    def __init__(self, data: memoryview, log: ProblemLog) -> None:
        super().__init__(log)
        self._buffer = pa.py_buffer(data)
        self._places: dict[str, int] = {}
        reader = pa.BufferReader(self._buffer)
        while reader.tell() < self._buffer.size and len(self._places) < MAX_TABLES:
            start = reader.tell()
            try:
                stream = pa.ipc.open_stream(reader)
                name = (stream.schema.metadata or {}).get(TABLE_KEY, b"").decode("utf-8", "replace")
                for _ in stream:
                    pass
            except (pa.ArrowException, OSError, ValueError) as err:
                self._damaged(f"at byte {start:,}", err)
                break
            self._places.setdefault(name, start)

    def names(self) -> frozenset[str]:
        """Return the tables of the file."""
        return frozenset(self._places)

    def read(self, name: str, columns: Sequence[str]) -> pa.Table | None:
        """Read some columns of a table."""
        if name not in self._places:
            return None
        reader = pa.BufferReader(self._buffer)
        reader.seek(self._places[name])
        try:
            return _chosen(self._clean(pa.ipc.open_stream(reader).read_all()), columns)
        except (pa.ArrowException, OSError) as err:
            self._damaged(name, err)
            return None


def _chosen(table: pa.Table, columns: Sequence[str]) -> pa.Table | None:
    wanted = [c for c in columns if c in table.column_names]
    return table.select(wanted) if wanted else None


def read_folder(source: Source, wanted: Wanted = EVERYTHING) -> Report:
    """Read a parquetdir or arrowdir. Raises `InputError` when it holds no strings."""
    log = ProblemLog()
    tables = FolderTables(source.path, log)
    form = (
        "nsys-parquetdir" if any(p.suffix == ".parquet" for p in tables._files.values()) else "nsys-arrowdir"
    )
    return _report(tables, form, source, log, wanted)


def read_stream(source: Source, wanted: Wanted = EVERYTHING) -> Report:
    """Read the single `arrow` file. Raises `InputError` when it holds no strings."""
    log = ProblemLog()
    return _report(StreamTables(source.data(), log), "nsys-arrow", source, log, wanted)


def _report(
    tables: FolderTables | StreamTables, form: str, source: Source, log: ProblemLog, wanted: Wanted
) -> Report:
    if "StringIds" not in tables.names():
        raise InputError(
            "nsys-not-an-export",
            "there is no table StringIds, so this is no complete Nsight Systems export",
            where=source.name,
            next_step=_AGAIN,
        )
    return report_of(tables, facts_of(tables, form, wanted.private), source, log, wanted)
