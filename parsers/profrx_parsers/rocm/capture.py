"""From classified CSV tables to the parts of a report: shared by single files and output folders."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from profrx_parsers.rocm import agents, pcsampling, roofline, sysinfo, tables
from profrx_parsers.rocm.build import Parts
from profrx_parsers.rocm.dispatches import Dispatches, read_dispatches
from profrx_parsers.rocm.headers import plain
from profrx_parsers.rocm.members import Table
from profrx_parsers.rocm.passes import attach, merge, same_dispatches

_PROCESS = re.compile(r"(?:.*/)?(\d{1,10})_(?:kernel_trace|counter_collection)\.csv(?:\.gz)?")


def generation(header: Sequence[str]) -> str:
    """Tell the tool from the spelling of its columns."""
    names = set(header)
    if {"KernelName", "gpu-id"} <= names or {"Name", "Calls", "TotalDurationNs"} == names - {
        "AverageNs",
        "Percentage",
    }:
        return "rocprof"
    if "Start_Timestamp" in names and "PID" in names:
        return "rocprofv2"
    if any(plain(n) in ("workload_name", "hbmbw", "sum(ns)") for n in names) or "LDS_Per_Workgroup" in names:
        return "rocprof-compute"
    return "rocprofv3"


def add_tables(parts: Parts, found: Sequence[Table]) -> None:
    """Put every table where it belongs: dispatches joined over passes, the timeline as lazy loaders."""
    log, wanted = parts.log, parts.wanted

    def of(*kinds: str) -> list[Table]:
        return [t for t in found if t.kind in kinds]

    for table in of("agents"):
        parts.agents.extend(tables.agent_rows(table.file, log))
    if sheets := of("sysinfo"):
        agent, facts = sysinfo.read([t.file for t in sheets], log, private=wanted.private)
        parts.agents.append(agent)
        for key, value in facts.items():
            setattr(parts.info, key, value)
    if ceilings := of("roofline"):
        agent = parts.agents[0] if parts.agents else agents.Agent()
        roofline.apply([t.file for t in ceilings], agent, log)
        if not parts.agents:
            parts.agents.append(agent)
    traces = [with_process(read_dispatches(t.file, log, wanted.metrics), t.name) for t in of("dispatches")]
    counted = [with_process(read_dispatches(t.file, log, wanted.metrics), t.name) for t in of("counters")]
    parts.dispatches.extend(join_runs(parts, traces, counted))

    device_id = device_lookup(parts)
    if files := [t.file for t in of("api")]:
        pair: list[tuple[object, object]] = []

        def both() -> tuple[object, object]:
            if not pair:
                pair.append(tables.api_tables(files, log))
            return pair[0]

        parts.loaders["api_calls"] = lambda: both()[0]
        parts.loaders["ranges"] = lambda: both()[1]
    if copies := [t.file for t in of("copies")]:
        parts.loaders["copies"] = lambda: tables.copy_table(copies, log, device_id)
    if allocations := [t.file for t in of("allocations")]:
        parts.loaders["memory_events"] = lambda: tables.allocation_table(allocations, log, device_id)
    if sums := [t.file for t in of("stats", "kernel-top")]:
        parts.loaders["summaries"] = lambda: tables.summary_table(sums, log)
    pcsampling.add_csv(parts, of("pc-samples"), of("att"))


def with_process(rows: Dispatches, name: str) -> Dispatches:
    """Take the process id from the file name where the table has none: the tool's default prefix is the id."""
    found = _PROCESS.fullmatch(name)
    if found and "pid" not in rows.facts:
        rows.facts["pid"] = pa.repeat(pa.scalar(int(found[1]), pa.int64()), rows.rows)
    return rows


def join_runs(parts: Parts, traces: list[Dispatches], counted: list[Dispatches]) -> list[Dispatches]:
    """Join counter files that are passes of one program, then put them onto the trace of the same run.

    Counting runs kernels one by one: without a trace the times are no timeline (option `kernels_serialised`),
    beside the trace of another run they have a duration but no place in it.
    """
    runs: list[Dispatches] = []
    for one in counted:
        home = next((r for r in runs if same_dispatches(r, one)), None)
        if home is None:
            runs.append(one)
        else:
            merge(home, one, parts.log)
    alone = [r for r in runs if not any(attach(t, r) for t in traces)]
    if alone and traces:
        parts.log.add(
            "info",
            "rocm-separate-runs",
            "counters and trace come from different runs: their dispatches are listed separately, without start and end",
            where=alone[0].where,
            count=len(alone),
        )
        for run in alone:
            _forget_times(run)
    elif alone:
        parts.info.options["kernels_serialised"] = True
    return [*one_window(parts, traces), *alone]


def _forget_times(run: Dispatches) -> None:
    for fact in ("start", "end"):
        run.facts.pop(fact, None)


def one_window(parts: Parts, traces: list[Dispatches]) -> list[Dispatches]:
    """Keep the times of one run only when traces of a folder were made far apart: they are no common timeline.

    Far apart: the gap between two traces is longer than ten times what both cover.
    """
    spans = []
    for trace in traces:
        start, end = trace.facts.get("start"), trace.facts.get("end")
        if start is None or end is None or pc.count(start).as_py() == 0 or pc.count(end).as_py() == 0:
            continue
        spans.append((pc.min(start).as_py(), pc.max(end).as_py(), trace))
    spans.sort(key=lambda s: s[0])
    apart = any(
        second[0] - first[1] > 10 * ((first[1] - first[0]) + (second[1] - second[0]))
        for first, second in itertools.pairwise(spans)
    )
    if apart:
        kept = max((s[2] for s in spans), key=lambda trace: trace.rows)
        parts.log.add(
            "warning",
            "rocm-runs-apart",
            "the traces of this folder were made far apart: start and end are kept for the largest one only",
            where=kept.where,
            count=len(spans) - 1,
            advice="they are several captures: give one file at a time",
        )
        for _, _, trace in spans:
            if trace is not kept:
                _forget_times(trace)
    return traces


def device_lookup(parts: Parts) -> Callable[[str], int | None]:
    """Return a function from an agent's text to its `devices` row (None for a CPU or an unknown agent)."""
    from profrx_parsers.rocm.build import device_rows
    from profrx_parsers.rocm.dispatches import concat

    if parts.dispatches:
        keys, _ = device_rows(concat(parts.dispatches))
    else:
        keys = [a.numbers[0] if a.numbers else None for a in parts.agents]

    def find(text: str) -> int | None:
        number = agents.agent_number(text)
        return keys.index(number) if number is not None and number in keys else None

    return find
