"""Calls that would do nothing, or something else than asked for, say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from profrx.cli.suggest import did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run


@pytest.mark.parametrize("verb", ["test", "coverage", "docs"])
def test_an_unknown_rule_is_a_usage_error(profrx: Run, verb: str) -> None:
    ran = profrx("rules", verb, "--rule", "tail-efect")
    assert ran.code == 2
    assert "did you mean 'tail-effect'" in ran.err


def test_a_lock_file_that_is_not_there(profrx: Run) -> None:
    ran = profrx("rules", "lock", "--check", "nope.lock")
    assert ran.code == 2
    assert "nope.lock: No such file or directory [lock-unreadable]" in ran.err


@pytest.mark.parametrize("words", [["--columns", "kernel"], ["--rows", "3"], ["--format", "csv"]])
def test_what_needs_a_table_asks_for_one(profrx: Run, report: Path, words: list[str]) -> None:
    ran = profrx("tables", report, *words)
    assert ran.code == 2
    assert "need --table" in ran.err


def test_only_near_words_are_suggested(profrx: Run, report: Path) -> None:
    assert did_you_mean("nope", ["copies", "launches"]) == ""
    assert "did you mean" not in profrx("tables", report, "--table", "nope").err


def test_questions_of_an_archive_without_an_answer(profrx: Run, tmp_path: Path) -> None:
    archive = tmp_path / "a.sqlite"
    (tmp_path / "empty").mkdir()
    ran = profrx("batch", tmp_path / "empty", "--archive", archive, "--workers", "1")
    assert ran.code == 4
    assert "no report below" in ran.err
    ran = profrx("archive", "query", archive, "fixess")
    assert ran.code == 2
    assert "no question is called 'fixess'; did you mean 'fixes'?" in ran.err
    assert "no kernel name contains 'gemm'" in profrx("archive", "search", archive, "gemm").err
    assert "fewer than three characters" in profrx("archive", "search", archive, "ge").err
    ran = profrx("archive", "trend", archive)
    assert ran.code == 0
    assert "no kernel with a duration" in ran.err
    assert "setup_changes" in ran.out
    assert profrx("archive", "trend", archive, "--format", "json").out.strip() == "[]"
    assert profrx("-q", "archive", "trend", archive).err == ""


def test_a_rank_given_twice(profrx: Run, fixtures: Path) -> None:
    one = fixtures / "nsys" / "rank-straggler-split-rank0" / "report.nsys-rep"
    ran = profrx("diagnose", "--ranks", one, one)
    assert ran.code == 2
    assert "given twice" in ran.err
    ran = profrx("diagnose", "--ranks", one)
    assert ran.code == 2
    assert "leave out --ranks" in ran.err


def test_a_broken_database_is_not_taken_for_an_export_of_one_tool(profrx: Run, tmp_path: Path) -> None:
    broken = tmp_path / "results.db"
    broken.write_bytes(b"SQLite format 3\0" + b"\xc5" * 4096)
    ran = profrx("diagnose", broken)
    assert ran.code == 3
    assert "this export" not in ran.err
    assert "copy it again" in ran.err
