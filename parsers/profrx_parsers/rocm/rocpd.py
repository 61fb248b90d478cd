"""rocpd: the SQLite database of rocprofv3 7.0 and later (and of rocprof-sys), schema version 3.

Every base table carries the run's GUID in its name; a merged file holds several GUIDs whose ids restart, so each is
read on its own. Names, registers and static LDS stand in the kernel symbols. The convenience views are not used:
they drop rows with missing queues or threads, and some count microseconds. The process environment, command line,
host name and machine id are read only when private facts are asked for.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx_parsers import schema
from profrx_parsers.problems import ProblemLog
from profrx_parsers.rocm import build
from profrx_parsers.rocm.agents import Agent, from_record
from profrx_parsers.rocm.dispatches import Dispatches, concat
from profrx_parsers.rocm.names import clean
from profrx_parsers.rocm.sniff import ROCPD
from profrx_parsers.rocm.sqlitefile import Database, integers, reals, texts
from profrx_parsers.rocm.tables import MARKER_DOMAINS, directions, domain_of, numbered
from profrx_parsers.rocm.times import derive_duration

if TYPE_CHECKING:
    from profrx_parsers.report import Report, Wanted
    from profrx_parsers.source import Source

NODE_STEP = 1_000
"""Agents of the n-th node are numbered from n times this: two nodes of one merged file both have an agent 2."""


class Run:
    """The tables of one GUID, with ids resolved to what they mean."""

    def __init__(self, base: Database, suffix: str, node: int) -> None:
        self.base, self.suffix, self.node = base, suffix, node
        strings = self.get("string", "id", "string")
        self.strings: dict[int, str] = dict(zip(strings["id"], strings["string"], strict=True))
        processes = self.get("info_process", "id", "pid")
        self.pids = dict(zip(processes["id"], processes["pid"], strict=True))
        threads = self.get("info_thread", "id", "tid")
        self.tids = dict(zip(threads["id"], threads["tid"], strict=True))
        agents = self.get("info_agent", "id", "absolute_index", "type", "name", "product_name", "extdata")
        self.agent_numbers: dict[Any, int | None] = {}
        self.agents: list[Agent] = []
        for at, key in enumerate(agents["id"]):
            number = _number(agents["absolute_index"][at])
            number = None if number is None else number + node * NODE_STEP
            self.agent_numbers[key] = number if str(agents["type"][at]) == "GPU" else None
            agent = from_record(_extdata(agents["extdata"][at], agents, at))
            if agent and number is not None:
                agent.numbers = (number,)
                self.agents.append(agent)
        events = self.get("event", "id", "category_id", "stack_id")
        self.events = pa.table(
            {
                "event": integers(events["id"]),
                "category": self.words(events["category_id"]),
                "stack": integers(events["stack_id"]),
            }
        )

    def get(self, table: str, *columns: str) -> dict[str, list[Any]]:
        """Read columns of a base table of this run."""
        return self.base.read(f"rocpd_{table}{self.suffix}", columns)

    def words(self, ids: Sequence[Any]) -> pa.Array:
        """Resolve string ids."""
        return texts([self.strings.get(i) for i in ids])

    def event_facts(self, ids: Sequence[Any]) -> tuple[pa.Array, pa.Array]:
        """Return category and stack id (what the CSV files call correlation id) of events."""
        where = pc.index_in(integers(ids), value_set=self.events.column("event").combine_chunks())
        return (
            self.events.column("category").combine_chunks().take(where),
            self.events.column("stack").combine_chunks().take(where),
        )


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _extdata(text: Any, agents: dict[str, list[Any]], at: int) -> dict[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) and len(text) < 1 << 20 else {}
    except (ValueError, RecursionError):
        found = {}
    record = found if isinstance(found, dict) else {}
    for key in ("type", "name", "product_name"):
        if agents[key][at]:
            record[key] = agents[key][at]
    return record


def read(source: Source, wanted: Wanted) -> Report:
    """Read all runs of the database as one report."""
    log = ProblemLog()
    parts = build.Parts(build.info(source, "rocpd", tool="rocprofv3"), log, wanted)
    add(parts, [Database(source, log)])
    return build.build(parts)


def add(parts: build.Parts, bases: Sequence[Database]) -> None:
    """Add every run of the databases (one per process, or one merged file) to a report in the making."""
    log = parts.log
    nodes: dict[Any, int] = {}
    runs: list[Run] = []
    read_already: set[str] = set()
    for base in bases:
        for suffix in (m[1] for name in base.tables if (m := ROCPD.fullmatch(name))):
            if suffix in read_already:
                log.add(
                    "info",
                    "rocpd-run-twice",
                    "a run lies in two databases and is read once",
                    where=base.where,
                )
                continue
            read_already.add(suffix)
            node = base.read(f"rocpd_info_node{suffix}", ["hash"])["hash"]
            runs.append(Run(base, suffix, nodes.setdefault(node[0] if node else None, len(nodes))))
    parts.info.options |= {"runs": len(runs), "nodes": len(nodes)}
    if parts.wanted.private:
        parts.info.private = _private(runs)
    versions = {
        str(v)
        for r in runs
        for t, v in zip(*r.get("metadata", "tag", "value").values(), strict=True)
        if t == "schema_version"
    }
    if versions - {"3"}:
        log.add(
            "warning",
            "rocpd-schema-version",
            f"schema version {', '.join(sorted(versions))} was never seen: columns may mean something else",
        )
    known = {agent.numbers[:1] for agent in parts.agents}
    before = len(parts.dispatches)
    for run in runs:
        rows = dispatches(run, log, parts.wanted)
        if rows.rows:
            parts.dispatches.append(rows)
        for agent in run.agents:
            if agent.numbers not in known:
                known.add(agent.numbers)
                parts.agents.append(agent)
    if len(parts.dispatches) == before:
        log.add(
            "warning",
            "rocm-no-dispatches",
            "the database has no kernel dispatch",
            advice="in a multi-process program each process writes its own file: give the one of the process that ran kernels",
        )
    timeline: dict[str, tuple[pa.Table, pa.Table]] = {}

    def calls() -> tuple[pa.Table, pa.Table]:
        if "both" not in timeline:
            timeline["both"] = regions(runs)
        return timeline["both"]

    keys: list[int | None] = build.device_rows(concat(parts.dispatches))[0] if parts.dispatches else []
    parts.loaders["api_calls"] = lambda: calls()[0]
    parts.loaders["ranges"] = lambda: calls()[1]
    parts.loaders["copies"] = lambda: copies(runs, keys)
    parts.loaders["memory_events"] = lambda: allocations(runs, keys)


def _private(runs: Sequence[Run]) -> dict[str, Any]:
    private: dict[str, Any] = {}
    for run in runs:
        for table, columns in (
            ("info_process", ("command", "environment")),
            ("info_node", ("hostname", "machine_id")),
        ):
            for name, values in run.get(table, *columns).items():
                private.setdefault(name, []).extend(v for v in values if v)
    return private


def dispatches(run: Run, log: ProblemLog, wanted: Wanted) -> Dispatches:
    """Return the dispatches of one run with their counters."""
    sizes = [f"{side}_size_{axis}" for side in ("grid", "workgroup") for axis in "xyz"]
    got = run.get(
        "kernel_dispatch", "pid", "tid", "agent_id", "kernel_id", "dispatch_id", "queue_id", "stream_id", "start", "end",
        "private_segment_size", "group_segment_size", *sizes, "region_name_id", "event_id",
    )  # fmt: skip
    rows = Dispatches(len(got["start"]), where=f"rocpd_kernel_dispatch{run.suffix}")
    symbols = run.get(
        "info_kernel_symbol",
        "id",
        "kernel_name",
        "display_name",
        "arch_vgpr_count",
        "accum_vgpr_count",
        "sgpr_count",
    )
    where = pc.index_in(integers(got["kernel_id"]), value_set=integers(symbols["id"]))
    names = texts([d or k for d, k in zip(symbols["display_name"], symbols["kernel_name"], strict=True)])
    rows.facts["kernel"] = clean(names).take(where)
    for fact, column in (("vgpr", "arch_vgpr_count"), ("agpr", "accum_vgpr_count"), ("sgpr", "sgpr_count")):
        rows.facts[fact] = integers(symbols[column]).take(where)
    numbers = [run.agent_numbers.get(a) for a in got["agent_id"]]
    rows.facts["agent"] = texts([None if n is None else str(n) for n in numbers])
    rows.facts["pid"] = integers([run.pids.get(p, p) for p in got["pid"]])
    rows.facts["tid"] = integers([run.tids.get(t, t) for t in got["tid"]])
    for fact, column in (
        ("dispatch", "dispatch_id"), ("queue", "queue_id"), ("stream", "stream_id"), ("start", "start"), ("end", "end"),
        ("scratch", "private_segment_size"), ("lds", "group_segment_size"),
    ):  # fmt: skip
        rows.facts[fact] = integers(got[column])
    for name in sizes:
        side, axis = ("grid" if name.startswith("grid") else "block"), name[-1]
        rows.facts[f"{side}_{axis}"] = integers(got[name])
    _, rows.facts["correlation"] = run.event_facts(got["event_id"])
    region = run.words(got["region_name_id"])
    rows.facts["range_path"] = pc.if_else(pc.equal(region, ""), None, region)
    derive_duration(rows, log)
    _counters(run, rows, got["event_id"], wanted.metrics)
    return rows


def _counters(run: Run, rows: Dispatches, event_ids: Sequence[Any], wanted: frozenset[str] | None) -> None:
    """Sum the per-die and per-unit values of each counter, as the tool's own CSV does."""
    kinds = run.get("info_pmc", "id", "name")
    if not kinds["id"]:
        return
    got = run.get("pmc_event", "event_id", "pmc_id", "value")
    row = pc.index_in(integers(got["event_id"]), value_set=integers(event_ids))
    kind = pc.index_in(integers(got["pmc_id"]), value_set=integers(kinds["id"]))
    value = reals(got["value"])
    keep = np.asarray(
        pc.and_(pc.and_(row.is_valid(), kind.is_valid()), value.is_valid()).to_numpy(zero_copy_only=False)
    )
    at = np.asarray(pc.fill_null(row, 0).to_numpy())[keep]
    which = np.asarray(pc.fill_null(kind, 0).to_numpy())[keep]
    values = np.asarray(pc.fill_null(value, 0.0).to_numpy())[keep]
    names = [str(n) for n in kinds["name"]]
    for name in dict.fromkeys(names):
        if wanted is not None and name not in wanted:
            continue
        mine = np.isin(which, [i for i, n in enumerate(names) if n == name])
        if mine.any():
            total = np.bincount(at[mine], values[mine], rows.rows)
            there = np.bincount(at[mine], minlength=rows.rows) > 0
            rows.counters[name] = pa.array(total, mask=~there)


def regions(runs: Sequence[Run]) -> tuple[pa.Table, pa.Table]:
    """Return `api_calls` and `ranges` (roctx markers) of all runs."""
    calls, ranges = [], []
    for run in runs:
        got = run.get("region", "pid", "tid", "start", "end", "name_id", "event_id")
        category, stack = run.event_facts(got["event_id"])
        columns = {
            "name": run.words(got["name_id"]),
            "process_id": integers([run.pids.get(p, p) for p in got["pid"]]),
            "thread_id": integers([run.tids.get(t, t) for t in got["tid"]]),
            "start_ns": integers(got["start"]),
            "end_ns": integers(got["end"]),
        }
        marker = pc.is_in(category, value_set=pa.array(MARKER_DOMAINS))
        count = len(got["start"])
        call = schema.conform(
            "api_calls", {**columns, "domain": domain_of(category), "correlation_id": stack}, count
        )
        calls.append(call.filter(pc.invert(marker)))
        instant = pc.fill_null(pc.equal(columns["start_ns"], columns["end_ns"]), False)
        kind = pc.if_else(instant, "mark", "push-pop")
        ranges.append(
            schema.conform("ranges", {**columns, "kind": kind, "domain": domain_of(category)}, count).filter(
                marker
            )
        )
    return numbered(calls, "api_calls", "call_id"), numbered(ranges, "ranges", "range_id")


def _device(run: Run, ids: Sequence[Any], keys: Sequence[int | None]) -> pa.Array:
    numbers = [run.agent_numbers.get(i) for i in ids]
    return pa.array([keys.index(n) if n is not None and n in keys else None for n in numbers], pa.int32())


def copies(runs: Sequence[Run], keys: Sequence[int | None]) -> pa.Table:
    """Return `copies` with their byte counts."""
    parts = []
    for run in runs:
        got = run.get(
            "memory_copy",
            "pid",
            "start",
            "end",
            "name_id",
            "dst_agent_id",
            "src_agent_id",
            "size",
            "stream_id",
            "event_id",
        )
        to, source = _device(run, got["dst_agent_id"], keys), _device(run, got["src_agent_id"], keys)
        both = pc.and_(to.is_valid(), source.is_valid())
        parts.append(
            schema.conform(
                "copies",
                {
                    "operation": pa.repeat(pa.scalar("copy"), len(to)),
                    "direction": directions(run.words(got["name_id"])),
                    "device_id": pc.coalesce(to, source),
                    "peer_device_id": pc.if_else(pc.and_(both, pc.not_equal(to, source)), source, None),
                    "process_id": integers([run.pids.get(p, p) for p in got["pid"]]),
                    "stream_id": integers(got["stream_id"]),
                    "bytes": integers(got["size"]),
                    "start_ns": integers(got["start"]),
                    "end_ns": integers(got["end"]),
                    "correlation_id": run.event_facts(got["event_id"])[1],
                },
                len(to),
            )
        )
    return numbered(parts, "copies", "copy_id")


def allocations(runs: Sequence[Run], keys: Sequence[int | None]) -> pa.Table:
    """Return `memory_events`."""
    parts = [schema.empty("memory_events")]
    for run in runs:
        got = run.get(
            "memory_allocate", "pid", "agent_id", "type", "level", "start", "address", "size", "event_id"
        )
        operation = pc.if_else(pc.equal(texts(got["type"]), "FREE"), "free", "allocate")
        parts.append(
            schema.conform(
                "memory_events",
                {
                    "time_ns": integers(got["start"]),
                    "operation": operation,
                    "kind": pc.if_else(pc.equal(texts(got["level"]), "SCRATCH"), "scratch", "device"),
                    "device_id": _device(run, got["agent_id"], keys),
                    "process_id": integers([run.pids.get(p, p) for p in got["pid"]]),
                    "address": integers(got["address"]),
                    "bytes": integers(got["size"]),
                    "correlation_id": run.event_facts(got["event_id"])[1],
                    "name": texts(got["type"]),
                },
                len(got["start"]),
            )
        )
    return pa.concat_tables(parts)
