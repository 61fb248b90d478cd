"""Metrics on reports made by hand, with values worked out by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from made import call, copy, kernel, report, span

from profrx.timeline import SCOPES, timeline_metrics
from profrx.timeline.catalogue import KERNEL_METRICS, METRICS, RANGE_METRICS


def tables(session: int | None = None, **given: list[dict[str, Any]]) -> dict[str, pa.Table]:
    return timeline_metrics(report(session, **given))


def row(session: int | None = None, **given: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = tables(session, **given)["report"].to_pylist()[0]
    return found


def test_busy_is_a_union_and_both_windows_are_named() -> None:
    found = row(1000, launches=[kernel(100, 50), kernel(120, 50, stream_id=9), kernel(300, 100)])
    assert found["busy_ns"] == 170_000
    assert found["busy_share"] == pytest.approx(170 / 300)
    assert found["busy_session_share"] == pytest.approx(0.17)
    assert found["concurrency_mean"] == pytest.approx(200 / 170)
    assert found["overlap_share"] == pytest.approx(30 / 170)
    assert found["stream_count"] == 2


def test_devices_are_folded_not_summed() -> None:
    found = tables(
        launches=[kernel(0, 100), kernel(0, 50, device_id=1), kernel(90, 10, device_id=1)],
        devices=[{"device_id": 0, "name": "a"}, {"device_id": 1, "name": "b"}],
    )
    assert [d["busy_share"] for d in found["device"].to_pylist()] == [1.0, pytest.approx(0.6)]
    assert found["report"].to_pylist()[0]["busy_share"] == pytest.approx(0.8)
    assert [d["subject_id"] for d in found["device"].to_pylist()] == ["0", "1"]


def test_session_is_null_when_the_format_does_not_say() -> None:
    found = row(launches=[kernel(0, 10)])
    assert found["session_ns"] is None
    assert found["busy_session_share"] is None


def test_copies_and_overlap() -> None:
    found = row(
        launches=[kernel(0, 100)],
        copies=[
            copy(50, 100),
            copy(200, 50, source_kind="pageable", bytes=5000),
            copy(150, 10, direction="DtoD"),
        ],
    )
    assert found["window_ns"] == 250_000
    assert found["host_copy_share"] == pytest.approx(150 / 250)
    assert found["copy_exposed_share"] == pytest.approx(100 / 250)
    assert found["copy_overlap_share"] == pytest.approx(50 / 150)
    assert found["copy_saving_share"] == pytest.approx(50 / 250)
    assert found["pageable_copy_share"] == pytest.approx(50 / 250)
    assert found["pageable_bandwidth_bytes_per_s"] == pytest.approx(5000 / 50e-6)
    assert found["pinned_bandwidth_bytes_per_s"] == pytest.approx(100_000 / 100e-6)
    assert found["copy_count"] == 3


def test_migrations_are_counted_apart() -> None:
    found = row(
        launches=[kernel(0, 10)],
        copies=[copy(10, 10, direction="UM HtoD", source_kind=None, target_kind=None)],
    )
    assert (found["copy_count"], found["migration_count"], found["migration_bytes"]) == (0, 1, 10_000)
    assert found["migration_share"] == pytest.approx(0.5)
    assert found["copy_overlap_share"] is None


def test_small_kernels_between_large_ones() -> None:
    found = row(
        launches=[kernel(0, 100), kernel(101, 2), kernel(104, 2), kernel(107, 100), kernel(300, 100)],
        copies=[copy(106, 1, operation="set", direction=None, stream_id=7)],
    )
    assert found["small_between_share"] == pytest.approx(7 / 400)
    assert found["small_between_count"] == 3


def test_a_long_pause_is_no_run_of_small_kernels() -> None:
    found = row(launches=[kernel(0, 100), kernel(5000, 2), kernel(10_000, 100)])
    assert found["small_between_share"] == 0


def test_elementwise_runs() -> None:
    chain = [kernel(10 * i, 10, name="vectorized_elementwise_kernel<add>") for i in range(4)]
    found = row(launches=[*chain, kernel(40, 60, name="ampere_sgemm_128x64_nn")])
    assert found["elementwise_share"] == pytest.approx(0.4)
    assert found["matmul_share"] == pytest.approx(0.6)
    assert found["fusable_elementwise_share"] == pytest.approx(0.4 * 3 / 4)
    alternating = [kernel(20 * i, 10, name="vectorized_elementwise_kernel<add>") for i in range(3)]
    alternating += [kernel(20 * i + 10, 10, name="gemm") for i in range(3)]
    assert row(launches=alternating)["fusable_elementwise_share"] == 0


def test_underfilled_kernels_that_run_alone() -> None:
    found = row(
        launches=[kernel(0, 100, grid_x=10), kernel(50, 100, grid_x=30, stream_id=9), kernel(200, 100)]
    )
    assert found["underfilled_share"] == pytest.approx((50 + 50) / 300)
    assert found["underfilled_fill_share"] == pytest.approx(0.2)
    unknown = row(launches=[kernel(0, 100, grid_x=None)])
    assert unknown["underfilled_share"] is None


def test_communication_not_covered_by_work() -> None:
    found = row(
        launches=[kernel(0, 100), kernel(50, 100, name="ncclDevKernel_AllReduce_Sum_f32", stream_id=9)]
    )
    assert found["comm_exposed_share"] == pytest.approx(50 / 150)
    assert found["comm_overlap_share"] == pytest.approx(0.5)
    assert row(launches=[kernel(0, 100)])["comm_exposed_share"] == 0


def test_ranks_by_process_and_their_spread() -> None:
    found = tables(
        launches=[
            kernel(0, 100),
            kernel(0, 60, process_id=2),
            kernel(60, 40, process_id=2, name="ncclAllReduce"),
        ]
    )
    assert [r["subject"] for r in found["rank"].to_pylist()] == ["process 1", "process 2"]
    assert found["report"].to_pylist()[0]["rank_spread_share"] == pytest.approx(0.4)
    ranked = tables(launches=[kernel(0, 100, rank=0), kernel(0, 60, rank=1)])
    assert [r["subject"] for r in ranked["rank"].to_pylist()] == ["rank 0", "rank 1"]
    assert row(launches=[kernel(0, 100)])["rank_spread_share"] is None


def test_data_loading_and_optimizer_ranges() -> None:
    launches = [
        kernel(0, 10, called=0, range_path="forward"),
        kernel(1000, 10, called=990, range_path="forward"),
    ]
    launches += [
        kernel(1100 + 10 * i, 2, called=1090 + 10 * i, range_path="Optimizer.step#Adam.step")
        for i in range(6)
    ]
    ranges = [
        span("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 100, 800),
        span("Optimizer.step#Adam.step", 1080, 70),
    ]
    found = row(launches=launches, ranges=ranges, api_calls=[call("cudaLaunchKernel", 0, 1)])
    assert found["idle_dataloader_share"] == pytest.approx(800 / 1152)
    assert found["optimizer_kernel_count_share"] == pytest.approx(6 / 8)
    assert found["optimizer_kernel_mean_ns"] == 2000
    assert found["optimizer_window_share"] == pytest.approx(70 / 1152)
    without = row(launches=launches, api_calls=[call("cudaLaunchKernel", 0, 1)])
    assert without["idle_dataloader_share"] is None
    assert without["optimizer_window_share"] is None
    assert without["outside_ranges_share"] is None


def test_first_step() -> None:
    ranges = [span("step", 0, 500), *(span("step", 500 + 10 * i, 10) for i in range(9))]
    found = row(
        launches=[kernel(0, 10, called=0), kernel(580, 10, called=579)],
        ranges=ranges,
        api_calls=[call("x", 0, 1)],
    )
    assert found["first_step_ratio"] == 50
    assert found["first_step_excess_share"] == pytest.approx(490 / 590)


def test_memory_over_time() -> None:
    def event(time: int, operation: str, size: int) -> dict[str, Any]:
        return {
            "time_ns": time * 1000,
            "operation": operation,
            "kind": "device",
            "device_id": 0,
            "process_id": 1,
            "bytes": size,
        }

    found = row(
        launches=[kernel(0, 10), kernel(290, 10)],
        memory_events=[event(5, "allocate", 200), event(200, "allocate", 300), event(250, "free", 100)],
    )
    assert found["memory_peak_share"] == pytest.approx(0.5)
    assert found["memory_growth_share"] == pytest.approx((400 - 200) / 400)
    assert found["late_allocation_count"] == 1
    assert row(launches=[kernel(0, 10)])["memory_peak_share"] is None


def test_kernel_scope() -> None:
    found = tables(
        launches=[
            kernel(0, 40, name="a"),
            kernel(50, 10, name="a"),
            kernel(70, 10, name="a"),
            kernel(90, 10, name="b"),
        ]
    )
    first = found["kernel"].to_pylist()[0]
    assert (first["subject_id"], first["launch_count"], first["weight_ns"]) == ("a", 3, 60_000)
    assert first["kernel_time_share"] == pytest.approx(60 / 70)
    assert first["first_ratio"] == 4
    assert first["fill_ratio"] == 10
    assert found["kernel"].to_pylist()[1]["variation_ratio"] is None


def test_range_scope_counts_work_by_its_launch() -> None:
    found = tables(
        launches=[
            kernel(0, 10, called=-5, range_path="step / forward"),
            kernel(20, 10, called=-4, range_path="step / backward"),
            kernel(40, 10, called=-3, range_path="step"),
            kernel(60, 10, called=-2),
        ],
        api_calls=[call("cudaLaunchKernel", -5, 1)],
    )
    rows = {r["subject"]: r for r in found["range"].to_pylist()}
    assert {k: r["launch_count"] for k, r in rows.items()} == {
        "step": 3,
        "step / forward": 1,
        "step / backward": 1,
    }
    assert rows["step"]["gpu_busy_ns"] == 30_000
    assert rows["step"]["idle_ns"] == 20_000


def test_every_table_has_the_documented_columns_and_units() -> None:
    found = tables(
        launches=[kernel(0, 10, called=-2, range_path="r")], api_calls=[call("cudaLaunchKernel", -2, 1)]
    )
    assert set(found) == set(SCOPES)
    expected = {"kernel": KERNEL_METRICS, "range": RANGE_METRICS}
    for scope, table in found.items():
        names = [m.name for m in expected.get(scope, METRICS)]
        assert table.column_names[:3] == ["subject_id", "subject", "weight_ns"]
        assert [n for n in table.column_names[3:] if n not in ("class", "library")] == names
        for metric in expected.get(scope, METRICS):
            assert table.schema.field(metric.name).metadata[b"unit"].decode() == metric.unit


def test_shares_stay_between_zero_and_one() -> None:
    mixed = [kernel(7 * i % 90, 10 + i, called=i, stream_id=i % 3, name=f"k{i % 4}") for i in range(40)]
    found = row(
        launches=mixed,
        copies=[copy(5 * i, 9) for i in range(20)],
        api_calls=[call("cudaMemcpy", i, 3) for i in range(50)],
    )
    for name, value in found.items():
        if name.endswith("_share") and value is not None:
            assert 0 <= value <= 1, name


def test_a_report_without_times_gives_empty_tables() -> None:
    found = tables(launches=[kernel(0, 10, start_ns=None, end_ns=None)])
    assert {scope: table.num_rows for scope, table in found.items()} == dict.fromkeys(SCOPES, 0)


def test_chunks_with_dictionaries_of_their_own() -> None:
    from profrx.timeline.texts import names

    chunks = [pa.array([f"{part}{i}" for i in range(100)]).dictionary_encode() for part in "ab"]
    small = [pa.DictionaryArray.from_arrays(c.indices.cast(pa.int8()), c.dictionary) for c in chunks]
    found = names(pa.table({"t": pa.chunked_array(small)}), "t")
    assert [found.texts[c] for c in found.codes] == [t for c in chunks for t in c.to_pylist()]


def test_sets_of_host_memory_wait_unless_the_call_is_asynchronous() -> None:
    sets = {"operation": "set", "direction": None, "source_kind": None}
    found = row(
        launches=[kernel(0, 100, called=0)],
        copies=[
            copy(120, 10, **sets, target_kind="pinned", correlation_id=1),
            copy(140, 10, **sets, target_kind="pinned", correlation_id=2),
            copy(160, 10, **sets, target_kind="device", correlation_id=3),
            copy(190, 10, **sets, target_kind="managed", correlation_id=4),
        ],
        api_calls=[
            call("cudaMemset", 115, 20, correlation_id=1),
            call("cudaMemsetAsync", 138, 2, correlation_id=2),
            call("cudaMemset", 158, 2, correlation_id=3),
            call("cuMemsetD32", 185, 16, correlation_id=4),
        ],
    )
    assert found["blocking_set_count"] == 2
    assert found["blocking_set_share"] == pytest.approx((20 + 16) / 200)
