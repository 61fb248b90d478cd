"""Tables of rocprofv3 CSV files beside the dispatches: API calls, ranges, copies, allocations, statistics, agents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx_parsers import schema
from profrx_parsers.names import short_name
from profrx_parsers.rocm.agents import Agent, from_record
from profrx_parsers.rocm.csvread import Csv, convert, read_csv
from profrx_parsers.rocm.names import clean

if TYPE_CHECKING:
    from profrx_parsers.problems import ProblemLog

MAX_AGENT_ROWS = 4096


def read_text(file: Csv, log: ProblemLog) -> pa.Table:
    """Read every column as text under its plain name (lower case)."""
    from profrx_parsers.rocm.headers import plain

    table = read_csv(file, log, lambda name: pa.string())
    seen: dict[str, pa.ChunkedArray] = {}
    for name in table.column_names:
        seen.setdefault(plain(name), table.column(name))
    return pa.table(seen)


class Texts:
    """Typed access to the columns of a text table; an absent column is None."""

    def __init__(self, table: pa.Table, log: ProblemLog, where: str) -> None:
        self.table, self.log, self.where = table, log, where

    def text(self, name: str) -> pa.Array | None:
        """Return a text column."""
        return self.table.column(name).combine_chunks() if name in self.table.column_names else None

    def int(self, name: str) -> pa.Array | None:
        """Return an int64 column."""
        words = self.text(name)
        return None if words is None else convert(words, pa.int64(), self.log, f"{self.where} column {name}")

    def real(self, name: str) -> pa.Array | None:
        """Return a float64 column."""
        words = self.text(name)
        return (
            None if words is None else convert(words, pa.float64(), self.log, f"{self.where} column {name}")
        )


MARKER_DOMAINS = (
    "MARKER_CORE_API",
    "MARKER_CORE_RANGE_API",
    "MARKER_CONTROL_API",
    "MARKER_NAME_API",
    "MARKER_API",
)


def domain_of(names: pa.Array) -> pa.Array:
    """Map the tool's domain names to short ones: HIP_RUNTIME_API_EXT -> hip, HSA_CORE_API -> hsa."""
    encoded = pc.dictionary_encode(names)
    short = [_domain(name or "") for name in encoded.dictionary.to_pylist()]
    return pa.array(short, pa.string()).take(encoded.indices)


def _domain(name: str) -> str:
    first = name.split("_", 1)[0].lower()
    return {"rocdecode": "rocdecode", "rccl": "nccl"}.get(first, first)


def api_tables(files: Sequence[Csv], log: ProblemLog) -> tuple[pa.Table, pa.Table]:
    """Return `api_calls` and `ranges`: marker rows are ranges, all other domains are calls."""
    calls, ranges = [], []
    for file in files:
        texts = Texts(read_text(file, log), log, file.where)
        domain = texts.text("domain")
        name = texts.text("function")
        if domain is None or name is None:
            continue
        numbers = {
            "process_id": texts.int("process_id"),
            "thread_id": texts.int("thread_id"),
            "start_ns": texts.int("start_timestamp"),
            "end_ns": texts.int("end_timestamp"),
            "correlation_id": texts.int("correlation_id"),
        }
        nothing = pa.nulls(len(name), pa.int64())
        columns = {"name": name, "domain": domain_of(domain)}
        columns |= {key: nothing if column is None else column for key, column in numbers.items()}
        marker = pc.is_in(domain, value_set=pa.array(MARKER_DOMAINS))
        whole = pa.table(columns)
        calls.append(whole.filter(pc.invert(marker)))
        ranges.append(whole.filter(marker))
    return _calls(calls), _ranges(ranges)


def _calls(parts: list[pa.Table]) -> pa.Table:
    if not parts:
        return schema.empty("api_calls")
    table = pa.concat_tables(parts)
    columns = {name: table.column(name) for name in table.column_names}
    return schema.conform("api_calls", {"call_id": np.arange(len(table)), **columns}, len(table))


def _ranges(parts: list[pa.Table]) -> pa.Table:
    if not parts:
        return schema.empty("ranges")
    table = pa.concat_tables(parts).drop_columns(["correlation_id"])
    instant = pc.equal(table.column("start_ns"), table.column("end_ns"))
    columns = {name: table.column(name) for name in table.column_names}
    columns["kind"] = pc.if_else(pc.fill_null(instant, False), "mark", "push-pop")
    return schema.conform("ranges", {"range_id": np.arange(len(table)), **columns}, len(table))


DIRECTIONS = (("HOST_TO_DEVICE", "HtoD"), ("DEVICE_TO_HOST", "DtoH"), ("DEVICE_TO_DEVICE", "DtoD"), ("HOST_TO_HOST", "HtoH"),
              ("HOSTTODEVICE", "HtoD"), ("DEVICETOHOST", "DtoH"), ("DEVICETODEVICE", "DtoD"))  # fmt: skip


def directions(names: pa.Array) -> pa.Array:
    """Map ``MEMORY_COPY_HOST_TO_DEVICE``, ``CopyHostToDevice``… to HtoD, DtoH, DtoD, HtoH; else null."""
    encoded = pc.dictionary_encode(names)
    short = []
    for name in encoded.dictionary.to_pylist():
        upper = (name or "").upper()
        short.append(next((s for word, s in DIRECTIONS if word in upper), None))
    return pa.array(short, pa.string()).take(encoded.indices)


def copy_table(files: Sequence[Csv], log: ProblemLog, device_id: Callable[[str], int | None]) -> pa.Table:
    """Return `copies`; these files hold no byte counts, so `bytes` is null."""
    parts = []
    for file in files:
        texts = Texts(read_text(file, log), log, file.where)
        names = texts.text("direction")
        if names is None:
            continue
        ends = {side: texts.text(f"{side}_agent_id") for side in ("source", "destination")}
        where = {
            side: None if words is None else pa.array([device_id(w) for w in words.to_pylist()], pa.int32())
            for side, words in ends.items()
        }
        device = where["destination"]
        if device is not None and where["source"] is not None:
            device = pc.coalesce(device, where["source"])
        parts.append(
            schema.conform(
                "copies",
                {
                    "operation": pa.repeat(pa.scalar("copy"), len(names)),
                    "direction": directions(names),
                    "device_id": device,
                    "stream_id": texts.int("stream_id"),
                    "start_ns": texts.int("start_timestamp"),
                    "end_ns": texts.int("end_timestamp"),
                    "correlation_id": texts.int("correlation_id"),
                },
                len(names),
            )
        )
    return numbered(parts, "copies", "copy_id")


def numbered(parts: Sequence[pa.Table], table: str, key: str) -> pa.Table:
    """Concatenate and number the rows of a table whose first column is its key."""
    if not parts:
        return schema.empty(table)
    whole = pa.concat_tables(parts)
    return whole.set_column(0, whole.schema.field(key), pa.array(np.arange(len(whole)), pa.int64()))


def allocation_table(
    files: Sequence[Csv], log: ProblemLog, device_id: Callable[[str], int | None]
) -> pa.Table:
    """Return `memory_events` of allocation traces."""
    parts = []
    for file in files:
        texts = Texts(read_text(file, log), log, file.where)
        operation = texts.text("operation")
        if operation is None:
            continue
        agents = texts.text("agent_id")
        address = texts.text("address")
        parts.append(
            schema.conform(
                "memory_events",
                {
                    "time_ns": texts.int("start_timestamp"),
                    "operation": pc.if_else(pc.match_substring(operation, "FREE"), "free", "allocate"),
                    "kind": pa.repeat(pa.scalar("device"), len(operation)),
                    "device_id": None
                    if agents is None
                    else pa.array([device_id(a) for a in agents.to_pylist()], pa.int32()),
                    "address": None
                    if address is None
                    else pa.array([_hex(a) for a in address.to_pylist()], pa.int64()),
                    "bytes": texts.int("allocation_size"),
                    "correlation_id": texts.int("correlation_id"),
                    "name": operation,
                },
                len(operation),
            )
        )
    return pa.concat_tables(parts) if parts else schema.empty("memory_events")


def _hex(text: str) -> int | None:
    try:
        value = int(text, 0)
    except ValueError:
        return None
    return value if -(1 << 63) <= value < 1 << 63 else None


STATISTICS = (("totaldurationns", "sum"), ("averagens", "mean"), ("minns", "min"), ("maxns", "max"), ("stddev", "stddev"),
              ("percentage", "share"), ("sum(ns)", "sum"), ("mean(ns)", "mean"), ("median(ns)", "median"), ("pct", "share"))  # fmt: skip


def summary_table(files: Sequence[Csv], log: ProblemLog) -> pa.Table:
    """Return `summaries` of ``*_stats.csv`` and ``pmc_kernel_top.csv``: one row per name and statistic, times in ns.

    A share is of its own file's total, in percent. What is summarised stands in `metric` (``kernel.duration``,
    ``api.duration``, ``copy.duration``); names that are no kernels are in `text`.
    """
    parts = []
    for file in files:
        texts = Texts(read_text(file, log), log, file.where)
        names = texts.text("name")
        names = texts.text("kernel_name") if names is None else names
        calls = texts.int("calls")
        calls = texts.int("count") if calls is None else calls
        if names is None:
            continue
        names = clean(names)
        kind = summary_kind(file.where)
        is_kernel = kind == "kernel"
        short = pa.array([short_name(n or "") for n in names.to_pylist()], pa.string())
        for column, statistic in STATISTICS:
            values = texts.real(column)
            if values is None:
                continue
            parts.append(
                schema.conform(
                    "summaries",
                    {
                        "source": pa.repeat(pa.scalar(file.where.rsplit("/", 1)[-1]), len(names)),
                        "kernel": names if is_kernel else None,
                        "kernel_short": short if is_kernel else None,
                        "metric": pa.repeat(pa.scalar(f"{kind}.duration"), len(names)),
                        "statistic": pa.repeat(pa.scalar(statistic), len(names)),
                        "value": values,
                        "unit": pa.repeat(pa.scalar("%" if statistic == "share" else "ns"), len(names)),
                        "count": calls,
                        "text": None if is_kernel else names,
                    },
                    len(names),
                )
            )
    return pa.concat_tables(parts).combine_chunks() if parts else schema.empty("summaries")


KINDS = (
    ("hip_", "api"),
    ("hsa_", "api"),
    ("rccl", "api"),
    ("copy", "copy"),
    ("domain", "domain"),
    ("marker", "range"),
)


def summary_kind(name: str) -> str:
    """Tell from the file name what a statistics file sums up: kernel, api, copy, domain, range."""
    low = name.lower().rsplit("/", 1)[-1]
    return next((kind for word, kind in KINDS if word in low), "kernel")


def agent_rows(file: Csv, log: ProblemLog) -> list[Agent]:
    """Return the GPUs of an `agent_info.csv`."""
    table = read_text(file, log).slice(0, MAX_AGENT_ROWS)
    found = [from_record(row) for row in table.to_pylist()]
    return [agent for agent in found if agent]
