"""Damaged reports: what can be read equals the undamaged report, what cannot is a row in `problems`, nothing raises."""

from __future__ import annotations

import math
import random
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from profrx_parsers.errors import InputError
from profrx_parsers.ncu import _devices, _names
from profrx_parsers.registry import open_report

Write = Callable[..., Path]
Values = dict[tuple[int, str], tuple[str, str | None]]


def values(report: Any) -> Values:
    table = report.table("metrics")
    columns = (table.column(name).to_pylist() for name in ("launch_id", "metric", "value", "text"))
    return {
        (launch, metric): (repr(value), text) for launch, metric, value, text in zip(*columns, strict=True)
    }


def everything(report: Any) -> Values:
    for name in ("launches", "devices", "instances", "source_lines", "vendor_findings"):
        report.table(name)
    len(report.extras["section_options"])
    return values(report)


def serious(report: Any) -> set[str]:
    return {row["code"] for row in report.table("problems").to_pylist() if row["severity"] != "info"}


@pytest.fixture
def good(simple_report: Any, write: Write) -> tuple[bytes, Values, list[int]]:
    one = simple_report(4)
    data = bytes(one)
    report = open_report(write(data, "good.ncu-rep"))
    return data, everything(report), one.offsets


def test_every_cut(good: tuple[bytes, Values, list[int]], write: Write) -> None:
    """Cut at every byte: whole results keep all values, and whatever is missing is announced."""
    data, whole, offsets = good
    for size in range(len(data) - 1, 0, -1):
        path = write(data[:size])
        try:
            report = open_report(path)
        except InputError:
            assert size < 14
            continue
        found = everything(report)
        assert all(whole[key] == value for key, value in found.items() if key in whole), size
        if size not in offsets:
            assert serious(report), size
        complete = sum(1 for index in range(4) if offsets[index + 2] <= size)
        for launch in range(complete):
            assert {key for key in whole if key[0] == launch} == {key for key in found if key[0] == launch}


def test_every_bit(simple_report: Any, write: Write) -> None:
    """One flipped bit: at most one value differs, and values only go missing with a word about it."""
    one = simple_report(2)
    data = bytes(one)
    whole = everything(open_report(write(data, "good.ncu-rep")))
    rng = random.Random(7)
    cases = [(at, rng.randrange(8)) for at in range(len(data))]
    for at, bit in cases:
        broken = bytearray(data)
        broken[at] ^= 1 << bit
        try:
            report = open_report(write(bytes(broken)))
        except InputError:
            assert at < 14
            continue
        found = everything(report)
        changed = [key for key in whole if key in found and found[key] != whole[key]]
        missing = [key for key in whole if key not in found]
        renamed = [key for key in found if key not in whole]
        assert len(changed) <= 1, (at, bit)
        codes = {row["code"] for row in report.table("problems").to_pylist()}
        # A changed name, name id or field number cannot be noticed: that one value moves to another place.
        assert len(missing) <= 1 or codes or len(missing) == len(renamed), (at, bit)


def test_seeded_flips_in_a_real_report(fixtures: Path, write: Write) -> None:
    paths = sorted(fixtures.glob("ncu/*/report.ncu-repz"), key=lambda path: path.stat().st_size)
    if not paths:
        pytest.skip("no captured report")
    with pa.CompressedInputStream(pa.OSFile(str(paths[0])), "zstd") as stream:
        data = bytes(stream.read())
    whole = everything(open_report(write(data, "good.ncu-rep")))
    rng = random.Random(11)
    for _ in range(120):
        broken = bytearray(data)
        at = rng.randrange(14, len(data))
        broken[at] ^= 1 << rng.randrange(8)
        report = open_report(write(bytes(broken)))
        found = everything(report)
        assert sum(found[key] != whole[key] for key in whole if key in found) <= 1, at
        missing = len(whole.keys() - found.keys())
        assert missing <= 1 or serious(report) or missing == len(found.keys() - whole.keys()), at


def edited(data: bytes, at: int, value: int) -> bytes:
    return data[:at] + struct.pack("<I", value) + data[at + 4 :]


def test_item_length_beyond_the_file(good: tuple[bytes, Values, list[int]], write: Write) -> None:
    """The vendor's own reader aborts here; the payload size of the block tells the true length."""
    data, whole, offsets = good
    block = offsets[3]
    item = block + 4 + int.from_bytes(data[block : block + 4], "little")
    for wrong in (0xFFFFFFF0, 0x7FFFFFFF, 3, 0):
        report = open_report(write(edited(data, item, wrong)))
        assert everything(report) == whole, wrong
        assert "ncu-damaged-length" in serious(report)
        (row,) = [r for r in report.table("problems").to_pylist() if r["code"] == "ncu-damaged-length"]
        assert row["where"].startswith("byte ")
        assert row["advice"]


def test_block_length_beyond_the_file(good: tuple[bytes, Values, list[int]], write: Write) -> None:
    data, whole, offsets = good
    report = open_report(write(edited(data, offsets[3], 0x7FFFFFFF)))
    assert everything(report) == whole
    assert "ncu-damaged-block" in serious(report)


def test_payload_size_wrong(good: tuple[bytes, Values, list[int]], write: Write) -> None:
    data, whole, offsets = good
    block = data[offsets[3] : offsets[4]]
    header = block[4 : 4 + int.from_bytes(block[:4], "little")]
    payload = len(block) - 4 - len(header)
    at = header.rfind(b"\x28")
    assert payload < 1 << 14
    for wrong in (payload - 90, payload + 60):
        new = header[: at + 1] + bytes((wrong & 0x7F | 0x80, wrong >> 7)) + header[at + 3 :]
        broken = data[: offsets[3] + 4] + new + data[offsets[3] + 4 + len(header) :]
        report = open_report(write(broken))
        assert everything(report) == whole
        assert "ncu-damaged-length" in serious(report)


def test_lost_names_never_move_to_other_metrics(simple_report: Any, write: Write) -> None:
    """A block with strings is destroyed: later strings could only be misnumbered, so they are not used."""
    one = simple_report(1)
    extra = one.kernel("late(int)", {"late__a": 1.0, "late__b": 2.0})
    one.blocks.insert(1, b"")
    one.block(kernels=[extra], names=["late__a", "late__b"])
    one.blocks[1] = b"\xff" * 40
    report = open_report(write(bytes(one)))
    assert not {key for key in values(report) if key[1].startswith("late")}
    assert {"ncu-damaged-block", "ncu-lost-names"} <= serious(report)


@pytest.mark.parametrize("tail", [b"\0" * 64, b"\0" * 3])
def test_zeros_behind_are_padding(tail: bytes, good: tuple[bytes, Values, list[int]], write: Write) -> None:
    data, whole, _ = good
    report = open_report(write(data + tail))
    assert everything(report) == whole
    assert {row["code"] for row in report.table("problems").to_pylist()} <= {"ncu-padding"} | (
        {"ncu-trailing-bytes"} if len(tail) < 4 else set()
    )


@pytest.mark.parametrize("tail", [b"\xff" * 64, b"\x01", b"hello world, this is no block"])
def test_garbage_behind(tail: bytes, good: tuple[bytes, Values, list[int]], write: Write) -> None:
    data, whole, _ = good
    report = open_report(write(data + tail))
    assert everything(report) == whole
    assert serious(report)


def test_second_report_appended(good: tuple[bytes, Values, list[int]], write: Write) -> None:
    data, whole, offsets = good
    report = open_report(write(data + data))
    assert everything(report) == whole
    assert serious(report) == {"ncu-second-report"}
    (row,) = [r for r in report.table("problems").to_pylist() if r["code"] == "ncu-second-report"]
    assert row["where"] == f"byte {len(data)}"
    both = open_report(write(data + data[offsets[0] :], "both.ncu-rep"))
    assert both.table("launches").num_rows == 8


@pytest.mark.parametrize("version", [1, 6, 8, 100])
def test_other_versions_are_read_with_a_warning(version: int, simple_report: Any, write: Write) -> None:
    one = simple_report(1)
    one.version = version
    report = open_report(write(bytes(one)))
    assert len(values(report)) == 7
    assert serious(report) == {"ncu-unknown-version"}


def test_header_only(write: Write) -> None:
    report = open_report(write(b"NVR\0\x02\0\0\0\x08\x07"))
    assert report.table("launches").num_rows == 0
    assert serious(report) == {"ncu-no-blocks", "ncu-no-results"}


@pytest.mark.parametrize("data", [b"NVR\0", b"NVR\0\x02\0\0", b"NVR\0\xff\xff\xff\x7f\x08\x07"])
def test_unreadable_container(data: bytes, write: Write) -> None:
    with pytest.raises(InputError) as caught:
        open_report(write(data))
    assert caught.value.code in {"ncu-not-a-report", "ncu-header-damaged"}
    assert caught.value.next_step


def test_counts_are_not_trusted(build: Any, write: Write, encode: dict[str, Callable[..., bytes]]) -> None:
    number = encode["number"]
    header = number(1, 0) + number(2, 4_000_000_000) + number(5, 8)
    start = b"NVR\0\x02\0\0\0\x08\x07"
    report = open_report(write(start + struct.pack("<I", len(header)) + header + b"\x02\0\0\0\x08\x01\0\0"))
    assert report.table("launches").num_rows <= 2
    assert "ncu-missing-items" in serious(report)


@pytest.mark.parametrize("value", [2.5, "short", "x" * 200])
@pytest.mark.parametrize("damage", [b"\x1a\x7f\x08", b"\x1b", b"\xff\xff", b"\x29\x00"])
def test_damage_behind_the_first_instance_leaves_the_value(
    value: float | str, damage: bytes, build: Any, write: Write, encode: dict[str, Callable[..., bytes]]
) -> None:
    one = build()
    entry = one.metric("x__m", value, [(1, 7)], category=False) + damage
    one.block(kernels=[one.kernel("a(int)", {}, extra=encode["blob"](13, entry))], names=one.names)
    report = open_report(write(bytes(one)))
    text = isinstance(value, str)
    assert values(report) == {(0, "x__m"): ("None" if text else "2.5", value if text else None)}
    assert report.table("instances").column("value").to_pylist()[:1] == [7]
    assert "ncu-damaged-instances" in serious(report)


@pytest.mark.parametrize("value", [2.5, "short", "x" * 200])
def test_a_damaged_category_leaves_the_value(
    value: float | str, build: Any, write: Write, encode: dict[str, Callable[..., bytes]]
) -> None:
    one = build()
    entry = one.metric("x__m", value)[:-1] + b"\xff"
    one.block(kernels=[one.kernel("a(int)", {}, extra=encode["blob"](13, entry))], names=one.names)
    text = isinstance(value, str)
    expected = ("None" if text else "2.5", value if text else None)
    assert values(open_report(write(bytes(one)))) == {(0, "x__m"): expected}


def test_a_damaged_value_that_looks_like_an_instance(
    build: Any, write: Write, encode: dict[str, Callable[..., bytes]]
) -> None:
    one = build()
    entry = bytearray(one.metric("x__m", 2.5))
    entry[2] = 0x1A  # was the tag of the value
    damaged = bytes(entry) + b"\xff\xff"
    one.block(kernels=[one.kernel("a(int)", {"x__n": 1}, extra=encode["blob"](13, damaged))], names=one.names)
    report = open_report(write(bytes(one)))
    assert everything(report)[0, "x__n"] == ("1.0", None)
    assert values(report).get((0, "x__m"), ("None", None)) == ("None", None)
    assert serious(report) & {"ncu-damaged-metric", "ncu-damaged-instances"}


@pytest.mark.parametrize(
    "value", [(1 << 64) - 1, 1 << 62, 1 << 40, 0, -5.0, 1e300, math.inf, math.nan, "text", None]
)
def test_device_facts_that_cannot_be(value: float | str | None, build: Any, write: Write) -> None:
    one = build()
    sound: dict[str, Any] = {"device__attribute_device_index": 0, "device__attribute_warp_size": 32}
    facts = dict.fromkeys(sorted(_devices.STRUCTURAL), value) | sound
    one.block(kernels=[one.kernel("a(int)", facts)], names=one.names)
    (row,) = open_report(write(bytes(one))).table("devices").to_pylist()
    assert row["device_id"] == 0
    for name in ("max_waves_per_unit", "compute_units", "core_clock_hz", "memory_clock_hz"):
        assert row[name] is None or row[name] >= 0
    assert row["arch"] in {None, "sm_00"}


def test_huge_string_table(build: Any, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_names, "MAX_STRINGS", 1000)
    one = build()
    one.block(
        kernels=[one.kernel("a(int)", {"x__m": 1})], names=[*one.names, *(f"n{i}" for i in range(5000))]
    )
    report = open_report(write(bytes(one)))
    assert values(report) == {(0, "x__m"): ("1.0", None)}
    assert "ncu-too-many-names" in serious(report)


def test_packed_bomb(write: Write) -> None:
    data = b"NVR\0\x02\0\0\0\x08\x07" + b"\0" * (300 << 20)
    with pytest.raises(InputError) as caught:
        open_report(write(pa.Codec("zstd").compress(data, asbytes=True), "bomb.ncu-repz"))
    assert caught.value.code == "input-bomb"


def test_cut_packed_report(simple_report: Any, write: Write) -> None:
    packed = pa.Codec("zstd").compress(bytes(simple_report(3)), asbytes=True)
    for size in (8, len(packed) // 2, len(packed) - 1):
        with pytest.raises(InputError):
            open_report(write(packed[:size], "cut.ncu-repz"))


def nonsense(rng: random.Random) -> Iterator[bytes]:
    for _ in range(60):
        yield b"NVR\0\x02\0\0\0\x08\x07" + rng.randbytes(rng.randrange(1, 400))


def test_random_bytes_behind_a_header(write: Write) -> None:
    for data in nonsense(random.Random(3)):
        report = open_report(write(data))
        everything(report)
        assert serious(report)


def test_every_problem_code_is_documented() -> None:
    root = Path(__file__).resolve().parents[3]
    source = "".join(path.read_text() for path in (root / "parsers" / "profrx_parsers" / "ncu").glob("*.py"))
    used = set(re.findall(r'"((?:ncu|nvprof)-[a-z0-9-]+)"', source)) - {
        "ncu-rep",
        "ncu-csv",
        "ncu-log",
        "nvprof-csv",
    }
    told = (root / "docs" / "ncu-reader.md").read_text() + (root / "docs" / "errors.md").read_text()
    assert {code for code in used if f"`{code}`" not in told and f"### {code}" not in told} == set()
    documented = set(
        re.findall(r"`((?:ncu|nvprof)-[a-z0-9-]+)`", (root / "docs" / "ncu-reader.md").read_text())
    )
    assert documented - used <= {"ncu-rep", "ncu-csv", "ncu-log", "nvprof-csv"}
