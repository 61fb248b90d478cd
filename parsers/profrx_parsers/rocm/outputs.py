"""A folder of output files of one rocprof run: rocprofv3 CSV families and rocprof v1 results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profrx_parsers.problems import ProblemLog
from profrx_parsers.rocm import build, members
from profrx_parsers.rocm.capture import add_tables, generation

if TYPE_CHECKING:
    from profrx_parsers.report import Report, Wanted
    from profrx_parsers.source import Source


def read(source: Source, wanted: Wanted) -> Report:
    """Read all files of the folder as one report."""
    from profrx_parsers.source import _members

    log = ProblemLog()
    found = members.tables(source, _members(source.path), log)
    tool = generation(found[0].file.header) if found else None
    parts = build.Parts(build.info(source, "rocprof-folder", tool=tool), log, wanted)
    add_tables(parts, found)
    return build.build(parts)
