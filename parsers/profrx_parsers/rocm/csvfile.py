"""One CSV file of any ROCm tool as a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profrx_parsers.errors import InputError
from profrx_parsers.problems import ProblemLog
from profrx_parsers.rocm import build
from profrx_parsers.rocm.capture import add_tables, generation
from profrx_parsers.rocm.csvread import open_csv
from profrx_parsers.rocm.headers import kind_of
from profrx_parsers.rocm.members import Table

if TYPE_CHECKING:
    from profrx_parsers.report import Report, Wanted
    from profrx_parsers.source import Source


def read(source: Source, wanted: Wanted) -> Report:
    """Read the file by what its header announces. Raises `InputError` when the header is unusable."""
    log = ProblemLog()
    file = open_csv(source.data(), source.path.name)
    kind = kind_of(file.header)
    if kind is None:
        raise InputError(
            "input-unknown-format",
            "the header is of no known ROCm table",
            where=source.name,
            next_step="give the whole output folder of the profiler",
        )
    info = build.info(source, "rocm-csv", tool=generation(file.header))
    parts = build.Parts(info, log, wanted)
    add_tables(parts, [Table(source.path.name, kind, file)])
    return build.build(parts)
