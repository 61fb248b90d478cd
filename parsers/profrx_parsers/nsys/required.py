"""Columns that every capture has: one that is missing is data lost, and must not read as zero.

Source: in 111 public and own reports of nsys 2020.3 to 2026.1 and their exports, these columns hold values wherever
their table has rows; others (clusters, graph nodes, peer devices) are often absent and are not listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from profrx_parsers.nsys.raw import Frame, RawTables, Strings
from profrx_parsers.problems import ProblemLog

_PLACE = ("start", "end", "deviceId", "streamId", "correlationId", "globalPid")
REQUIRED: Mapping[str, tuple[str, ...]] = {
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        *_PLACE, "demangledName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread",
    ),
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (*_PLACE, "graphExecId"),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (*_PLACE, "bytes", "copyKind", "srcKind", "dstKind"),
    "CUPTI_ACTIVITY_KIND_MEMSET": (*_PLACE, "bytes", "memKind"),
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": ("start", "end", "correlationId", "globalPid"),
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("start", "end", "globalTid", "correlationId", "nameId"),
    "NVTX_EVENTS": ("start", "eventType", "globalTid"),
    "CUDA_GPU_MEMORY_USAGE_EVENTS": ("start", "globalPid", "deviceId", "bytes", "memoryOperationType"),
    "StringIds": ("id", "value"),
}  # fmt: skip
"""Raw table -> columns that hold a value in at least one row."""
UNUSABLE: Mapping[str, tuple[str, ...]] = {
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("start", "end", "globalTid", "nameId"),
    "NVTX_EVENTS": ("start", "end", "eventType", "globalTid"),
    "CUDA_GPU_MEMORY_USAGE_EVENTS": ("start", "bytes", "memoryOperationType"),
}
"""Raw table -> columns without which its rows would mislead: a call without a name, a range that never ends."""


class CheckedTables:
    """Raw tables that report lost columns; a table that would mislead without them counts as not recorded."""

    def __init__(self, raw: RawTables, log: ProblemLog) -> None:
        self._raw = raw
        self._log = log
        self._told: set[str] = set()

    def names(self) -> frozenset[str]:
        """Return the raw tables that exist."""
        return self._raw.names()

    def strings(self) -> Strings:
        """Return the string block."""
        found = self._raw.strings()
        if not len(found) and "StringIds" in self._raw.names():
            self._check(
                "StringIds", self._raw.table("StringIds", REQUIRED["StringIds"]), REQUIRED["StringIds"]
            )
        return found

    def table(self, name: str, columns: Sequence[str]) -> pa.Table | None:
        """Return a raw table; see `RawTables`."""
        found = self._raw.table(name, columns)
        lost = self._check(name, found, columns)
        return None if lost & set(UNUSABLE.get(name, ())) else found

    def _check(self, name: str, table: pa.Table | None, columns: Sequence[str]) -> set[str]:
        if table is None or not table.num_rows:
            return set()
        frame = Frame(table)
        lost = {c for c in REQUIRED.get(name, ()) if c in columns and not frame.has(c)}
        lost |= {c for c in UNUSABLE.get(name, ()) if c in columns and c not in table.column_names}
        for column in [c for c in columns if c in lost and f"{name}.{c}" not in self._told]:
            self._told.add(f"{name}.{column}")
            self._log.add(
                "data-loss",
                "nsys-missing-column",
                f"table {name} has no column {column}: what it would tell is unknown",
                where=f"{name}.{column}",
                count=table.num_rows,
                advice="export the report again: nsys export --type sqlite REPORT",
            )
        return lost
