"""Healthy captures: a little set-up at the start is a note, never the thing to fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from profrx.diagnose import diagnose
from profrx.report.page import page


@pytest.mark.parametrize("case", ["healthy", "healthy-training"])
def test_set_up_is_not_the_top_fix(fixtures: Path, case: str) -> None:
    (report,) = diagnose([fixtures / f"nsys/{case}/report.nsys-rep"]).reports
    assert "cold-start" not in {found.rule for found in report.findings}
    notes = [found for found in report.findings if found.rule == "set-up-included"]
    assert all(found.severity == "info" and found.saving is None for found in notes)
    top = page(report).top
    assert top is None or "set-up" not in top.title


def test_a_capture_of_set_up_is_called_that(fixtures: Path) -> None:
    (report,) = diagnose([fixtures / "nsys/cold-start/report.nsys-rep"]).reports
    assert report.findings[0].rule == "cold-start"
    assert report.findings[0].severity == "high"


def test_an_export_without_ends_names_the_loss_and_knows_no_busy_share(
    fixtures: Path, tmp_path: Path
) -> None:
    import sqlite3
    from contextlib import closing

    import pyarrow as pa

    packed = pa.OSFile(str(fixtures / "nsys/gpu-idle/export.sqlite.zst"))
    path = tmp_path / "no-end.sqlite"
    path.write_bytes(pa.CompressedInputStream(packed, "zstd").read())
    with closing(sqlite3.connect(path)) as database:
        database.execute('ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN "end" TO "finish"')
    (report,) = diagnose([path]).reports
    lost = [problem for problem in report.problems if problem.code == "nsys-missing-column"]
    assert [problem.severity for problem in lost] == ["data-loss"]
    assert "CUPTI_ACTIVITY_KIND_KERNEL has no column end" in lost[0].message
    assert report.summary.busy == "unknown"
    assert "busy" not in page(report).lede
    assert not [found for found in report.findings if found.saving is not None]
