"""The catalogue over frames: source selection, units, valid ranges, reasons."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.evaluate.support import frame_of, pack_of

from profrx.evaluate.arch import arch_number, version_key, version_within
from profrx.evaluate.metrics import Metrics
from profrx.evaluate.program import wanted_metrics
from profrx_parsers.errors import RuleError

PACK = pack_of(
    """
    metric dram.throughput { unit % meaning "share" valid 0 % .. 100 %
      source ncu arch 6.0 .. 6.2 "fbpa__sol_pct"
      source ncu version 2025.4 .. "newer", "newest"
      source ncu "gpu__dram_throughput" }
    metric dram.read   { unit B meaning "read" source ncu "dram__bytes_read.sum", "dram__bytes_op_read.sum" }
    metric time        { unit ns meaning "time" source ncu "gpu__time_duration.sum" }
    metric dram.rate   { unit GB/s meaning "rate" source ncu = dram.read / time }
    metric clock       { unit GHz meaning "clock" source ncu "clock" }
    metric kernel.name { kind text meaning "name" source launch "kernel" }
    metric device.sms  { meaning "units" source device "compute_units" }
    metric amd.only    { meaning "another tool" source rocm "SQ_WAVES" }
    """
)


def test_a_percentage_becomes_the_float_that_a_threshold_is() -> None:
    metrics = Metrics(PACK, frame_of({"gpu__dram_throughput": [70.0, 29.9]}))
    assert metrics.column("dram.throughput").to_pylist() == [0.7, 0.299]


def test_architecture_and_version_choose_the_source_per_row() -> None:
    frame = frame_of(
        {
            "fbpa__sol_pct": [10.0, 11.0, 12.0, 13.0],
            "newest": [20.0, 21.0, 22.0, None],
            "gpu__dram_throughput": [30.0, 31.0, 32.0, 33.0],
        },
        arch=[6.1, 9.0, 12.0, 12.0],
        tool_version=["2019.1", "2025.3.1", "2025.4.0", "2026.1"],
    )
    got = Metrics(PACK, frame).column("dram.throughput").to_pylist()
    assert got == [0.10, 0.31, 0.22, 0.33]


def test_names_are_tried_in_order_per_row_and_a_stored_nan_is_not_skipped() -> None:
    nan = float("nan")
    frame = frame_of({"dram__bytes_read.sum": [1.0, None, nan], "dram__bytes_op_read.sum": [5.0, 6.0, 7.0]})
    metrics = Metrics(PACK, frame)
    assert metrics.column("dram.read").to_pylist() == [1.0, 6.0, None]
    reason = metrics.reason("dram.read", 2)
    assert reason is not None
    assert reason.kind == "nan"
    assert reason.tried == ("dram__bytes_read.sum", "dram__bytes_op_read.sum")


def test_values_outside_the_valid_range_are_unknown_with_a_reason() -> None:
    metrics = Metrics(PACK, frame_of({"gpu__dram_throughput": [101.0, 100.00000001, -1.0, 100.0]}))
    assert [v is None for v in metrics.column("dram.throughput").to_pylist()] == [True, False, True, False]
    reason = metrics.reason("dram.throughput", 0)
    assert reason is not None
    assert reason.kind == "invalid"
    assert "101 %" in reason.text


def test_a_formula_divides_in_base_units_and_names_what_it_lacks() -> None:
    frame = frame_of({"dram__bytes_read.sum": [8e9, 8e9, 8e9], "gpu__time_duration.sum": [4e6, 0.0, None]})
    metrics = Metrics(PACK, frame)
    assert metrics.column("dram.rate").to_pylist() == [2000.0, None, None]
    zero, absent = metrics.reason("dram.rate", 1), metrics.reason("dram.rate", 2)
    assert zero is not None
    assert zero.kind == "division by zero"
    assert absent is not None
    assert absent.kind == "missing"
    assert "gpu__time_duration.sum" in absent.text


def test_the_unit_of_the_report_counts_where_it_has_the_dimension() -> None:
    frame = frame_of(
        {"gpu__time_duration.sum": [2.0], "clock": [1.5e9]},
        units={"gpu__time_duration.sum": "us", "clock": "hz"},
    )
    metrics = Metrics(PACK, frame)
    assert metrics.column("time").to_pylist() == [2000.0]
    assert metrics.column("clock").to_pylist() == [1.5]


def test_a_looser_unit_of_the_report_leaves_the_declaration_in_force() -> None:
    frame = frame_of({"gpu__time_duration.sum": [2.0]}, units={"gpu__time_duration.sum": "warp"})
    assert Metrics(PACK, frame).column("time").to_pylist() == [2.0]


def test_another_tool_and_an_empty_report_say_so() -> None:
    metrics = Metrics(PACK, frame_of({"x": [1.0]}))
    other, missing = metrics.reason("amd.only", 0), metrics.reason("dram.throughput", 0)
    assert other is not None
    assert other.kind == "no source"
    assert "ncu does not measure" in other.text
    assert missing is not None
    assert missing.kind == "missing"
    assert missing.tried == ("gpu__dram_throughput",)


def test_guards_make_metrics_unknown() -> None:
    metrics = Metrics(PACK, frame_of({"gpu__dram_throughput": [10.0, 20.0]}))
    metrics.block("dram.throughput", np.array([True, False]), "too-short")
    assert metrics.column("dram.throughput").to_pylist() == [None, 0.2]
    reason = metrics.reason("dram.throughput", 0)
    assert reason is not None
    assert reason.kind == "blocked"
    assert "too-short" in reason.text


def test_text_metrics() -> None:
    metrics = Metrics(PACK, frame_of(launch={"kernel": ["a", None]}))
    assert metrics.column("kernel.name").to_pylist() == ["a", None]


def test_unknown_names_and_cycles_are_errors() -> None:
    pack = pack_of(
        """
        metric a { meaning "a" source ncu = b + 1 }
        metric b { meaning "b" source ncu = a + 1 }
        """
    )
    with pytest.raises(RuleError, match="itself"):
        Metrics(pack, frame_of({"x": [1.0]})).column("a")
    with pytest.raises(KeyError):
        Metrics(pack, frame_of({"x": [1.0]})).column("c")


def test_projection_asks_for_all_variants_and_no_table_column() -> None:
    wanted = wanted_metrics(PACK)
    assert {
        "fbpa__sol_pct",
        "newest",
        "gpu__dram_throughput",
        "dram__bytes_op_read.sum",
        "SQ_WAVES",
    } <= wanted
    assert not wanted & {"kernel", "compute_units", "time"}


def test_architectures_and_versions_as_numbers() -> None:
    assert arch_number("sm_90") == arch_number("9.0") == 9.0
    assert arch_number("sm_120") == 12.0
    assert arch_number("gfx942") == 0x942
    assert arch_number("gfx90a") == 0x90A
    assert arch_number("apple-m2") == 2.0
    assert arch_number(None) is arch_number("unknown") is None
    assert version_key("2025.3.1.0 (build 36513990)") == (2025, 3, 1, 0)
    assert version_key("nightly") is None
    assert version_within("2025.3.9", "", "2025.3")
    assert version_within("2025.10", "2025.4", "")
    assert not version_within("2024.9", "2025.4", "")
    assert not version_within(None, "2025.4", "")


def test_text_formulas_blocked_text_and_truth_columns() -> None:
    pack = pack_of(
        """
        metric size { kind text meaning "size" source ncu = if raw "n" > 1 then "large" else "small" }
        metric same { kind text meaning "same" source ncu = "constant" }
        metric flag { meaning "a fact" source launch "flag" }
        """
    )
    frame = frame_of({"n": [2.0, 1.0, None]})
    frame.supply.tables["launch"] = {"flag": pa.array([True, False, None])}  # type: ignore[attr-defined]
    metrics = Metrics(pack, frame)
    assert metrics.column("size").to_pylist() == ["large", "small", None]
    assert metrics.column("same").to_pylist() == ["constant"] * 3
    assert metrics.column("flag").to_pylist() == [1.0, 0.0, None]
    metrics.block("size", np.array([True, False, False]), "g")
    assert metrics.column("size").to_pylist() == [None, "small", None]
