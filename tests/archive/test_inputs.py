"""Walking: folders, links, tar, zip, hostile names."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from profrx.archive.inputs import Item, Trouble, fetch, walk
from profrx_parsers.errors import InputError


def items(*roots: Path) -> list[Item]:
    return [i for i in walk([str(r) for r in roots]) if isinstance(i, Item)]


def troubles(*roots: Path) -> list[InputError]:
    return [i.error for i in walk([str(r) for r in roots]) if isinstance(i, Trouble)]


def add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


def test_folder_is_walked_in_stable_order(tmp_path: Path) -> None:
    for name in ("b/2", "a/1", "c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    assert [Path(i.uri).relative_to(tmp_path).as_posix() for i in items(tmp_path)] == ["c", "a/1", "b/2"]


def test_link_loop_ends_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_bytes(b"x")
    (tmp_path / "a" / "back").symlink_to(tmp_path, target_is_directory=True)
    assert len(items(tmp_path)) == 1
    assert [e.code for e in troubles(tmp_path)] == ["input-visited"]


def test_dangling_link_and_missing_root(tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    assert [e.code for e in troubles(tmp_path, tmp_path / "absent")] == ["input-missing", "input-missing"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_folder(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    assert [e.code for e in troubles(tmp_path)] == ["input-permission"]


def test_tar_members_are_items_and_escapes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "all.tar"
    with tarfile.open(path, "w") as tar:
        add(tar, "good/report", b"hello")
        add(tar, "../evil", b"x")
        add(tar, "/abs", b"x")
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    (found,) = items(tmp_path)
    assert found.uri == f"{path}!good/report"
    assert [e.code for e in troubles(tmp_path)] == ["input-unsafe-name"] * 2
    with fetch(found) as local:
        assert local.read_bytes() == b"hello"
        assert local.name == "report"
    assert not local.exists()


def test_zip_members(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("in/r.csv", "a,b")
        archive.writestr("../../evil", "x")
    (found,) = items(tmp_path)
    with fetch(found) as local:
        assert local.read_text() == "a,b"
    assert [e.code for e in troubles(tmp_path)] == ["input-unsafe-name"]


@pytest.mark.parametrize("suffix", ["tar.gz", "zip"])
def test_damaged_archives_are_one_line(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x.{suffix}"
    path.write_bytes((b"PK\x03\x04" if suffix == "zip" else b"\x1f\x8b") + b"\0" * 600)
    assert [e.code for e in troubles(path)] == ["input-damaged-archive"]


def test_file_that_vanishes_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("r", "a")
    (found,) = items(path)
    path.unlink()
    with pytest.raises(InputError) as caught, fetch(found):
        pass
    assert caught.value.code == "input-unreadable"


def test_same_root_twice_is_walked_once(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    assert len(items(tmp_path, tmp_path)) == 1


def test_inputs_that_cannot_be_used_are_counted_among_the_inputs(tmp_path: Path) -> None:
    from profrx.archive import batch
    from profrx.archive.progress import Log

    told = io.StringIO()
    batch([tmp_path / "absent", tmp_path / "gone"], tmp_path / "a.sqlite", progress=Log(told))
    assert told.getvalue().splitlines()[-1].startswith("2 of 2 inputs")
