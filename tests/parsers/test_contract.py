"""What every reader promises, checked for every descriptor over every sample the project has.

Owners of a reader add a line to `SAMPLES`: where its files lie and which reader must win them.
"""

from __future__ import annotations

import hashlib
import importlib
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profrx_parsers import schema
from profrx_parsers.descriptor import HEAD_BYTES, Descriptor, Head, Match
from profrx_parsers.errors import InputError
from profrx_parsers.registry import detect, open_report, readers, sniff
from profrx_parsers.report import Wanted
from profrx_parsers.source import open_source

ROOT = Path(__file__).resolve().parents[2]
PLACES = {"fixtures": ROOT / "fixtures", "corpus": ROOT.parent / "shared" / "corpus"}

SAMPLES: tuple[tuple[str, str, str], ...] = (
    # place, glob, reader that must win
    ("fixtures", "ncu/*/*.ncu-rep*", "ncu-rep"),
    ("fixtures", "ncu/*/raw.csv.zst", "ncu-csv"),
    ("fixtures", "ncu/style-nvtx/*.csv.zst", "ncu-csv"),
    ("corpus", "ncu/*.ncu-rep", "ncu-rep"),
    ("corpus", "ncu/csv/csv_details*.csv", "ncu-csv"),
    ("corpus", "ncu/csv/csv_metrics*.csv", "ncu-csv"),
    ("corpus", "ncu/csv/csv_old*11bcf5.csv", "ncu-csv"),
    ("corpus", "ncu/csv/csv_nvprof*.csv", "nvprof-csv"),
    ("corpus", "ncu/csv/csv_prof-log*.out", "ncu-log"),
    ("fixtures", "nsys/*/report.nsys-rep", "nsys-rep"),
    ("fixtures", "nsys/*/export.sqlite.zst", "nsys-sqlite"),
    ("fixtures", "nsys/*/forms/*dir", "nsys-folder"),
    ("fixtures", "nsys/*/forms/single.arrow.zst", "nsys-arrow"),
    ("fixtures", "nsys/*/forms/stats_*.csv", "nsys-stats-csv"),
    ("corpus", "nsys/*.nsys-rep", "nsys-rep"),
    ("corpus", "nsys/*.qdrep", "nsys-rep"),
    ("corpus", "nsys/*.sqlite", "nsys-sqlite"),
    ("corpus", "nsys/*_cuda_gpu_*.csv", "nsys-stats-csv"),
    ("fixtures", "rocm/*/*.csv", "rocm-csv"),
    ("fixtures", "rocm/pc-sampling/*/*.csv", "rocm-csv"),
    ("fixtures", "rocm/compute-*", "rocprof-compute"),
    ("fixtures", "rocm/v[13]*", "rocprof-folder"),
    ("fixtures", "rocm/rocpd/*.db", "rocpd"),
    ("fixtures", "rocm/v1/*.db", "rocprof-v1-db"),
    ("fixtures", "rocm/v1/*.json", "rocprof-v1-json"),
    ("fixtures", "rocm/v3-json/*.json", "rocprofv3-json"),
    ("fixtures", "rocm/rpd/*.rpd", "rpd"),
    ("corpus", "rocm/compute_*", "rocprof-compute"),
    ("corpus", "rocm/v1_b*/results.csv", "rocm-csv"),
    ("corpus", "rocm/v3_*/*.csv", "rocm-csv"),
    ("corpus", "rocm/v3_*/*.db", "rocpd"),
    ("corpus", "rocm/v3_tracelens/*.json.gz", "rocprofv3-json"),
    ("corpus", "rocm/rpd/*.rpd*", "rpd"),
)

SEVERITIES = {"info", "warning", "data-loss", "error"}
MAX_DAMAGE_BYTES = 4 << 20
DAMAGED_PER_READER = 2
"""Files of each reader that are damaged: the smallest ones."""


def samples() -> Iterator[tuple[Path, str]]:
    for place, pattern, reader in SAMPLES:
        for path in sorted(PLACES[place].glob(pattern)):
            yield path, reader


def small_samples() -> list[tuple[Path, str]]:
    found = []
    for reader in sorted({reader for _, reader in samples()}):
        mine = [path for path, name in samples() if name == reader and path.is_file()]
        mine = [path for path in mine if path.stat().st_size <= MAX_DAMAGE_BYTES]
        mine.sort(key=lambda path: path.stat().st_size)
        found += [(path, reader) for path in mine[:DAMAGED_PER_READER]]
    return found


def named(cases: list[tuple[Path, str]]) -> list[object]:
    return [pytest.param(path, reader, id=f"{reader}-{path.name}") for path, reader in cases]


def descriptors() -> list[Descriptor]:
    return list(readers().values())


def check_tables(report: object) -> None:
    """Every table has its schema; the import log is well-formed."""
    for name in schema.TABLES:
        table = report.table(name)  # type: ignore[attr-defined]
        assert table.schema.equals(schema.TABLES[name]), name
        assert table.validate() is None
    launches = report.table("launches")  # type: ignore[attr-defined]
    assert launches.column("launch_id").to_pylist() == list(range(launches.num_rows))
    for row in report.table("problems").to_pylist():  # type: ignore[attr-defined]
        assert row["severity"] in SEVERITIES
        assert row["code"]
        assert row["code"] == row["code"].lower()
        assert row["message"]
        assert "\n" not in row["message"]
        assert row["count"] >= 1


@pytest.mark.parametrize("one", descriptors(), ids=lambda one: one.name)
def test_descriptor_is_complete_and_its_reader_exists(one: Descriptor) -> None:
    assert one.title
    assert one.tool
    assert all(suffix.startswith(".") for suffix in one.suffixes)
    module, _, function = one.reader.partition(":")
    assert callable(getattr(importlib.import_module(module), function))


@pytest.mark.parametrize("one", descriptors(), ids=lambda one: one.name)
@settings(max_examples=150, deadline=None)
@given(
    data=st.binary(max_size=HEAD_BYTES),
    name=st.text(max_size=20),
    members=st.lists(st.text(max_size=12), max_size=4),
)
def test_sniff_never_raises(one: Descriptor, data: bytes, name: str, members: list[str]) -> None:
    found = one.sniff(Head(data, name, members=tuple(members), path="/nonexistent/" + name.replace("\0", "")))
    assert found is None or (isinstance(found, Match) and found.why)


@pytest.mark.parametrize(("path", "reader"), named(list(samples())))
def test_exactly_one_reader_wins(path: Path, reader: str) -> None:
    _, head = open_source(path)
    hits = sniff(head)
    confusion = [(one.name, match.why, match.certain) for one, match in hits]
    assert hits, "no reader recognises it"
    assert hits[0][0].name == reader, confusion
    assert sum(match.certain for _, match in hits) <= 1, confusion


@pytest.mark.parametrize(("path", "reader"), named(small_samples()))
def test_tables_conform(path: Path, reader: str) -> None:
    report = open_report(path)
    assert report.info.format == reader
    assert report.info.why
    check_tables(report)


@pytest.mark.parametrize(("path", "reader"), named(small_samples()))
def test_nothing_private_unless_asked(path: Path, reader: str) -> None:
    assert open_report(path).info.private == {}
    assert open_report(path, Wanted(private=True)).info.format == reader


def damaged(data: bytes, rng: random.Random) -> Iterator[bytes]:
    size = len(data)
    for _ in range(6):
        yield data[: rng.randrange(1, size)]
    yield data[:-1]
    for _ in range(12):
        copy = bytearray(data)
        at = rng.randrange(size)
        copy[at] ^= 1 << rng.randrange(8)
        yield bytes(copy)
    for _ in range(4):
        at = rng.randrange(size)
        yield data[:at] + rng.randbytes(16) + data[at + 16 :]
    yield data + b"\xff" * 64
    yield data + b"\0" * 64
    yield data + data
    yield data[: size // 2] + data[size // 2 + 7 :]


@pytest.mark.parametrize(("path", "reader"), named(small_samples()))
def test_damage_never_raises_anything_but_input_error(path: Path, reader: str, tmp_path: Path) -> None:
    data = path.read_bytes()
    rng = random.Random(int(hashlib.sha256(path.name.encode()).hexdigest()[:8], 16))
    target = tmp_path / path.name
    for broken in damaged(data, rng):
        target.write_bytes(broken)
        refused = None
        try:
            check_tables(open_report(target))
        except InputError as err:
            refused = err
        assert refused is None or (refused.code and refused.where and refused.next_step)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "input-empty"),
        (b"just some words\n", "input-unknown-format"),
        (b"\x28\xb5\x2f\xfd garbage that is no frame", "input-damaged-packing"),
    ],
)
def test_hopeless_inputs_say_what_to_do(content: bytes, code: str, tmp_path: Path) -> None:
    path = tmp_path / "input.ncu-rep"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        open_report(path)
    assert caught.value.code == code
    assert caught.value.next_step


def test_names_break_ties_only(tmp_path: Path) -> None:
    """A report under any name is still recognised by its content."""
    for path, reader in small_samples():
        other = tmp_path / ("other" + "".join(path.suffixes[-1:]) + ".bin")
        shutil.copyfile(path, other)
        try:
            assert detect(other)[1].name == reader
        finally:
            other.unlink()
