"""Headers of `nsys stats` CSV: what makes a line one. Imports nothing heavy, so that detection may use it."""

from __future__ import annotations

import re
from collections.abc import Sequence

_UNIT = re.compile(r"^(?P<name>.*?)\s*\((?P<unit>[^()]+)\)$")
COUNTS = ("instances", "num calls", "count", "operations", "num", "calls")
NAMES = ("name", "operation", "range")


def looks_like_header(line: str) -> bool:
    """Whether a line is the header of a report this reader knows."""
    return kind_of([cell.strip().strip('"') for cell in line.split(",")]) is not None


def kind_of(cells: Sequence[str]) -> str | None:
    """Return ``gpu-trace``, ``sum`` or None for the cells of a header line."""
    plain = {split_cell(c)[0] for c in cells}
    if {"start", "duration", "corrid"} <= plain and "strm" in plain:
        return "gpu-trace"
    if plain & set(NAMES) and plain & set(COUNTS) and plain & {"total time", "total"}:
        return "sum"
    return None


def split_cell(cell: str) -> tuple[str, str]:
    """Return (lower-case name, unit) of a header cell: ``Time (%)`` and ``Time(%)`` are both time in %."""
    match = _UNIT.match(cell.strip())
    return (match["name"].strip().lower(), match["unit"]) if match else (cell.strip().lower(), "")
