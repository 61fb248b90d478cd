"""Files inside a folder that is one capture: opened read-only, classified by their header, never written to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from profrx_parsers.errors import InputError
from profrx_parsers.rocm.csvread import Csv, open_csv
from profrx_parsers.rocm.headers import kind_of
from profrx_parsers.source import Source, open_source

if TYPE_CHECKING:
    from profrx_parsers.problems import ProblemLog

MAX_LOG_BYTES = 64 << 10
_ANSI = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True)
class Table:
    """A CSV member and the kind of table its header announces."""

    name: str
    kind: str
    file: Csv


def source_of(folder: Source, name: str, log: ProblemLog) -> Source | None:
    """Open one member; an empty or unreadable one is logged and skipped."""
    try:
        found, _ = open_source(folder.path / name)
    except InputError as err:
        code = "rocm-empty-member" if err.code == "input-empty" else "rocm-unreadable-member"
        log.add("warning", code, f"{err.message}: this file of the folder was left out", where=name)
        return None
    return Source(found.path, name, found.packed)


def tables(folder: Source, names: Iterable[str], log: ProblemLog) -> list[Table]:
    """Open the CSV members in `names`; files that are no ROCm table are left out silently."""
    found = []
    for name in sorted(names):
        if not name.lower().endswith((".csv", ".csv.gz")):
            continue
        source = source_of(folder, name, log)
        if source is None:
            continue
        try:
            file = open_csv(source.data(), name)
        except InputError as err:
            log.add("warning", "rocm-unreadable-member", f"{err.message}: this file was left out", where=name)
            continue
        kind = kind_of(file.header)
        if kind:
            found.append(Table(name, kind, file))
    return found


def head_text(path: Path, size: int) -> str:
    """Return the start of a text file without terminal colours; empty when it cannot be read."""
    try:
        with path.open("rb") as file:
            return _ANSI.sub(b"", file.read(size)).decode("utf-8", "replace")
    except OSError:
        return ""
