"""``tables``: one normalised table of a report, as Arrow or written in a format of choice."""

from __future__ import annotations

import io
import json
import math
from typing import TYPE_CHECKING, Any

from profrx_parsers.errors import UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import pyarrow as pa

    from profrx_parsers.problems import Problem

FORMATS: dict[str, tuple[str, ...]] = {
    "text": (".txt",),
    "csv": (".csv",),
    "json": (".json",),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather"),
}
"""Format -> suffixes. JSON is an array of objects; arrow is the IPC file format."""

TEXT_ROWS = 40
"""Rows that the text format shows unless told otherwise."""


def tables(
    path: str | os.PathLike[str],
    table: str,
    *,
    columns: Sequence[str] = (),
    rows: int | None = None,
    private: bool = False,
) -> pa.Table:
    """Read `path` and return one of its tables.

    Args:
        path: a report.
        table: name of the table, see docs/cli.md.
        columns: only these, in this order; empty = all.
        rows: at most so many, from the start.
        private: keep facts that identify people and machines.

    Raises:
        InputError: the report cannot be read.
        UsageError: no such table or column.

    A table that this kind of report does not hold has no rows.
    """
    return read(path, table, columns=columns, rows=rows, private=private)[0]


def read(
    path: str | os.PathLike[str],
    table: str,
    *,
    columns: Sequence[str] = (),
    rows: int | None = None,
    private: bool = False,
) -> tuple[pa.Table, Sequence[Problem]]:
    """Return a table as `tables` does, and what went wrong when it was read."""
    from profrx_parsers import schema
    from profrx_parsers.registry import open_report
    from profrx_parsers.report import Wanted

    if table not in schema.TABLES:
        raise UsageError(
            "unknown-table",
            f"no table is called {table!r}{_near(table, schema.TABLES)}",
            next_step="one of: " + ", ".join(schema.TABLES),
        )
    known = schema.TABLES[table].names
    for column in columns:
        if column not in known:
            raise UsageError(
                "unknown-column",
                f"table {table!r} has no column {column!r}{_near(column, known)}",
                next_step="one of: " + ", ".join(known),
            )
    report = open_report(path, Wanted(tables=frozenset({table}), private=private))
    if table == "problems":
        for name in schema.TABLES:
            if report.has(name):
                report.table(name)
    found = report.table(table)
    if columns:
        found = found.select(list(columns))
    return found if rows is None else found.slice(0, rows), tuple(report.problems)


def _near(word: str, known: Sequence[str] | dict[str, Any]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=1, cutoff=0.65)
    return f"; did you mean {near[0]!r}?" if near else ""


def write(table: pa.Table, format_: str) -> str | bytes:
    """Return a table in one of `FORMATS`."""
    if format_ == "parquet":
        return _parquet(table)
    if format_ == "arrow":
        return _arrow(table)
    if format_ == "csv":
        return _csv(table)
    return _json(table) if format_ == "json" else _text(table)


def _parquet(table: pa.Table) -> bytes:
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def _arrow(table: pa.Table) -> bytes:
    import pyarrow as pa

    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _csv(table: pa.Table) -> str:
    """Nested columns become JSON text; null is an empty cell, an empty string is two quotes."""
    import pyarrow as pa
    import pyarrow.csv

    for i, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            words = [None if v is None else _dumps(v) for v in table.column(i).to_pylist()]
            table = table.set_column(i, field.name, pa.array(words, pa.string()))
    sink = io.BytesIO()
    pa.csv.write_csv(table, sink)
    return sink.getvalue().decode()


def _json(table: pa.Table) -> str:
    lines = []
    for batch in table.to_batches(max_chunksize=4096):
        lines += [_dumps(row) for row in batch.to_pylist()]
    return "[\n" + ",\n".join(lines) + "\n]" if lines else "[]"


def _dumps(value: Any) -> str:
    return json.dumps(_finite(value), ensure_ascii=True, allow_nan=False)


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: both become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(v) for key, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, list) else value


def _text(table: pa.Table) -> str:
    """Columns that hold nothing are left out and named below; numbers are right-aligned."""
    import pyarrow as pa

    from profrx.report.grid import grid

    kept = [f for i, f in enumerate(table.schema) if table.column(i).null_count < len(table)]
    empty = [f.name for f in table.schema if f not in kept]
    if not len(table):
        return f"no rows; columns: {', '.join(table.schema.names)}"
    shown = table.select([f.name for f in kept])
    columns = [[_cell(v) for v in column.to_pylist()] for column in shown.columns]
    right = [i for i, f in enumerate(kept) if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)]
    text = grid([f.name for f in kept], zip(*columns, strict=True), right=right)
    return f"{text}\n\nwithout values: {', '.join(empty)}" if empty else text


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return _dumps(value) if isinstance(value, list | dict) else str(value)
