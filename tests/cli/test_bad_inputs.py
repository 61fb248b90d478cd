"""Bad input: one clear line with a code and a next step, exit code 3, and the other inputs are still analysed."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

if TYPE_CHECKING:
    from conftest import Run

LINE = re.compile(r"^error: .+ \[[a-z][a-z0-9-]+\] \(.+\)$")


def zstd(data: bytes) -> bytes:
    return pa.compress(data, codec="zstd", asbytes=True)


def make(kind: str, folder: Path, good: Path) -> Path:
    path = folder / f"{kind}.ncu-rep"
    if kind == "missing":
        return path
    if kind == "folder":
        path.mkdir()
        (path / "readme.txt").write_text("no report")
        return path
    plain = pa.CompressedInputStream(pa.OSFile(str(good), "rb"), "zstd").read()
    content = {
        "empty": b"",
        "text": b"this is no report\n" * 10,
        "wrong-magic": b"XYZ\x00" + plain[4:],
        "cut-in-header": plain[:6],
        "zstd-bomb": zstd(b"NVR\x00" + bytes(200 << 20)),
        "cut-zstd": good.read_bytes()[:2000],
        "no-permission": plain[:4000],
        "html": b"<!doctype html><html><body>404</body></html>",
    }[kind]
    path.write_bytes(content)
    if kind == "no-permission":
        path.chmod(0)
    return path


KINDS = [
    "missing", "folder", "empty", "text", "wrong-magic", "cut-in-header", "zstd-bomb", "cut-zstd", "no-permission", "html",
]  # fmt: skip


def skip_if_root(kind: str) -> None:
    if kind == "no-permission" and (sys.platform == "win32" or os.geteuid() == 0):
        pytest.skip("permissions do not bind this user")


@pytest.mark.parametrize("kind", KINDS)
def test_diagnose_tells_one_line_and_goes_on(profrx: Run, tmp_path: Path, report: Path, kind: str) -> None:
    skip_if_root(kind)
    bad = make(kind, tmp_path, report)
    ran = profrx("diagnose", bad, report, "--format", "md")
    assert ran.code == 3
    lines = ran.err.strip().splitlines()
    assert len(lines) == 1, ran.err
    assert LINE.match(lines[0]), lines[0]
    assert str(bad) in lines[0]
    assert "gather_strided" in ran.out


@pytest.mark.parametrize(
    "verb", [["inspect"], ["tables", "--table", "launches"], ["tables"]], ids=lambda v: "-".join(v)
)
@pytest.mark.parametrize("kind", ["empty", "text", "cut-zstd", "folder", "missing"])
def test_other_verbs_tell_one_line(
    profrx: Run, tmp_path: Path, report: Path, kind: str, verb: list[str]
) -> None:
    bad = make(kind, tmp_path, report)
    ran = profrx(*verb, bad)
    assert ran.code == 3
    assert ran.out == ""
    assert [bool(LINE.match(line)) for line in ran.err.strip().splitlines()] == [True]


def test_inspect_goes_on_after_a_bad_input(profrx: Run, tmp_path: Path, report: Path) -> None:
    ran = profrx("inspect", "--no-rules", make("empty", tmp_path, report), report)
    assert ran.code == 3
    assert "NVIDIA H200" in ran.out


def test_a_truncated_report_is_read_as_far_as_it_goes(profrx: Run, tmp_path: Path, report: Path) -> None:
    plain = pa.CompressedInputStream(pa.OSFile(str(report), "rb"), "zstd").read()
    cut = tmp_path / "cut.ncu-rep"
    cut.write_bytes(plain[:-50])
    ran = profrx("diagnose", cut, "--format", "md")
    assert ran.code == 0
    assert "gather_strided" in ran.out
    assert "ncu-trunc" in ran.out or "ncu-damaged" in ran.out or "ncu-trailing" in ran.out


def test_a_failed_run_leaves_no_file(profrx: Run, tmp_path: Path, report: Path) -> None:
    out = tmp_path / "out.md"
    ran = profrx("diagnose", make("empty", tmp_path, report), "-o", out)
    assert ran.code == 3
    assert not out.exists()


def test_names_of_inputs_cannot_steer_the_terminal(profrx: Run, tmp_path: Path) -> None:
    ran = profrx("inspect", tmp_path / "a\x1b[31mred\nline")
    assert ran.code == 3
    assert "\x1b" not in ran.err
    assert len(ran.err.strip().splitlines()) == 1


@pytest.mark.parametrize("verb", ["diagnose", "explain", "inspect"])
def test_a_defect_met_on_one_input_costs_the_others_nothing(
    verb: str, profrx: Run, tmp_path: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from profrx_parsers.ncu import rep

    bad = tmp_path / "bad.ncu-repz"
    bad.write_bytes(report.read_bytes())
    sound = rep.read

    def broken(source: Any, *rest: Any) -> Any:
        if "bad" in source.name:
            raise ZeroDivisionError("planted")
        return sound(source, *rest)

    monkeypatch.setattr(rep, "read", broken)
    monkeypatch.delenv("PROFRX_TRACEBACK", raising=False)
    ran = profrx(verb, bad, report)
    assert ran.code == 3
    assert "ZeroDivisionError: planted [internal-defect]" in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert "gather_strided" in ran.out or "NVIDIA H200" in ran.out
    monkeypatch.setenv("PROFRX_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        profrx(verb, bad, report)


def test_an_unknown_file_is_told_in_a_short_line(profrx: Run, tmp_path: Path) -> None:
    named, other = tmp_path / "x.ncu-rep", tmp_path / "x.xyz"
    named.write_text("nothing")
    other.write_text("nothing")
    ran = profrx("inspect", named, other)
    first, second = ran.err.strip().splitlines()
    assert "named like: Nsight Compute report" in first
    assert ".nsys-rep" in second
    assert max(len(first), len(second)) < len(str(tmp_path)) + 400


def test_an_input_without_permission_costs_the_others_nothing(
    profrx: Run, tmp_path: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Permission is asked of the file when it is opened, not of the call: root may open everything."""
    locked = tmp_path / "locked.ncu-rep"
    locked.write_bytes(b"NVR\x00")
    sound, may = open, os.access

    def refuse(path: Any, *rest: Any, **more: Any) -> Any:
        if path == str(locked):
            raise PermissionError(13, "Permission denied", str(path))
        return sound(path, *rest, **more)

    monkeypatch.setattr(os, "access", lambda path, *rest: path != str(locked) and may(path, *rest))
    monkeypatch.setattr("builtins.open", refuse)
    ran = profrx("diagnose", locked, report)
    assert ran.code == 3
    assert "[input-permission]" in ran.err
    assert "gather_strided" in ran.out


def test_a_pack_that_cannot_be_read_is_named(
    profrx: Run, tmp_path: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = tmp_path / "p.rule"
    pack.write_text("# nothing", encoding="utf-8")
    sound = Path.open

    def refuse(path: Path, *rest: Any, **more: Any) -> Any:
        if path == pack:
            raise PermissionError(13, "Permission denied", str(path))
        return sound(path, *rest, **more)

    monkeypatch.setattr(Path, "open", refuse)
    ran = profrx("diagnose", report, "--pack", pack)
    assert ran.code == 2
    assert f"{pack} cannot be read: Permission denied [pack-unreadable]" in ran.err
