"""Which field of which event is which column of nsys' own tables.

Names are those of the vendor's SQLite export, so that every input form meets in the same raw tables. Source
of every path: equality with the export over 157 report/export pairs (nsys 2020.3 to 2026.1); absent = null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from profrx_parsers.nsys.merge import Path


@dataclass(frozen=True, eq=False)
class EventTable:
    """One raw table and the events it is made of.

    Attributes:
        name: table of the export.
        codes: event type codes.
        columns: column -> field path.
        kinds: column -> ``bytes``, ``double``, ``float``; all others are integers.
        known: documented paths that no column needs (integers).
        known_bytes: the same, for texts and sub-messages.
        key: path that decides between tables sharing a code, and the values that mean this one.
        key_values: see `key`; empty = every event of the codes.
    """

    name: str
    codes: tuple[int, ...]
    columns: Mapping[str, Path]
    kinds: Mapping[str, str] = field(default_factory=dict)
    known: tuple[Path, ...] = ()
    known_bytes: tuple[Path, ...] = ()
    key: Path = ()
    key_values: tuple[int, ...] = ()


def _paths(prefix: Path, names: Mapping[int, str]) -> dict[str, Path]:
    return {name: (*prefix, number) for number, name in names.items()}


def _known(prefix: Path, *numbers: int) -> tuple[Path, ...]:
    return tuple((*prefix, number) for number in numbers)


_GPU_NAMES = {
    1: "start", 2: "end", 4: "deviceId", 5: "contextId", 9: "greenContextId", 6: "streamId",
    3: "correlationId", 8: "globalPid",
}  # fmt: skip
_GPU = _paths((107,), _GPU_NAMES)
_HEAD = _known((), 1)
_GPU_KNOWN = (*_HEAD, *_known((107,), 7))
_CALL = _paths((108,), {1: "start", 2: "end", 6: "eventClass", 13: "globalTid", 7: "nameId"})
_FRAMES = _known((108,), 15)
_CALL_KNOWN = (*_HEAD, *_known((108,), 3, 4, 5, 6, 8, 20, 42))

KERNEL = EventTable(
    "CUPTI_ACTIVITY_KIND_KERNEL",
    (79,),
    {
        **_GPU,
        **_paths((107, 101), {
            1: "demangledName", 2: "shortName", 3: "mangledName", 24: "launchType", 23: "cacheConfig",
            21: "registersPerThread", 10: "gridX", 11: "gridY", 12: "gridZ", 13: "blockX", 14: "blockY",
            15: "blockZ", 16: "staticSharedMemory", 17: "dynamicSharedMemory", 18: "localMemoryPerThread",
            19: "localMemoryTotal", 20: "gridId", 22: "sharedMemoryExecuted", 27: "graphNodeId",
            28: "sharedMemoryLimitConfig", 31: "clusterX", 32: "clusterY", 33: "clusterZ",
            34: "clusterSchedulingPolicy", 35: "maxPotentialClusterSize", 36: "maxActiveClusters",
            29: "graphExecId",
        }),
    },
    known=(*_GPU_KNOWN, *_known((107, 101), 8, 25, 26, 30)),
)  # fmt: skip

MEMCPY = EventTable(
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    (80,),
    {
        **_GPU,
        **_paths((107, 102), {
            1: "bytes", 2: "copyKind", 4: "srcKind", 5: "dstKind", 6: "srcDeviceId", 7: "srcContextId",
            8: "dstDeviceId", 9: "dstContextId", 10: "migrationCause", 11: "graphNodeId", 12: "virtualAddress",
            16: "copyCount",
        }),
    },
    known=(*_GPU_KNOWN, *_known((107, 102), 3, 13, 17)),
    key=(107, 7),
    key_values=(1,),
)  # fmt: skip

MEMSET = EventTable(
    "CUPTI_ACTIVITY_KIND_MEMSET",
    (80,),
    {**_GPU, **_paths((107, 103), {2: "value", 1: "bytes", 3: "graphNodeId", 4: "memKind"})},
    known=(*_GPU_KNOWN, *_known((107, 103), 5, 8)),
    key=(107, 7),
    key_values=(2,),
)

SYNC = EventTable(
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    (106,),
    {
        **_GPU,
        **_paths((107, 105), {1: "eventId", 2: "deprecatedSyncType", 3: "eventSyncId", 4: "newSyncType"}),
    },
    known=_GPU_KNOWN,
)
"""The export's syncType is `newSyncType` when present (2025.3 and later), else `deprecatedSyncType`."""

CUDA_EVENT = EventTable(
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
    (127,),
    {
        **{k: v for k, v in _GPU.items() if k not in ("start", "end")},
        "timestamp": (107, 1),
        **_paths((107, 106), {1: "eventId", 2: "eventSyncId"}),
    },
    known=(*_GPU_KNOWN, (107, 2)),
)

GRAPH_TRACE = EventTable(
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    (130,),
    {**_GPU, **_paths((107, 107), {1: "graphId", 2: "graphExecId"})},
    known=_GPU_KNOWN,
)

RUNTIME = EventTable(
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    (48,),
    {**_CALL, "correlationId": (108, 3), "returnValue": (108, 8)},
    known=_CALL_KNOWN,
    known_bytes=_FRAMES,
    key=(108, 6),
    key_values=(0, 1, 67),
)

OSRT = EventTable(
    "OSRT_API",
    (47, 48),
    {**_CALL, "returnValue": (108, 8), "nestingLevel": (108, 20)},
    known=_CALL_KNOWN,
    known_bytes=_FRAMES,
    key=(108, 6),
    key_values=(27, 31, 32),
)

PROFILER_OVERHEAD = EventTable(
    "PROFILER_OVERHEAD",
    (48,),
    {k: v for k, v in {**_CALL, "returnValue": (108, 8)}.items() if k != "eventClass"},
    known=_CALL_KNOWN,
    known_bytes=_FRAMES,
    key=(108, 6),
    key_values=(3,),
)

NVTX = EventTable(
    "NVTX_EVENTS",
    (33, 34, 39, 59, 60, 75, 76),
    {
        **_paths((102,), {
            2: "start", 10: "end", 1: "eventType", 4: "rangeId", 5: "category", 6: "color", 7: "text",
            9: "globalTid", 11: "endGlobalTid", 12: "textId", 13: "domainId",
        }),
        **_paths((102, 8), {
            1: "uint64Value", 2: "int64Value", 3: "doubleValue", 4: "uint32Value", 5: "int32Value",
            6: "floatValue", 7: "jsonTextId", 8: "jsonText",
        }),
        "payloadSchemaId": (102, 8, 9, 1),
        "payloadData": (102, 8, 9, 2),
    },
    kinds={
        "text": "bytes", "doubleValue": "double", "floatValue": "float", "jsonText": "bytes",
        "payloadData": "bytes",
    },
    known=(*_HEAD, *_known((102,), 14)),
)  # fmt: skip
"""Value fields other than int64 and double follow the order of the export's columns; not seen with values."""

MEMORY_USAGE = EventTable(
    "CUDA_GPU_MEMORY_USAGE_EVENTS",
    (117,),
    {
        **_paths((123,), {
            1: "start", 5: "globalPid", 3: "deviceId", 4: "contextId", 6: "address", 7: "pc", 8: "bytes",
            9: "memKind", 10: "memoryOperationType", 11: "name", 12: "correlationId", 15: "streamId",
        }),
        **_paths((123, 13), {
            1: "localMemoryPoolAddress", 2: "localMemoryPoolReleaseThreshold", 3: "localMemoryPoolSize",
            4: "localMemoryPoolUtilizedSize",
        }),
    },
    kinds={"name": "bytes"},
    known=(*_HEAD, *_known((123,), 2)),
)  # fmt: skip

MEMORY_POOL = EventTable(
    "CUDA_GPU_MEMORY_POOL_EVENTS",
    (129,),
    {
        **_paths((129,), {
            1: "start", 5: "globalPid", 6: "deviceId", 7: "address", 2: "operationType", 3: "poolType",
            4: "correlationId", 8: "minBytesToKeep",
        }),
        **_paths((129, 9), {
            9: "localMemoryPoolSize", 10: "localMemoryPoolReleaseThreshold", 11: "localMemoryPoolUtilizedSize",
        }),
    },
    known=_HEAD,
)  # fmt: skip

GRAPH_NODE = EventTable(
    "CUDA_GRAPH_NODE_EVENTS",
    (113,),
    {**_CALL, **_paths((108, 33), {1: "graphNodeId", 2: "originalGraphNodeId"})},
    known=_CALL_KNOWN,
    known_bytes=_FRAMES,
)

GRAPH_EVENTS = EventTable(
    "CUDA_GRAPH_EVENTS",
    (131, 132),
    {**_CALL, "madeGraphId": (108, 38, 1), "execGraphId": (108, 37, 1), "graphExecId": (108, 37, 2)},
    known=_CALL_KNOWN,
    known_bytes=_FRAMES,
)

CPU_FAULT = EventTable(
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS",
    (119,),
    {
        **_paths((124,), {1: "start", 2: "globalPid", 3: "address"}),
        **_paths((124, 4), {
            8: "originalFaultPc", 1: "CpuInstruction", 2: "module", 6: "unresolvedFaultPc", 11: "sourceFile",
            10: "sourceLine",
        }),
    },
    known=_HEAD,
)  # fmt: skip

GPU_FAULT = EventTable(
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS",
    (120,),
    _paths((125,), {
        1: "start", 2: "end", 3: "deviceId", 4: "globalPid", 5: "address", 6: "numberOfPageFaults",
        7: "faultAccessType",
    }),
    known=_HEAD,
)  # fmt: skip

SCHED = EventTable(
    "SCHED_EVENTS",
    (41,),
    _paths((106,), {1: "start", 3: "cpu", 4: "isSchedIn", 5: "threadState", 6: "globalTid"}),
    known=(*_HEAD, *_known((106,), 7)),
)

COMPOSITE = EventTable(
    "COMPOSITE_EVENTS",
    (31,),
    {**_paths((104,), {1: "start", 3: "cpu", 6: "threadState", 11: "globalTid"}), "cpuCycles": (104, 5, 2)},
    known=(*_HEAD, *_known((104,), 8, 10, 12), (104, 5, 1)),
    known_bytes=_known((104,), 4),
)

OPENACC = EventTable(
    "CUPTI_ACTIVITY_KIND_OPENACC",
    (48,),
    {
        **{k: v for k, v in _CALL.items() if k != "eventClass"},
        **_paths((108, 25), {1: "eventKind", 11: "lineNo", 20: "srcFile", 21: "funcName"}),
        "numGangs": (108, 25, 101, 1),
        "kernelName": (108, 25, 101, 4),
        "bytes": (108, 25, 102, 1),
    },
    known=(
        *_CALL_KNOWN, *_known((108, 25), 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17, 18, 19),
        *_known((108, 25, 101), 2, 3), *_known((108, 25, 102), 2, 3, 4),
    ),
    known_bytes=_FRAMES,
    key=(108, 6),
    key_values=(48,),
)  # fmt: skip
"""The export splits it: LAUNCH has field 101, DATA field 102, OTHER neither."""

DIAGNOSTIC = EventTable(
    "DIAGNOSTIC_EVENT",
    (49,),
    {
        "timestamp": (110, 1, 1),
        "timestampType": (110, 1, 2),
        **_paths((110,), {2: "source", 3: "severity", 4: "text", 5: "globalPid"}),
    },
    kinds={"text": "bytes"},
    known=(*_HEAD, (110, 1, 3)),
)

PROCESSES = EventTable(
    "PROCESSES",
    (27,),
    {"globalPid": (113, 2), "name5": (113, 5), "name6": (113, 6)},
    kinds={"name5": "bytes", "name6": "bytes"},
    known=(*_HEAD, *_known((113,), 1, 3, 4, 10, 11, 12, 13, 14)),
    known_bytes=_known((113,), 7, 8, 9),
)
"""The export's name is `name6`, or `name5` when that is absent. 7, 8, 9, 13 hold paths and environments."""

TIMELINE = (
    KERNEL, MEMCPY, MEMSET, SYNC, CUDA_EVENT, GRAPH_TRACE, RUNTIME, PROFILER_OVERHEAD, NVTX, MEMORY_USAGE,
    MEMORY_POOL, GRAPH_NODE, GRAPH_EVENTS, CPU_FAULT, GPU_FAULT, OPENACC, DIAGNOSTIC, PROCESSES,
)  # fmt: skip
"""What the normalised tables are made of, read in one pass."""

ON_DEMAND = (OSRT, SCHED, COMPOSITE)

SILENT_CODES = frozenset((28,))
"""Types that hold nothing profrx reads (mapped files)."""

KNOWN_CODES = frozenset(code for table in (*TIMELINE, *ON_DEMAND) for code in table.codes) | SILENT_CODES

KNOWN_CLASSES = frozenset(
    (0, 1, 3, 6, 7, 8, 9, 10, 11, 12, 27, 31, 32, 45, 46, 48, 67, 68, 69, 77, 94, 95, 102, 103)
)
"""Values of field 108.6 that are documented; 6-12, 45, 46, 68, 69 are start and finish marks."""
