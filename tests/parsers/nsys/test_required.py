"""A column that an export lost is named, and nothing is concluded from its absence."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from profrx.timeline.capture import read_timeline
from profrx.timeline.metrics import Metrics
from profrx.timeline.summary import busy_summary
from profrx_parsers.nsys.required import REQUIRED
from profrx_parsers.registry import open_report
from profrx_parsers.report import Report

from .conftest import CASES, ROOT

KERNEL, MEMCPY, RUNTIME, SYNC = (
    f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("KERNEL", "MEMCPY", "RUNTIME", "SYNCHRONIZATION")
)
READ = ("launches", "copies", "api_calls", "syncs", "ranges", "memory_events")


@pytest.fixture
def without(export: Callable[[str], Path], tmp_path: Path) -> Callable[[str, str, str], Report]:
    """Open the export of a case with one column renamed."""

    def rename(case: str, table: str, column: str) -> Report:
        path = tmp_path / "renamed.sqlite"
        shutil.copy(export(case), path)
        with closing(sqlite3.connect(path)) as database:
            database.execute(f'ALTER TABLE {table} RENAME COLUMN "{column}" TO "was_{column}"')
        return open_report(path)

    return rename


def _lost(report: Report) -> set[str]:
    for name in READ:
        report.table(name)
    return {
        row["where"]
        for row in report.table("problems").to_pylist()
        if row["code"] == "nsys-missing-column" and row["severity"] == "data-loss"
    }


def _row(report: Report) -> dict[str, float | None]:
    rows = Metrics(report, read_timeline(report)).tables()["report"].to_pylist()
    return rows[0] if rows else {}


@pytest.mark.parametrize(
    ("table", "column"),
    [
        (table, column)
        for table in (KERNEL, MEMCPY, RUNTIME, "NVTX_EVENTS", SYNC, "StringIds")
        for column in REQUIRED[table]
    ],
)
def test_each_lost_column_is_named(
    without: Callable[[str, str, str], Report], table: str, column: str
) -> None:
    case = {MEMCPY: "pageable-copies", SYNC: "pageable-copies"}.get(table, "gpu-idle")
    report = without(case, table, column)
    assert _lost(report) == {f"{table}.{column}"} or (
        table == "StringIds" and f"{table}.{column}" in _lost(report)
    )


@pytest.mark.parametrize("column", ["start", "end"])
@pytest.mark.parametrize("table", [KERNEL, MEMCPY])
def test_without_times_the_busy_share_is_unknown(
    without: Callable[[str, str, str], Report], table: str, column: str
) -> None:
    report = without("pageable-copies", table, column)
    if table == KERNEL:
        launches = report.table("launches")
        assert launches.column("duration_ns").null_count == launches.num_rows > 0
    assert busy_summary(report) is None
    assert _row(report).get("busy_share") is None


def test_sizes_that_are_lost_are_no_zeros(without: Callable[[str, str, str], Report]) -> None:
    row = _row(without("pageable-copies", MEMCPY, "bytes"))
    assert row["copy_bytes"] is None
    assert row["pageable_bandwidth_bytes_per_s"] is None
    assert row["pageable_copy_share"]


@pytest.mark.parametrize("column", ["copyKind", "srcKind"])
def test_unknown_kinds_of_copies(without: Callable[[str, str, str], Report], column: str) -> None:
    """Without directions nothing is known of copies from and to the host; pageable needs one side only."""
    row = _row(without("pageable-copies", MEMCPY, column))
    assert row["copy_share"]
    if column == "copyKind":
        assert row["host_copy_share"] is row["pageable_copy_share"] is row["migration_share"] is None


def test_lost_streams_are_not_one_stream(without: Callable[[str, str, str], Report]) -> None:
    row = _row(without("launch-overhead", KERNEL, "streamId"))
    assert row["busy_share"]
    assert row["stream_count"] is None


@pytest.mark.parametrize("column", ["nameId", "start", "globalTid"])
def test_calls_that_would_mislead_count_as_not_traced(
    without: Callable[[str, str, str], Report], column: str
) -> None:
    report = without("host-sync", RUNTIME, column)
    assert report.table("api_calls").num_rows == 0
    row = _row(report)
    assert row["busy_share"]
    assert row["idle_sync_share"] is row["idle_host_share"] is None


@pytest.mark.parametrize("case", CASES)
def test_whole_reports_lack_nothing(case: str) -> None:
    assert not _lost(open_report(ROOT / f"fixtures/nsys/{case}/report.nsys-rep"))
