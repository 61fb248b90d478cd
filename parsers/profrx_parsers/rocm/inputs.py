"""What is not a report: counter request files and perfetto traces, refused with the reason and the next step."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from profrx_parsers.descriptor import Head, Match
from profrx_parsers.errors import InputError

if TYPE_CHECKING:
    from profrx_parsers.report import Report, Wanted
    from profrx_parsers.source import Source

_REQUEST = re.compile(rb"^\s*pmc\s*:\s*\w+", re.MULTILINE)
_JOBS = re.compile(rb'\s*\{\s*"jobs"\s*:\s*\[\s*\{[^}]{0,2000}"pmc"\s*:')
_DEFINITIONS = (b"rocprofiler-sdk:", b"counters:")
_CATEGORIES = (b"kernel_dispatch", b"hip_api", b"hsa_api", b"marker_api", b"rocprofiler", b"rocprofv3")


def sniff_request(head: Head) -> Match | None:
    """An input file of rocprof or rocprofv3: lines ``pmc: A B C``, JSON jobs, or counter definitions in YAML."""
    if head.members or b"\0" in head.data:
        return None
    if _JOBS.match(head.data):
        return Match("lists jobs with counters to collect (pmc)", certain=False)
    if head.data.startswith(_DEFINITIONS[0]) and _DEFINITIONS[1] in head.data:
        return Match("defines counters of rocprofiler-sdk", certain=False)
    if not _REQUEST.search(head.data):
        return None
    text = [line.strip() for line in head.data.splitlines()]
    known = (b"pmc", b"range", b"gpu", b"kernel", b"#")
    if all(not line or line.lower().startswith(known) for line in text[:-1]):
        return Match("lists counters to collect (pmc: …)", certain=False)
    return None


def sniff_pftrace(head: Head) -> Match | None:
    """A perfetto trace: a row of length-delimited packets (tag 0x0a), by suffix or by ROCm's category names."""
    if head.members or not head.data.startswith(b"\x0a"):
        return None
    if head.name.lower().endswith((".pftrace", ".perfetto-trace", ".proto")):
        return Match("starts with a perfetto packet and has the suffix of a perfetto trace", certain=False)
    if any(word in head.data for word in _CATEGORIES):
        return Match("starts with a perfetto packet and names ROCm trace categories", certain=False)
    return None


def read_request(source: Source, wanted: Wanted) -> Report:
    """Refuse: the file says what to measure, it holds no measurement."""
    raise InputError(
        "input-is-request",
        "this file tells the profiler which counters to collect; it holds no measurement",
        where=source.name,
        next_step="run `rocprofv3 -i FILE -d OUT -- PROGRAM` and give the folder OUT",
    )


def read_pftrace(source: Source, wanted: Wanted) -> Report:
    """Refuse: a perfetto trace of these tools lacks counters and grid shapes that their other outputs hold."""
    raise InputError(
        "input-perfetto",
        "perfetto traces of ROCm tools are not read: they lack grid shapes, registers and most counters",
        where=source.name,
        next_step="from the same run use the .db file, or collect with `rocprofv3 --output-format csv json`;"
        " a kept .db converts with `rocpd convert -i RUN.db --output-format csv`",
    )
