"""Damage to stored code costs source lines only, and is told apart from code built without line information."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from profrx_parsers.ncu._container import Item, walk
from profrx_parsers.ncu._dwarf import sequences
from profrx_parsers.ncu._elf import Elf
from profrx_parsers.problems import ProblemLog
from profrx_parsers.registry import open_report
from profrx_parsers.source import open_source
from profrx_parsers.wire import Message

Write = Callable[..., Path]


@pytest.fixture(scope="module")
def real(fixtures: Path) -> bytes:
    return bytes(open_source(fixtures / "ncu" / "style-detailed" / "report.ncu-repz")[0].data())


def stored_code(data: bytes) -> Item:
    layout = walk(memoryview(data), ProblemLog(), "test")
    return next(item for item in layout.items if item.kind == "source")


def codes(report: Any) -> set[str]:
    return {row["code"] for row in report.table("problems").to_pylist()}


def lines(path: Path) -> tuple[int, int, set[str]]:
    """Read source lines first; return how many rows they and the metrics have, and all problems."""
    report = open_report(path)
    rows = report.table("source_lines").num_rows
    return rows, report.table("metrics").num_rows, codes(report)


def test_sound(real: bytes, write: Write) -> None:
    rows, _metrics, found = lines(write(real))
    assert rows
    assert not found & {"ncu-missing-source", "ncu-unmapped-lines", "ncu-damaged-source", "ncu-no-versions"}


def test_code_under_another_reference(real: bytes, write: Write) -> None:
    data = bytearray(real)
    data[stored_code(real).start + 1] ^= 1
    rows, metrics, found = lines(write(data))
    assert (rows, metrics) == (0, lines(write(real))[1])
    assert "ncu-missing-source" in found
    assert "ncu-no-line-info" not in found


def test_code_that_is_no_message(real: bytes, write: Write) -> None:
    data = bytearray(real)
    data[stored_code(real).start] = 0
    rows, metrics, found = lines(write(data))
    assert (rows, metrics) == (0, lines(write(real))[1])
    assert "ncu-damaged-source" in found
    assert "ncu-no-line-info" not in found


def test_line_table_that_belongs_to_no_function(real: bytes, write: Write) -> None:
    item = stored_code(real)
    start, stop = Message(real, (item.start, item.stop)).spans(4)[0]
    section = Elf(memoryview(real)[start:stop]).find(".debug_line")
    assert section is not None
    data = bytearray(real)
    for rows in sequences(real[start + section.start : start + section.stop]):
        at = start + section.start + rows.operand
        data[at : at + 8] = (1 << 50).to_bytes(8, "little")
    rows_found, metrics, found = lines(write(data))
    assert (rows_found, metrics) == (0, lines(write(real))[1])
    assert "ncu-unmapped-lines" in found


@pytest.mark.parametrize(("at", "width"), [(0, 4), (40, 8), (58, 2), (60, 2)])
def test_header_of_the_code_is_damaged(at: int, width: int, real: bytes, write: Write) -> None:
    """Magic, place of the section table, size of its rows, their count."""
    item = stored_code(real)
    start, _stop = Message(real, (item.start, item.stop)).spans(4)[0]
    data = bytearray(real)
    data[start + at : start + at + width] = b"\x02".ljust(width, b"\0")
    rows, metrics, found = lines(write(data))
    assert (rows, metrics) == (0, lines(write(real))[1])
    assert "ncu-damaged-lines" in found
    assert "ncu-no-line-info" not in found


def test_cut_between_two_kernels(simple_report: Any, write: Write) -> None:
    one = simple_report(4)
    assert "ncu-no-versions" not in codes(open_report(write(bytes(one))))
    whole = open_report(write(bytes(one))).table("launches").num_rows
    del one.blocks[-2:]  # the last kernel, and what follows it
    cut = open_report(write(bytes(one)))
    assert cut.table("launches").num_rows == whole - 1
    assert "ncu-no-versions" in codes(cut)
