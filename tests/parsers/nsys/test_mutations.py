"""A thousand damaged reports: an error with a next step, a problem, or a report; never anything else."""

from __future__ import annotations

import random
import resource
from pathlib import Path

import pytest

from profrx_parsers.errors import InputError
from profrx_parsers.registry import open_report
from profrx_parsers.schema import TABLES

from .conftest import ROOT

REPORT = ROOT / "fixtures/nsys/pageable-copies/report.nsys-rep"
READ = ("devices", "launches", "copies", "syncs", "memory_events")
"""Launches and copies need calls, ranges and strings."""


def outcome(path: Path) -> str:
    """Read everything; return the code of the error or of the worst problem, or ``whole``."""
    refused = None
    try:
        report = open_report(path)
        for name in READ:
            assert report.compact(name).column_names == TABLES[name].names
    except InputError as err:
        refused = err
    if refused is not None:
        assert refused.where
        assert refused.next_step
        return refused.code
    lost = [p for p in report.problems if p.severity in ("data-loss", "error", "warning")]
    assert len(lost) <= 6, "one damage, a handful of problems at most"
    return lost[0].code if lost else "whole"


@pytest.mark.parametrize("mutations", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_flipped_bits(mutations: int, tmp_path: Path) -> None:
    data, rng = REPORT.read_bytes(), random.Random(2026)
    path = tmp_path / "flipped.nsys-rep"
    seen: dict[str, int] = {}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(mutations):
        copy = bytearray(data)
        copy[rng.randrange(len(copy))] ^= 1 << rng.randrange(8)
        path.write_bytes(copy)
        code = outcome(path)
        seen[code] = seen.get(code, 0) + 1
    assert sum(seen.values()) == mutations
    assert len(seen) > 2, seen
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 << 10


@pytest.mark.parametrize("share", [0.0005, 0.01, 0.1])
def test_files_cut_before_the_events_are_refused_with_the_reason(share: float, tmp_path: Path) -> None:
    data = REPORT.read_bytes()
    path = tmp_path / "cut.nsys-rep"
    path.write_bytes(data[: max(40, int(len(data) * share))])
    assert outcome(path) == "nsys-unreadable"


@pytest.mark.parametrize("share", [0.5, 0.9, 0.999, 0.99999])
def test_files_cut_behind_the_first_events_are_read(share: float, tmp_path: Path) -> None:
    data = REPORT.read_bytes()
    path = tmp_path / "cut.nsys-rep"
    path.write_bytes(data[: int(len(data) * share)])
    assert outcome(path) == "nsys-no-index"


def damaged_block(data: bytes, at: int, content: bytes) -> bytes:
    return data[:at] + content + data[at + len(content) :]


@pytest.mark.parametrize(
    "sizes",
    [b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\xff\xff\xff\xff\x0f", b"\x7f\xff\xff\xff\xff\x0f"],
    ids=["64-bit size", "4 GiB size", "small block that claims 4 GiB"],
)
def test_oversized_blocks_are_not_allocated(sizes: bytes, tmp_path: Path) -> None:
    from profrx_parsers.nsys.container import open_container
    from profrx_parsers.problems import ProblemLog

    data = REPORT.read_bytes()
    first = open_container(memoryview(data), "x", ProblemLog())._first_block
    path = tmp_path / "large.nsys-rep"
    path.write_bytes(damaged_block(data, first, sizes))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert outcome(path) == "nsys-damaged-block"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


def test_a_section_table_that_points_outside_is_done_without(tmp_path: Path) -> None:
    data = REPORT.read_bytes()
    path = tmp_path / "outside.nsys-rep"
    path.write_bytes(data[:-16] + (1 << 60).to_bytes(8, "little") + data[-8:])
    assert outcome(path) == "nsys-no-index"


def test_another_compression_says_how_to_export(tmp_path: Path) -> None:
    data = REPORT.read_bytes()
    at = data.rindex(b"\x0a\x03lz4\x10")
    path = tmp_path / "zstd.nsys-rep"
    path.write_bytes(damaged_block(data, at + 2, b"xyz"))
    assert outcome(path) == "nsys-compression"


def test_damage_in_an_export_keeps_what_was_read(tmp_path: Path) -> None:
    import pyarrow as pa

    packed = pa.OSFile(str(ROOT / "fixtures/nsys/host-sync/export.sqlite.zst"))
    data = bytearray(pa.CompressedInputStream(packed, "zstd").read())
    rng = random.Random(7)
    path = tmp_path / "damaged.sqlite"
    for _ in range(60):
        copy = bytearray(data)
        for _ in range(20):
            copy[rng.randrange(100, len(copy))] ^= 0xFF
        path.write_bytes(copy if rng.random() < 0.7 else copy[: rng.randrange(5000, len(copy))])
        outcome(path)
