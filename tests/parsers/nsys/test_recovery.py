"""Reports whose index is cut off or damaged: what stands before the damage is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from profrx.diagnose import diagnose
from profrx.report.page import page
from profrx.timeline.capture import read_timeline
from profrx.timeline.metrics import Metrics
from profrx_parsers.errors import InputError
from profrx_parsers.nsys.container import open_container
from profrx_parsers.problems import ProblemLog
from profrx_parsers.registry import open_report
from profrx_parsers.report import Report

SIZE = 56476
"""Bytes of the report of `gpu-idle`; its section table names 371 and 39479 as the ends of its event section."""


def _cut(fixtures: Path, tmp_path: Path, size: int) -> Path:
    whole = (fixtures / "nsys/gpu-idle/report.nsys-rep").read_bytes()
    assert len(whole) == SIZE
    path = tmp_path / "cut.nsys-rep"
    path.write_bytes(whole[:size])
    return path


def _problems(report: Report) -> dict[str, dict[str, object]]:
    return {
        row["code"]: row for row in report.table("problems").to_pylist() if row["severity"] == "data-loss"
    }


@pytest.mark.parametrize("size", [SIZE - 1, SIZE - 16, 39479])
def test_without_index_nothing_of_the_events_is_lost(fixtures: Path, tmp_path: Path, size: int) -> None:
    whole = open_report(fixtures / "nsys/gpu-idle/report.nsys-rep")
    cut = open_report(_cut(fixtures, tmp_path, size))
    for name in ("launches", "api_calls", "ranges", "copies", "devices", "syncs"):
        assert cut.table(name).equals(whole.table(name)), name
    assert cut.table("launches").num_rows == 100
    lost = _problems(cut)
    assert set(lost) == {"nsys-no-index"}
    assert lost["nsys-no-index"]["where"] == f"byte {size}"


def test_a_damaged_table_is_no_index_either(fixtures: Path, tmp_path: Path) -> None:
    path = _cut(fixtures, tmp_path, SIZE)
    data = bytearray(path.read_bytes())
    data[-16:-8] = (1 << 60).to_bytes(8, "little")
    path.write_bytes(data)
    report = open_report(path)
    assert report.table("launches").num_rows == 100
    assert "nsys-no-index" in _problems(report)


@pytest.mark.parametrize("size", [60, 371, 400, 9000, 30000])
def test_cut_before_the_first_whole_block(fixtures: Path, tmp_path: Path, size: int) -> None:
    with pytest.raises(InputError) as caught:
        open_report(_cut(fixtures, tmp_path, size))
    assert caught.value.code in ("nsys-unreadable", "input-unknown-format")


def test_cut_among_the_events(corpus: Path, tmp_path: Path) -> None:
    """The blocks before the cut are kept; the string block stood behind, so kernels have no names."""
    source = corpus / "nsys/kmcho2019__Rodinia_3.1_Gaussian__report6.nsys-rep"
    path = tmp_path / "cut.nsys-rep"
    path.write_bytes(source.read_bytes()[:1_200_000])
    whole, cut = open_report(source).table("launches"), open_report(path)
    launches = cut.table("launches")
    assert 0 < launches.num_rows < whole.num_rows
    for column in ("start_ns", "duration_ns", "grid_x", "correlation_id"):
        kept = whole.column(column).slice(0, launches.num_rows).to_pylist()
        assert launches.column(column).to_pylist() == kept
    assert launches.column("kernel").null_count == launches.num_rows
    lost = _problems(cut)
    assert {"nsys-no-index", "nsys-cut"} <= set(lost)
    where = str(lost["nsys-cut"]["where"])
    assert 0 < int(where.removeprefix("byte ")) < 1_200_000


def test_calls_without_names_explain_no_idle_time(fixtures: Path, tmp_path: Path) -> None:
    """Names of calls lie in the string block, names of ranges beside the ranges."""
    whole = (fixtures / "nsys/gpu-idle/report.nsys-rep").read_bytes()
    strings = open_container(memoryview(whole), "x", ProblemLog())._strings_at
    report = open_report(_cut(fixtures, tmp_path, strings + 100))
    assert report.table("api_calls").column("name").null_count == report.table("api_calls").num_rows > 0
    assert "nsys-damaged-tail" in _problems(report)
    (row,) = Metrics(report, read_timeline(report)).tables()["report"].to_pylist()
    assert row["busy_share"] == pytest.approx(0.086, abs=0.001)
    for name in ("idle_host_share", "idle_sync_share", "launch_call_share"):
        assert row[name] is None, name
    found = page(diagnose([tmp_path / "cut.nsys-rep"]).reports[0])
    assert "lost" in found.lede
