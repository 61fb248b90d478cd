"""Joins on hand-made exports: what real captures get wrong when joined naively."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profrx_parsers.nsys import host
from profrx_parsers.registry import open_report
from profrx_parsers.report import Report

NAMES = ["cudaLaunchKernel_v7000", "k", "k(float*)", "cudaDeviceSynchronize_v3020", "cudaStreamSynchronize_ptsz",
         "cudaStreamWaitEvent_v3020", "cuLaunchKernel", "cudaMemcpy_v3020", "user", "domain A"]  # fmt: skip
A, B = 100, 200


def tid(pid: int, thread: int) -> int:
    return 1 << 48 | pid << 24 | thread


Rows = Iterable[dict[str, Any]]


@pytest.fixture
def export(tmp_path: Path) -> Callable[..., Report]:
    """Write an export with some tables and open it."""

    def build(duration: int | None = None, **tables: Rows) -> Report:
        path = tmp_path / "made.sqlite"
        path.unlink(missing_ok=True)
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)")
        db.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(NAMES))
        if duration is not None:
            tables["ANALYSIS_DETAILS"] = [{"duration": duration}]
        for name, rows in tables.items():
            rows = list(rows)
            columns = list(dict.fromkeys(c for row in rows for c in row))
            db.execute(f"CREATE TABLE {name}({', '.join(columns)})")
            marks = ", ".join("?" * len(columns))
            db.executemany(
                f"INSERT INTO {name} VALUES ({marks})", [[r.get(c) for c in columns] for r in rows]
            )
        db.commit()
        db.close()
        return open_report(path)

    return build


def kernel(start: int, correlation: int, pid: int = A, **more: Any) -> dict[str, Any]:
    given = {"start": start, "end": start + 10, "deviceId": 0, "contextId": 1, "streamId": 7,
             "correlationId": correlation, "globalPid": tid(pid, 0), "demangledName": 2, "shortName": 1}  # fmt: skip
    return given | more


def call(
    start: int, correlation: int, pid: int = A, thread: int = 1, name: int = 0, **more: Any
) -> dict[str, Any]:
    given = {"start": start, "end": start + 5, "eventClass": 0, "globalTid": tid(pid, thread),
             "correlationId": correlation, "nameId": name, "returnValue": 0}  # fmt: skip
    return given | more


KERNELS, CALLS, SYNCS, NVTX = (
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "NVTX_EVENTS",
)


def test_correlation_ids_are_unique_per_process_only(export: Callable[..., Report]) -> None:
    launches = export(
        **{KERNELS: [kernel(100, 5, A), kernel(300, 5, B)], CALLS: [call(250, 5, B, 9), call(50, 5, A, 8)]}
    ).table("launches")
    assert launches.num_rows == 2
    assert launches.column("launch_api_start_ns").to_pylist() == [50, 250]
    assert launches.column("thread_id").to_pylist() == [8, 9]


def test_kernels_without_a_call_are_kept_and_counted(export: Callable[..., Report]) -> None:
    report = export(**{KERNELS: [kernel(100, 5), kernel(200, 6)], CALLS: [call(90, 6)]})
    launches = report.table("launches")
    assert launches.column("launch_api_start_ns").to_pylist() == [None, 90]
    told = [(p.code, p.count) for p in report.problems if p.code != "nsys-missing-column"]
    assert told == [("nsys-launch-without-call", 1)]


def test_the_record_with_a_back_trace_does_not_double_a_call(export: Callable[..., Report]) -> None:
    report = export(**{KERNELS: [kernel(100, 5)], CALLS: [call(90, 5), call(91, 5, eventClass=67)]})
    assert report.table("api_calls").num_rows == 1
    assert report.table("launches").num_rows == 1


def test_calls_lose_their_abi_suffix(export: Callable[..., Report]) -> None:
    calls = export(**{CALLS: [call(1, 1), call(2, 2, name=4), call(3, 3, name=6, eventClass=1)]}).table(
        "api_calls"
    )
    assert calls.column("name").to_pylist() == ["cudaLaunchKernel", "cudaStreamSynchronize", "cuLaunchKernel"]
    assert calls.column("domain").to_pylist() == ["cudart", "cudart", "cuda"]


def test_sync_kinds_follow_the_call_not_the_code(export: Callable[..., Report]) -> None:
    place = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": tid(A, 0), "syncType": 4}
    syncs = [
        {"start": s, "end": s + 1, "correlationId": c, **place}
        for s, c in ((10, 1), (20, 2), (30, 3), (40, 4), (50, 9))
    ]
    calls = [call(9, 1, name=3), call(19, 2, name=4), call(29, 3, name=5), call(39, 4, name=7)]
    table = export(**{SYNCS: syncs, CALLS: calls}).table("syncs")
    assert table.column("kind").to_pylist() == ["device", "stream", "stream-wait-event", "copy", None]


def test_whole_device_is_no_stream(export: Callable[..., Report]) -> None:
    sync = {"start": 1, "end": 2, "correlationId": 1, "deviceId": 0, "contextId": 1, "streamId": 4294967295,
            "globalPid": tid(A, 0), "syncType": 4}  # fmt: skip
    assert export(**{SYNCS: [sync]}).table("syncs").column("stream_id").to_pylist() == [None]


GPUS = [
    {"id": 0, "name": "first in the list", "cuDevice": 3, "smCount": 80, "memoryBandwidth": 0},
    {"id": 1, "name": "second", "cuDevice": 2, "smCount": 80, "memoryBandwidth": 5},
]


def test_device_numbers_are_cuda_numbers_not_list_places(export: Callable[..., Report]) -> None:
    report = export(**{KERNELS: [kernel(1, 1, deviceId=3)], "TARGET_INFO_GPU": GPUS})
    devices = {d["device_id"]: d for d in report.table("devices").to_pylist()}
    assert report.table("launches").column("device_id").to_pylist() == [3]
    assert devices[3]["name"] == "first in the list"
    assert devices[3]["peak_bandwidth_bytes_per_s"] is None
    assert devices[2]["peak_bandwidth_bytes_per_s"] == 5.0


def test_device_numbers_are_per_process(export: Callable[..., Report]) -> None:
    """CUDA_VISIBLE_DEVICES: number 0 of one process is another GPU than number 0 of the other."""
    report = export(
        **{
            KERNELS: [kernel(1, 1, A), kernel(2, 1, B)],
            "TARGET_INFO_GPU": GPUS,
            "TARGET_INFO_CUDA_DEVICE": [
                {"gpuId": 0, "cudaId": 0, "pid": A},
                {"gpuId": 1, "cudaId": 0, "pid": B},
            ],
        }
    )
    assert report.table("launches").column("device_id").to_pylist() == [3, 2]


def test_launches_belong_to_the_ranges_of_their_thread_at_the_launch(export: Callable[..., Report]) -> None:
    def nvtx(start: int, end: int | None, thread: int, text: str | None, **more: Any) -> dict[str, Any]:
        return {"start": start, "end": end, "eventType": 59, "text": text, "globalTid": tid(A, thread)} | more

    report = export(
        duration=5000,
        **{
            NVTX: [
                nvtx(0, 50, 1, "forward"),
                nvtx(10, 40, 1, None, textId=8),
                nvtx(60, 5000, 1, "never popped"),
                nvtx(0, 5, 2, "other thread"),
                nvtx(55, None, 1, "a mark", eventType=34),
                nvtx(1, 90, 1, "start/end", eventType=60, rangeId=1),
            ],
            CALLS: [call(20, 1), call(45, 2), call(52, 3), call(70, 4), call(20, 5, thread=2)],
            KERNELS: [kernel(1000 + i, i) for i in range(1, 6)],
        },
    )
    assert report.table("launches").column("range_path").to_pylist() == [
        "forward / user", "forward", None, "never popped", None,
    ]  # fmt: skip
    ranges = report.table("ranges").to_pylist()
    assert [(r["name"], r["kind"], r["depth"], r["end_ns"]) for r in ranges] == [
        ("forward", "push-pop", 0, 50), ("user", "push-pop", 1, 40), ("never popped", "push-pop", 0, None),
        ("other thread", "push-pop", 0, 5), ("a mark", "mark", None, None), ("start/end", "start-end", None, 90),
    ]  # fmt: skip


def test_domains_categories_and_payloads_are_looked_up(export: Callable[..., Report]) -> None:
    base = {"globalTid": tid(A, 1), "end": None, "textId": None}
    report = export(
        **{
            NVTX: [
                base | {"start": -5, "eventType": 75, "text": "my.domain", "domainId": 3},
                base | {"start": -4, "eventType": 33, "text": "io", "category": 7},
                base
                | {
                    "start": 1,
                    "end": 9,
                    "eventType": 59,
                    "text": "x",
                    "domainId": 3,
                    "category": 7,
                    "int64Value": -2,
                },
                base
                | {"start": 2, "end": 3, "eventType": 59, "text": "y", "domainId": 0, "doubleValue": 1.5},
            ]
        }
    )
    rows = report.table("ranges").to_pylist()
    assert [(r["name"], r["domain"], r["category"], r["payload"]) for r in rows] == [
        ("x", "my.domain", "io", "-2"), ("y", None, None, "1.5"),
    ]  # fmt: skip


def test_graph_launches_say_what_they_hide(export: Callable[..., Report]) -> None:
    graph = {"start": 5, "end": 90, "deviceId": 0, "contextId": 1, "streamId": 7, "correlationId": 3,
             "globalPid": tid(A, 0), "graphId": 1, "graphExecId": 2}  # fmt: skip
    report = export(
        **{"CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [graph], KERNELS: [kernel(1, 1, graphNodeId=(2 << 32) + 4)]}
    )
    rows = report.table("launches").to_pylist()
    assert [(r["launch_id"], r["workload"], r["graph_id"]) for r in rows] == [
        (0, "kernel", 2),
        (1, "graph", 2),
    ]
    problem = next(p for p in report.problems if p.code == "nsys-graphs-as-one")
    assert "--cuda-graph-trace=node" in problem.advice


def test_os_calls_come_on_demand_without_zero_length_marks(export: Callable[..., Report]) -> None:
    rows = [call(1, 0, name=8, eventClass=27), call(2, 0, name=8, eventClass=31, end=2)]
    report = export(OSRT_API=rows)
    assert report.table("api_calls").num_rows == 0
    calls = report.extras["os_calls"]()
    assert calls.column("domain").to_pylist() == ["os"]


def test_text_in_a_number_column_is_a_problem(export: Callable[..., Report]) -> None:
    report = export(**{CALLS: [call(1, 1), call(9, 2) | {"start": "not a time"}]})
    assert report.table("api_calls").column("start_ns").to_pylist() == [1, None]
    assert [p.code for p in report.problems] == ["nsys-not-a-number"]


def test_missing_tables_and_columns_are_empty_not_zero(export: Callable[..., Report]) -> None:
    report = export(**{KERNELS: [{"start": 1, "end": 2, "shortName": 1}]})
    row = report.table("launches").to_pylist()[0]
    assert (row["kernel_short"], row["kernel"], row["grid_x"], row["stream_id"], row["device_id"]) == (
        "k",
        None,
        None,
        None,
        None,
    )
    for name in ("copies", "syncs", "ranges", "memory_events", "samples", "devices"):
        assert report.table(name).num_rows == 0
    assert report.info.tool_version is None
    assert report.info.captured_at is None


def test_many_range_names_over_copies_and_sets(export: Callable[..., Report]) -> None:
    """Copies and sets have a dictionary each; together they have more names than a byte can number."""
    nvtx = [
        {"start": 10 * i, "end": 10 * i + 9, "eventType": 59, "text": f"r{i}", "globalTid": tid(A, 1)}
        for i in range(200)
    ]
    calls = [call(10 * i + 1, i + 1, name=7) for i in range(200)]
    place = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": tid(A, 0), "bytes": 4}
    work = [place | {"start": 10 * i + 5, "end": 10 * i + 6, "correlationId": i + 1} for i in range(200)]
    copies = [w | {"copyKind": 1, "srcKind": 0, "dstKind": 2} for w in work[:100]]
    sets = [w | {"memKind": 2} for w in work[100:]]
    report = export(
        **{NVTX: nvtx, CALLS: calls, "CUPTI_ACTIVITY_KIND_MEMCPY": copies, "CUPTI_ACTIVITY_KIND_MEMSET": sets}
    )
    assert report.compact("copies").column("range_path").to_pylist() == [f"r{i}" for i in range(200)]
    from profrx.timeline import timeline_metrics

    assert timeline_metrics(report)["report"].num_rows == 1


@given(
    calls=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6)), max_size=40),
    wanted=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6), st.booleans()), max_size=40),
    piece=st.integers(1, 50),
)
def test_a_match_is_the_first_call_of_that_process_and_number(
    calls: list[tuple[int, int]], wanted: list[tuple[int, int, bool]], piece: int
) -> None:
    """However the calls are ordered and cut into pieces; number 0 means none."""
    table = pa.table(
        {
            "process_id": pa.array([p for p, _ in calls], pa.int32()),
            "correlation_id": pa.array([c for _, c in calls], pa.int32()),
        }
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host, "SLICE", piece)
        found = host.Calls(table).match(
            np.array([p for p, _, _ in wanted], np.int32),
            np.array([c for _, c, _ in wanted], np.int64),
            np.array([k for _, _, k in wanted], bool),
        )
    expected = [calls.index((p, c)) if k and c and (p, c) in calls else -1 for p, c, k in wanted]
    assert found.tolist() == expected
