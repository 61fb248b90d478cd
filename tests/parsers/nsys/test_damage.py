"""Damaged Nsight Systems reports: what is lost becomes a problem, never an exception."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from profrx_parsers.nsys.rep import RepTables
from profrx_parsers.problems import ProblemLog


def _text(value: bytes) -> bytes:
    return b"\x0a" + bytes([len(value)]) + value


def _strings(block: bytes, counted: int) -> tuple[list[Any], list[str]]:
    log = ProblemLog()
    box: Any = SimpleNamespace(
        tail=lambda: iter([block]), header=SimpleNamespace(integer=lambda number: counted)
    )
    strings = RepTables(box, log).strings()
    return strings.look_up(np.arange(len(strings))).to_pylist(), [row["code"] for row in log.table().to_pylist()]


def test_strings() -> None:
    assert _strings(_text(b"one") + _text(b"two"), 2) == (["one", "two"], [])


def test_strings_before_damage_are_kept() -> None:
    """Field number 0 is no protobuf."""
    texts, codes = _strings(_text(b"one") + b"\x00\x00" + _text(b"two"), 2)
    assert texts == ["one"]
    assert codes == ["nsys-damaged-tail", "nsys-string-count"]
