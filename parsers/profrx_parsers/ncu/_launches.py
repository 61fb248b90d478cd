"""The `launches` table of an `.ncu-rep`: one row per kernel, range, command list or graph result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from profrx_parsers import schema
from profrx_parsers.names import kernel_id, short_name
from profrx_parsers.ncu._nvtx import open_ranges
from profrx_parsers.ncu._pages import Passage
from profrx_parsers.wire import Message, decode_text, signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profrx_parsers.ncu._metrics import MetricStore, MetricValues
    from profrx_parsers.ncu._results import Result

DURATION = ("gpu__time_duration.sum", "gpu__time_duration")
"""Modern name, Pascal's name."""
DEVICE = ("device__attribute_device_index", "launch__device_id")
FROM_METRICS = {
    "registers_per_thread": "launch__registers_per_thread",
    "shared_static_bytes": "launch__shared_mem_per_block_static",
    "shared_dynamic_bytes": "launch__shared_mem_per_block_dynamic",
    "cluster_size": "launch__cluster_size",
}
GEOMETRY = {
    "grid_x": "launch__grid_dim_x", "grid_y": "launch__grid_dim_y", "grid_z": "launch__grid_dim_z",
    "block_x": "launch__block_dim_x", "block_y": "launch__block_dim_y", "block_z": "launch__block_dim_z",
}  # fmt: skip
STRUCTURAL = frozenset((*DURATION, *DEVICE, *FROM_METRICS.values(), *GEOMETRY.values()))
"""Metrics that this table needs: decoded whatever the caller wants."""
_MAX = {pa.int32(): (1 << 31) - 1, pa.int64(): (1 << 63) - 1}


def kernel_name(data: memoryview, result: Result) -> tuple[str | None, str | None]:
    """Return the full and the bare name; an empty demangled name falls back to the function name."""
    if result.kind != "kernel":
        display = result.spans("display")
        name = decode_text(data, display[-1]) if display else ""
        name = name or result.kind
        return name, name
    names = [
        decode_text(data, s[-1]) for key in ("demangled", "function", "mangled") if (s := result.spans(key))
    ]
    full = next((name for name in names if name), None)
    return full, short_name(full) if full else None


def table(data: memoryview, results: Sequence[Result], store: MetricStore) -> pa.Table:
    """Build the table; geometry missing from the message is taken from the metrics."""
    rows = len(results)
    named: list[tuple[str | None, str | None]] = []
    paths: list[str | None] = []
    sizes: dict[str, list[tuple[int | None, ...]]] = {"grid": [], "block": []}
    passage = Passage(data)
    for result in results:
        named.append(kernel_name(data, result))
        paths.append(open_ranges(data, result))
        for prefix, triples in sizes.items():
            triples.append(_triple(data, result, prefix))
        passage.reached(result.stop)
    columns: dict[str, Any] = {
        "launch_id": np.arange(rows, dtype=np.int64),
        "kernel": [full for full, _ in named],
        "kernel_short": [short for _, short in named],
        "kernel_id": [kernel_id(full) if full else None for full, _ in named],
        "workload": [result.kind for result in results],
        "process_id": _whole([result.process for result in results]),
        "thread_id": _whole([result.integer("thread") for result in results]),
        "context_id": _whole([result.integer("context") for result in results]),
        "stream_id": _whole([result.integer("stream") for result in results]),
        "correlation_id": _whole([result.integer("correlation") for result in results]),
        "range_path": paths,
    }
    for prefix, triples in sizes.items():
        for axis, letter in enumerate("xyz"):
            name = f"{prefix}_{letter}"
            given = _bounded(schema.TABLES["launches"].field(name).type, [t[axis] for t in triples])
            columns[name] = filled(given, store, GEOMETRY[name])
    for name, metric in FROM_METRICS.items():
        empty = pa.nulls(rows, schema.TABLES["launches"].field(name).type)
        columns[name] = filled(empty, store, metric)
    columns["device_id"] = device_ids(store)
    columns["duration_ns"] = durations(store)
    return schema.conform("launches", columns, rows)


def durations(store: MetricValues) -> pa.Array:
    """Return the duration of every result in ns; null where it was not collected, NaN where stored so."""
    values, present = store.numbers(DURATION[0])
    old, has_old = store.numbers(DURATION[1])
    return pa.array(np.where(present, values, old), mask=~(present | has_old))


def device_ids(store: MetricValues) -> pa.Array:
    """Return the device index of every result."""
    found = filled(pa.nulls(store.rows, pa.int32()), store, DEVICE[0])
    return filled(found, store, DEVICE[1])


def _triple(data: memoryview, result: Result, name: str) -> tuple[int | None, ...]:
    spans = result.spans(name)
    if not spans:
        return (None, None, None)
    message = Message(data, spans[-1])
    return tuple(message.integer(axis) for axis in (1, 2, 3))


def _whole(values: list[int | None]) -> list[int | None]:
    return [None if value is None else signed(value) for value in values]


def _bounded(kind: pa.DataType, values: list[int | None]) -> pa.Array:
    return pa.array([v if v is not None and v <= _MAX[kind] else None for v in values], kind)


def filled(given: pa.Array, store: MetricValues, metric: str) -> pa.Array:
    """Fill nulls of a whole-number column from a metric, where that has a value that fits."""
    if not given.null_count:
        return given
    values, present = store.numbers(metric)
    with np.errstate(invalid="ignore"):
        fits = present & (values >= 0) & (values < _MAX[given.type]) & (values == np.floor(values))
    filler = pa.array(np.where(fits, values, 0).astype(np.int64), mask=~fits).cast(given.type)
    return given.fill_null(0) if not len(given) else _coalesce(given, filler)


def _coalesce(first: pa.Array, second: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.coalesce(first, second)
