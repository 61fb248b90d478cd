"""Recognising ROCm inputs by content: the header of a CSV, the first bytes of JSON and SQLite, names in a folder."""

from __future__ import annotations

import csv
import io
import re

from profrx_parsers.descriptor import Head, Match
from profrx_parsers.rocm.headers import fact_of, kind_of, plain

_WORKLOAD = re.compile(
    r"(?:(.*)/)?(?:pmc_perf(?:_\d+)?|SQ_(?:IFETCH_LEVEL|LEVEL_WAVES|INST_LEVEL_\w+))\.csv(?:\.gz)?"
)
_OUTPUT = re.compile(
    r"(?:(.*)/)?(?:[^/]*_)?(?:kernel_trace|counter_collection|agent_info|hip_api_trace|hsa_api_trace|marker_api_trace"
    r"|memory_copy_trace|memory_allocation_trace|scratch_memory_trace|rccl_api_trace|kernel_stats|hip_stats|domain_stats"
    r"|pc_sampling_host_trap|pc_sampling_stochastic|stats_ui_output_\w+)\.csv(?:\.gz)?"
)
_V1 = re.compile(
    r"(?:(.*)/)?results\.(?:csv|db|json|stats\.csv|hip_stats\.csv|hsa_stats\.csv|copy_stats\.csv|sysinfo\.txt)"
)
_PASS_DIR = re.compile(r"(?:pass|pmc)_\d+")


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
    return Match(f"the CSV header is that of a ROCm {kind} table")


def workload(head: Head) -> Match | None:
    """A rocprof-compute workload folder: per-pass or joined counter files in one place."""
    places = {
        m[1] or "" for name in head.members if "perfmon/" not in name and (m := _WORKLOAD.fullmatch(name))
    }
    if len(places) != 1:
        return None
    return Match("the folder holds rocprof-compute counter files (pmc_perf.csv or its passes)")


def outputs(head: Head) -> Match | None:
    """A folder of rocprofv3 or rocprof v1 output files of one run (pass_N folders count as one)."""
    places: set[str] = set()
    for name in head.members:
        found = _OUTPUT.fullmatch(name) or _V1.fullmatch(name)
        if found:
            parts = [p for p in (found[1] or "").split("/") if p and not _PASS_DIR.fullmatch(p)]
            places.add("/".join(parts))
    if len(places) != 1:
        return None
    return Match("the folder holds output files of one rocprof run")
