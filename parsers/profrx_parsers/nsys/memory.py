"""Allocations and frees, and GPU metric samples."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx_parsers.nsys.devices import DeviceMap
from profrx_parsers.nsys.host import compact_table, ints
from profrx_parsers.nsys.raw import Frame, Ints, RawTables, encode, pid_of
from profrx_parsers.nsys.work import MEMORY_KINDS

USAGE_COLUMNS = (
    "start", "globalPid", "deviceId", "address", "bytes", "memKind", "memoryOperationType", "name", "correlationId",
    "localMemoryPoolAddress",
)  # fmt: skip


def read_memory_events(raw: RawTables, devices: DeviceMap) -> pa.Table:
    """Read allocations and frees in order of time.

    `total_bytes` is the running sum per process, device and kind since the capture began: what was allocated
    before is not in it.
    """
    frame = Frame(raw.table("CUDA_GPU_MEMORY_USAGE_EVENTS", USAGE_COLUMNS))
    starts = frame.ints("start")
    if len(starts) > 1 and (np.diff(starts) < 0).any():
        frame = frame.take(np.argsort(starts, kind="stable"))
    pids = pid_of(frame.ints("globalPid"))
    device = devices.look_up(pids, frame.ints("deviceId"))
    kinds, operations, size = (
        frame.ints("memKind", -1),
        frame.ints("memoryOperationType", -1),
        frame.ints("bytes"),
    )
    change = np.where(operations == 0, size, np.where(operations == 1, -size, 0))
    columns = {
        "time_ns": ints(frame.ints("start"), frame.known("start")),
        "operation": encode(["allocate", "free"], operations),
        "kind": encode(MEMORY_KINDS, kinds),
        "device_id": ints(device, frame.known("deviceId")),
        "process_id": ints(pids, frame.known("globalPid")),
        "address": ints(frame.ints("address"), frame.known("address")),
        "bytes": ints(size, frame.known("bytes")),
        "total_bytes": ints(_running(change, pids, device, kinds)),
        "pool": _hex(frame),
        "correlation_id": ints(frame.ints("correlationId"), frame.known("correlationId")),
        "name": frame.array("name").cast(pa.string()) if frame.has("name") else pa.nulls(frame.rows),
    }
    return compact_table("memory_events", columns, frame.rows)


def _running(change: Ints, pids: Ints, devices: Ints, kinds: Ints) -> Ints:
    total = np.zeros(len(change), np.int64)
    if not len(change):
        return total
    _, groups = np.unique(np.stack([pids, devices, kinds]), axis=1, return_inverse=True)
    groups = groups.reshape(-1)
    for group in range(int(groups.max()) + 1):
        rows = groups == group
        total[rows] = np.cumsum(change[rows])
    return total


def _hex(frame: Frame) -> pa.Array:
    if not frame.has("localMemoryPoolAddress"):
        return pa.nulls(frame.rows)
    addresses, known = frame.ints("localMemoryPoolAddress"), frame.known("localMemoryPoolAddress")
    texts = [
        f"0x{a & 0xFFFF_FFFF_FFFF_FFFF:x}" if k else None
        for a, k in zip(addresses.tolist(), known, strict=True)
    ]
    return pa.array(texts, pa.string()).dictionary_encode()


def read_samples(raw: RawTables) -> pa.Table:
    """Read GPU metric samples. `metric` is the vendor's name with its unit in brackets, as one metric comes in several.

    Clocks are stored in Hz although their names say MHz (an H200 at 825 MHz: 825000250), so their unit is Hz.
    """
    table = raw.table("GPU_METRICS", ("timestamp", "typeId", "metricId", "metricName", "value"))
    frame = Frame(table)
    names = _metric_names(raw, frame)
    texts = names.dictionary.cast(pa.string())
    units = pc.struct_field(pc.extract_regex(texts, r"\[(?P<unit>[^\]]*)\]\s*$"), "unit")
    units = pc.replace_substring_regex(units, "^MHz$", "Hz")
    columns = {
        "device_id": _device(frame),
        "time_ns": ints(frame.ints("timestamp"), frame.known("timestamp")),
        "metric": names,
        "value": frame.array("value").cast(pa.float64()),
        "unit": pa.DictionaryArray.from_arrays(names.indices, units),
    }
    return compact_table("samples", columns, frame.rows)


def _metric_names(raw: RawTables, frame: Frame) -> pa.DictionaryArray:
    if frame.has("metricName"):
        held = frame.array("metricName")
        encoded = held if pa.types.is_dictionary(held.type) else held.dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.unify_dictionaries().combine_chunks()
        return encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    info = Frame(raw.table("TARGET_INFO_GPU_METRICS", ("typeId", "metricId", "metricName")))
    columns = (
        info.ints("typeId").tolist(),
        info.ints("metricId").tolist(),
        info.array("metricName").to_pylist(),
    )
    known = {(kind, metric): name for kind, metric, name in zip(*columns, strict=True)}
    kinds, numbers = frame.ints("typeId"), frame.ints("metricId")
    codes = np.full(frame.rows, -1, np.int64)
    texts: list[str] = []
    for kind in np.unique(kinds).tolist():
        mine = kinds == kind
        for metric in np.unique(numbers[mine]).tolist():
            codes[mine & (numbers == metric)] = len(texts)
            texts.append(known.get((kind, metric)) or f"metric {metric}")
    return encode(texts, codes)


def _device(frame: Frame) -> pa.Array:
    """The low byte of a type id numbers the GPU among those sampled."""
    return ints(frame.ints("typeId") & 0xFF, frame.known("typeId"))
