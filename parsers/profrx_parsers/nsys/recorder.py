"""What the recorder says about its own work: doubts, losses, its own overhead.

The texts of diagnostics name folders and programs of the machine, so none of them is passed on: each is sorted
into a kind that profrx has its own words for; what concerns no GPU work is left out. Source: 791 diagnostics of 33 report/export pairs
(nsys 2021.5 to 2026.1), and the names of CUPTI errors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from profrx_parsers.nsys.raw import Frame, Ints, RawTables, pid_of
from profrx_parsers.problems import ProblemLog, Severity

DIAGNOSTIC_COLUMNS = ("severity", "text", "globalPid")
OVERHEAD_COLUMNS = ("start", "end", "globalTid")
MAX_ROWS = 100_000
"""Diagnostics that are looked at; the longest list seen has 165."""
WARNING = 2
"""Severity from which a diagnostic counts: 1 information, 2 warning, 3 error, 4 verbose."""

LOST, DOUBTED, EMPTY, NOT_TRACED, CLOCK, OTHER = "lost", "doubted", "empty", "not-traced", "clock", "other"
_CUDA = r"\b(?:CUDA|CUPTI|GPU)\b"
_PATTERNS: tuple[tuple[str, str], ...] = (
    (LOST, r"\bdropped\b|\bdropping\b|\boverflow|\blost\b|discarded|out of (?:device )?memory|OUT_OF_MEMORY|MAX_LIMIT_REACHED"),
    (CLOCK, r"time ?stamps?\b.*(?:invalid|order|monoton|convert|synchroni|skew)|clocks?\b.*synchroni|wrong event order"),
    (NOT_TRACED, rf"{_CUDA}.*(?:initialization failed|stopped unexpectedly|not\b.*\bstarted)|Cannot initialize {_CUDA}"),
    (EMPTY, rf"No {_CUDA} events collected"),
    (DOUBTED, rf"not all {_CUDA} events"),
)  # fmt: skip
"""Kind -> expression over the text, first match wins. Sampling of the CPU that was throttled loses nothing here."""
_NOT_BEGUN = re.compile(rf"{_CUDA}.*not\b.*\bstarted", re.IGNORECASE)
"""What nsys says at the end of a process in which it never began to trace CUDA: one that failed, or one without CUDA."""
_BEGUN = re.compile(rf"Loaded CUPTI|{_CUDA} (?:injection|tracing) initialized", re.IGNORECASE)
"""What it says (information) as soon as a process uses CUDA."""
_BY_PROGRAM = re.compile(r"started due to (?:cu|cuda)ProfilerStart", re.IGNORECASE)
_CPU_ONLY = re.compile(r"sampl|backtrace|throttled", re.IGNORECASE)
_SAYS: dict[str, tuple[Severity, str, str, str]] = {
    LOST: (
        "data-loss", "nsys-recorder-lost", "the recorder says that it lost events while it collected",
        "collect a shorter time, or fewer kinds of events (--trace)",
    ),
    DOUBTED: (
        "info", "nsys-recorder-doubts", "the recorder is not sure that it collected all CUDA events of a process",
        "update nsys to the driver, and let the program end before the capture does",
    ),
    EMPTY: ("info", "nsys-no-cuda-events", "the recorder met no CUDA events in a process", ""),
    NOT_TRACED: (
        "warning", "nsys-not-traced", "the recorder could not trace CUDA in a process, or not from its start",
        "check with `nsys status --environment`; nsys must be as new as the driver",
    ),
    CLOCK: (
        "warning", "nsys-recorder-clock", "the recorder had trouble with the order or the clock of its events",
        "collect again; times of host and device may not fit together",
    ),
}  # fmt: skip
_KINDS = [(kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _PATTERNS]


@dataclass(frozen=True)
class Recorder:
    """The recorder's account of itself.

    Attributes:
        kinds: kind of trouble -> ids of the processes it names (0 = the whole capture); None = the format keeps no
            diagnostics (exports before schema 3.13).
        starts, ends: the recorder's own work in the traced processes (ns); `process` of each.
        by_program: whether the program itself said when to start (cudaProfilerStart).
    """

    kinds: dict[str, frozenset[int]] | None
    starts: Ints
    ends: Ints
    process: Ints
    by_program: bool = False


def read_recorder(raw: RawTables, log: ProblemLog) -> Recorder:
    """Read diagnostics and overhead; what the recorder warns of goes to the log, in own words."""
    table = raw.table("DIAGNOSTIC_EVENT", DIAGNOSTIC_COLUMNS)
    kinds: dict[str, frozenset[int]] | None = None
    by_program = False
    if table is not None:
        frame = Frame(table.slice(0, MAX_ROWS))
        texts = frame.array("text").to_pylist()
        processes = pid_of(frame.ints("globalPid")).tolist()
        kinds = sorted_kinds(list(zip(frame.ints("severity").tolist(), texts, processes, strict=True)), log)
        by_program = any(text and _BY_PROGRAM.search(text) for text in texts)
    work = Frame(raw.table("PROFILER_OVERHEAD", OVERHEAD_COLUMNS))
    good = work.known("start") & work.known("end") & (work.ints("end") > work.ints("start"))
    threads, ids = work.ids("globalTid")
    process = np.asarray(pid_of(ids)[threads], np.int64)[good]
    return Recorder(kinds, work.ints("start")[good], work.ints("end")[good], process, by_program)


def kind_of(text: str) -> str:
    """Return the kind of a warning or an error of the recorder."""
    if _CPU_ONLY.search(text):
        return OTHER
    return next((kind for kind, pattern in _KINDS if pattern.search(text)), OTHER)


def sorted_kinds(rows: Sequence[tuple[int, str | None, int]], log: ProblemLog) -> dict[str, frozenset[int]]:
    """Sort diagnostics (severity, text, process) into kinds and put them on the log."""
    found: dict[str, set[int]] = {}
    counts: dict[str, int] = {}
    begun = {process for _, text, process in rows if text and _BEGUN.search(text)}
    for severity, text, process in rows:
        if not WARNING <= severity <= WARNING + 1 or text is None:
            continue
        kind = kind_of(text)
        if kind == NOT_TRACED and process and begun and process not in begun and _NOT_BEGUN.search(text):
            continue  # a launcher or helper without CUDA: others say when they begin, this one never did
        if kind == OTHER:
            continue
        found.setdefault(kind, set()).add(process)
        counts[kind] = counts.get(kind, 0) + 1
    for kind in sorted(counts):
        severity_of, code, message, advice = _SAYS[kind]
        log.add(severity_of, code, message, count=counts[kind], advice=advice)
    return {kind: frozenset(processes) for kind, processes in found.items()}
