"""rocprof v1 `results.db`: SQLite tables made from the CSV on the fly.

The `Index` of `OPS` and `COPY` is that of the host call in `HIP` that asked for them (in `KERN` it numbers dispatches).
Dispatches stand in `KERN` (in 2021 files: `A`), and in `OPS` when `KERN` is empty, as in ``--hip-trace`` runs. Kernel
names keep the quotation marks of the CSV.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from profrx_parsers import schema
from profrx_parsers.problems import ProblemLog
from profrx_parsers.rocm import build, rows
from profrx_parsers.rocm.dispatches import concat
from profrx_parsers.rocm.headers import fact_of
from profrx_parsers.rocm.sqlitefile import Database
from profrx_parsers.rocm.tables import numbered

if TYPE_CHECKING:
    from profrx_parsers.report import Report, Wanted
    from profrx_parsers.source import Source

KERNEL_TABLES = ("KERN", "A")
TIMELINE = ("HIP", "HSA", "COPY", "OPS")
MAX_COLUMNS = 5000


def read(source: Source, wanted: Wanted) -> Report:
    """Read the database."""
    log = ProblemLog()
    parts = build.Parts(build.info(source, "rocprof-v1-db", tool="rocprof"), log, wanted)
    add(parts, Database(source, log), kernels=True)
    return build.build(parts)


def add(parts: build.Parts, base: Database, *, kernels: bool) -> None:
    """Add dispatches (when `kernels`) and the timeline of a v1 database to a report in the making."""
    log = parts.log
    if kernels:
        for table in KERNEL_TABLES:
            columns = base.columns(table)[:MAX_COLUMNS]
            if {"KernelName", "Index"} <= set(columns) and len(columns) > 2:
                got = base.read(table, columns)
                if got["Index"]:
                    asked = {
                        c: v
                        for c, v in got.items()
                        if fact_of(c) or parts.wanted.metrics is None or c in parts.wanted.metrics
                    }
                    parts.dispatches.append(rows.dispatches(asked, table, log))
                    break
        else:
            _from_operations(parts, base)
    calls = [(t, d) for t, d in (("HIP", "hip"), ("HSA", "hsa")) if t in base.tables]
    if calls:
        parts.loaders["api_calls"] = lambda: _calls(base, calls)
    if "COPY" in base.tables:
        keys = build.device_rows(concat(parts.dispatches))[0] if parts.dispatches else []
        parts.loaders["copies"] = lambda: _copies(base, keys)


def _from_operations(parts: build.Parts, base: Database) -> None:
    got = base.read(
        "OPS", ["Name", "BeginNs", "EndNs", "dev-id", "queue-id", "stream-id", "pid", "tid", "Index"]
    )
    if not got["Name"]:
        return
    names = {"Name": "KernelName", "dev-id": "gpu-id", "stream-id": "Stream_Id", "Index": "Correlation_Id"}
    columns = {names.get(k, k): v for k, v in got.items()}
    parts.dispatches.append(rows.dispatches(columns, "OPS", parts.log))


def _calls(base: Database, tables: list[tuple[str, str]]) -> pa.Table:
    parts = []
    for table, domain in tables:
        got = base.read(table, ["Name", "BeginNs", "EndNs", "pid", "tid", "Index"])
        parts.append(rows.api_calls({**got, "correlation": got["Index"]}, domain))
    return numbered(parts, "api_calls", "call_id")


def _copies(base: Database, keys: list[int | None]) -> pa.Table:
    got = base.read("COPY", ["Name", "BeginNs", "EndNs", "dev-id", "pid", "stream-id", "Data", "Index"])
    if not got["Name"]:
        return schema.empty("copies")
    device = [keys.index(d) if d in keys else None for d in got["dev-id"]]
    return numbered([rows.copies({**got, "correlation": got["Index"]}, device)], "copies", "copy_id")
