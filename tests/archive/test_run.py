"""Batch runs on real reports: incremental, poisoned, killed, equal to an undisturbed run."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from profrx.archive import Archive, batch
from profrx.archive.export import export

Make = Callable[..., Path]


def contents(archive: Path, target: Path) -> dict[str, bytes]:
    """Return the exported files of an archive."""
    with Archive(archive, readonly=True) as store:
        export(store, target)
    return {p.relative_to(target).as_posix(): p.read_bytes() for p in sorted(target.rglob("*.parquet"))}


def test_a_folder_becomes_rows(many: Make, tmp_path: Path) -> None:
    root = many(5)
    (root / "notes.txt").write_text("no report")
    result = batch([root], tmp_path / "a.sqlite", workers=2)
    assert (result.analysed, result.failed, result.ignored) == (5, 0, 1)
    with Archive(tmp_path / "a.sqlite", readonly=True) as archive:
        rows = archive.table("reports").to_pylist()
        assert {r["status"] for r in rows} == {"ok"}
        assert all(r["tool"] == "ncu" and r["launches"] >= 1 for r in rows)
        assert archive.table("kernels").num_rows >= 5
        values = (
            archive.query("SELECT value FROM metrics WHERE metric = 'launch.duration'").column(0).to_pylist()
        )
        durations = archive.query("SELECT duration_median_ns FROM kernels").column(0).to_pylist()
        assert set(values) <= set(durations)


def test_second_run_reads_nothing_and_changes_are_seen(many: Make, tmp_path: Path) -> None:
    root, archive = many(4), tmp_path / "a.sqlite"
    batch([root], archive, workers=1)
    before = contents(archive, tmp_path / "e1")
    assert batch([root], archive, workers=1).reused == 4
    os.utime(root / "r001.ncu-repz", ns=(1, 1))  # a new time, the same bytes
    again = batch([root], archive, workers=1)
    assert (again.analysed, again.reused) == (0, 4)
    shutil.copyfile(root / "r001.ncu-repz", root / "r000.ncu-repz")
    assert batch([root], archive, workers=1).analysed == 1
    assert contents(archive, tmp_path / "e2") != before


def test_changed_parameters_judge_again_without_reading(many: Make, tmp_path: Path) -> None:
    root, archive = many(3), tmp_path / "a.sqlite"
    batch([root], archive, workers=1)
    fresh = tmp_path / "fresh.sqlite"
    param = {"speed-of-light.high": "75 %"}
    result = batch([root], archive, workers=1, params=param)
    assert (result.rejudged, result.analysed) == (3, 0)
    batch([root], fresh, workers=1, params=param)
    assert contents(archive, tmp_path / "e1") == contents(fresh, tmp_path / "e2")


def test_tables_stored_by_another_version_are_read_again(many: Make, tmp_path: Path) -> None:
    root, archive = many(3), tmp_path / "a.sqlite"
    batch([root], archive, workers=1)
    with contextlib.closing(sqlite3.connect(archive)) as connection, connection:
        connection.execute("UPDATE stored_tables SET data = CAST(X'50525831' || substr(data, 5) AS BLOB)")
    param = {"speed-of-light.high": "75 %"}
    result = batch([root], archive, workers=1, params=param)
    assert (result.rejudged, result.analysed, result.reused) == (0, 3, 0)
    batch([root], tmp_path / "fresh.sqlite", workers=1, params=param)
    assert contents(archive, tmp_path / "e1") == contents(tmp_path / "fresh.sqlite", tmp_path / "e2")


def test_members_of_a_tar_are_reports(many: Make, tmp_path: Path) -> None:
    root = many(2)
    with tarfile.open(tmp_path / "all.tar", "w") as tar:
        tar.add(root, "in")
    result = batch([tmp_path / "all.tar"], tmp_path / "a.sqlite", workers=1)
    assert (result.analysed, result.trouble) == (2, [])


@pytest.mark.usefixtures("poisoned")
def test_poisoned_reports_are_set_aside_and_the_rest_goes_on(many: Make, tmp_path: Path) -> None:
    root = many(8, "crash", "hang", "deaf", "greedy")
    result = batch([root], tmp_path / "a.sqlite", workers=2, time_limit_s=2, memory_limit_bytes=1 << 30)
    assert (result.analysed, result.quarantined) == (4, 4)
    with Archive(tmp_path / "a.sqlite", readonly=True) as archive:
        rows = archive.query("SELECT uri, code FROM reports WHERE status = 'quarantined'").to_pylist()
    assert {Path(r["uri"]).stem: r["code"] for r in rows} == {
        "crash": "report-crash",
        "hang": "report-hang",
        "deaf": "report-hang",
        "greedy": "report-memory",
    }
    again = batch([root], tmp_path / "a.sqlite", workers=2, time_limit_s=2)
    assert again.reused == 8  # not tried again until something changes


def test_damaged_and_missing_inputs_are_one_line_each(many: Make, tmp_path: Path) -> None:
    root = many(2)
    (root / "cut.ncu-rep").write_bytes(b"NVR\0\xff\xff")
    result = batch([root, tmp_path / "absent"], tmp_path / "a.sqlite", workers=1)
    assert result.analysed == 2
    assert result.failed == 2
    assert len(result.trouble) == 2
    assert all(re.fullmatch(r"[^\n]+ \[[a-z-]+\] \([^\n]+\)", line) for line in result.trouble)


def _start(root: Path, archive: Path) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "profrx",
        "-q",
        "batch",
        str(root),
        "--archive",
        str(archive),
        "--workers",
        "2",
    ]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)


def _children(pid: int) -> list[int]:
    """Return the processes below `pid` (Linux)."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            if parent == pid:
                found.append(int(entry.name))
    return found


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds worker processes through /proc")
def test_killed_at_twenty_random_moments_the_archive_comes_out_equal(many: Make, tmp_path: Path) -> None:
    root = many(144)
    calm = tmp_path / "calm.sqlite"
    assert batch([root], calm, workers=2).analysed == 144
    expected = contents(calm, tmp_path / "calm")
    chance = random.Random(20)
    kills = in_flight = 0
    while kills < 20:
        archive = tmp_path / f"hurt{kills}.sqlite"
        for last in (False, False, False, True):  # three times the whole run, then one of its workers
            process = _start(root, archive)
            time.sleep(chance.uniform(0.7, 1.6))
            in_flight += process.poll() is None
            victims = _children(process.pid) if last else []
            with contextlib.suppress(ProcessLookupError):
                os.kill(victims[-1] if victims else process.pid, signal.SIGKILL)
            kills += 1
            process.wait(60)
        assert batch([root], archive, workers=2).quarantined == 0
        assert contents(archive, tmp_path / f"hurt{kills}") == expected
    assert in_flight >= 10  # otherwise nothing was interrupted


@pytest.mark.skipif(not hasattr(signal, "SIGTERM"), reason="no signals")
def test_sigterm_ends_cleanly_and_a_rerun_finishes(many: Make, tmp_path: Path) -> None:
    root, archive = many(144), tmp_path / "a.sqlite"
    journal = tmp_path / "a.sqlite-wal"
    process = _start(root, archive)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not (journal.exists() and journal.stat().st_size > 500_000):
        time.sleep(0.02)  # the journal is that long once some reports are stored
    process.terminate()
    assert process.wait(30) == 130
    result = batch([root], archive, workers=2)
    assert result.reused > 0
    assert result.reused + result.analysed == 144


def test_a_lower_limit_of_the_system_is_kept(many: Make, tmp_path: Path) -> None:
    """A batch system's hard limit cannot be raised: workers start all the same."""
    root, archive = many(1), tmp_path / "a.sqlite"
    code = (
        "import resource, sys; from profrx.cli import main; most = 6 << 30;"
        "resource.setrlimit(resource.RLIMIT_AS, (most, most));"
        f"sys.argv[1:] = ['batch', {str(root)!r}, '--archive', {str(archive)!r},"
        " '--workers', '1', '--memory-limit', '65536']; main()"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "1 analysed" in ran.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_a_named_fifo_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.ncu-rep")
    result = batch([tmp_path / "x.ncu-rep"], tmp_path / "a.sqlite", workers=1)
    assert result.failed == 1
    assert "[input-not-a-file]" in result.trouble[0]


@pytest.mark.skipif(sys.platform != "linux", reason="names of bytes that are no text")
def test_a_packed_report_in_a_folder_whose_name_is_no_utf8(fixtures: Path, tmp_path: Path) -> None:
    folder = os.path.join(os.fsencode(tmp_path), b"nam\xff")
    os.mkdir(folder)
    report = (fixtures / "ncu" / "aos-update" / "report.ncu-repz").read_bytes()
    with open(os.path.join(folder, b"x.ncu-repz"), "wb") as file:
        file.write(report)
    result = batch([os.fsdecode(folder)], tmp_path / "a.sqlite", workers=1)
    assert (result.analysed, result.failed, result.quarantined) == (1, 0, 0), result.trouble


def test_a_file_that_is_named_like_a_report_and_holds_none_is_told(
    many: Callable[..., Path], tmp_path: Path
) -> None:
    root = many(1)
    (root / "copied-half.ncu-rep").touch()
    (root / "ZEROS.NSYS-REP").write_bytes(bytes(4096))
    (root / "._r000.ncu-rep").write_bytes(bytes(100))
    (root / "empty.txt").touch()
    (root / "notes.md").write_text("notes", encoding="utf-8")
    result = batch([root], tmp_path / "a.sqlite", workers=1)
    assert (result.analysed, result.failed, result.ignored) == (1, 2, 3)
    with Archive(tmp_path / "a.sqlite", readonly=True) as store:
        rows = store.query("SELECT uri, code FROM reports WHERE status = 'failed' ORDER BY uri").to_pylist()
    assert [(Path(row["uri"]).name, row["code"]) for row in rows] == [
        ("ZEROS.NSYS-REP", "input-unknown-format"),
        ("copied-half.ncu-rep", "input-empty"),
    ]
