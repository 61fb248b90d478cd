"""A rocprof-compute (omniperf) workload folder: all five layouts of `pmc_perf.csv`, one report.

Wide with half-renamed v1 columns (1.x), wide with join leftovers (2.0 over rocprof v1 and v2), wide with averaged
fractional times (3.x), long (3.2+ from rocpd), or only the per-pass files. Durations come from `timestamps.csv`
where that timing-only pass exists: counter passes of rocprof v1 were seen 3,500 times too long.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from profrx_parsers.errors import InputError
from profrx_parsers.problems import ProblemLog
from profrx_parsers.rocm import build, members, roofline, sysinfo
from profrx_parsers.rocm.agents import Agent
from profrx_parsers.rocm.dispatches import Dispatches, read_dispatches
from profrx_parsers.rocm.guards import duration_spread
from profrx_parsers.rocm.passes import align, merge
from profrx_parsers.rocm.tables import summary_table

if TYPE_CHECKING:
    from profrx_parsers.report import Report, Wanted
    from profrx_parsers.source import Source

JOINED = re.compile(r"(?:.*/)?pmc_perf\.csv(\.gz)?")
PASS = re.compile(r"(?:.*/)?(pmc_perf_\d+|SQ[A-Z]*_\w*LEVEL\w*|results_\w+|\w*_?pmc_\w+)\.csv(\.gz)?")
TIMING = re.compile(r"(?:.*/)?timestamps\.csv(\.gz)?")
_VERSION = re.compile(r"(Omniperf|Rocprofiler-Compute|rocprof-compute) version:\s*([\w.+-]+)", re.IGNORECASE)


def read(source: Source, wanted: Wanted) -> Report:
    """Read the folder. Raises `InputError` when it holds no dispatch table at all."""
    from profrx_parsers.source import _members

    log = ProblemLog()
    names = [name for name in _members(source.path) if "/perfmon/" not in f"/{name}"]
    found = members.tables(source, names, log)
    perf = [t for t in found if t.kind in ("dispatches", "counters")]
    joined = [t for t in perf if JOINED.fullmatch(t.name)]
    passes = [t for t in perf if PASS.fullmatch(t.name)]
    timing = [t for t in perf if TIMING.fullmatch(t.name)]
    if not (joined or passes or timing):
        raise InputError(
            "input-no-dispatches",
            "this workload folder has neither pmc_perf.csv nor any per-pass file",
            where=source.name,
            next_step="profile again, or restore the deleted files",
        )
    wanted_names = wanted.metrics
    main = read_dispatches(joined[0].file, log, wanted_names) if joined else None
    others = [read_dispatches(t.file, log, wanted_names) for t in passes]
    rows = main if main is not None and (main.rows or not others) else None
    rows = _join(rows, others, log)
    clock = read_dispatches(timing[0].file, log, frozenset()) if timing else None
    rows = _use_timing(rows, clock, log) if clock is not None else rows
    rows.where = rows.where or (perf[0].name if perf else "")

    agent, facts = sysinfo.read([t.file for t in found if t.kind == "sysinfo"], log, private=wanted.private)
    roofline.apply([t.file for t in found if t.kind == "roofline"], agent, log)
    info = build.info(source, "rocprof-compute", tool="rocprof-compute", **facts)
    place = (source.path / perf[0].name).parent
    head = members.head_text(place / "log.txt", members.MAX_LOG_BYTES)
    if version := _VERSION.search(head):
        info.tool_version = version[2]
    info.options["kernels_serialised"] = True
    parts = build.Parts(info, log, wanted, [rows], [agent] if agent != Agent() else [])
    summaries = [t.file for t in found if t.kind in ("stats", "kernel-top")]
    if summaries:
        parts.loaders["summaries"] = lambda: summary_table(summaries, log)
    return build.build(parts)


def _join(main: Dispatches | None, others: Sequence[Dispatches], log: ProblemLog) -> Dispatches:
    """Add to the joined table what only the per-pass files hold."""
    if main is None:
        main, others = max(others, key=lambda d: d.rows, default=Dispatches(0)), list(others)
        others = [o for o in others if o is not main]
    for other in others:
        if other.rows:
            merge(main, other, log)
    return main


def _use_timing(rows: Dispatches, clock: Dispatches, log: ProblemLog) -> Dispatches:
    """Take times from the timing pass where its dispatches are the same ones, in the same order."""
    if not rows.rows:
        return rows
    order = align(rows, clock)
    if order is None:
        log.add(
            "warning",
            "rocm-passes-do-not-match",
            "timestamps.csv lists other dispatches than the counters: times stay those of the counter passes",
            where=clock.where,
            advice="the program is not deterministic: judge by kernel, not by dispatch",
        )
        return rows
    mine = rows.facts.get("duration")
    theirs = clock.facts["duration"].take(order) if "duration" in clock.facts else None
    if theirs is None or pc.count(theirs).as_py() == 0:
        return rows
    if mine is not None and pc.count(mine).as_py():
        spread = duration_spread([mine, theirs])
        if spread is not None and spread > 0.01:
            log.add(
                "info",
                "rocm-timing-pass-used",
                f"durations are those of timestamps.csv; the counter passes differ by up to {100 * spread:,.0f} %",
                where=clock.where,
            )
    for fact in ("start", "end", "duration"):
        if fact in clock.facts:
            rows.facts[fact] = clock.facts[fact].take(order)
    return rows
