"""Dispatches, calls and copies from plain lists: for JSON and SQLite inputs that have no columns of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from profrx_parsers import schema
from profrx_parsers.rocm.dispatches import Dispatches
from profrx_parsers.rocm.headers import TEXT_FACTS, fact_of
from profrx_parsers.rocm.names import clean
from profrx_parsers.rocm.sqlitefile import integers, reals, texts
from profrx_parsers.rocm.tables import directions
from profrx_parsers.rocm.times import derive_duration

if TYPE_CHECKING:
    from profrx_parsers.problems import ProblemLog


def dispatches(columns: Mapping[str, Sequence[Any]], where: str, log: ProblemLog) -> Dispatches:
    """Build dispatches from columns under the tool's own names; unknown columns that hold numbers are counters."""
    count = len(next(iter(columns.values()), []))
    rows = Dispatches(count, where=where)
    for name, values in columns.items():
        fact = fact_of(name)
        if fact in TEXT_FACTS:
            rows.facts[fact] = texts(values)
        elif fact:
            rows.facts[fact] = integers(values)
        elif all(v is None or isinstance(v, int | float) for v in values):
            rows.counters[name] = reals(values)
    if "kernel" in rows.facts:
        rows.facts["kernel"] = clean(rows.facts["kernel"])
    derive_duration(rows, log)
    return rows


def api_calls(columns: Mapping[str, Sequence[Any]], domain: str) -> pa.Table:
    """Build `api_calls` from lists `Name`, `BeginNs`, `EndNs`, `pid`, `tid` and `correlation`."""
    count = len(columns["Name"])
    return schema.conform(
        "api_calls",
        {
            "name": texts(columns["Name"]),
            "domain": pa.repeat(pa.scalar(domain), count),
            "process_id": integers(columns["pid"]),
            "thread_id": integers(columns["tid"]),
            "start_ns": integers(columns["BeginNs"]),
            "end_ns": integers(columns["EndNs"]),
            "correlation_id": integers(columns.get("correlation", [None] * count)),
        },
        count,
    )


def copies(columns: Mapping[str, Sequence[Any]], device: Sequence[int | None]) -> pa.Table:
    """Build `copies` from lists `Name`, `BeginNs`, `EndNs`, `pid`, `stream-id` and `Data` (bytes where given)."""
    names = texts(columns["Name"])
    count = len(names)
    return schema.conform(
        "copies",
        {
            "operation": pc.if_else(pc.match_substring(pc.fill_null(names, ""), "Fill"), "set", "copy"),
            "direction": directions(names),
            "device_id": pa.array(device, pa.int32()),
            "process_id": integers(columns["pid"]),
            "stream_id": integers(columns.get("stream-id", [None] * count)),
            "bytes": integers(
                [v if v not in ("", 0, "0") else None for v in columns.get("Data", [None] * count)]
            ),
            "start_ns": integers(columns["BeginNs"]),
            "end_ns": integers(columns["EndNs"]),
            "correlation_id": integers(columns.get("correlation", [None] * count)),
        },
        count,
    )
