"""One capture in every form gives the same tables and the same derived numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from profrx.timeline import timeline_metrics
from profrx_parsers.registry import open_report
from profrx_parsers.report import Report

from .conftest import CASES, ROOT

TABLES = ("devices", "launches", "copies", "api_calls", "syncs", "ranges", "memory_events", "samples")
OLDER_SCHEMA_LACKS = {"cluster_size"}
FORMS = ROOT / "fixtures/nsys/host-sync/forms"


def plain(table: pa.Table) -> pa.Table:
    return table.drop_columns([c for c in OLDER_SCHEMA_LACKS if c in table.column_names])


def assert_same(one: Report, other: Report) -> None:
    for name in TABLES:
        assert plain(one.table(name)).equals(plain(other.table(name))), name
    for key in ("captured_at", "driver", "runtime_version", "platform", "base_time"):
        assert getattr(one.info, key) == getattr(other.info, key), key
    first, second = timeline_metrics(one), timeline_metrics(other)
    for scope, table in first.items():
        assert table.drop_columns(["subject"]).equals(second[scope].drop_columns(["subject"])), scope


@pytest.mark.parametrize("case", CASES)
def test_report_and_sqlite(case: str, export: Callable[[str], Path]) -> None:
    report = open_report(ROOT / f"fixtures/nsys/{case}/report.nsys-rep")
    assert report.table("launches").num_rows
    assert_same(report, open_report(export(case)))


@pytest.mark.parametrize("form", ["parquetdir", "arrowdir", "single.arrow.zst"])
def test_columnar_forms(form: str) -> None:
    assert_same(open_report(ROOT / "fixtures/nsys/host-sync/report.nsys-rep"), open_report(FORMS / form))


def test_packed_database_equals_the_plain_one(export: Callable[[str], Path]) -> None:
    packed = open_report(ROOT / "fixtures/nsys/healthy/export.sqlite.zst")
    assert_same(packed, open_report(export("healthy")))


def test_compact_and_plain_tables_hold_the_same_values() -> None:
    path = ROOT / "fixtures/nsys/item-each-layer/report.nsys-rep"
    compact, full = open_report(path), open_report(path)
    for name in TABLES:
        assert compact.compact(name).cast(full.table(name).schema).equals(full.table(name)), name


def test_qdstrm_is_refused_with_the_import_hint(tmp_path: Path) -> None:
    from profrx_parsers.errors import InputError

    path = tmp_path / "run.qdstrm"
    path.write_bytes(b"\x01\x02 raw stream \x00" * 40)
    with pytest.raises(InputError) as caught:
        open_report(path)
    assert caught.value.code == "nsys-qdstrm"
    assert "QdstrmImporter" in caught.value.next_step


@pytest.mark.parametrize("keep", ["StringIds.arrow", "CUPTI_ACTIVITY_KIND_KERNEL.arrow"])
def test_a_cut_columnar_table_is_a_problem_not_a_crash(keep: str, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "arrowdir"
    shutil.copytree(FORMS / "arrowdir", folder)
    data = (folder / keep).read_bytes()
    (folder / keep).write_bytes(data[: len(data) // 2])
    report = open_report(folder)
    report.table("launches")
    assert [p for p in report.problems if p.code == "nsys-damaged-table"]


def test_an_export_without_strings_is_refused(tmp_path: Path) -> None:
    import sqlite3

    from profrx_parsers.errors import InputError
    from profrx_parsers.nsys.sqlite import read
    from profrx_parsers.source import open_source

    path = tmp_path / "x.sqlite"
    sqlite3.connect(path).executescript("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER)")
    with pytest.raises(InputError) as caught:
        read(open_source(path)[0])
    assert caught.value.code == "nsys-not-an-export"
