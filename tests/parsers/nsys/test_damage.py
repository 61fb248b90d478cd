"""Damaged Nsight Systems reports: what is lost becomes a problem, never an exception."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from profrx_parsers.errors import InputError
from profrx_parsers.nsys.devices import DeviceMap
from profrx_parsers.nsys.host import read_calls, read_ranges
from profrx_parsers.nsys.raw import Strings
from profrx_parsers.nsys.rep import RepTables
from profrx_parsers.nsys.work import read_launches
from profrx_parsers.problems import Problem, ProblemLog
from profrx_parsers.registry import open_report


def _text(value: bytes) -> bytes:
    return b"\x0a" + bytes([len(value)]) + value


def _strings(block: bytes, counted: int) -> tuple[list[Any], list[str]]:
    log = ProblemLog()
    box: Any = SimpleNamespace(
        tail=lambda: iter([block]), header=SimpleNamespace(integer=lambda number: counted)
    )
    strings = RepTables(box, log).strings()
    return strings.look_up(np.arange(len(strings))).to_pylist(), [
        row["code"] for row in log.table().to_pylist()
    ]


def test_strings() -> None:
    assert _strings(_text(b"one") + _text(b"two"), 2) == (["one", "two"], [])


def test_strings_before_damage_are_kept() -> None:
    """Field number 0 is no protobuf."""
    texts, codes = _strings(_text(b"one") + b"\x00\x00" + _text(b"two"), 2)
    assert texts == ["one"]
    assert codes == ["nsys-damaged-tail", "nsys-string-count"]


def test_impossible_times_give_no_duration() -> None:
    """Ends before their starts, and differences that leave 64 bits."""
    least, most = -(1 << 63), (1 << 63) - 1
    kernels = pa.table({"start": [10, 20, 5, least, None], "end": [15, 10, least, most, 3]})
    raw: Any = SimpleNamespace(
        table=lambda name, columns: kernels if name == "CUPTI_ACTIVITY_KIND_KERNEL" else None,
        strings=lambda: Strings(None, pa.array([], pa.string())),
    )
    calls = read_calls(raw, read_ranges(raw, None))
    launches = read_launches(raw, calls, DeviceMap(), ProblemLog())
    assert launches.column("duration_ns").to_pylist() == [5, None, None, None, None]


def test_a_view_without_end_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "view.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            """
            CREATE TABLE StringIds (id INTEGER, value TEXT);
            INSERT INTO StringIds VALUES (0, 'k');
            CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS
                WITH RECURSIVE r(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM r)
                SELECT start, start + 1 AS end, 0 AS demangledName FROM r;
            """
        )
    assert open_report(path).table("launches").num_rows == 0


@pytest.mark.parametrize("at", [1_000, 9_000, 34_100, -2_000, -40])
@pytest.mark.parametrize("how", ["cut", "altered"])
def test_a_place_is_named_once(fixtures: Path, tmp_path: Path, at: int, how: str) -> None:
    """`where` holds it: a message that names it again names another offset, or the same in other digits."""
    whole = (fixtures / "nsys/gpu-idle/report.nsys-rep").read_bytes()
    path = tmp_path / "x.nsys-rep"
    path.write_bytes(whole[:at] if how == "cut" else whole[:at] + b"\xff" * 30 + whole[at:][30:])
    unreadable, problems = _opened(path)
    assert unreadable.count("byte ") <= 1
    assert [problem.message for problem in problems if "byte " in problem.message] == []
    if how == "cut":
        assert unreadable or any(problem.severity == "data-loss" for problem in problems)


def _opened(path: Path) -> tuple[str, list[Problem]]:
    """Return why a report cannot be opened, or its problems."""
    try:
        report = open_report(path)
    except InputError as err:
        return err.message, []
    for table in ("launches", "api_calls", "devices"):
        report.table(table)
    return "", list(report.problems)
