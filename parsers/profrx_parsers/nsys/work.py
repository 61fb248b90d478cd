"""The GPU side: launches, copies, synchronisations, joined to the calls that asked for them.

A correlation id is unique in one process only, so every join is by (process, correlation id). Work without a
call (captures trimmed in time have many) is kept, with nulls for what the call would tell.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from profrx_parsers.names import kernel_id, short_name
from profrx_parsers.nsys.devices import DeviceMap
from profrx_parsers.nsys.host import Calls, compact_table, ints
from profrx_parsers.nsys.raw import Bools, Frame, RawTables, encode, pid_of, stack
from profrx_parsers.problems import ProblemLog

_PLACE = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid")
KERNEL_COLUMNS = (
    *_PLACE, "demangledName", "shortName", "registersPerThread", "gridX", "gridY", "gridZ", "blockX", "blockY",
    "blockZ", "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread", "graphNodeId",
    "clusterX", "clusterY", "clusterZ",
)  # fmt: skip
COPY_COLUMNS = (
    *_PLACE,
    "bytes",
    "copyKind",
    "srcKind",
    "dstKind",
    "srcDeviceId",
    "dstDeviceId",
    "graphNodeId",
)
SET_COLUMNS = (*_PLACE, "bytes", "memKind", "graphNodeId")
GRAPH_COLUMNS = (*_PLACE, "graphExecId")
SYNC_COLUMNS = _PLACE

DIRECTIONS = (
    None, "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP", "UM HtoD", "UM DtoH",
    "UM DtoD",
)  # fmt: skip
MEMORY_KINDS = ("pageable", "pinned", "device", "array", "managed", "device-static", "managed-static")
"""Code 7 (unknown) and codes that are not listed give null."""

_SYNC_KINDS = {
    "cudaDeviceSynchronize": "device", "cudaThreadSynchronize": "device", "cuCtxSynchronize": "device",
    "cudaStreamSynchronize": "stream", "cuStreamSynchronize": "stream",
    "cudaEventSynchronize": "event", "cuEventSynchronize": "event",
    "cudaStreamWaitEvent": "stream-wait-event", "cuStreamWaitEvent": "stream-wait-event",
    "cudaStreamQuery": "stream-query", "cuStreamQuery": "stream-query",
    "cudaEventQuery": "event-query", "cuEventQuery": "event-query",
}  # fmt: skip
GRAPH_PREFIX = "CUDA graph"


def read_launches(raw: RawTables, calls: Calls, devices: DeviceMap, log: ProblemLog) -> pa.Table:
    """Read kernels, then graphs traced as one item (their kernels left no rows)."""
    kernels = _kernels(raw, calls, devices)
    graphs = _graphs(raw, calls, devices)
    if graphs.num_rows:
        log.add(
            "info",
            "nsys-graphs-as-one",
            "CUDA graphs were traced as one item: the kernels inside left no rows",
            where="CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
            count=graphs.num_rows,
            advice="collect again with nsys profile --cuda-graph-trace=node to see them",
        )
        kernels = stack([kernels, graphs])
        kernels = kernels.set_column(0, "launch_id", ints(np.arange(kernels.num_rows)))
    orphans = int(kernels.column("launch_api_start_ns").null_count)
    if orphans and calls.table.num_rows:
        log.add(
            "info",
            "nsys-launch-without-call",
            "launches have no API call in the capture (trimmed in time, or calls not traced)",
            count=orphans,
        )
    return kernels


def _place(
    frame: Frame, calls: Calls, devices: DeviceMap
) -> tuple[dict[str, pa.Array], npt.NDArray[np.int32]]:
    """Return the columns that all GPU work shares, and the row of the call (-1 = none)."""
    pids = frame.pids("globalPid")
    rows = calls.match(pids, frame.codes("correlationId"), frame.known("correlationId"))
    known = frame.known("globalPid")
    columns = {
        "device_id": _devices(frame, pids, devices),
        "process_id": pa.array(pids, mask=None if known.all() else ~known),
        "context_id": frame.stored("contextId"),
        "stream_id": frame.stored("streamId"),
        "start_ns": frame.stored("start"),
        "end_ns": frame.stored("end"),
        "correlation_id": frame.stored("correlationId"),
    }
    return columns, rows


def _devices(frame: Frame, pids: npt.NDArray[np.integer], devices: DeviceMap) -> pa.Array | pa.ChunkedArray:
    if not devices.renumbers:
        return frame.stored("deviceId")
    return ints(devices.look_up(pids, frame.ints("deviceId")), frame.known("deviceId"))


def _kernels(raw: RawTables, calls: Calls, devices: DeviceMap) -> pa.Table:
    frame = Frame(raw.table("CUPTI_ACTIVITY_KIND_KERNEL", KERNEL_COLUMNS))
    columns, rows = _place(frame, calls, devices)
    frame.drop(_PLACE[2:])
    strings = raw.strings()
    names = strings.look_up(frame.codes("demangledName"), frame.known("demangledName"))
    shorts = strings.look_up(frame.codes("shortName"), frame.known("shortName"))
    ids = pa.array([kernel_id(n) for n in names.dictionary.to_pylist()], pa.string())
    if not frame.has("shortName"):
        bare = pa.array([short_name(n) for n in names.dictionary.to_pylist()], pa.string())
        shorts = pa.DictionaryArray.from_arrays(names.indices, bare)
    columns |= {
        "launch_id": pa.array(np.arange(frame.rows, dtype=np.int32)),
        "kernel": names,
        "kernel_short": shorts,
        "kernel_id": pa.DictionaryArray.from_arrays(names.indices, ids),
        "workload": encode(["kernel"], np.zeros(frame.rows, np.int8)),
        "grid_x": _ints(frame, "gridX"), "grid_y": _ints(frame, "gridY"), "grid_z": _ints(frame, "gridZ"),
        "block_x": _ints(frame, "blockX"), "block_y": _ints(frame, "blockY"), "block_z": _ints(frame, "blockZ"),
        "cluster_size": _cluster(frame),
        "registers_per_thread": _ints(frame, "registersPerThread"),
        "shared_static_bytes": _ints(frame, "staticSharedMemory"),
        "shared_dynamic_bytes": _ints(frame, "dynamicSharedMemory"),
        "local_bytes_per_thread": _ints(frame, "localMemoryPerThread"),
        "graph_id": _graph_ids(frame),
        "graph_node_id": _ints(frame, "graphNodeId"),
    }  # fmt: skip
    return _launch_table(columns, rows, calls, frame)


def _graphs(raw: RawTables, calls: Calls, devices: DeviceMap) -> pa.Table:
    frame = Frame(raw.table("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", GRAPH_COLUMNS))
    columns, rows = _place(frame, calls, devices)
    numbers = pa.array(frame.ints("graphExecId")).cast(pa.string())
    names = pc.binary_join_element_wise(pa.scalar(GRAPH_PREFIX), numbers, " ").dictionary_encode()
    columns |= {
        "launch_id": ints(np.arange(frame.rows)),
        "kernel": names,
        "kernel_short": names,
        "kernel_id": names,
        "workload": encode(["graph"], np.zeros(frame.rows, np.int64)),
        "graph_id": _ints(frame, "graphExecId"),
    }
    return _launch_table(columns, rows, calls, frame)


def _launch_table(
    columns: dict[str, pa.Array], rows: npt.NDArray[np.integer], calls: Calls, frame: Frame
) -> pa.Table:
    starts, ends = frame.ints("start"), frame.ints("end")
    lasted = ends - starts  # negative, too, where damaged times overflow 64 bits
    stamped = frame.known("start") & frame.known("end")
    timed = stamped & (ends >= starts) & (lasted >= 0)
    durations = lasted.astype(np.float64)
    del lasted
    columns |= {
        "duration_ns": pa.array(durations, mask=None if timed.all() else ~timed),
        "thread_id": calls.take("thread_id", rows),
        "launch_api_start_ns": calls.take("start_ns", rows),
        "launch_api_end_ns": calls.take("end_ns", rows),
        "range_path": calls.take("range_path", rows),
    }
    return compact_table("launches", columns, frame.rows)


def _graph_ids(frame: Frame) -> pa.Array:
    """The upper half of a node id is its graph. Source: section 4 of the format's notes, graphs traced by node."""
    if not frame.has("graphNodeId"):
        return pa.nulls(frame.rows)
    return ints(frame.ints("graphNodeId") >> 32, frame.known("graphNodeId"))


def _cluster(frame: Frame) -> pa.Array:
    if not frame.has("clusterX"):
        return pa.nulls(frame.rows)
    known = frame.known("clusterX")
    size = (
        frame.ints("clusterX") * np.maximum(frame.ints("clusterY"), 1) * np.maximum(frame.ints("clusterZ"), 1)
    )
    return ints(size, known & (size > 0))


def _ints(frame: Frame, name: str) -> pa.Array:
    return frame.array(name)


def read_copies(raw: RawTables, calls: Calls, devices: DeviceMap) -> pa.Table:
    """Read copies, then sets."""
    copies = Frame(raw.table("CUPTI_ACTIVITY_KIND_MEMCPY", COPY_COLUMNS))
    sets = Frame(raw.table("CUPTI_ACTIVITY_KIND_MEMSET", SET_COLUMNS))
    parts = [_copy_part(copies, calls, devices), _set_part(sets, calls, devices)]
    table = stack([p for p in parts if p.num_rows] or parts[:1])
    return table.set_column(0, "copy_id", ints(np.arange(table.num_rows)))


def _copy_part(frame: Frame, calls: Calls, devices: DeviceMap) -> pa.Table:
    columns, rows = _place(frame, calls, devices)
    pids, kinds = pid_of(frame.ints("globalPid")), frame.ints("copyKind", -1)
    own = frame.ints("deviceId")
    source, target = frame.ints("srcDeviceId"), frame.ints("dstDeviceId")
    is_peer = (kinds == 10) & frame.known("srcDeviceId") & frame.known("dstDeviceId")
    peer = devices.look_up(pids, np.where(target == own, source, target))
    columns |= {
        "copy_id": ints(np.arange(frame.rows)),
        "operation": encode(["copy"], np.zeros(frame.rows, np.int64)),
        "direction": encode([d or "" for d in DIRECTIONS], kinds, kinds > 0),
        "source_kind": encode(MEMORY_KINDS, frame.ints("srcKind", -1)),
        "target_kind": encode(MEMORY_KINDS, frame.ints("dstKind", -1)),
        "peer_device_id": ints(peer, is_peer),
        "bytes": frame.array("bytes"),
        "graph_node_id": frame.array("graphNodeId"),
        "range_path": calls.take("range_path", rows),
    }
    return compact_table("copies", columns, frame.rows)


def _set_part(frame: Frame, calls: Calls, devices: DeviceMap) -> pa.Table:
    columns, rows = _place(frame, calls, devices)
    columns |= {
        "copy_id": ints(np.arange(frame.rows)),
        "operation": encode(["set"], np.zeros(frame.rows, np.int64)),
        "target_kind": encode(MEMORY_KINDS, frame.ints("memKind", -1)),
        "bytes": frame.array("bytes"),
        "graph_node_id": frame.array("graphNodeId"),
        "range_path": calls.take("range_path", rows),
    }
    return compact_table("copies", columns, frame.rows)


def read_syncs(raw: RawTables, calls: Calls, devices: DeviceMap) -> pa.Table:
    """Read synchronisations. The stored type code meant four things over the versions, so the name of the
    call decides the kind; without a call it is null."""
    frame = Frame(raw.table("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", SYNC_COLUMNS))
    columns, rows = _place(frame, calls, devices)
    whole = frame.ints("streamId") == 0xFFFF_FFFF
    columns |= {
        "sync_id": ints(np.arange(frame.rows)),
        "kind": _sync_kinds(calls, rows),
        "stream_id": ints(frame.ints("streamId"), frame.known("streamId") & ~whole),
    }
    return compact_table("syncs", columns, frame.rows)


def _sync_kinds(calls: Calls, rows: npt.NDArray[np.integer]) -> pa.Array:
    names = calls.take("name", rows)
    if not pa.types.is_dictionary(names.type):
        return pa.nulls(len(rows))
    kinds = [_sync_kind(name) for name in names.dictionary.to_pylist()]
    known: Bools = np.asarray(names.is_valid()) & (rows >= 0)
    labels = sorted({k for k in kinds if k})
    place = np.array([labels.index(k) if k else -1 for k in kinds] or [-1], np.int64)
    return (
        encode(labels, place[np.asarray(names.indices.fill_null(0))], known)
        if labels
        else pa.nulls(len(rows))
    )


def _sync_kind(call: str) -> str | None:
    if call in _SYNC_KINDS:
        return _SYNC_KINDS[call]
    if call.startswith(("cudaMemcpy", "cuMemcpy")):
        return "copy"
    if call.startswith(("cudaFree", "cuMemFree", "cudaMalloc", "cuMemAlloc")):
        return "allocation"
    return None
