"""Text exports: decoding, finding the table among log lines, splitting rows. Shared by the CSV readers."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from profrx_parsers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from profrx_parsers.problems import ProblemLog
    from profrx_parsers.source import Source

MAX_BYTES = 1 << 30
MAX_CELL = 1 << 20
TITLES = frozenset({"Kernel Name"})
"""First cells of two-cell rows that name the table behind them."""


def decode(data: bytes) -> str:
    """Decode an export: UTF-8 with or without BOM, or UTF-16 as PowerShell redirects it."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")


def text_of(source: Source) -> str:
    """Read and decode the whole input. Raises `InputError` when it is larger than any export."""
    data = source.data()
    if len(data) > MAX_BYTES:
        raise InputError(
            "ncu-csv-too-large", f"{len(data):,} bytes are more than an export holds",
            where=source.name, next_step="export again with fewer metrics, or give the .ncu-rep itself",
        )  # fmt: skip
    return decode(bytes(data))


def cells_of(line: str, delimiter: str = ",") -> list[str]:
    """Split one line; an unbalanced quote is taken literally."""
    try:
        return next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter), [])
    except csv.Error:
        return line.split(delimiter)


@dataclass
class Section:
    """One table of an export.

    Attributes:
        header: column names.
        rows: cells of every row.
        lines: line number of every row in the file, from 1.
        before: lines that precede the table and belong to no other.
    """

    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    before: list[str] = field(default_factory=list)


def sections(
    text: str, is_header: Callable[[list[str]], bool], problems: ProblemLog
) -> tuple[list[Section], list[str]]:
    """Split a text into tables; a header line starts one. Returns the tables and all lines that belong to none."""
    found: list[Section] = []
    noise: list[str] = []
    pending: list[str] = []
    delimiter = ","
    for at, record in _records(text):
        started = record.lstrip("\ufeff")
        if started[:1] in ('"', "I", "D", "P", "K", "#"):
            delimiter = ";" if started.count(";") > started.count(",") else ","
            cells = cells_of(started, delimiter)
            if is_header(cells):
                found.append(Section(cells, before=pending))
                pending = []
                continue
            if len(cells) == 2 and cells[0] in TITLES:
                pending.append(started)
                continue
        if found and not started.startswith("==") and delimiter in started:
            cells = cells_of(started, ";" if ";" in found[-1].header[0] else delimiter)
            if len(cells) >= min(4, len(found[-1].header)):
                found[-1].rows.append(cells)
                found[-1].lines.append(at)
                continue
        if started.strip():
            noise.append(started)
            pending.append(started)
    return found, noise


def _records(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line number, record): lines joined while a quoted cell is open, within `MAX_CELL` characters."""
    buffered = ""
    first = 1
    for at, line in enumerate(text.splitlines(), 1):
        if not buffered:
            first = at
            if not line.startswith('"') or line.count('"') % 2 == 0:
                yield at, line
                continue
            buffered = line
            continue
        if line.startswith(('"', "==")) and len(line) > 3 and line.count('"') % 2 == 0:
            # The quote was never closed: give up on the buffered lines, not on the table.
            for offset, piece in enumerate(buffered.split("\n")):
                yield first + offset, piece
            buffered = ""
            yield at, line
            continue
        buffered += "\n" + line
        if buffered.count('"') % 2 == 0 or len(buffered) > MAX_CELL:
            yield first, buffered
            buffered = ""
    if buffered:
        for offset, piece in enumerate(buffered.split("\n")):
            yield first + offset, piece
