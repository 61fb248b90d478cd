"""Packed inputs that are cut: what was unpacked before the cut is read, and the loss is named."""

from __future__ import annotations

import io
import mmap
import random
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from profrx_parsers import source
from profrx_parsers.descriptor import HEAD_BYTES
from profrx_parsers.errors import InputError
from profrx_parsers.registry import open_report


def metrics(path: Path) -> dict[tuple[int, str], float | None]:
    table = open_report(path).table("metrics").select(["launch_id", "metric", "value"]).to_pylist()
    return {(row["launch_id"], row["metric"]): row["value"] for row in table}


def test_a_cut_packed_report_keeps_what_lies_before_the_cut(fixtures: Path, tmp_path: Path) -> None:
    whole = fixtures / "ncu" / "strided-load" / "report.ncu-repz"
    data = whole.read_bytes()
    cut = tmp_path / "cut.ncu-repz"
    cut.write_bytes(data[: len(data) * 3 // 4])
    found, true = metrics(cut), metrics(whole)
    assert len(found) > 100
    assert {key: repr(value) for key, value in found.items()}.items() <= {
        key: repr(value) for key, value in true.items()
    }.items()
    problems = open_report(cut).table("problems").to_pylist()
    assert ("data-loss", "packing-cut") in {(p["severity"], p["code"]) for p in problems}
    assert "packing-cut" not in open_report(whole).table("problems").column("code").to_pylist()


def test_damage_behind_the_packed_data_costs_nothing(fixtures: Path, tmp_path: Path) -> None:
    whole = fixtures / "ncu" / "style-basic" / "report.ncu-repz"
    data, true = whole.read_bytes(), open_report(whole).table("metrics")
    for altered in (
        data[:-1],
        data + b"garbage",
        data + bytes(7),
    ):  # -1: of the checksum behind the last block
        path = tmp_path / "altered.ncu-repz"
        path.write_bytes(altered)
        report = open_report(path)
        assert report.table("metrics").equals(true)
        assert "packing-cut" in report.table("problems").column("code").to_pylist()


@pytest.mark.parametrize("packing", ["zstd", "gzip"])
@pytest.mark.parametrize("first", [100, 5000, 70_000, 200_001])
def test_what_lies_before_damage_is_unpacked_to_the_byte(first: int, packing: str, tmp_path: Path) -> None:
    content = random.Random(first).randbytes(300_000)
    packed = tmp_path / "packed"
    pieces = [pa.compress(part, codec=packing, asbytes=True) for part in (content[:first], content[first:])]
    packed.write_bytes(pieces[0] + pieces[1][:6])
    opened, head = source.open_source(packed)
    assert head.data == content[: min(first, HEAD_BYTES)]
    found = bytes(opened.data())
    assert found[:first] == content[:first]
    assert content.startswith(found)
    assert len(opened.damage) == 1


@pytest.mark.parametrize("packing", ["zstd", "gzip"])
def test_a_cut_before_anything_is_unpacked_is_an_error(packing: str, tmp_path: Path) -> None:
    target = tmp_path / "cut.ncu-repz"
    target.write_bytes(pa.compress(bytes(range(256)) * 4096, codec=packing, asbytes=True)[:12])
    with pytest.raises(InputError):
        open_report(target)


def unpacked(tmp_path: Path, content: bytes) -> memoryview:
    packed = tmp_path / "packed"
    packed.write_bytes(pa.compress(content, codec="zstd", asbytes=True))
    return source.open_source(packed)[0].data()


CONTENT = bytes(range(256)) * 4096 + b"the end"


def test_what_unpacks_to_much_is_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not isinstance(unpacked(tmp_path, CONTENT).obj, mmap.mmap)
    monkeypatch.setattr(source, "SPILL_BYTES", 100_000)
    found = unpacked(tmp_path, CONTENT)
    assert isinstance(found.obj, mmap.mmap)
    assert bytes(found) == CONTENT


@pytest.mark.parametrize("room", [0, 50_000, 100_000, 500_000, len(CONTENT) - 1])
def test_without_room_on_disk_it_stays_in_memory(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.FileIO):
        def write(self, piece: Any) -> int:
            left = room - self.tell()
            if left <= 0:
                raise OSError(28, "No space left on device")
            return super().write(memoryview(piece)[:left])

    monkeypatch.setattr(source, "SPILL_BYTES", 100_000)
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full(tmp_path / "spilled", "w+b"))
    found = unpacked(tmp_path, CONTENT)
    assert not isinstance(found.obj, mmap.mmap)
    assert bytes(found) == CONTENT


def test_without_a_folder_for_files_it_stays_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> Any:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(source, "SPILL_BYTES", 100_000)
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert bytes(unpacked(tmp_path, CONTENT)) == CONTENT


def test_an_empty_path_is_told_as_one() -> None:
    with pytest.raises(InputError) as caught:
        source.open_source("")
    assert (caught.value.code, caught.value.where) == ("input-missing", "''")
    assert "empty" in caught.value.message


def test_an_archive_of_files_leads_to_batch(tmp_path: Path) -> None:
    path = tmp_path / "reports.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("a.ncu-rep", b"NVR\0")
    with pytest.raises(InputError) as caught:
        open_report(path)
    assert caught.value.code == "input-unknown-format"
    assert "profrx batch" in caught.value.next_step
