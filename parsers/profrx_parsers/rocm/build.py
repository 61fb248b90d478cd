"""From collected parts to a `Report`: launches, metrics, instances and devices of any ROCm input.

Grid sizes of AMD's tools count work-items; `launches` counts work-groups, as everywhere. Where a tool gives only
products of the three dimensions, the product stands in x and y = z = 1. `registers_per_thread` is architectural
plus accumulation registers; `shared_static_bytes` is all LDS of a work-group where the tool does not split it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx_parsers import schema
from profrx_parsers.columns import EXTRA
from profrx_parsers.info import ReportInfo
from profrx_parsers.names import kernel_id, short_name
from profrx_parsers.problems import ProblemLog
from profrx_parsers.report import Loader, Report, Wanted
from profrx_parsers.rocm import agents as agents_module
from profrx_parsers.rocm import counters
from profrx_parsers.rocm.agents import Agent, agent_number
from profrx_parsers.rocm.dispatches import Dispatches, concat
from profrx_parsers.rocm.guards import guard
from profrx_parsers.rocm.ranges import with_paths

if TYPE_CHECKING:
    from profrx_parsers.source import Source

CLOCK = "the node's own clock as the profiler recorded it"


@dataclass
class Parts:
    """What a reader found; `build` makes the tables.

    Attributes:
        dispatches: kernel dispatches, one entry per independent run.
        agents: GPUs described anywhere in the input.
        loaders: further tables, decoded on first use.
    """

    info: ReportInfo
    log: ProblemLog
    wanted: Wanted
    dispatches: list[Dispatches] = field(default_factory=list)
    agents: list[Agent] = field(default_factory=list)
    loaders: dict[str, Loader] = field(default_factory=dict)
    extras: dict[str, Any] = field(default_factory=dict)


def info(source: Source, name: str, **facts: Any) -> ReportInfo:
    """Start the facts of a report that all ROCm readers share."""
    return ReportInfo(source=source.name, format=name, time_origin=CLOCK, **facts)


def build(parts: Parts) -> Report:
    """Assemble the report."""
    loaders = dict(parts.loaders)
    extras = dict(parts.extras)
    if parts.dispatches:
        rows = concat(parts.dispatches)
        keys, device_of = device_rows(rows)
        waves = _wave_sizes(rows, keys, device_of)
        device_table = agents_module.devices(keys, parts.agents, waves)
        chosen = [agents_module.pick(key, parts.agents) for key in keys]
        counters.combine(rows)
        guard(rows, chosen, device_of, parts.log)
        calls = loaders.get("api_calls")
        marks = loaders.get("ranges")
        loaders["launches"] = lambda: launched_by(launches(rows, device_of), calls, marks)
        loaders["devices"] = lambda: device_table
        columns = counters.columns(rows, chosen, device_of)
        if columns.numbers:
            loaders["metrics"] = lambda: counters.long_table(columns)
        extras[EXTRA] = columns
        if rows.instances:
            loaders["instances"] = lambda: counters.instance_table(rows)
        if parts.info.base_time is None:
            parts.info.base_time = "profiled kernel time"
        if not rows.rows:
            parts.log.add(
                "warning",
                "rocm-no-dispatches",
                "the input has a dispatch table but no dispatch in it",
                where=rows.where,
                advice="the kernel filter matched nothing, or the run was aborted: profile again",
            )
    elif parts.agents:
        keys = [agent.numbers[0] if agent.numbers else None for agent in parts.agents]
        loaders["devices"] = lambda: agents_module.devices(keys, parts.agents, {})
    return Report(parts.info, loaders, parts.log, extras)


def device_rows(rows: Dispatches) -> tuple[list[int | None], np.ndarray]:
    """Return the agents that ran something, in numeric order, and the device row of each dispatch."""
    column = rows.facts.get("agent")
    if column is None:
        return (
            ([None], np.zeros(rows.rows, dtype=np.int64)) if rows.rows else ([], np.zeros(0, dtype=np.int64))
        )
    encoded = pc.dictionary_encode(pc.fill_null(column, ""))
    numbers = [agent_number(text) for text in encoded.dictionary.to_pylist()]
    keys = sorted(set(numbers), key=lambda n: -1 if n is None else n)
    codes = np.array([keys.index(n) for n in numbers], dtype=np.int64)
    return keys, codes[np.asarray(encoded.indices.to_numpy(zero_copy_only=False))]


def _wave_sizes(
    rows: Dispatches, keys: Sequence[int | None], device_of: np.ndarray
) -> Mapping[int | None, int]:
    waves = rows.ints("wave_size")
    found: dict[int | None, int] = {}
    if waves is not None:
        for at, key in enumerate(keys):
            mine = waves[(device_of == at) & np.isfinite(waves)]
            if len(mine) and mine.min() == mine.max() and mine[0] > 0:
                found[key] = int(mine[0])
    return found


def launches(rows: Dispatches, device_of: np.ndarray) -> pa.Table:
    """Return the `launches` table; its names are dictionary-encoded."""
    facts = rows.facts
    kernel = facts.get("kernel")
    columns: dict[str, Any] = {
        "launch_id": np.arange(rows.rows),
        "workload": pa.repeat(pa.scalar("kernel"), rows.rows),
        "device_id": device_of.astype(np.int32),
        "process_id": facts.get("pid"),
        "thread_id": facts.get("tid"),
        "context_id": facts.get("queue"),
        "stream_id": facts.get("stream", facts.get("queue")),
        "local_bytes_per_thread": facts.get("scratch"),
        "shared_static_bytes": facts.get("lds"),
        "start_ns": facts.get("start"),
        "end_ns": facts.get("end"),
        "duration_ns": facts.get("duration"),
        "correlation_id": _correlation(facts.get("correlation")),
        "range_path": facts.get("range_path"),
    }
    vgpr, agpr = facts.get("vgpr"), facts.get("agpr")
    if vgpr is not None:
        both = vgpr if agpr is None else pc.add(vgpr, pc.fill_null(agpr, 0))
        columns["registers_per_thread"] = pc.cast(both, pa.int32(), safe=False)
    columns.update(_shape(rows))
    table = schema.conform("launches", columns, rows.rows)
    return table if kernel is None else _with_names(table, kernel)


def _with_names(table: pa.Table, kernel: pa.Array) -> pa.Table:
    """Set the three name columns, dictionary-encoded (see `Report.compact`)."""
    encoded = pc.dictionary_encode(kernel)
    full = encoded.dictionary.to_pylist()
    for column, words in (
        ("kernel", full),
        ("kernel_short", [short_name(name) if name else None for name in full]),
        ("kernel_id", [kernel_id(name) if name else None for name in full]),
    ):
        at = table.schema.get_field_index(column)
        coded = pc.dictionary_encode(pa.array(words, pa.string()))
        values = pa.DictionaryArray.from_arrays(coded.indices.take(encoded.indices), coded.dictionary)
        table = table.set_column(at, column, values)
    return table


def launched_by(table: pa.Table, calls: Loader | None, marks: Loader | None = None) -> pa.Table:
    """Fill launch times from the host call with the same correlation id, and the path of ranges open then.

    Ids are unique per process; where the launches do not name their process, the thread stands in for it.
    """
    if calls is None or table.column("correlation_id").null_count == len(table):
        return table
    api = calls()
    api = api.filter(pc.fill_null(pc.equal(api.column("domain"), "hip"), False)) if len(api) else api
    if not len(api):
        return table
    owner = next((c for c in ("process_id", "thread_id") if _complete(table, c) and _complete(api, c)), None)
    keys = [[t.column("correlation_id")] + ([t.column(owner)] if owner else []) for t in (api, table)]
    joined = [pc.binary_join_element_wise(*[pc.cast(k, pa.string()) for k in key], " ") for key in keys]
    where = pc.index_in(joined[1], value_set=joined[0].combine_chunks())
    for name, source in (("launch_api_start_ns", "start_ns"), ("launch_api_end_ns", "end_ns")):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(at), api.column(source).combine_chunks().take(where))
    return with_paths(table, marks()) if marks else table


def _complete(table: pa.Table, column: str) -> bool:
    return bool(table.column(column).null_count == 0)


def _correlation(column: pa.Array | None) -> pa.Array | None:
    """Correlation ids that are all zero join nothing (rocprofv2): they are unknown."""
    if column is None or (pc.max(column).as_py() or 0) == 0:
        return None
    return column


def _shape(rows: Dispatches) -> dict[str, pa.Array]:
    shape: dict[str, pa.Array] = {}
    for axis in ("x", "y", "z"):
        grid, block = rows.facts.get(f"grid_{axis}"), rows.facts.get(f"block_{axis}")
        if grid is None and axis == "x":
            grid, block = rows.facts.get("grid"), rows.facts.get("block")
        elif grid is None and rows.facts.get("grid") is not None:
            grid = block = pa.repeat(pa.scalar(1, pa.int64()), rows.rows)
        if block is not None:
            shape[f"block_{axis}"] = pc.cast(block, pa.int32(), safe=False)
            if grid is not None:
                safe = pc.if_else(pc.greater(block, 0), block, None)
                shape[f"grid_{axis}"] = pc.divide(pc.subtract(pc.add(grid, safe), 1), safe)
    return shape
