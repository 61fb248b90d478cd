"""Exports made by hand: a small SQLite database in the vendor's tables, for captures of every kind."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

US = 1000
PID = 4000

KERNEL, COPY, SET = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPH, RUNTIME, NVTX = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"


class Export:
    """Tables of one capture; times in microseconds."""

    def __init__(self, session: int = 1_000_000, devices: int = 1, units: int = 132) -> None:
        self.tables: dict[str, list[dict[str, Any]]] = {"ANALYSIS_DETAILS": [{"duration": session * US}]}
        self.tables["TARGET_INFO_GPU"] = [
            {"id": i, "cuDevice": i, "name": f"GPU {i}", "smCount": units, "totalMemory": 80 << 30,
             "computeMajor": 9, "computeMinor": 0} for i in range(devices)
        ]  # fmt: skip
        self.texts: dict[str, int] = {}
        self.last = 0

    def text(self, value: str) -> int:
        """Return the number of a text."""
        return self.texts.setdefault(value, len(self.texts))

    def row(self, table: str, **columns: Any) -> None:
        """Add a row of any table."""
        self.tables.setdefault(table, []).append(columns)

    def call(
        self, name: str, start: float, length: float, pid: int = PID, thread: int = 1, result: int = 0
    ) -> int:
        """Add an API call; returns its correlation id."""
        self.last += 1
        self.row(RUNTIME, start=int(start * US), end=int((start + length) * US), eventClass=0,
                 globalTid=tid(pid, thread), correlationId=self.last, nameId=self.text(name), returnValue=result)  # fmt: skip
        return self.last

    def kernel(self, start: float, length: float, called: float | None = None, name: str = "k", pid: int = PID,
               device: int = 0, stream: int = 7, blocks: int = 2000, thread: int = 1, **more: Any) -> None:  # fmt: skip
        """Add a kernel and, when `called` is given, its launch call of 4 us."""
        number = 0 if called is None else self.call("cudaLaunchKernel", called, 4, pid, thread)
        short = name.split("<")[0].split("(")[0]
        self.row(KERNEL, start=int(start * US), end=int((start + length) * US), deviceId=device, contextId=1,
                 streamId=stream, correlationId=number, globalPid=tid(pid, 0), demangledName=self.text(name),
                 shortName=self.text(short), gridX=blocks, gridY=1, gridZ=1, blockX=256, blockY=1, blockZ=1,
                 registersPerThread=32, **more)  # fmt: skip

    def copy(self, start: float, length: float, called: float | None = None, kind: int = 1, source: int = 1,
             target: int = 2, pid: int = PID, device: int = 0, stream: int = 8, size: int | None = None,
             name: str = "cudaMemcpyAsync") -> None:  # fmt: skip
        """Add a copy (default: pinned host to device, 50 GB/s) and its call of 5 us."""
        number = 0 if called is None else self.call(name, called, 5, pid)
        self.row(COPY, start=int(start * US), end=int((start + length) * US), deviceId=device, contextId=1,
                 streamId=stream, correlationId=number, globalPid=tid(pid, 0), copyKind=kind, srcKind=source,
                 dstKind=target, bytes=int(length * 50_000) if size is None else size)  # fmt: skip

    def range(self, name: str, start: float, length: float, pid: int = PID, thread: int = 1) -> None:
        """Add a push/pop range."""
        self.row(NVTX, start=int(start * US), end=int((start + length) * US), eventType=59, text=name,
                 globalTid=tid(pid, thread), domainId=0)  # fmt: skip

    def write(self, path: Path) -> Path:
        """Write the database."""
        with closing(sqlite3.connect(path)) as db:
            for name, rows in self.tables.items():
                _table(db, name, rows)
            _table(
                db,
                "StringIds",
                [{"id": n, "value": t} for t, n in self.texts.items()] or [{"id": 0, "value": ""}],
            )
            db.commit()
        return path


def tid(pid: int, thread: int) -> int:
    """Return the vendor's global id of a thread; thread 0 = of a process."""
    return 1 << 48 | pid << 24 | thread


def _table(db: sqlite3.Connection, name: str, rows: Iterable[dict[str, Any]]) -> None:
    rows = list(rows)
    columns = list(dict.fromkeys(c for row in rows for c in row))
    db.execute(f'CREATE TABLE "{name}"({", ".join(f"{chr(34)}{c}{chr(34)}" for c in columns)})')
    marks = ", ".join("?" * len(columns))
    db.executemany(f'INSERT INTO "{name}" VALUES ({marks})', [[r.get(c) for c in columns] for r in rows])
