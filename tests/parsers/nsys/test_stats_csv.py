"""`nsys stats` CSV: what nsys summed equals what the launches of the same capture sum to."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from profrx_parsers.errors import InputError
from profrx_parsers.registry import open_report

from .conftest import ROOT

FORMS = ROOT / "fixtures/nsys/host-sync/forms"
REPORT = ROOT / "fixtures/nsys/host-sync/report.nsys-rep"


def statistic(table: pa.Table, name: str, text: str | None = None) -> float:
    rows = [r for r in table.to_pylist() if r["statistic"] == name and (text is None or r["text"] == text)]
    assert len(rows) == 1
    return float(rows[0]["value"])


def test_kernel_sums_equal_the_launches_of_the_report() -> None:
    sums = open_report(FORMS / "stats_cuda_gpu_kern_sum.csv").table("summaries")
    durations = open_report(REPORT).table("launches").column("duration_ns")
    assert statistic(sums, "sum") == pc.sum(durations).as_py()
    assert statistic(sums, "min") == pc.min(durations).as_py()
    assert statistic(sums, "max") == pc.max(durations).as_py()
    assert statistic(sums, "mean") == pytest.approx(pc.mean(durations).as_py(), abs=0.06)
    assert statistic(sums, "share") == 1.0
    assert set(sums.column("count").to_pylist()) == {1500}
    assert set(sums.column("kernel_short").to_pylist()) == {"busy"}


def test_call_sums_equal_the_api_calls_of_the_report() -> None:
    sums = open_report(FORMS / "stats_cuda_api_sum.csv").table("summaries")
    calls = open_report(REPORT).table("api_calls")
    mine = calls.filter(pc.field("name") == "cudaDeviceSynchronize")
    spent = pc.sum(pc.subtract(mine.column("end_ns"), mine.column("start_ns"))).as_py()
    assert statistic(sums, "sum", "cudaDeviceSynchronize") == spent
    assert set(sums.column("source").to_pylist()) == {"nsys stats: api"}


def test_range_sums_equal_the_ranges_of_the_report() -> None:
    sums = open_report(FORMS / "stats_nvtx_sum.csv").table("summaries")
    ranges = open_report(REPORT).table("ranges")
    spent = pc.sum(pc.subtract(ranges.column("end_ns"), ranges.column("start_ns"))).as_py()
    assert statistic(sums, "sum") == spent


def test_gpu_trace_gives_the_launches_of_the_report() -> None:
    trace = open_report(FORMS / "stats_cuda_gpu_trace.csv")
    launches = open_report(REPORT).table("launches")
    for column in ("start_ns", "end_ns", "duration_ns", "grid_x", "block_x", "registers_per_thread", "correlation_id",
                   "stream_id", "device_id", "kernel_id"):  # fmt: skip
        assert trace.table("launches").column(column).equals(launches.column(column)), column
    assert trace.table("copies").column("operation").to_pylist() == ["set"]
    assert trace.table("launches").column("shared_dynamic_bytes").null_count == launches.num_rows


@pytest.mark.parametrize(
    ("header", "scale"),
    [
        ("Time(%),Total Time (ns),Instances,Average (ns),Minimum (ns),Maximum (ns),Name", 1.0),
        ("Time (%),Total Time (us),Instances,Avg (us),Min (us),Max (us),Name", 1e3),
        ("Time(%),Total Time,Instances,Average,Minimum,Maximum,Name", 1.0),
    ],
)
def test_old_and_new_headers(header: str, scale: float, tmp_path: Path) -> None:
    path = tmp_path / "base_gpukernsum.csv"
    path.write_text(
        f'{header}\n75.0,300,3,100.0,90,110,"void f<int, 2>(float*)"\n25.0,100,1,100.0,100,100,g\n'
    )
    table = open_report(path).table("summaries")
    first = [r for r in table.to_pylist() if r["kernel"] == "void f<int, 2>(float*)"]
    assert {r["statistic"]: r["value"] for r in first} == {
        "share": 0.75, "sum": 300 * scale, "mean": 100 * scale, "min": 90 * scale, "max": 110 * scale,
    }  # fmt: skip
    assert {r["count"] for r in first} == {3}
    assert {r["kernel_short"] for r in first} == {"f"}


def test_several_reports_in_one_file_and_a_short_row(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text(
        "Processing [x.sqlite] with [cuda_gpu_kern_sum.py]...\n"
        "Time (%),Total Time (ns),Instances,Avg (ns),Name\n100.0,5,1,5.0,k\n7,8\n\n"
        "Time (%),Total Time (ns),Num Calls,Avg (ns),Name\n100.0,9,2,4.5,cudaFree\n"
    )
    report = open_report(path)
    assert set(report.table("summaries").column("source").to_pylist()) == {
        "nsys stats: kernel",
        "nsys stats: api",
    }
    assert [(p.code, p.count) for p in report.problems if p.severity == "data-loss"] == [("nsys-csv-row", 1)]


def test_a_file_without_a_known_header_is_refused(tmp_path: Path) -> None:
    from profrx_parsers.nsys.stats_csv import read
    from profrx_parsers.source import open_source

    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError) as caught:
        read(open_source(path)[0])
    assert caught.value.code == "nsys-csv-unknown"


@pytest.mark.corpus
def test_public_summaries_add_up_to_their_shares(corpus: Path) -> None:
    for path in sorted((corpus / "nsys").glob("*kern_sum.csv")):
        rows = open_report(path).table("summaries").to_pylist()
        total = sum(r["value"] for r in rows if r["statistic"] == "sum")
        sums = {r["kernel"]: r["value"] for r in rows if r["statistic"] == "sum"}
        for row in rows:
            if row["statistic"] == "share":
                assert row["value"] == pytest.approx(sums[row["kernel"]] / total, abs=0.0011)
