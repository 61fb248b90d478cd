"""The `.ncu-rep` reader on reports whose every value the test wrote itself."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from profrx_parsers.columns import EXTRA
from profrx_parsers.registry import open_report
from profrx_parsers.report import Wanted

Write = Callable[..., Path]
Encode = dict[str, Callable[..., bytes]]


def metrics(report: Any, launch: int = 0) -> dict[str, tuple[float | None, str | None]]:
    rows = report.table("metrics").to_pylist()
    return {row["metric"]: (row["value"], row["text"]) for row in rows if row["launch_id"] == launch}


def codes(report: Any) -> set[str]:
    return {row["code"] for row in report.table("problems").to_pylist()}


def test_launches_metrics_and_info(simple_report: Any, write: Write) -> None:
    report = open_report(write(bytes(simple_report(3))))
    launches = report.table("launches").to_pylist()
    assert [row["kernel"] for row in launches] == [f"void scale<{i}>(float*)" for i in range(3)]
    first = launches[0]
    assert first["kernel_short"] == "scale"
    assert first["workload"] == "kernel"
    assert (first["grid_x"], first["block_x"], first["stream_id"], first["context_id"]) == (8, 128, 7, 1)
    assert (first["process_id"], first["thread_id"], first["correlation_id"]) == (1000, 11, 42)
    assert (first["registers_per_thread"], first["duration_ns"], first["device_id"]) == (40, 1234.5, 0)
    found = metrics(report, 2)
    assert found["sm__throughput.avg.pct_of_peak_sustained_elapsed"] == (61.25, None)
    assert found["launch__kernel_name"] == (None, "scale")
    assert found["m__index"] == (2.0, None)
    assert found["derived__never_collected"] == (None, None), "missing is null, never zero"
    info = report.info
    assert (info.tool, info.format, info.runtime_version) == ("ncu", "ncu-rep", "12.9")
    assert info.captured_at == "2023-11-14T22:13:20Z"
    assert info.base_time == "profiled kernel time"
    assert info.clocks is None
    assert codes(report) == set()


def test_projection_decodes_only_what_is_wanted(simple_report: Any, write: Write) -> None:
    path = write(bytes(simple_report(2)))
    report = open_report(path, Wanted(metrics=frozenset({"m__index"})))
    assert {row["metric"] for row in report.table("metrics").to_pylist()} == {"m__index"}
    assert report.table("launches").column("duration_ns").to_pylist() == [1234.5, 1234.5]


def test_wide_columns_keep_missing_apart_from_nan(build: Any, write: Write) -> None:
    one = build()
    kernels = [
        one.kernel("a(int)", {"x__n.sum": 1.5, "text__t": "t"}),
        one.kernel("b(int)", {"x__n.sum": math.nan}),
        one.kernel("c(int)", {}),
        one.kernel("d(int)", {"x__n.sum": None}),
    ]
    one.block(kernels=kernels, names=one.names)
    wide = open_report(write(bytes(one))).extras[EXTRA]
    column = wide.column("x__n.sum")
    assert column.is_valid().to_pylist() == [True, True, False, False]
    assert column[0].as_py() == 1.5
    assert math.isnan(column[1].as_py())
    assert wide.column("text__t").to_pylist() == ["t", None, None, None]
    assert wide.column("absent") is None
    assert wide.rows == 4


def test_counter_domain_prefix_does_not_hide_a_wanted_metric(build: Any, write: Write) -> None:
    """The stored name stays; the plain name is enough to want it."""
    one = build()
    stored = "FBSP.TriageSCG.dramc__read_throughput.avg"
    one.block(kernels=[one.kernel("a(int)", {stored: 3.0})], names=one.names)
    report = open_report(write(bytes(one)), Wanted(metrics=frozenset({"dramc__read_throughput.avg"})))
    assert report.extras[EXTRA].column(stored).to_pylist() == [3.0]
    assert report.extras[EXTRA].column("dramc__read_throughput.avg") is None


def test_names_may_come_after_the_results_that_use_them(build: Any, write: Write) -> None:
    one = build()
    kernel = one.kernel("a(int)", {"first__m": 1.0, "late__m": 2.0})
    one.block(kernels=[kernel], names=one.names[:1])
    one.block(names=one.names[1:])
    assert metrics(open_report(write(bytes(one))))["late__m"] == (2.0, None)


def test_repeated_table_of_a_second_process(build: Any, write: Write) -> None:
    """Ids still point at the first copy when a later block repeats the strings."""
    one = build()
    first = one.kernel("a(int)", {"x__m": 1.0})
    one.block(kernels=[first], names=one.names, process=1)
    one.block(kernels=[one.kernel("a(int)", {"x__m": 2.0})], names=one.names, process=2)
    report = open_report(write(bytes(one)))
    assert report.extras[EXTRA].column("x__m").to_pylist() == [1.0, 2.0]
    assert report.table("launches").column("process_id").to_pylist() == [1, 2]


def test_last_of_repeated_metrics_wins(build: Any, write: Write, encode: Encode) -> None:
    one = build()
    extra = b"".join(encode["blob"](13, one.metric("x__m", value)) for value in (0, 0, 7))
    one.block(kernels=[one.kernel("a(int)", {"x__m": 5}, extra=extra)], names=one.names)
    report = open_report(write(bytes(one)))
    assert metrics(report) == {"x__m": (7.0, None)}
    assert "ncu-repeated-metric" in codes(report)


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**32, 2**53, 2**64 - 1])
def test_whole_numbers_of_every_length(value: int, build: Any, write: Write) -> None:
    one = build()
    one.block(kernels=[one.kernel("a(int)", {"x__m": value})], names=one.names)
    assert metrics(open_report(write(bytes(one))))["x__m"][0] == float(value)


def test_rare_number_kinds(build: Any, write: Write, encode: Encode) -> None:
    """float32, uint32, an empty value, and a value message with two members (the documented last resort)."""
    one = build()
    kinds = {
        "a__float": b"\x15" + struct.pack("<f", 0.5),
        "b__uint32": encode["number"](4, 12),
        "c__empty": b"",
        "d__two": encode["number"](5, 3) + encode["double"](3, 9.0),
    }
    extra = b"".join(
        encode["blob"](13, encode["number"](1, one.ident(name)) + encode["blob"](2, body))
        for name, body in kinds.items()
    )
    one.block(kernels=[one.kernel("a(int)", {}, extra=extra)], names=one.names)
    found = metrics(open_report(write(bytes(one))))
    assert (found["a__float"][0], found["b__uint32"][0], found["c__empty"][0]) == (0.5, 12.0, None)


def test_instances(build: Any, write: Write, encode: Encode) -> None:
    one = build()
    pcs = [(13_547_155_200 + 16 * i, i * 10) for i in range(5)]
    stamps = [(1_745_043_274_995_235_328, 1.0)]
    opcodes = [("FFMA", 4), ("IMAD", 200), ("LDG", None)]
    extra = b"".join(
        encode["blob"](13, body)
        for body in (
            one.metric("inst_executed", 100, pcs),
            one.metric("pmsampling:x", 1.0, stamps),
            one.metric("sass__per_opcode", 204, opcodes),
        )
    )
    one.block(kernels=[one.kernel("a(int)", {}, extra=extra)], names=one.names)
    report = open_report(write(bytes(one)))
    rows = report.table("instances").to_pylist()
    assert [(r["key_int"], r["value"]) for r in rows if r["metric"] == "inst_executed"] == pcs
    assert [r["key_int"] for r in rows if r["metric"] == "pmsampling:x"] == [1_745_043_274_995_235_328]
    assert [(r["key"], r["value"]) for r in rows if r["metric"] == "sass__per_opcode"] == opcodes
    only = report.extras["instances"]({"pmsampling:x"})
    assert only.num_rows == 1


def test_ranges_command_lists_and_graphs(build: Any, write: Write, encode: Encode) -> None:
    one = build()
    body = encode["blob"](4, one.metric("gpu__time_duration.sum", 5.0)) + encode["number"](11, 3)
    one.block(ranges=[body], cmdlists=[body + encode["blob"](18, "my list")], graphs=[body], names=one.names)
    launches = open_report(write(bytes(one))).table("launches").to_pylist()
    assert [row["workload"] for row in launches] == ["range", "cmdlist", "graph"]
    assert [row["kernel"] for row in launches] == ["range", "my list", "graph"]
    assert [row["duration_ns"] for row in launches] == [5.0] * 3
    assert [row["grid_x"] for row in launches] == [None] * 3


def test_nvtx_ranges_open_on_the_launching_thread(build: Any, write: Write, encode: Encode) -> None:
    number, blob = encode["number"], encode["blob"]
    message = blob(2, blob(5, number(3, 77)))
    stack = blob(3, blob(1, "step")) + blob(3, message)
    state = blob(1, number(1, 0) + blob(3, number(1, 77) + blob(2, "forward")))
    state += blob(2, number(1, 11) + blob(2, number(1, 0) + stack))
    state += blob(2, number(1, 12) + blob(2, number(1, 0) + blob(3, blob(1, "other thread"))))
    state += blob(3, number(1, 0) + blob(3, number(1, 1) + blob(2, "epoch")))
    one = build()
    one.block(
        kernels=[
            one.kernel("a(int)", {}, extra=blob(21, state)),
            one.kernel("b(int)", {}, extra=blob(21, b"")),
        ],
        names=one.names,
    )
    paths = open_report(write(bytes(one))).table("launches").column("range_path").to_pylist()
    assert paths == ["epoch / step / forward", None]


@pytest.mark.parametrize(
    ("locks", "told"), [((1, 1), "locked"), ((0, 0), "unlocked"), ((1, 0), "mixed"), ((), None)]
)
def test_clock_lock(
    locks: tuple[int, ...], told: str | None, build: Any, write: Write, encode: Encode
) -> None:
    number, blob = encode["number"], encode["blob"]
    one = build()
    kernels = [one.kernel("a(int)", {}, extra=blob(25, number(1, 1) + number(2, lock))) for lock in locks]
    one.block(kernels=kernels or [one.kernel("a(int)", {})], names=["x"])
    report = open_report(write(bytes(one)))
    assert report.info.clocks == told
    assert report.extras["clock_locked"] == ([bool(lock) for lock in locks] or [None])


@pytest.mark.parametrize("driver", ["576.40", "580.159", "535.05", "1000.25"])
def test_driver_from_the_result_when_the_session_has_none(driver: str, build: Any, write: Write) -> None:
    one = build()
    field = b"\x9d\x02" + struct.pack("<f", float(driver))
    one.block(kernels=[one.kernel("a(int)", {}, extra=field)], names=["x"])
    assert open_report(write(bytes(one))).info.driver == driver


def test_empty_demangled_name_falls_back_to_the_function(build: Any, write: Write, encode: Encode) -> None:
    blob = encode["blob"]
    one = build()
    one.block(kernels=[blob(6, "volta_sgemm_32x128_nn") + blob(7, "") + blob(5, "_Zx")], names=["x"])
    row = open_report(write(bytes(one))).table("launches").to_pylist()[0]
    assert (row["kernel"], row["kernel_short"]) == ("volta_sgemm_32x128_nn",) * 2


def test_vendor_findings(build: Any, write: Write, encode: Encode) -> None:
    """One finding per body item that shows something; the type numbers are the file's own."""
    number, blob, double = encode["number"], encode["blob"], encode["double"]
    focus = number(1, 1) + blob(2, "sm__throughput") + double(3, 41.5) + number(4, 2) + blob(5, "raise it")
    shown = blob(1, blob(1, "text") + number(2, 4) + blob(4, "Bottleneck")) + blob(8, focus)
    shown += blob(10, number(1, 2) + double(2, 12.5))
    marker = number(1, 1) + number(2, 33) + number(3, 4096) + blob(4, "tip") + blob(6, "/home/ada/k.cu")
    rule = blob(1, "Rule") + blob(2, "Name") + blob(3, blob(1, shown) + blob(1, b"") + blob(1, blob(2, b"")))
    rule += blob(4, "Section") + blob(5, marker)
    silent = blob(1, "Quiet") + blob(2, "Quiet")
    one = build()
    one.block(kernels=[one.kernel("a(int)", {}, extra=blob(19, rule) + blob(19, silent))], names=["x"])
    path = write(bytes(one))
    rows = open_report(path).table("vendor_findings").to_pylist()
    assert [(row["rule"], row["message"]) for row in rows] == [("Rule", "text"), ("Rule", None)]
    first = rows[0]
    assert (first["title"], first["kind"], first["section"]) == ("Bottleneck", "optimization", "Section")
    assert (first["estimate_kind"], first["estimate_pct"]) == ("global", 12.5)
    assert first["focus_metrics"] == [
        {"metric": "sm__throughput", "value": 41.5, "severity": "high", "info": "raise it"}
    ]
    assert first["markers"] == [
        {"kind": "source", "file": "~/k.cu", "line": 33, "address": 4096, "text": "tip"}
    ]
    private = open_report(path, Wanted(private=True)).table("vendor_findings").to_pylist()
    assert private[0]["markers"][0]["file"] == "/home/ada/k.cu"


def test_section_options_resolve_by_architecture(build: Any, write: Write, encode: Encode) -> None:
    number, blob = encode["number"], encode["blob"]
    option = blob(7, blob(1, "dram__bytes_op_read.sum") + blob(3, number(1, 120)))
    metric = (
        blob(1, "dram__bytes_read.sum")
        + blob(2, "DRAM Read")
        + blob(6, number(1, 75) + number(2, 90))
        + option
    )
    section = blob(1, "Memory") + blob(2, "Memory Workload") + blob(4, blob(2, metric))
    one = build()
    one.block(kernels=[one.kernel("a(int)", {}, extra=blob(17, section))], names=["x"])
    report = open_report(write(bytes(one)))
    assert list(report.extras["sections"]) == ["Memory"]
    (found,) = report.extras["section_options"]["dram__bytes_read.sum"]
    assert (found.label, found.section, found.archs) == ("DRAM Read", "Memory", ((75, 90),))
    assert found.resolve(80) == "dram__bytes_read.sum"
    assert found.resolve(120) == "dram__bytes_op_read.sum"
    assert found.resolve(100) is None
    assert report.extras["section_options"]["dram__bytes_op_read.sum"] == (found,)


def test_command_line_gives_options_and_stays_private(build: Any, write: Write, encode: Encode) -> None:
    blob = encode["blob"]
    line = (
        "/opt/nv/ncu --set full --section SpeedOfLight --section Occupancy --clock-control=none -k regex:gemm "
        "--replay-mode application -o /home/ada/secret/out -f --import-source yes ./train --token hunter2 --set no"
    )
    one = build()
    one.block(session=blob(11, line) + blob(4, blob(1, "Linux") + blob(4, "x86_64") + blob(5, "adas-host")))
    path = write(bytes(one))
    info = open_report(path).info
    assert info.options == {
        "set": "full",
        "sections": ["SpeedOfLight", "Occupancy"],
        "clock_control": "none",
        "kernel_name": "regex:gemm",
        "replay_mode": "application",
        "import_source": "yes",
    }
    assert info.platform == "Linux x86_64"
    told = info.model_dump_json().replace(str(path), "")
    assert not any(word in told for word in ("hunter2", "ada", "secret", "train", "host"))
    private = open_report(path, Wanted(private=True)).info.private
    assert private["command_line"] == line
    assert private["target"]["computer"] == "adas-host"


def test_packed_report_is_recognised_by_content(simple_report: Any, write: Write) -> None:
    data = bytes(simple_report(2))
    plain = open_report(write(data))
    packed = open_report(write(pa.Codec("zstd").compress(data, asbytes=True), "other.ncu-rep"))
    assert packed.table("metrics").equals(plain.table("metrics"))
    assert "zstd" in packed.info.why


def test_doubtful_values_are_kept_and_flagged(build: Any, write: Write) -> None:
    one = build()
    values = {
        "lts__t_sectors_hit.sum": -3.0,
        "l1tex__t_sector_hit_rate.pct": 130.0,
        "sm__cycles_active.avg": math.nan,
        "launch__occupancy_limit_shared_mem": math.nan,
    }
    one.block(kernels=[one.kernel("a(int)", values)], names=one.names)
    report = open_report(write(bytes(one)))
    found = {row["code"]: row["count"] for row in report.table("problems").to_pylist()}
    del found["ncu-no-versions"]
    assert found == {"ncu-negative-value": 1, "ncu-over-100-percent": 1, "ncu-nan-value": 1}
    assert metrics(report)["lts__t_sectors_hit.sum"] == (-3.0, None)


def test_unknown_fields_are_reported(build: Any, write: Write, encode: Encode) -> None:
    number = encode["number"]
    one = build()
    one.block(kernels=[one.kernel("a(int)", {"x__m": 1}, extra=number(48, 1))], names=one.names)
    one.block(session=number(30, 5))
    header = one.blocks[-1][4:] + number(12, 3)
    one.blocks[-1] = struct.pack("<I", len(header)) + header
    report = open_report(write(bytes(one)))
    told = [
        row["message"] for row in report.table("problems").to_pylist() if row["code"] == "ncu-unknown-field"
    ]
    assert len(told) == 3
    assert metrics(report)["x__m"] == (1.0, None)


def test_devices_and_peaks(build: Any, write: Write, encode: Encode) -> None:
    """H100 SXM figures: 132 SMs, 1.98 GHz, 5120 bit at 2.619 GHz give the published 3.35 TB/s and 66.9 TFLOP/s."""
    number, blob, value = encode["number"], encode["blob"], encode["value"]
    attributes = {
        "compute_capability_major": 9, "compute_capability_minor": 0, "multiprocessor_count": 132,
        "warp_size": 32, "clock_rate": 1_980_000, "memory_clock_rate": 2_619_000,
        "global_memory_bus_width": 5120, "max_threads_per_multiprocessor": 2048,
        "single_to_double_precision_perf_ratio": 2, "l2_cache_size": 52_428_800,
    }  # fmt: skip
    body = number(1, 0) + blob(2, "NVIDIA H100")
    body += b"".join(blob(3, blob(1, name) + blob(2, value(one))) for name, one in attributes.items())
    one = build()
    one.block(session=blob(6, body))
    (row,) = open_report(write(bytes(one))).table("devices").to_pylist()
    assert (row["name"], row["arch"], row["compute_units"]) == ("NVIDIA H100", "sm_90", 132)
    assert row["max_waves_per_unit"] == 64
    assert row["peak_bandwidth_bytes_per_s"] == pytest.approx(3.35e12, rel=0.001)
    assert row["peak_fp32_flop_per_s"] == pytest.approx(66.9e12, rel=0.001)
    assert row["peak_fp64_flop_per_s"] == pytest.approx(33.5e12, rel=0.002)
    assert row["peak_tensor_flop_per_s"] is None
    assert "memory clock" in row["peak_source"]
    assert row["memory_bytes"] is None
