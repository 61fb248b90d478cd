"""Every container of the synthetic fixtures, read into tables that were worked out by hand (see fixtures/rocm/make.py)."""

from __future__ import annotations

import gzip
import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest

from profrx_parsers import open_report
from profrx_parsers.columns import EXTRA
from profrx_parsers.errors import InputError
from profrx_parsers.report import Report, Wanted
from profrx_parsers.rocm.ranges import open_paths

START = 1_000_000_000_000
COPY, GEMM = "copy_kernel", "gemm_tile"


@pytest.fixture
def rocm(fixtures: Path) -> Path:
    return fixtures / "rocm"


def column(report: Report, table: str, name: str) -> list[object]:
    return list(report.table(table).column(name).to_pylist())


def number(report: Report, metric: str) -> list[float | None]:
    return list(report.extras[EXTRA].numbers[metric].to_pylist())


def found(report: Report) -> dict[str, int]:
    return {p.code: p.count for p in report.problems}


def test_rocprofv3_csv_family_is_one_report(rocm: Path) -> None:
    report = open_report(rocm / "v3-csv")
    assert report.info.tool == "rocprofv3"
    assert column(report, "launches", "kernel_short") == [COPY, GEMM, GEMM]
    assert column(report, "launches", "duration_ns") == [10_000, 50_000, 52_000]
    assert column(report, "launches", "grid_x") == [256, 256, 256]
    assert column(report, "launches", "grid_y") == [1, 2, 2]
    assert column(report, "launches", "registers_per_thread") == [8, 128, 128]
    assert column(report, "launches", "launch_api_end_ns") == [START - 15_000 + 100_000 * i for i in range(3)]
    assert number(report, "SQ_WAVES") == [1024, 2048, 2048]
    assert number(report, "launch.work_items") == [65536, 131072, 131072]
    device = report.table("devices").to_pylist()[0]
    assert (device["arch"], device["compute_units"], device["core_clock_hz"]) == ("gfx942", 304, 2.1e9)
    assert column(report, "copies", "direction") == ["HtoD"]
    assert column(report, "copies", "bytes") == [None], "these files hold no byte counts"
    assert column(report, "ranges", "kind") == ["push-pop", "mark"]
    assert column(report, "launches", "range_path") == ["step"] * 3
    assert column(report, "api_calls", "domain") == ["hip"] * 4
    sums = [r for r in report.table("summaries").to_pylist() if r["statistic"] == "sum"]
    assert [(r["kernel_short"], r["value"], r["count"]) for r in sums] == [
        (GEMM, 102_000, 2),
        (COPY, 10_000, 1),
    ]
    assert found(report) == {}


def test_older_rocprofv3_trace(rocm: Path) -> None:
    report = open_report(rocm / "v3-csv-62")
    row = report.table("launches").to_pylist()[0]
    assert (row["grid_x"], row["block_x"], row["local_bytes_per_thread"], row["duration_ns"]) == (
        100,
        64,
        16,
        9000,
    )


def test_rocprofv2_file(rocm: Path) -> None:
    report = open_report(rocm / "v2" / "results_0.csv")
    assert column(report, "launches", "kernel_short") == [COPY]
    assert column(report, "launches", "correlation_id") == [None], "zero in every row joins nothing"
    assert column(report, "devices", "wave_size") == [64]


@pytest.mark.parametrize("name", ["results.csv", "results.db", "results.json", ""])
def test_v1_says_the_same_in_every_container(rocm: Path, name: str) -> None:
    report = open_report(rocm / "v1" / name)
    assert column(report, "launches", "kernel_short") == [COPY, GEMM, GEMM]
    assert column(report, "launches", "duration_ns") == [10_000, 50_000, 52_000]
    assert column(report, "launches", "process_id") == [5, 5, 5]
    if name != "results.csv":
        assert column(report, "copies", "direction") == ["HtoD"]
        assert column(report, "copies", "bytes") == [4096]
        assert column(report, "api_calls", "name") == ["hipLaunchKernel"]


def test_v1_trace_names_its_gpus(rocm: Path) -> None:
    device = open_report(rocm / "v1" / "results.json").table("devices").to_pylist()[0]
    assert (device["arch"], device["compute_units"], device["wave_size"]) == ("gfx90a", 104, 64)


def test_cut_v1_trace_keeps_its_whole_records(rocm: Path, tmp_path: Path) -> None:
    data = (rocm / "v1" / "results.json").read_bytes()
    cut = tmp_path / "results.json"
    cut.write_bytes(data[: data.index(b'"hipLaunchKernel"') + 40])
    report = open_report(cut)
    assert len(report.table("launches")) == 3
    assert "json-cut" in found(report)


def test_v1_fragment_that_starts_with_a_comma(rocm: Path, tmp_path: Path) -> None:
    lines = (rocm / "v1" / "results.json").read_text().splitlines()
    record = next(line for line in lines if GEMM in line)
    (tmp_path / "x.json").write_text(record)
    report = open_report(tmp_path / "x.json")
    assert "json-cut" in found(report)


def test_rocpd(rocm: Path) -> None:
    report = open_report(rocm / "rocpd" / "run_results.db")
    assert column(report, "launches", "kernel_short") == [COPY, GEMM]
    assert column(report, "launches", "duration_ns") == [10_000, 20_000]
    assert column(report, "launches", "process_id") == [801, 801], (
        "the process id, not the row id of the process"
    )
    assert column(report, "launches", "thread_id") == [901, 901]
    assert column(report, "launches", "registers_per_thread") == [12, 12], (
        "registers stand in the symbol table"
    )
    assert column(report, "launches", "correlation_id") == [21, 22], (
        "what CSV calls correlation is the stack id"
    )
    assert column(report, "launches", "launch_api_start_ns") == [
        START + 10_000_000 - 9_000 + 100_000 * i for i in range(2)
    ]
    assert number(report, "SQ_WAVES") == [1024, 1024], "the values of both dies are summed"
    assert column(report, "copies", "bytes") == [1 << 20]
    assert column(report, "ranges", "name") == ["step"]
    assert column(report, "launches", "range_path") == ["step", "step"]
    assert column(report, "memory_events", "operation") == ["allocate"]
    device = report.table("devices").to_pylist()[0]
    assert (device["name"], device["shared_bytes_per_unit"], device["l2_bytes"]) == (
        "Invented GPU",
        65536,
        4 << 20,
    )


def test_merged_rocpd_joins_within_each_run(rocm: Path) -> None:
    """Symbol 1 is another kernel in the second run: a join without the GUID mixes them up."""
    report = open_report(rocm / "rocpd" / "merged.db")
    assert column(report, "launches", "kernel_short") == [COPY, GEMM, GEMM, COPY]
    assert column(report, "launches", "process_id") == [801, 801, 802, 802]
    assert len(report.table("devices")) == 1


def test_a_run_in_two_databases_of_a_folder_counts_once(rocm: Path) -> None:
    report = open_report(rocm / "rocpd")
    assert len(report.table("launches")) == 4
    assert found(report)["rocpd-run-twice"] == 1


def test_rocprofv3_json(rocm: Path) -> None:
    report = open_report(rocm / "v3-json" / "run_results.json")
    assert column(report, "launches", "kernel_short") == [GEMM, COPY], "in the order of the file"
    assert column(report, "launches", "registers_per_thread") == [128, 12]
    assert number(report, "SQ_WAVES") == [1024, 1024], "the values of both dies are summed"
    assert column(report, "api_calls", "name") == ["hipLaunchKernel"]
    assert column(report, "copies", "direction") == ["HtoD"]
    assert number(report, "pc_samples") == [None, 2]
    assert number(report, "pc_samples.active_lanes") == [None, 40], "64 and 16 of 64 lanes"
    assert column(report, "source_lines", "file") == ["~/app/kernel.cpp"]


def test_wide_workload(rocm: Path) -> None:
    report = open_report(rocm / "compute-wide")
    assert column(report, "launches", "duration_ns") == [10_000, 50_000, 52_000], "from the timing pass"
    assert number(report, "TCC_HIT_sum") == [40, 42, 44]
    assert number(report, "TCC_HIT_max") == [30, 31, 32]
    assert number(report, "SQ_LEVEL_WAVES_ACCUM") == [4000, 4001, 4002]
    assert number(report, "SQ_IFETCH_LEVEL_ACCUM") == [900, 901, 902]
    assert number(report, "SQC_DCACHE_REQ_READ_1") == [7, 7, 7]
    assert number(report, "SQ_INSTS_LDS") == [77, 78, 79], "from a per-pass file"
    assert number(report, "GRBM_GUI_ACTIVE") == [160_000, 800_000, 832_000], "not the join copy"
    assert number(report, "roofline.HBMBw") == [4.1e12] * 3, "the median of the node's GPUs"
    device = report.table("devices").to_pylist()[0]
    assert device["peak_bandwidth_bytes_per_s"] == 4.1e12
    assert device["peak_source"].startswith("roofline.csv")
    assert report.info.captured_at == "2025-12-02T10:04:36+00:00"
    assert "rocm-timing-pass-used" in found(report)


def test_long_workload_averages_its_runs(rocm: Path) -> None:
    report = open_report(rocm / "compute-long")
    assert column(report, "launches", "duration_ns") == [7_500]
    assert number(report, "SQ_WAVES") == [1024]
    assert number(report, "TCC_HIT_sum") == [40]
    assert number(report, "profrx.pass_spread") == [0.5]


def test_timing_pass_of_other_dispatches_is_not_used(rocm: Path, tmp_path: Path) -> None:
    shutil.copytree(rocm / "compute-wide", tmp_path / "w")
    path = tmp_path / "w" / "timestamps.csv"
    path.write_text(path.read_text().replace("copy_kernel", "other_kernel"))
    report = open_report(tmp_path / "w")
    assert "rocm-passes-do-not-match" in found(report)
    assert column(report, "launches", "duration_ns")[0] == pytest.approx(30_000.5)


def test_passes_alone_make_a_workload(rocm: Path, tmp_path: Path) -> None:
    shutil.copytree(rocm / "compute-wide", tmp_path / "w")
    (tmp_path / "w" / "pmc_perf.csv").unlink()
    report = open_report(tmp_path / "w")
    assert number(report, "SQ_INSTS_LDS") == [77, 78, 79]
    assert column(report, "launches", "duration_ns") == [10_000, 50_000, 52_000]


def test_packed_passes_of_a_workload_folder(rocm: Path, tmp_path: Path) -> None:
    """Later releases keep one packed table per pass and no joined one."""
    text = (rocm / "v3-csv" / "run_counter_collection.csv").read_text().splitlines(keepends=True)
    shutil.copy(rocm / "compute-wide" / "sysinfo.csv", tmp_path)
    for place, counter in enumerate(("SQ_WAVES", "GRBM_GUI_ACTIVE")):
        kept = "".join(line for line in text if "Counter_Name" in line or counter in line)
        (tmp_path / f"results_pass_{place}.csv.gz").write_bytes(gzip.compress(kept.encode()))
    report = open_report(tmp_path)
    assert report.info.format == "rocprof-compute"
    assert number(report, "SQ_WAVES") == [1024, 2048, 2048]
    assert number(report, "GRBM_GUI_ACTIVE") == [160_000, 800_000, 832_000]


def test_empty_member_is_logged(rocm: Path, tmp_path: Path) -> None:
    shutil.copytree(rocm / "v3-csv", tmp_path / "r")
    (tmp_path / "r" / "other_counter_collection.csv").write_bytes(b"")
    report = open_report(tmp_path / "r")
    assert found(report) == {"rocm-empty-member": 1}


def test_rpd(rocm: Path) -> None:
    report = open_report(rocm / "rpd" / "trace.rpd")
    row = report.table("launches").to_pylist()[0]
    assert (row["kernel_short"], row["grid_x"], row["grid_y"], row["block_x"]) == (GEMM, 16, 2, 256)
    assert column(report, "copies", "bytes") == [1 << 20]
    assert report.table("samples").to_pylist()[0]["unit"] == "MHz"


def test_pc_samples_of_csv_files(rocm: Path) -> None:
    report = open_report(rocm / "pc-sampling" / "host_trap")
    assert number(report, "pc_samples") == [3]
    assert number(report, "pc_samples.active_lanes") == [48]
    counts = {r["key"]: r["value"] for r in report.table("instances").to_pylist()}
    assert counts == {"v_add_f32 v0, v1, v2": 2, "s_waitcnt vmcnt(0)": 1}
    report = open_report(rocm / "pc-sampling" / "stochastic")
    assert number(report, "pc_samples.waitcnt") == [1]


def test_thread_trace_summary(rocm: Path) -> None:
    report = open_report(rocm / "pc-sampling" / "att")
    assert (number(report, "att.stall"), number(report, "att.latency")) == ([3200], [5000])


@pytest.mark.parametrize(
    ("name", "code"), [("input.txt", "input-is-request"), ("run_results.pftrace", "input-perfetto")]
)
def test_what_is_no_report_is_refused_with_the_next_step(rocm: Path, name: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        open_report(rocm / "refused" / name)
    assert caught.value.code == code
    assert "rocprofv3" in caught.value.next_step


@pytest.mark.parametrize("case", ["rocpd/run_results.db", "v3-json/run_results.json", "compute-wide"])
def test_private_facts_only_when_asked(rocm: Path, case: str) -> None:
    report = open_report(rocm / case)
    for name in ("launches", "devices", "problems", "api_calls"):
        assert "secret" not in str(report.table(name).to_pydict()).lower()
    assert "secret" not in report.info.model_dump_json().lower()
    assert "secret" in str(open_report(rocm / case, Wanted(private=True)).info.private).lower()


def test_inputs_are_never_written_to(rocm: Path, tmp_path: Path) -> None:
    shutil.copytree(rocm, tmp_path / "all")

    def state() -> dict[str, str]:
        files = [p for p in (tmp_path / "all").rglob("*") if p.is_file()]
        return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}

    before = state()
    for case in ("rocpd", "v1", "rpd/trace.rpd", "v1/results.db", "compute-wide", "compute-long", "v3-csv"):
        report = open_report(tmp_path / "all" / case)
        for name in ("launches", "metrics", "api_calls", "copies", "instances"):
            report.table(name)
    assert state() == before


def test_two_runs_side_by_side_are_not_one_capture(rocm: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        shutil.copytree(rocm / "compute-wide", tmp_path / name)
    with pytest.raises(InputError) as caught:
        open_report(tmp_path)
    assert caught.value.code == "input-folder"


@pytest.mark.parametrize("case", ["compute-wide", "v3-csv"])
def test_a_folder_of_reports_is_not_the_capture_in_one_of_its_folders(
    case: str, rocm: Path, tmp_path: Path
) -> None:
    shutil.copytree(rocm / case, tmp_path / "runs" / "a")
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    (tmp_path / "counters.txt").write_text("pmc: SQ_WAVES GRBM_GUI_ACTIVE\n")
    (tmp_path / "empty.csv").touch()
    assert open_report(tmp_path).table("launches").num_rows
    shutil.copy(rocm / "rpd" / "trace.rpd", tmp_path)
    with pytest.raises(InputError) as caught:
        open_report(tmp_path)
    assert caught.value.code == "input-folder"


def test_nested_and_crossing_ranges() -> None:
    starts, ends = np.array([0, 10, 12, 40]), np.array([100, 20, 14, 120])
    times, paths = open_paths(starts, ends, ["epoch", "step", "load", "other"])
    at = {t: paths[np.searchsorted(times, t, side="right")] for t in (-1, 5, 13, 15, 50, 110, 130)}
    assert at == {
        -1: None,
        5: "epoch",
        13: "epoch / step / load",
        15: "epoch / step",
        50: "epoch / other",
        110: "other",
        130: None,
    }
