"""Object stores, proven with an S3 endpoint on the loopback interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from profrx.archive import Archive, batch
from profrx.archive.inputs import Item, walk

Make = Callable[..., Path]


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch, small_reports: list[Path]) -> Iterator[str]:
    """Serve a bucket with three reports and a text; yields its URL."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    from object_store import serve

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    objects = {f"runs/day{n}/report.ncu-repz": r.read_bytes() for n, r in enumerate(small_reports)}
    with serve("lab", {**objects, "runs/notes.txt": b"no report"}) as place:
        yield f"s3://lab/runs?endpoint_override={quote(place, safe='')}&scheme=http&region=us-east-1"


def test_a_bucket_is_walked_and_analysed(s3: str, small_reports: list[Path], tmp_path: Path) -> None:
    found = [i for i in walk([s3]) if isinstance(i, Item)]
    assert found[0].uri == "s3://lab/runs/day0/report.ncu-repz"
    result = batch([s3], tmp_path / "a.sqlite", workers=1)
    assert (result.analysed, result.ignored, result.failed) == (len(small_reports), 1, 0)
    assert batch([s3], tmp_path / "a.sqlite", workers=1).reused == len(small_reports)
    local = tmp_path / "b.sqlite"
    batch([small_reports[0]], local, workers=1)
    with Archive(tmp_path / "a.sqlite", readonly=True) as far, Archive(local, readonly=True) as near:
        ask = "SELECT k.kernel, k.launches, k.duration_ns FROM kernels k JOIN reports r USING (report_id) WHERE r.sha256 = ? ORDER BY kernel_row"
        digest = near.query("SELECT sha256 FROM reports").column(0)[0].as_py()
        assert far.query(ask, (digest,)) == near.query(ask, (digest,))


def test_credentials_in_the_url_never_reach_the_archive(s3: str, tmp_path: Path) -> None:
    secret = s3.replace("s3://", "s3://testing:hunter2@")
    batch([secret], tmp_path / "a.sqlite", workers=1)
    assert b"hunter2" not in (tmp_path / "a.sqlite").read_bytes()


def test_an_unreachable_store_is_one_clear_line(tmp_path: Path) -> None:
    result = batch(
        [
            "s3://lab/x?endpoint_override=127.0.0.1%3A1&scheme=http&region=us-east-1&retry_attempts=1&access_key=a&secret_key=b",
            "foo://bar",
        ],
        tmp_path / "a.sqlite",
        workers=1,
    )
    assert result.failed == 2
    assert all("\n" not in line for line in result.trouble)
