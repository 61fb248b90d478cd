"""OpenACC and OpenMP constructs as `ops`, and memory operations of Direct3D 12."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from profrx_parsers.registry import open_report

TEXTS = ["Enter Data", "solve", "/home/somebody/src/solve.f90", "omp parallel", "ID3D12Device4::CreateHeap1",
         "ID3D12Resource::Map", "ID3D12Resource::Unmap", "ID3D12Device::CreateCommittedResource"]  # fmt: skip
TID = 1 << 48 | 77 << 24 | 5


def write(path: Path, tables: dict[str, tuple[str, list[tuple[object, ...]]]]) -> Path:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)")
        db.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(TEXTS))
        for name, (columns, rows) in tables.items():
            db.execute(f"CREATE TABLE {name}({columns})")
            db.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        db.commit()
    return path


def test_constructs_name_their_line_but_no_folder(tmp_path: Path) -> None:
    path = write(
        tmp_path / "acc.sqlite",
        {
            "CUPTI_ACTIVITY_KIND_OPENACC_DATA": (
                'start, "end", nameId, globalTid, eventKind, lineNo, srcFile, funcName, bytes',
                [(100, 200, 0, TID, 1, 42, 2, 1, 4096), (300, 450, 0, TID, 1, 42, 2, 1, 4096)],
            ),
            "OPENMP_EVENT_KIND_PARALLEL": ('start, "end", nameId, globalTid', [(10, 20, 3, TID)]),
        },
    )
    report = open_report(path)
    rows = report.table("ops").to_pylist()
    assert [(r["name"], r["category"], r["start_ns"], r["end_ns"]) for r in rows] == [
        ("Enter Data solve (solve.f90:42)", "openacc data", 100, 200),
        ("Enter Data solve (solve.f90:42)", "openacc data", 300, 450),
        ("omp parallel", "openmp", 10, 20),
    ]
    assert {(r["process_id"], r["thread_id"]) for r in rows} == {(77, 5)}
    assert [r["op_id"] for r in rows] == [0, 1, 2]


def test_the_binary_report_has_them_too(corpus: Path) -> None:
    """A program with OpenACC (nsys 2021.5); the recorder's own count of its OpenACC events stands in a diagnostic."""
    (path,) = corpus.glob("nsys/NCAR*baseline.nsys-rep")
    report = open_report(path)
    texts = report.extras["raw"].table("DIAGNOSTIC_EVENT", ("text",)).column("text").to_pylist()
    (counted,) = [int(t.rsplit(None, 1)[-1].strip("\t. ")) for t in texts if "OpenACC events collected" in t]
    ops = report.table("ops")
    assert ops.num_rows == counted
    kinds = Counter(ops.column("category").to_pylist())
    assert set(kinds) == {"openacc", "openacc data", "openacc launch"}
    assert any("miniWeather" in name and ":257)" in name for name in ops.column("name").unique().to_pylist())


def test_memory_that_the_hardware_does_not_like(tmp_path: Path) -> None:
    """Upload heap 1, read-back heap 2, flag 0x1000 = not zeroed; see the vendor's rule."""
    path = write(
        tmp_path / "dx.sqlite",
        {
            "DX12_API": (
                'id, start, "end", nameId',
                [
                    (1, 0, 10, 4),
                    (2, 20, 30, 4),
                    (3, 40, 50, 5),
                    (4, 60, 70, 5),
                    (5, 80, 95, 6),
                    (6, 100, 110, 7),
                ],
            ),
            "DX12_MEMORY_OPERATION": (
                "rangeStart, rangeEnd, heapType, heapFlags, cpuPageProperty, traceEventId",
                [
                    (None, None, 0, 0, 0, 1),  # a heap that is cleared
                    (None, None, 0, 0x1000, 0, 2),  # one that is not
                    (0, 64, 1, None, None, 3),  # reads an upload heap
                    (0, 0, 1, None, None, 4),  # maps it to write only
                    (0, 64, 2, None, None, 5),  # writes a read-back heap
                    (None, None, 0, 0, 0, 6),  # a resource that is cleared
                    (0, 64, 1, None, None, 99),  # a call that is not there
                ],
            ),
        },
    )
    flagged = open_report(path).extras["graphics"]()
    assert flagged.operations == 7
    assert list(zip(flagged.starts.tolist(), flagged.kind.tolist(), strict=True)) == [
        (0, 0),
        (40, 1),
        (80, 1),
        (100, 0),
    ]


def test_heap_numbers_come_from_the_export(tmp_path: Path) -> None:
    path = write(
        tmp_path / "enum.sqlite",
        {
            "DX12_API": ('id, start, "end", nameId', [(1, 0, 10, 5)]),
            "DX12_MEMORY_OPERATION": (
                "rangeStart, rangeEnd, heapType, heapFlags, cpuPageProperty, traceEventId",
                [(0, 64, 2, None, None, 1)],
            ),
            "ENUM_D3D12_HEAP_TYPE": (
                "id, name",
                [(1, "DEFAULT"), (2, "D3D12_HEAP_TYPE_UPLOAD"), (5, "GPU_UPLOAD")],
            ),
        },
    )
    assert open_report(path).extras["graphics"]().kind.tolist() == [1]


def test_an_export_without_such_tables_recorded_none(export: Callable[[str], Path]) -> None:
    report = open_report(export("healthy"))
    assert report.extras["graphics"]().operations == 0
    assert report.table("ops").num_rows == 0
