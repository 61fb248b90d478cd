"""Text exports of Nsight Compute and nvprof, and console logs: against reports, known contents, and each other."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profrx_parsers.columns import EXTRA
from profrx_parsers.errors import InputError
from profrx_parsers.ncu._cells import Style, decide, number, scale
from profrx_parsers.ncu._labels import metric_of
from profrx_parsers.registry import open_report
from profrx_parsers.report import Wanted

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "ncu"
NVTX = FIXTURES / "style-nvtx"
needs_nvtx = pytest.mark.skipif(not NVTX.is_dir(), reason="the fixture style-nvtx is not captured")
HEADER = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device",'
    '"CC","Section Name","Metric Name","Metric Unit","Metric Value"'
)
Write = Callable[..., Path]


def text_of(path: Path) -> str:
    with pa.CompressedInputStream(pa.OSFile(str(path)), "zstd") as stream:
        return bytes(stream.read()).decode()


def codes(report: Any) -> dict[str, dict[str, Any]]:
    return {row["code"]: row for row in report.table("problems").to_pylist()}


def long_form(*rows: tuple[str, str, str], kernel: str = "k(int)", ident: int = 0) -> str:
    lines = [HEADER]
    for metric, unit, value in rows:
        cells = [str(ident), "77", "app", "host", kernel, "1", "7", "(128, 1, 1)", "(64, 2, 1)", "0", "9.0"]
        lines.append(
            ",".join(f'"{cell}"' for cell in (*cells, "Command line profiler metrics", metric, unit, value))
        )
    return "\n".join(lines) + "\n"


def values(report: Any) -> dict[str, float | None]:
    return {row["metric"]: row["value"] for row in report.table("metrics").to_pylist()}


@needs_nvtx
def test_raw_page_equals_the_report() -> None:
    exported, binary = open_report(NVTX / "raw.csv.zst"), open_report(NVTX / "report.ncu-repz")
    ours, theirs = exported.table("launches").to_pylist(), binary.table("launches").to_pylist()
    same = ("kernel_short", "process_id", "context_id", "stream_id", "device_id", "registers_per_thread",
            "grid_x", "grid_y", "block_x", "shared_static_bytes", "cluster_size", "range_path")  # fmt: skip
    for one, two in zip(ours, theirs, strict=True):
        assert {key: one[key] for key in same if key != "range_path"} == {
            key: two[key] for key in same if key != "range_path"
        }
        assert sorted((one["range_path"] or "").split(" / ")) == sorted(
            (two["range_path"] or "").split(" / ")
        )
    wide, full = exported.extras[EXTRA], binary.extras[EXTRA]
    assert len(wide.numbers) > 400
    for name, column in wide.numbers.items():
        for printed, exact in zip(column.to_pylist(), full.numbers[name].to_pylist(), strict=True):
            if printed is not None and exact is not None and not math.isnan(exact):
                assert abs(printed - exact) <= 0.005 + abs(exact) * 1e-9, name


@needs_nvtx
def test_details_page_gives_the_metrics_behind_the_labels() -> None:
    """Rescaled units (us, Ghz, Kbyte/block) come back to base units, within half of the last printed digit."""
    exported, binary = open_report(NVTX / "details.csv.zst"), open_report(NVTX / "report.ncu-repz")
    full = binary.extras[EXTRA]
    scales = {
        (row["Section Name"], row["Metric Name"]): scale(row["Metric Unit"])[0]
        for row in csv.DictReader(io.StringIO(text_of(NVTX / "details.csv.zst")))
    }
    coarsest = max(scales.values())
    compared = set()
    for row in exported.table("metrics").to_pylist():
        column = full.numbers.get(row["metric"])
        if column is None or row["value"] is None:
            continue
        exact = column[row["launch_id"]].as_py()
        fitting = [
            s for (section, label), s in scales.items() if metric_of(section, label, 90) == row["metric"]
        ]
        assert abs(row["value"] - exact) <= 0.00501 * max(fitting or [coarsest]), row
        compared.add(row["metric"])
    assert len(compared) >= 40
    findings = exported.table("vendor_findings").to_pylist()
    stored = binary.table("vendor_findings").to_pylist()
    assert [(r["launch_id"], r["rule"], r["kind"], r["estimate_kind"]) for r in findings] == [
        (r["launch_id"], r["rule"], r["kind"] if r["kind"] != "none" else "ok", r["estimate_kind"])
        for r in stored
    ]


@needs_nvtx
def test_summary_page() -> None:
    rows = open_report(NVTX / "summary.csv.zst").table("summaries").to_pylist()
    found = {(r["kernel_short"], r["metric"], r["statistic"]): r for r in rows}
    printed = [
        row
        for row in csv.DictReader(io.StringIO(text_of(NVTX / "summary.csv.zst")))
        if row["Metric Name"] == "Duration"
    ]
    assert len(printed) >= 3
    for row in printed:
        assert row["Metric Unit"] == "us"
        for column, statistic in (("Minimum", "min"), ("Maximum", "max"), ("Average", "mean")):
            one = found[
                row["Kernel Name"].partition("(")[0].split("<")[0].split()[-1],
                "gpu__time_duration.sum",
                statistic,
            ]
            assert (one["value"], one["unit"]) == (pytest.approx(float(row[column]) * 1000), "ns")
            assert one["count"] == int(row["Invocations"])


@needs_nvtx
def test_source_page_names_its_kernels() -> None:
    report = open_report(NVTX / "source.csv.zst")
    assert set(report.table("launches").column("kernel_short").to_pylist()) == {
        "fill_values", "scale_by", "add_into", "window_sum",
    }  # fmt: skip
    assert "ncu-csv-no-values" in codes(report)


def test_source_page_with_counters(write: Write) -> None:
    text = (
        '"Kernel Name","scale(float *)"\n"#","Address","Source","Samples","inst_executed"\n'
        '"0","0x7f0000000010","LDG.E R2, [R2]","1,200","64"\n"1","0x7f0000000020","EXIT","","64"\n'
    )
    rows = open_report(write(text.encode(), "s.csv")).table("instances").to_pylist()
    assert [(r["metric"], r["key_int"], r["key"], r["value"]) for r in rows] == [
        ("Samples", 0x7F0000000010, "LDG.E R2, [R2]", 1200.0),
        ("inst_executed", 0x7F0000000010, "LDG.E R2, [R2]", 64.0),
        ("inst_executed", 0x7F0000000020, "EXIT", 64.0),
    ]


def german(cell: str) -> str:
    return (
        cell.translate(str.maketrans(",.", ".,"))
        if cell.replace(",", "").replace(".", "").isdigit()
        else cell
    )


@needs_nvtx
def test_decimal_comma_reads_the_same() -> None:
    """The whole export in German digits: one decision per file, the same values."""
    table = list(csv.reader(io.StringIO(text_of(NVTX / "details.csv.zst"))))
    at = table[0].index("Metric Value")
    style = decide(row[at] for row in table[1:] if len(row) > at)
    other = decide(german(row[at]) for row in table[1:] if len(row) > at)
    assert (style.decimal, other.decimal) == (".", ",")
    for row in table[1:]:
        if len(row) > at:
            assert number(row[at], style) == number(german(row[at]), other)


def test_decimal_comma_in_a_file(write: Write) -> None:
    rows = [
        ("gpu__time_duration.sum", "ns", "117.344"),
        ("dram__bytes.sum", "byte", "27.595.520"),
        ("x__y.pct", "%", "65,77"),
    ]
    found = values(open_report(write(long_form(*rows).encode(), "de.csv")))
    assert found == {"gpu__time_duration.sum": 117_344.0, "dram__bytes.sum": 27_595_520.0, "x__y.pct": 65.77}


def test_ambiguous_numbers_are_announced(write: Write) -> None:
    report = open_report(write(long_form(("gpu__time_duration.sum", "ns", "117.344")).encode(), "a.csv"))
    assert values(report) == {"gpu__time_duration.sum": 117.344}
    assert "ncu-csv-ambiguous-numbers" in codes(report)


@given(st.floats(min_value=0, max_value=1e12, allow_nan=False))
def test_printed_numbers_read_back(value: float) -> None:
    printed = f"{value:,.2f}"
    assert number(printed, Style(".")) == float(f"{value:.2f}")
    assert number(german(printed), Style(",")) == float(f"{value:.2f}")


@given(st.text(max_size=12))
def test_any_cell_is_a_number_or_nothing(cell: str) -> None:
    for style in (Style("."), Style(",")):
        found = number(cell, style)
        assert found is None or isinstance(found, float)
    scale(cell)


@pytest.mark.parametrize(
    ("unit", "factor", "base"),
    [
        ("us", 1e3, "ns"), ("nsecond", 1.0, "ns"), ("msecond", 1e6, "ns"), ("Ghz", 1e9, "hz"),
        ("cycle/usecond", 1e6, "hz"), ("Mbyte", 1e6, "byte"), ("Gbyte/s", 1e9, "byte/s"),
        ("byte/second", 1.0, "byte/s"), ("Kbyte/block", 1e3, "byte/block"), ("%/Kbyte", 1e-3, "%/byte"),
        ("SM", 1.0, "SM"), ("%", 1.0, "%"), ("", 1.0, None), ("inst/cycle", 1.0, "inst/cycle"),
    ],
)  # fmt: skip
def test_units_come_back_to_base(unit: str, factor: float, base: str | None) -> None:
    found, name = scale(unit)
    assert (pytest.approx(found), name) == (factor, base)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: text.encode(),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.encode("utf-16"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: (
            b'==PROF== Connected to process 1 (/a/b)\nmy "output, here\n' + text.encode() + b"bye, now\n"
        ),
        lambda text: (
            text.replace('"', "")
            .replace("(128, 1, 1)", "128 x 1 x 1")
            .replace("(64, 2, 1)", "64 x 2 x 1")
            .encode()
        ),
    ],
    ids=["plain", "bom", "utf-16", "crlf", "noise", "unquoted"],
)
def test_wrappings_of_the_same_table(wrap: Callable[[str], bytes], write: Write) -> None:
    text = long_form(
        ("gpu__time_duration.sum", "us", "1.50"),
        ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "n/a"),
    )
    report = open_report(write(wrap(text), "t.csv"))
    assert values(report) == {
        "gpu__time_duration.sum": 1500.0,
        "sm__throughput.avg.pct_of_peak_sustained_elapsed": None,
    }
    row = report.table("launches").to_pylist()[0]
    assert (row["kernel"], row["grid_x"], row["grid_y"], row["block_x"], row["duration_ns"]) == (
        "k(int)",
        64,
        2,
        128,
        1500.0,
    )
    assert report.table("devices").column("arch").to_pylist() == ["sm_90"]


def test_names_of_hosts_and_processes_are_private(write: Write) -> None:
    path = write(long_form(("gpu__time_duration.sum", "us", "1.50")).encode(), "t.csv")
    assert open_report(path).info.private == {}
    assert open_report(path, Wanted(private=True)).info.private == {
        "Process Name": ["app"],
        "Host Name": ["host"],
    }


def test_amd_counters_in_this_layout_are_refused(write: Write) -> None:
    rows = [("SQ_INSTS_VALU", "inst", "21"), ("FetchSize", "bytes", "38"), ("time", "us", "1.5")]
    with pytest.raises(InputError) as caught:
        open_report(write(long_form(*rows).encode(), "amd.csv"))
    assert caught.value.code == "ncu-csv-amd-counters"
    assert "rocprof" in caught.value.next_step


def test_nvprof_metrics(write: Write) -> None:
    text = (
        "==7== NVPROF is profiling process 7, command: ./a\n==7== Metric result:\n"
        '"Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"\n'
        '"Tesla K40 (1)","void f<int>(int*)",3,"achieved_occupancy","Achieved Occupancy",0.5,0.7,0.6\n'
        '"Tesla K40 (1)","void f<int>(int*)",3,"gld_efficiency","Efficiency",12.500000%,100.000000%,50.000000%\n'
        '"Tesla K40 (1)","void f<int>(int*)",3,"gld_throughput","Throughput",1.5GB/s,2.5GB/s,2.0GB/s\n'
        '"Tesla K40 (1)","void f<int>(int*)",3,"dram_utilization","Utilization","Low (1)","High (8)","Mid (4)"\n'
    )
    report = open_report(write(text.encode(), "n.csv"))
    found = {
        (r["metric"], r["statistic"]): (r["value"], r["unit"], r["count"])
        for r in report.table("summaries").to_pylist()
    }
    assert found["achieved_occupancy", "mean"] == (0.6, None, 3)
    assert found["gld_efficiency", "min"] == (12.5, "%", 3)
    assert found["gld_throughput", "max"] == (2.5e9, "byte/s", 3)
    assert found["dram_utilization", "mean"] == (4.0, None, 3)
    assert report.table("summaries").column("device_id").to_pylist()[0] == 1


@pytest.mark.parametrize(
    ("log", "code", "words"),
    [
        (
            "==PROF== Connected to process 9 (/x)\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to "
            "access NVIDIA GPU Performance Counters on the target device 0.\n",
            "ncu-no-counter-permission",
            ("CAP_SYS_ADMIN", "NVreg_RestrictProfilingToAdminUsers=0", "/etc/modprobe.d", "nsys"),
        ),
        ("==PROF== Connected to process 9\n==WARNING== No kernels were profiled.\n", "ncu-no-kernels-profiled", ("filter",)),
        ("==PROF== Profiling \"k\": 0%\n==ERROR== The application was terminated: Received signal 9\n", "ncu-target-killed", ("--launch-count",)),
        ("==PROF== Connected to process 9\n", "ncu-log-without-metrics", (".ncu-rep",)),
    ],
)  # fmt: skip
def test_logs_are_answered(log: str, code: str, words: tuple[str, ...], write: Write) -> None:
    report = open_report(write(log.encode(), "run.log"))
    assert report.info.format == "ncu-log"
    assert report.table("launches").num_rows == 0
    row = codes(report)[code]
    assert all(word in row["advice"] for word in words)


def test_permission_error_without_tool_prefix(write: Write) -> None:
    report = open_report(write(b"blah\nError: ERR_NVGPUCTRPERM\n", "x.out"))
    assert "ncu-no-counter-permission" in codes(report)


def test_public_exports(corpus: Path) -> None:
    """Launch counts as the public files hold them."""
    folder = corpus / "ncu" / "csv"
    expected = {
        "csv_details_brycelelbach_55b504.csv": 1, "csv_details_CodeGandee_5cd19f.csv": 1,
        "csv_metrics-long-noise_Lashi0812_85c0e4.csv": 9, "csv_old-with-kernel-time_Techercise_11bcf5.csv": 7,
        "csv_nvprof-events-noise_pssrawat_a526aa.csv": 0, "csv_prof-log_bwd29_4f8b95.out": 0,
    }  # fmt: skip
    for name, launches in expected.items():
        assert open_report(folder / name).table("launches").num_rows == launches, name
    found = values(open_report(folder / "csv_details_brycelelbach_55b504.csv"))
    assert found["gpc__cycles_elapsed.max"] == 12_319_469.0
    assert found["dram__cycles_elapsed.avg.per_second"] == 4_963_609_951.19
    events = (
        open_report(folder / "csv_nvprof-events-noise_pssrawat_a526aa.csv").table("summaries").to_pylist()
    )
    assert {r["value"] for r in events if r["metric"] == "tex0_cache_sector_misses"} == {13_733_664.0}
    with pytest.raises(InputError, match="AMD"):
        open_report(folder / "csv_old-with-kernel-time_Techercise_b252c2.csv")
