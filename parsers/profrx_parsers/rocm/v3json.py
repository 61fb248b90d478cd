"""rocprofv3 `*_results.json`: one element per process, kernels by symbol id, operation texts by index.

The order of operations depends on the version, so texts are always looked up; agent handles are opaque and mapped to
node ids; records are not in time order. Of thousands of kernel symbols only the used ones are decoded further.
Command line, host name and machine id are kept only when private facts are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa

from profrx_parsers import schema
from profrx_parsers.errors import InputError
from profrx_parsers.problems import ProblemLog
from profrx_parsers.rocm import build, pcsampling
from profrx_parsers.rocm.agents import from_record
from profrx_parsers.rocm.dispatches import Dispatches, concat
from profrx_parsers.rocm.names import clean
from profrx_parsers.rocm.sqlitefile import integers, texts
from profrx_parsers.rocm.tables import directions, domain_of, numbered
from profrx_parsers.rocm.times import derive_duration
from profrx_parsers.rocm.v3records import Call, Copy, Dispatch, Process, Root

if TYPE_CHECKING:
    from profrx_parsers.report import Report, Wanted
    from profrx_parsers.source import Source

API_KINDS = ("hip_api", "hsa_api", "rccl_api", "rocdecode_api", "rocjpeg_api")


def read(source: Source, wanted: Wanted) -> Report:
    """Read all processes of the file. Raises `InputError` when it cannot be decoded."""
    parts = build.Parts(build.info(source, "rocprofv3-json", tool="rocprofv3"), ProblemLog(), wanted)
    add(parts, [source])
    return build.build(parts)


def decode(source: Source) -> list[Process]:
    """Decode one file. Raises `InputError`."""
    try:
        return msgspec.json.decode(source.data(), type=Root).processes
    except (msgspec.DecodeError, RecursionError) as err:
        raise InputError(
            "input-damaged-json",
            f"this rocprofv3 JSON cannot be decoded: {str(err)[:160]}",
            where=source.name,
            next_step="copy the file again; the tool writes it in one piece at exit, so a killed run leaves a torso",
        ) from err


def add(parts: build.Parts, sources: Sequence[Source]) -> None:
    """Add the processes of all files to a report in the making."""
    processes = [process for source in sources for process in decode(source)]
    parts.info.options["processes"] = len(processes)
    agents: dict[int, dict[int, int]] = {}
    before = len(parts.dispatches)
    for at, process in enumerate(processes):
        agents[at] = {}
        for record in process.agents:
            agent = from_record(record)
            handle = record.get("id", {}).get("handle") if isinstance(record.get("id"), dict) else None
            if agent and agent.numbers and isinstance(handle, int):
                agents[at][handle] = agent.numbers[0]
                if all(known.numbers != agent.numbers for known in parts.agents):
                    parts.agents.append(agent)
        rows = dispatches(process, agents[at], parts.log, parts.wanted)
        if rows.rows:
            parts.dispatches.append(rows)
        if parts.wanted.private:
            parts.info.private.update({k: v for k, v in process.metadata.items() if k in ("command", "node")})
    if len(parts.dispatches) == before:
        parts.log.add(
            "warning",
            "rocm-no-dispatches",
            "the trace has no kernel dispatch",
            advice="give the file of the process that launched kernels, and trace with --kernel-trace",
        )
    keys: list[int | None] = build.device_rows(concat(parts.dispatches))[0] if parts.dispatches else []
    parts.loaders["api_calls"] = lambda: calls(processes)
    parts.loaders["ranges"] = lambda: markers(processes)
    parts.loaders["copies"] = lambda: copies(processes, agents, keys)
    pcsampling.add_json(parts, processes)


def dispatches(process: Process, agents: dict[int, int], log: ProblemLog, wanted: Wanted) -> Dispatches:
    """Return the dispatches of one process: traced ones, or counted ones when only counters were collected."""
    traced = process.buffer_records.kernel_dispatch
    counted = process.callback_records.counter_collection
    found: Sequence[Dispatch] = traced or [c.dispatch_data for c in counted]
    rows = Dispatches(len(found), where="kernel_dispatch" if traced else "counter_collection")
    if not found:
        return rows
    infos = [f.dispatch_info for f in found]
    symbols = {s.kernel_id: s for s in process.kernel_symbols}
    kernel_ids = [i.kernel_id for i in infos]
    used = {k: symbols.get(k) for k in set(kernel_ids)}
    names = {
        k: (s.formatted_kernel_name or s.demangled_kernel_name or s.kernel_name) if s else None
        for k, s in used.items()
    }
    rows.facts["kernel"] = clean(texts([names[k] for k in kernel_ids]))
    for fact, field in (("vgpr", "arch_vgpr_count"), ("agpr", "accum_vgpr_count"), ("sgpr", "sgpr_count")):
        values = {k: getattr(s, field) if s else None for k, s in used.items()}
        rows.facts[fact] = integers([values[k] for k in kernel_ids])
    numbers = [agents.get(i.agent_id.handle) for i in infos]
    rows.facts["agent"] = texts([None if n is None else str(n) for n in numbers])
    pid = process.metadata.get("pid")
    rows.facts["pid"] = integers([pid] * len(found))
    rows.facts["tid"] = integers([f.thread_id for f in found])
    rows.facts["dispatch"] = integers([i.dispatch_id for i in infos])
    rows.facts["queue"] = integers([i.queue_id.handle for i in infos])
    rows.facts["stream"] = integers([None if f.stream_id is None else f.stream_id.handle for f in found])
    rows.facts["correlation"] = integers([f.correlation_id.internal for f in found])
    rows.facts["start"] = integers([f.start_timestamp for f in found])
    rows.facts["end"] = integers([f.end_timestamp for f in found])
    rows.facts["lds"] = integers([i.group_segment_size for i in infos])
    rows.facts["scratch"] = integers([i.private_segment_size for i in infos])
    for axis in "xyz":
        rows.facts[f"grid_{axis}"] = integers([getattr(i.grid_size, axis) for i in infos])
        rows.facts[f"block_{axis}"] = integers([getattr(i.workgroup_size, axis) for i in infos])
    derive_duration(rows, log)
    _counters(process, rows, wanted.metrics)
    return rows


def _counters(process: Process, rows: Dispatches, wanted: frozenset[str] | None) -> None:
    """Sum the values of all dimensions (dies, engines, channels) of each counter, as the tool's own CSV does."""
    counted = process.callback_records.counter_collection
    if not counted:
        return
    names = {c.id.handle: c.name for c in process.counters}
    row_of = {int(d): i for i, d in enumerate(rows.facts["dispatch"].to_pylist()) if d is not None}
    totals: dict[str, np.ndarray] = {}
    for entry in counted:
        at = row_of.get(entry.dispatch_data.dispatch_info.dispatch_id)
        if at is None:
            continue
        for record in entry.records:
            name = names.get(record.counter_id.handle)
            if name is None or (wanted is not None and name not in wanted):
                continue
            column = totals.setdefault(name, np.full(rows.rows, np.nan))
            column[at] = record.value if np.isnan(column[at]) else column[at] + record.value
    for name, column in totals.items():
        rows.counters[name] = pa.array(column, mask=np.isnan(column))


def _operation(process: Process, call: Call | Copy) -> tuple[str | None, str | None]:
    kinds = process.strings.buffer_records
    kind = kinds[call.kind] if 0 <= call.kind < len(kinds) else None
    if kind is None:
        return None, None
    known = 0 <= call.operation < len(kind.operations)
    return kind.kind, kind.operations[call.operation] if known else None


def _call_table(process: Process, found: Sequence[Call], table: str) -> pa.Table:
    named = [_operation(process, c) for c in found]
    domain = texts([d for d, _ in named])
    columns: dict[str, Any] = {
        "name": texts([n for _, n in named]),
        "domain": domain_of(domain),
        "process_id": integers([process.metadata.get("pid")] * len(found)),
        "thread_id": integers([c.thread_id for c in found]),
        "start_ns": integers([c.start_timestamp for c in found]),
        "end_ns": integers([c.end_timestamp for c in found]),
    }
    if table == "api_calls":
        columns["correlation_id"] = integers([c.correlation_id.internal for c in found])
    else:
        texts_by_id = {m.key: m.value for m in process.strings.marker_api}
        columns["name"] = texts(
            [texts_by_id.get(c.correlation_id.internal, n) for c, (_, n) in zip(found, named, strict=True)]
        )
        columns["kind"] = ["mark" if c.start_timestamp == c.end_timestamp else "push-pop" for c in found]
    return schema.conform(table, columns, len(found))


def calls(processes: Sequence[Process]) -> pa.Table:
    """Return `api_calls` of all processes."""
    parts = []
    for process in processes:
        for kind in API_KINDS:
            if found := getattr(process.buffer_records, kind):
                parts.append(_call_table(process, found, "api_calls"))
    return numbered(parts, "api_calls", "call_id")


def markers(processes: Sequence[Process]) -> pa.Table:
    """Return `ranges` (roctx) of all processes."""
    parts = [
        _call_table(p, p.buffer_records.marker_api, "ranges")
        for p in processes
        if p.buffer_records.marker_api
    ]
    return numbered(parts, "ranges", "range_id")


def copies(
    processes: Sequence[Process], agents: dict[int, dict[int, int]], keys: Sequence[int | None]
) -> pa.Table:
    """Return `copies` of all processes."""
    parts = []
    for at, process in enumerate(processes):
        found = process.buffer_records.memory_copy
        if not found:
            continue
        device = []
        for copy in found:
            numbers = [agents[at].get(a.handle) for a in (copy.dst_agent_id, copy.src_agent_id) if a]
            device.append(next((keys.index(n) for n in numbers if n is not None and n in keys), None))
        parts.append(
            schema.conform(
                "copies",
                {
                    "operation": ["copy"] * len(found),
                    "direction": directions(texts([_operation(process, c)[1] for c in found])),
                    "device_id": pa.array(device, pa.int32()),
                    "process_id": integers([process.metadata.get("pid")] * len(found)),
                    "stream_id": integers(
                        [None if c.stream_id is None else c.stream_id.handle for c in found]
                    ),
                    "bytes": integers([c.bytes for c in found]),
                    "start_ns": integers([c.start_timestamp for c in found]),
                    "end_ns": integers([c.end_timestamp for c in found]),
                    "correlation_id": integers([c.correlation_id.internal for c in found]),
                },
                len(found),
            )
        )
    return numbered(parts, "copies", "copy_id")
