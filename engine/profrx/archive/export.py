"""`export`: the archive as a Parquet dataset, partitioned by tool, byte-equal for equal content.

Rows are ordered by their keys and written in pieces of bounded size, so that an archive of millions of rows
needs little memory.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profrx.archive import layout
from profrx_parsers.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from profrx.archive.store import Archive

PIECE_ROWS = 65_536
_ORDER = {"reports": "report_id", "metrics": "report_id, kernel_row, metric"}
_LEFT_OUT = ("modified_ns", "unknown_set")
"""A copy of a file has another time, which is no property of the content; sets are written out as rows."""


def export(archive: Archive, target: str | os.PathLike[str]) -> list[Path]:
    """Write every table below the folder `target` as ``table/tool=T/part-0.parquet``; returns the files.

    The folder must not exist or be an earlier export; the new one replaces it when it is complete.
    """
    import pyarrow.parquet as pq

    final = Path(target)
    if final.exists() and not (final / "_profrx_export").is_file():
        raise UsageError(
            "export-target",
            f"{final} exists and is no earlier export",
            next_step="name a folder that does not exist",
        )
    work = final.with_name(final.name + ".partial")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "_profrx_export").write_text(f"schema {layout.VERSION}\n", encoding="ascii")
    tools = [r["tool"] for r in archive.query("SELECT DISTINCT tool FROM reports ORDER BY tool").to_pylist()]
    written = []
    for table in layout.EXPORTED:
        schema = _schema(archive, table)
        for tool in tools:
            batches = _batches(archive, table, schema, tool)
            first = next(batches, None)
            if first is None:
                continue
            path = work / table / f"tool={tool or 'unknown'}" / "part-0.parquet"
            path.parent.mkdir(parents=True)
            with pq.ParquetWriter(path, schema, compression="zstd") as writer:
                writer.write_batch(first)
                for batch in batches:
                    writer.write_batch(batch)
            written.append(path)
    shutil.rmtree(final, ignore_errors=True)
    os.replace(work, final)
    return [final / p.relative_to(work) for p in written]


def _schema(archive: Archive, table: str) -> pa.Schema:
    import pyarrow as pa

    kinds = {"TEXT": pa.string(), "INTEGER": pa.int64(), "REAL": pa.float64()}
    columns = archive.db.conn.execute(f"SELECT name, type FROM pragma_table_info('{table}')").fetchall()
    return pa.schema([(n, kinds[t]) for n, t in columns if n not in _LEFT_OUT])


def _batches(archive: Archive, table: str, schema: pa.Schema, tool: str | None) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    names = ", ".join(f't."{n}"' for n in schema.names)
    order = _ORDER.get(table, "1, 2")
    if table == "reports":
        sql = f"SELECT {names} FROM reports t WHERE t.tool IS ? ORDER BY {order}"
    else:
        sql = f"SELECT {names} FROM {table} t JOIN reports r ON r.report_id = t.report_id WHERE r.tool IS ? ORDER BY {order.replace('report_id', 't.report_id')}"
    cursor = archive.db.conn.execute(sql, (tool,))
    while rows := cursor.fetchmany(PIECE_ROWS):
        columns: list[Any] = list(zip(*rows, strict=True))
        yield pa.record_batch(
            [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema
        )
