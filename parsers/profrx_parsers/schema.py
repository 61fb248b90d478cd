"""The normalised tables: names, columns, units. Every reader ends in these.

Column names are ``snake_case`` with the unit as suffix where it is not obvious; the unit is repeated in
the field metadata (key ``unit``). Missing is null, never zero. Times of one report share one clock:
nanoseconds since the report's own origin unless ``info.time_origin`` says otherwise.

Readers build columns with numpy or pyarrow and call `conform`; small tables may use `from_rows`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

_I64, _I32, _F64, _STR, _BOOL = pa.int64(), pa.int32(), pa.float64(), pa.string(), pa.bool_()


def _table(doc: str, *columns: tuple[Any, ...]) -> pa.Schema:
    fields = []
    for name, kind, *rest in columns:
        meta = {"unit": rest[0]} if rest and rest[0] else {}
        if len(rest) > 1:
            meta["doc"] = rest[1]
        fields.append(pa.field(name, kind, metadata=meta or None))
    return pa.schema(fields, metadata={"doc": doc})


def _span(*extra: tuple[Any, ...]) -> tuple[tuple[Any, ...], ...]:
    return (("start_ns", _I64, "ns"), ("end_ns", _I64, "ns"), *extra)


_PLACE = (
    ("device_id", _I32, "", "row key of `devices`"),
    ("process_id", _I64),
    ("rank", _I32, "", "rank of a distributed job; null when not known"),
)

TABLES: dict[str, pa.Schema] = {
    "devices": _table(
        "a GPU seen in the report",
        ("device_id", _I32), ("vendor", _STR), ("name", _STR), ("arch", _STR, "", "sm_90, gfx942, apple-m2"),
        ("compute_units", _I32, "", "SMs, CUs or GPU cores"), ("wave_size", _I32, "threads"),
        ("max_waves_per_unit", _I32), ("max_threads_per_block", _I32, "threads"),
        ("registers_per_unit", _I32), ("shared_bytes_per_unit", _I64, "B"), ("l2_bytes", _I64, "B"),
        ("memory_bytes", _I64, "B"), ("core_clock_hz", _F64, "Hz"), ("memory_clock_hz", _F64, "Hz"),
        ("peak_bandwidth_bytes_per_s", _F64, "B/s"), ("peak_fp16_flop_per_s", _F64, "FLOP/s"),
        ("peak_fp32_flop_per_s", _F64, "FLOP/s"), ("peak_fp64_flop_per_s", _F64, "FLOP/s"),
        ("peak_tensor_flop_per_s", _F64, "FLOP/s"), ("peak_source", _STR, "", "where the peaks come from"),
        ("driver", _STR), ("pci_bus_id", _STR), ("partition", _STR, "", "MIG / compute partition; null = whole device"),
    ),
    "launches": _table(
        "a kernel launch, dispatch, compute encoder, or a range / graph profiled as one workload",
        ("launch_id", _I64, "", "row key, 0..n-1 in file order"),
        ("kernel", _STR, "", "full demangled name"), ("kernel_short", _STR, "", "bare function name"),
        ("kernel_id", _STR, "", "canonical id, equal over tools (see names.py)"),
        ("workload", _STR, "", "kernel, range, cmdlist, graph, encoder"),
        *_PLACE,
        ("thread_id", _I64), ("context_id", _I64), ("stream_id", _I64),
        ("grid_x", _I64), ("grid_y", _I64), ("grid_z", _I64),
        ("block_x", _I32), ("block_y", _I32), ("block_z", _I32),
        ("cluster_size", _I32, "", "blocks per cluster"),
        ("registers_per_thread", _I32), ("shared_static_bytes", _I64, "B"), ("shared_dynamic_bytes", _I64, "B"),
        ("local_bytes_per_thread", _I64, "B"),
        *_span(("duration_ns", _F64, "ns")),
        ("launch_api_start_ns", _I64, "ns", "start of the host call that launched it"),
        ("launch_api_end_ns", _I64, "ns"),
        ("correlation_id", _I64, "", "unique per process only"),
        ("graph_id", _I64), ("graph_node_id", _I64),
        ("range_path", _STR, "", "NVTX / roctx ranges open on the launching thread, outermost first, joined by ' / '"),
    ),
    "metrics": _table(
        "a counter or derived value of one launch, long form; the vendor's own metric name",
        ("launch_id", _I64), ("metric", _STR), ("value", _F64, "", "null when text or missing; NaN is kept"),
        ("unit", _STR, "", "base unit; null when unknown"), ("text", _STR, "", "string value"),
    ),
    "instances": _table(
        "one instance of an instanced metric",
        ("launch_id", _I64), ("metric", _STR), ("key", _STR, "", "opcode, unit or name"),
        ("key_int", _I64, "", "PC (absolute), unix ns, index"), ("value", _F64),
    ),
    "source_lines": _table(
        "program counter to source line",
        ("launch_id", _I64), ("address", _I64, "", "PC relative to the function"), ("pc", _I64, "", "absolute PC"),
        ("file", _STR), ("line", _I32), ("function", _STR),
    ),
    "copies": _table(
        "a copy or a set of device memory",
        ("copy_id", _I64), ("operation", _STR, "", "copy, set"),
        ("direction", _STR, "", "HtoD, DtoH, DtoD, HtoH, PtoP, UM…; null for sets"),
        ("source_kind", _STR, "", "pageable, pinned, device, managed, array"), ("target_kind", _STR),
        *_PLACE, ("peer_device_id", _I32), ("context_id", _I64), ("stream_id", _I64), ("bytes", _I64, "B"),
        *_span(), ("correlation_id", _I64), ("graph_node_id", _I64), ("range_path", _STR),
    ),
    "api_calls": _table(
        "a host API call (CUDA runtime / driver, HIP, HSA, cuBLAS…, OS runtime on demand)",
        ("call_id", _I64), ("name", _STR), ("domain", _STR, "", "cuda, cudart, hip, hsa, cublas, cudnn, nccl, os…"),
        ("process_id", _I64), ("rank", _I32), ("thread_id", _I64), *_span(),
        ("correlation_id", _I64), ("return_value", _I64), ("range_path", _STR),
    ),
    "syncs": _table(
        "a synchronisation",
        ("sync_id", _I64), ("kind", _STR, "", "event, stream, device, stream-wait-event, …"),
        ("process_id", _I64), ("rank", _I32), ("device_id", _I32), ("context_id", _I64), ("stream_id", _I64),
        *_span(), ("correlation_id", _I64),
    ),
    "ranges": _table(
        "a user range or marker: NVTX, roctx, profiler step",
        ("range_id", _I64), ("name", _STR), ("kind", _STR, "", "push-pop, start-end, mark, step"),
        ("domain", _STR), ("category", _STR), ("payload", _STR), ("process_id", _I64), ("rank", _I32),
        ("thread_id", _I64), ("depth", _I32), ("start_ns", _I64, "ns"), ("end_ns", _I64, "ns", "null = never closed"),
    ),
    "ops": _table(
        "a framework operation (aten::mm, autograd node, python frame)",
        ("op_id", _I64), ("name", _STR), ("category", _STR), ("process_id", _I64), ("rank", _I32), ("thread_id", _I64),
        *_span(), ("external_id", _I64), ("sequence_number", _I64), ("input_shapes", _STR), ("input_types", _STR),
        ("parent_op_id", _I64), ("range_path", _STR),
    ),
    "samples": _table(
        "a hardware or software sample over time",
        ("device_id", _I32), ("time_ns", _I64, "ns"), ("metric", _STR), ("value", _F64), ("unit", _STR),
    ),
    "vendor_findings": _table(
        "what the vendor's own rules stored in the report",
        ("launch_id", _I64), ("rule", _STR, "", "identifier"), ("section", _STR), ("title", _STR), ("message", _STR),
        ("kind", _STR, "", "none, ok, optimization, warning, error"),
        ("estimate_kind", _STR, "", "local, global; null = none"), ("estimate_pct", _F64, "%"),
        ("focus_metrics", pa.list_(pa.struct([("metric", _STR), ("value", _F64), ("severity", _STR), ("info", _STR)]))),
        ("markers", pa.list_(pa.struct([("kind", _STR), ("file", _STR), ("line", _I32), ("address", _I64), ("text", _STR)]))),
    ),
    "summaries": _table(
        "one aggregated row of a summary-only input",
        ("source", _STR, "", "which summary"), ("kernel", _STR), ("kernel_short", _STR), ("metric", _STR),
        ("statistic", _STR, "", "sum, mean, median, min, max, stddev, count, share"),
        ("value", _F64), ("unit", _STR), ("count", _I64, "", "how many were aggregated"), ("device_id", _I32), ("text", _STR),
    ),
    "memory_events": _table(
        "an allocation, free or usage sample",
        ("time_ns", _I64, "ns"), ("operation", _STR, "", "allocate, free, usage"), ("kind", _STR, "", "device, pinned, managed, pool…"),
        *_PLACE, ("address", _I64), ("bytes", _I64, "B"), ("total_bytes", _I64, "B"), ("pool", _STR), ("correlation_id", _I64), ("name", _STR),
    ),
    "benchmarks": _table(
        "a round or a summary of a benchmark log",
        ("benchmark", _STR), ("parameters", _STR), ("statistic", _STR), ("round", _I64), ("value", _F64), ("unit", _STR),
        ("count", _I64), ("device", _STR), ("text", _STR),
    ),
    "problems": _table(
        "the import log",
        ("severity", _STR), ("code", _STR), ("message", _STR), ("where", _STR), ("count", _I64), ("advice", _STR),
    ),
}  # fmt: skip


def empty(name: str) -> pa.Table:
    """Return the table `name` with its schema and no rows."""
    return TABLES[name].empty_table()


def from_rows(name: str, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Build a small table from dictionaries; absent keys become null. Not for hot paths."""
    return pa.Table.from_pylist([dict(row) for row in rows], schema=TABLES[name])


def conform(name: str, columns: Mapping[str, Any], length: int | None = None) -> pa.Table:
    """Build table `name` from whole columns (numpy arrays, Arrow arrays or sequences).

    Columns that are not given become null; a column that the schema does not know raises `KeyError`.
    Numbers are cast safely: a value that does not fit its column raises `pyarrow.ArrowInvalid`.
    """
    schema = TABLES[name]
    unknown = set(columns) - set(schema.names)
    if unknown:
        raise KeyError(f"table {name!r} has no column {sorted(unknown)}")
    if length is None:
        length = len(next(iter(columns.values()))) if columns else 0
    arrays = []
    for field in schema:
        given = columns.get(field.name)
        if given is None:
            arrays.append(pa.nulls(length, field.type))
        elif isinstance(given, pa.Array | pa.ChunkedArray):
            arrays.append(given if given.type == field.type else given.cast(field.type))
        else:
            arrays.append(pa.array(given, type=field.type))
    return pa.Table.from_arrays(arrays, schema=schema)
