"""Recognising ROCm inputs by content: the header of a CSV, the first bytes of JSON and SQLite, names in a folder."""

from __future__ import annotations

import csv
import io
import os
import re

from profrx_parsers.descriptor import Head, Match
from profrx_parsers.rocm.headers import fact_of, kind_of, plain

MAGIC = b"SQLite format 3\0"
ROCPD = re.compile(r"rocpd_kernel_dispatch((?:_[0-9a-f]{4,12}){5})")

_WORKLOAD = re.compile(
    r"(?:(.*)/)?(?:pmc_perf(?:_\d+)?|SQ_(?:IFETCH_LEVEL|LEVEL_WAVES|INST_LEVEL_\w+))\.csv(?:\.gz)?"
)
_PACKED_PASS = re.compile(r"(?:(.*)/)?results_[^/]+\.csv\.gz")
_OUTPUT = re.compile(
    r"(?:(.*)/)?(?:[^/]*_)?(?:kernel_trace|counter_collection|agent_info|hip_api_trace|hsa_api_trace|marker_api_trace"
    r"|memory_copy_trace|memory_allocation_trace|scratch_memory_trace|rccl_api_trace|kernel_stats|hip_stats|domain_stats"
    r"|pc_sampling_host_trap|pc_sampling_stochastic|stats_ui_output_\w+)\.csv(?:\.gz)?"
    r"|(?:(.*)/)?results\.(?:stats|hip_stats|hsa_stats|copy_stats)\.csv"
)
_COMMON = re.compile(r"(?:(.*)/)?(?:[^/]*_)?results\.(?:csv|db|json(?:\.gz)?)")
"""Names that other programs use too: the content decides."""
_PASS_DIR = re.compile(r"(?:pass|pmc)_\d+")
_NO_REPORT = frozenset(f"profrx_parsers.rocm.inputs:read_{kind}" for kind in ("request", "pftrace"))
"""Readers of what lies beside a capture and is none."""


def header(data: bytes) -> list[str] | None:
    """Return the cells of the first line, or None when it is no text. A cut line loses its last cell."""
    line, found, _ = data.partition(b"\n")
    try:
        text = line.decode("utf-8-sig", "replace").rstrip("\r")
        cells = next(csv.reader(io.StringIO(text)), [])
    except csv.Error:
        return None
    if "\0" in text or not cells:
        return None
    return [c.strip() for c in (cells if found or len(data) < 4096 else cells[:-1])]


def csv_file(head: Head) -> Match | None:
    """A CSV of rocprof v1, v2, rocprofv3 or rocprof-compute, by its header."""
    if head.members:
        return None
    cells = header(head.data)
    if not cells:
        return None
    kind = kind_of(cells)
    if kind is None and {fact_of(c) for c in cells} >= {"kernel", "dispatch"}:
        kind = "dispatches"
    if kind is None or "metric_name" in {plain(c) for c in cells}:
        return None
    return Match(f"has the CSV header of a ROCm {kind} table")


def workload(head: Head) -> Match | None:
    """A rocprof-compute workload folder: per-pass or joined counter files in one place."""
    names = [name for name in head.members if "perfmon/" not in name]
    places = {m[1] or "" for name in names if (m := _WORKLOAD.fullmatch(name))}
    packed = {m[1] or "" for name in names if (m := _PACKED_PASS.fullmatch(name))}
    places |= {place for place in packed if f"{place}/sysinfo.csv".lstrip("/") in names}
    if len(places) != 1 or _others(head, *places):
        return None
    return Match("holds the counter files of rocprof-compute (pmc_perf.csv or its passes)")


def outputs(head: Head) -> Match | None:
    """A folder of rocprofv3 or rocprof v1 output files of one run (pass_N folders count as one)."""
    places: set[str] = set()
    for name in head.members:
        found = _OUTPUT.fullmatch(name)
        if found or (_COMMON.fullmatch(name) and _is_ours(head.path, name)):
            folders = name.split("/")[:-1]
            places.add("/".join(p for p in folders if not _PASS_DIR.fullmatch(p)))
    if len(places) != 1 or _others(head, *places):
        return None
    return Match("holds the output files of one rocprof run")


def _others(head: Head, place: str) -> bool:
    """Whether a report lies outside `place`: then the folder is a collection, and this capture a part of it."""
    from profrx_parsers.errors import InputError
    from profrx_parsers.registry import readers, sniff
    from profrx_parsers.source import open_source

    suffixes = tuple(s for d in readers().values() if d.reader not in _NO_REPORT for s in d.suffixes)
    outside = [] if not place else [n for n in head.members if not n.startswith(f"{place}/")]
    for name in outside:
        if not name.lower().endswith(suffixes):
            continue
        try:
            hits = sniff(open_source(os.path.join(head.path, name))[1])
        except InputError:
            continue
        if hits and hits[0][1].certain and hits[0][0].reader not in _NO_REPORT:
            return True
    return False


def _is_ours(folder: str, name: str) -> bool:
    from profrx_parsers.errors import InputError
    from profrx_parsers.source import open_source

    try:
        member = open_source(os.path.join(folder, name))[1]
    except InputError:
        return False
    return any(check(member) for check in (csv_file, v3_json, v1_json, rocpd, v1_database))


def sniff_tables(path: str, data: bytes) -> list[str]:
    """Return the table names of a database file, opened immutable; empty when it is none."""
    if not data.startswith(MAGIC) or not path:
        return []
    from profrx_parsers.rocm.sqlitefile import DAMAGE, connect, table_names

    try:
        found = connect(path)
    except (*DAMAGE, OSError):
        return []
    try:
        return table_names(found)
    except DAMAGE:
        return []
    finally:
        found.close()


def rocpd(head: Head) -> Match | None:
    """A rocpd database: base tables that carry a run's GUID in their names."""
    names = [] if head.packed else sniff_tables(head.path, head.data)
    if any(ROCPD.fullmatch(name) for name in names):
        return Match("is SQLite with rocpd tables that carry the run's GUID")
    return None


def v1_database(head: Head) -> Match | None:
    """A rocprof v1 database: tables KERN or A with kernels, or OPS, COPY, HIP, HSA."""
    names = set([] if head.packed else sniff_tables(head.path, head.data))
    if names & {"KERN", "A", "OPS"} and names <= {
        "KERN",
        "A",
        "OPS",
        "COPY",
        "HIP",
        "HSA",
        "ROCTX",
        "sqlite_sequence",
    }:
        return Match("is SQLite with the tables of rocprof v1 (KERN, OPS, COPY, HIP, HSA)")
    return None


def rpd(head: Head) -> Match | None:
    """A rocmProfileData database; a packed one is recognised by its suffix only."""
    if head.packed:
        named = re.search(r"\.rpd\.(gz|zst)$", head.name.lower())
        packed = head.data.startswith(MAGIC) and named
        return Match("is packed SQLite with the suffix of rocmProfileData", certain=False) if packed else None
    if {"rocpd_op", "rocpd_api", "rocpd_string"} <= set(sniff_tables(head.path, head.data)):
        return Match("is SQLite with the rocmProfileData tables rocpd_op and rocpd_api")
    return None


def v3_json(head: Head) -> Match | None:
    """A rocprofv3 JSON: its root key."""
    if not head.members and b'"rocprofiler-sdk-tool"' in head.data[:512]:
        return Match('has the root key "rocprofiler-sdk-tool"')
    return None


def v1_json(head: Head) -> Match | None:
    """A rocprof v1 chrome trace: an empty first record, synthetic process names, text times."""
    data = head.data
    if head.members or not data.lstrip().startswith((b"{", b"[", b",")):
        return None
    named = any(
        word in data for word in (b'"CPU HIP API"', b'"CPU HSA API"', b'"GPU Barriers', b'"name":"COPY"')
    )
    if b'"traceEvents"' in data and b"process_name" in data and named:
        return Match("is a chrome trace with rocprof v1's process names")
    if b'"BeginNs"' in data and b'"EndNs"' in data and b'"ph"' in data:
        return Match("is a piece of a rocprof v1 chrome trace (BeginNs and EndNs as text)", certain=False)
    return None
