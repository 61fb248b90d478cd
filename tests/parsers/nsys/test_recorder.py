"""What the recorder says about itself: sorted by kind, never passed on."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from profrx_parsers.nsys.recorder import kind_of, sorted_kinds
from profrx_parsers.problems import ProblemLog
from profrx_parsers.registry import open_report


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Not all CUDA events might have been collected.", "doubted"),
        ("Not all NVTX events might have been collected.", "other"),
        ("No CUDA events collected. Does the process use CUDA?", "empty"),
        ("CUDA injection initialization failed.", "not-traced"),
        ("CUDA profiling stopped unexpectedly: Cannot initialize CUDA event collection.", "not-traced"),
        ("CUDA profiling might have not been started correctly.", "not-traced"),
        ("OpenGL profiling might have not been started correctly.", "other"),
        ("The operating system throttled the collection of sampling data 3 times.", "other"),
        ("Unable to collect CPU kernel IP samples and backtraces.", "other"),
        ("Number of dropped CUDA events: 12.", "lost"),
        ("CUPTI_ERROR_OUT_OF_MEMORY while flushing", "lost"),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    assert kind_of(text) == kind


BEGUN = "CUDA injection initialized successfully."
NOT_BEGUN = "CUDA profiling might have not been started correctly."


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([(1, BEGUN, 7), (2, NOT_BEGUN, 5)], False),  # 5 is a launcher: it never began to use CUDA
        ([(1, BEGUN, 5), (2, NOT_BEGUN, 5)], True),
        ([(1, BEGUN, 7), (2, NOT_BEGUN, 0)], True),  # the whole capture
        ([(2, NOT_BEGUN, 5)], True),  # nobody says when it begins
        ([(1, BEGUN, 7), (3, "CUDA injection initialization failed.", 5)], True),
    ],
    ids=["launcher", "traced process", "whole capture", "silent recorder", "failure"],
)
def test_a_process_without_cuda_is_no_trouble(rows: list[tuple[int, str, int]], told: bool) -> None:
    log = ProblemLog()
    kinds = sorted_kinds(rows, log)
    assert ("not-traced" in kinds) == told
    assert bool([p for p in log if p.code == "nsys-not-traced"]) == told


@pytest.mark.parametrize("case", ["rank-straggler", "comm-exposed-torchrun"])
def test_launchers_of_ranks_are_no_trouble(case: str, fixtures: Path) -> None:
    report = open_report(fixtures / f"nsys/{case}/report.nsys-rep")
    assert "not-traced" not in report.extras["recorder"]().kinds
    assert not [p for p in report.problems if p.code == "nsys-not-traced"]


def test_both_forms_of_a_capture_say_the_same(fixtures: Path, export: Callable[[str], Path]) -> None:
    rep = open_report(fixtures / "nsys/cold-start/report.nsys-rep").extras["recorder"]()
    sql = open_report(export("cold-start")).extras["recorder"]()
    assert rep.kinds == sql.kinds
    assert rep.by_program
    assert sql.by_program
    for name in ("starts", "ends", "process"):
        assert getattr(rep, name).tolist() == getattr(sql, name).tolist()
    with closing(sqlite3.connect(export("cold-start"))) as db:
        expected = db.execute('SELECT start, "end" FROM PROFILER_OVERHEAD WHERE "end" > start').fetchall()
    assert sorted(zip(rep.starts.tolist(), rep.ends.tolist(), strict=True)) == sorted(expected)


def test_the_share_of_lost_events_is_that_of_the_header(fixtures: Path, tmp_path: Path) -> None:
    whole = fixtures / "nsys/launch-overhead/report.nsys-rep"
    report = open_report(whole)
    report.table("launches")
    assert report.extras["events_lost_share"]() == 0
    cut = tmp_path / "cut.nsys-rep"
    data = whole.read_bytes()
    cut.write_bytes(data[: len(data) * 6 // 10])
    report = open_report(cut)
    report.table("launches")
    lost = report.extras["events_lost_share"]()
    assert lost is not None
    assert 0 < lost < 1
