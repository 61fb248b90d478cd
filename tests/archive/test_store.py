"""The SQLite archive: keys, replacement, migrations, errors, concurrent writers."""

from __future__ import annotations

import multiprocessing
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from profrx.archive.export import export
from profrx.archive.layout import MIGRATIONS, VERSION
from profrx.archive.queries import QUERIES
from profrx.archive.record import Record, failed, report_id
from profrx.archive.store import Archive
from profrx_parsers.errors import InputError, UsageError


def record(uri: str, *, duration: float = 10.0, findings: int = 1) -> Record:
    kernels = [
        {"kernel_row": 0, "kernel_id": "k1", "kernel": "void gemm<float>(int)", "kernel_short": "gemm", "device": "G",
         "grid": "1x1x1", "block": "32x1x1", "launches": 2, "duration_ns": 2 * duration, "duration_median_ns": duration}
    ]  # fmt: skip
    rows = [
        {"rank": n + 1, "rule": f"r{n}", "cause": "c", "title": "t", "kernel": "void gemm<float>(int)", "launches": 2,
         "time_share": 1.0, "saving_kind": "global", "saving_low": 0.1, "saving_high": 0.3, "saved_ns": 4.0 - n, "counted": int(n == 0)}
        for n in range(findings)
    ]  # fmt: skip
    return Record(
        uri,
        {
            "status": "ok",
            "tool": "ncu",
            "format": "ncu-rep",
            "base_time_ns": 20.0,
            "sha256": "ab",
            "analysis_key": "k",
        },
        {"kernels": kernels, "findings": rows},
        [(0, "dram.throughput", "%", 0.5)],
    )


def test_put_twice_is_the_same_as_once(tmp_path: Path) -> None:
    with Archive(tmp_path / "a.sqlite", create=True) as archive:
        for _ in range(2):
            archive.put(record("/r1"))
        assert archive.table("reports").num_rows == 1
        assert archive.table("findings").num_rows == 1
        assert archive.table("metrics").to_pylist() == [
            {
                "report_id": report_id("/r1"),
                "kernel_row": 0,
                "metric": "dram.throughput",
                "value": 0.5,
                "unit": "%",
            }
        ]


def test_put_replaces_all_rows_of_the_report_only(tmp_path: Path) -> None:
    with Archive(tmp_path / "a.sqlite", create=True) as archive:
        archive.put(record("/r1", findings=3))
        archive.put(record("/r2", findings=2))
        archive.put(record("/r1", findings=1))
        assert archive.query("SELECT count(*) AS n FROM findings").to_pylist() == [{"n": 3}]


def test_failure_in_the_middle_leaves_the_old_rows(tmp_path: Path) -> None:
    with Archive(tmp_path / "a.sqlite", create=True) as archive:
        archive.put(record("/r1"))
        bad = record("/r1", findings=2)
        bad.tables["findings"][1]["rank"] = 1  # same key twice
        with pytest.raises(InputError):
            archive.put(bad)
        assert archive.table("findings").num_rows == 1


def test_one_cause_counts_once(tmp_path: Path) -> None:
    from profrx.archive.queries import QUERIES

    with Archive(tmp_path / "a.sqlite", create=True) as archive:
        archive.put(record("/r1", findings=3))
        rows = archive.query(QUERIES["fixes"].sql).to_pylist()
        assert [(r["rule"], r["saved_ns"]) for r in rows] == [("r0", 4.0)]


def test_an_archive_of_the_first_schema_is_brought_up_to_date(tmp_path: Path) -> None:
    def indices(archive: Archive) -> list[tuple[str, str]]:
        return archive.db.conn.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'index' ORDER BY name"
        ).fetchall()

    path = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(path)) as old:
        for statement in MIGRATIONS[0]:
            old.execute(statement)
        old.execute("PRAGMA user_version = 1")
        old.execute("INSERT INTO reports (report_id, uri, status) VALUES (1, '/old', 'failed')")
        old.commit()
    with Archive(path) as archive, Archive(tmp_path / "new.sqlite", create=True) as new:
        assert archive.query("SELECT uri FROM reports").column(0).to_pylist() == ["/old"]
        assert archive.query("PRAGMA user_version").column(0).to_pylist() == [VERSION]
        assert indices(archive) == indices(new)


def test_fixes_and_kernels_count_every_cause_once(tmp_path: Path) -> None:
    with Archive(tmp_path / "a.sqlite", create=True) as archive:
        for number in range(3):
            one = record(f"/r{number}", findings=2)
            one.tables["kernels"].append(
                {
                    **one.tables["kernels"][0],
                    "kernel_row": 1,
                    "grid": "9x1x1",
                    "duration_ns": 5.0,
                    "verdict": "slow",
                }
            )
            one.tables["kernels"][0]["verdict"] = ("fast", "unknown", "unknown")[number]
            archive.put(one)
        (fix,) = archive.query(QUERIES["fixes"].sql).to_pylist()
        (kernel,) = archive.query(QUERIES["kernels"].sql).to_pylist()
    assert (fix["cause"], fix["rule"], fix["reports"], fix["subjects"]) == ("c", "r0", 3, 3)
    assert (fix["saved_ns"], fix["share"]) == (12.0, 12.0 / 60.0)
    assert (kernel["reports"], kernel["launches"], kernel["duration_ns"]) == (3, 12, 75.0)
    assert kernel["verdict"] == "fast"  # 20 ns against 15 ns; what is unknown has no say


@pytest.mark.parametrize("name", ["fixes", "kernels", "vendor"])
def test_questions_over_all_reports_are_answered_from_indices(name: str, tmp_path: Path) -> None:
    with Archive(tmp_path / "a.sqlite", create=True) as archive:
        plan = archive.query("EXPLAIN QUERY PLAN " + QUERIES[name].sql).column("detail").to_pylist()
    walked = [
        step for step in plan if step.startswith(("SCAN findings", "SCAN kernels", "SCAN vendor", "SEARCH"))
    ]
    assert walked
    assert all("COVERING INDEX" in step for step in walked), plan


def test_search_finds_parts_of_names(tmp_path: Path) -> None:
    with Archive(tmp_path / "a.sqlite", create=True) as archive:
        archive.put(record("/r1"))
        archive.put(record("/r1"))
        assert archive.search("gemm<fl") == ["void gemm<float>(int)"]
        assert archive.search('nothing" OR "') == []


def test_foreign_and_newer_files_are_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"hello" * 300)
    foreign = tmp_path / "foreign.sqlite"
    with sqlite3.connect(foreign) as other:
        other.execute("CREATE TABLE t (x)")
    newer = tmp_path / "newer.sqlite"
    Archive(newer, create=True).close()
    with sqlite3.connect(newer) as other:
        other.execute(f"PRAGMA user_version = {VERSION + 1}")
    before = text.read_bytes()
    for path, code in ((text, "archive-foreign"), (foreign, "archive-foreign"), (newer, "archive-newer")):
        with pytest.raises(InputError) as caught:
            Archive(path, create=True)
        assert caught.value.code == code
    assert text.read_bytes() == before
    with pytest.raises(InputError) as caught:
        Archive(tmp_path / "absent.sqlite")
    assert caught.value.code == "archive-missing"


def test_query_cannot_write_and_bad_sql_is_a_usage_error(tmp_path: Path) -> None:
    with Archive(tmp_path / "a.sqlite", create=True) as archive:
        archive.put(record("/r1"))
        for sql in ("DELETE FROM reports", "SELEC 1", "SELECT * FROM nowhere", "DROP TABLE reports"):
            with pytest.raises(UsageError):
                archive.query(sql)
        assert archive.table("reports").num_rows == 1
        archive.put(record("/r2"))  # writing works again after a query


def test_endless_query_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profrx.archive.store.QUERY_STEPS", 3_000_000)
    with Archive(tmp_path / "a.sqlite", create=True) as archive, pytest.raises(UsageError):
        archive.query("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n")


def _fill(archive: Archive) -> None:
    for n in range(2000):
        archive.put(record(f"/more{n}", findings=20))


def test_full_disk_is_one_clear_line(tmp_path: Path) -> None:
    with Archive(tmp_path / "a.sqlite", create=True) as archive:
        archive.put(record("/r1"))
        pages = archive.db.conn.execute("PRAGMA page_count").fetchone()[0]
        archive.db.conn.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(InputError) as caught:
            _fill(archive)
        assert caught.value.code == "archive-disk-full"
        assert archive.query("SELECT count(*) AS n FROM reports WHERE uri = '/r1'").to_pylist() == [{"n": 1}]


def test_locked_archive_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profrx.archive.store.LOCK_WAIT_S", 0.1)
    with Archive(tmp_path / "a.sqlite", create=True) as archive:
        other = sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(InputError) as caught:
            archive.put(record("/r1"))
        assert caught.value.code == "archive-locked"
        other.execute("ROLLBACK")
        archive.put(record("/r1"))


def _write(path: str, first: int) -> None:
    with Archive(path, create=True) as archive:
        for n in range(first, first + 30):
            archive.put(record(f"/r{n}"))


def test_concurrent_writers(tmp_path: Path) -> None:
    path = str(tmp_path / "a.sqlite")
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(path, first)) for first in (0, 15, 30)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    with Archive(path, readonly=True) as archive:
        assert archive.table("reports").num_rows == 60
        assert archive.table("findings").num_rows == 60


def test_broken_text_and_nan_are_stored(tmp_path: Path) -> None:
    with Archive(tmp_path / "a.sqlite", create=True) as archive:
        archive.put(
            failed("/\udc80", "failed", "input-empty", "lone \ud800", "step", {"base_time_ns": float("nan")})
        )
        (row,) = archive.table("reports").to_pylist()
        assert row["base_time_ns"] is None
        assert row["message"] == "lone ?"


def test_exports_of_equal_content_are_byte_equal(tmp_path: Path) -> None:
    for name, uris in (("a", ["/r1", "/r2", "/r3"]), ("b", ["/r3", "/r1", "/r2", "/r1"])):
        with Archive(tmp_path / f"{name}.sqlite", create=True) as archive:
            for uri in uris:
                archive.put(record(uri, findings=2))
            export(archive, tmp_path / name)
            export(archive, tmp_path / name)  # an earlier export may be replaced
    left = {p.relative_to(tmp_path / "a"): p.read_bytes() for p in (tmp_path / "a").rglob("*.parquet")}
    right = {p.relative_to(tmp_path / "b"): p.read_bytes() for p in (tmp_path / "b").rglob("*.parquet")}
    assert left == right
    assert len(left) >= 4


def test_export_never_replaces_a_foreign_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis").write_text("x")
    with Archive(tmp_path / "a.sqlite", create=True) as archive, pytest.raises(UsageError):
        export(archive, tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis").exists()


@pytest.mark.parametrize("sql", ["ATTACH '{}' AS other", "VACUUM INTO '{}'", "VACUUM main INTO '{}'"])
def test_a_query_makes_no_file(sql: str, tmp_path: Path) -> None:
    with Archive(tmp_path / "a.sqlite", create=True) as archive:
        with pytest.raises(UsageError, match="the query failed"):
            archive.query(sql.format(tmp_path / "made.sqlite"))
        assert archive.query("SELECT 1 AS one").to_pylist() == [{"one": 1}]
    assert not (tmp_path / "made.sqlite").exists()


@pytest.mark.parametrize(
    "sql", ["PRAGMA journal_mode = DELETE", "pragma query_only = 0", "PRAGMA page_size=512"]
)
def test_a_query_sets_no_switch(sql: str, tmp_path: Path) -> None:
    with Archive(tmp_path / "a.sqlite", create=True) as store:
        with pytest.raises(UsageError, match="not authorized"):
            store.query(sql)
        assert store.query("PRAGMA table_info(reports)").num_rows > 5


def test_a_query_makes_no_huge_value(tmp_path: Path) -> None:
    with Archive(tmp_path / "a.sqlite", create=True) as store:
        with pytest.raises(UsageError, match="too big"):
            store.query("SELECT zeroblob(900000000)")
        assert store.query("SELECT 1 AS one").to_pylist() == [{"one": 1}]
