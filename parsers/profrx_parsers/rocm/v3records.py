"""Shapes of the rocprofv3 JSON records that are read; everything else in the file is skipped while decoding."""

from __future__ import annotations

from typing import Any

import msgspec


class Handle(msgspec.Struct):
    """An opaque id."""

    handle: int = -1


class Correlation(msgspec.Struct):
    """Correlation ids of a record."""

    internal: int = 0


class Size(msgspec.Struct):
    """Three dimensions in work-items."""

    x: int = 0
    y: int = 0
    z: int = 0


class DispatchInfo(msgspec.Struct):
    """Where and how a kernel was dispatched."""

    kernel_id: int = -1
    dispatch_id: int = -1
    agent_id: Handle = msgspec.field(default_factory=Handle)
    queue_id: Handle = msgspec.field(default_factory=Handle)
    private_segment_size: int | None = None
    group_segment_size: int | None = None
    workgroup_size: Size = msgspec.field(default_factory=Size)
    grid_size: Size = msgspec.field(default_factory=Size)


class Dispatch(msgspec.Struct):
    """A kernel dispatch."""

    dispatch_info: DispatchInfo = msgspec.field(default_factory=DispatchInfo)
    thread_id: int | None = None
    correlation_id: Correlation = msgspec.field(default_factory=Correlation)
    start_timestamp: int | None = None
    end_timestamp: int | None = None
    stream_id: Handle | None = None


class CounterValue(msgspec.Struct):
    """One value of one dimension of a counter."""

    counter_id: Handle
    value: float


class Counted(msgspec.Struct):
    """A dispatch with its counters."""

    dispatch_data: Dispatch = msgspec.field(default_factory=Dispatch)
    records: list[CounterValue] = []


class Call(msgspec.Struct):
    """An API call or marker."""

    kind: int = -1
    operation: int = -1
    thread_id: int | None = None
    correlation_id: Correlation = msgspec.field(default_factory=Correlation)
    start_timestamp: int | None = None
    end_timestamp: int | None = None


class Copy(msgspec.Struct):
    """A memory copy."""

    kind: int = -1
    operation: int = -1
    correlation_id: Correlation = msgspec.field(default_factory=Correlation)
    start_timestamp: int | None = None
    end_timestamp: int | None = None
    dst_agent_id: Handle | None = None
    src_agent_id: Handle | None = None
    stream_id: Handle | None = None
    bytes: int | None = None


class Pc(msgspec.Struct):
    """A program counter: code object and offset in it."""

    code_object_id: int = 0
    code_object_offset: int = 0


class SampleRecord(msgspec.Struct):
    """The measured part of a PC sample."""

    pc: Pc = msgspec.field(default_factory=Pc)
    exec_mask: int = 0
    dispatch_id: int = 0
    wave_issued: bool | None = None
    snapshot: dict[str, Any] | None = None


class Sample(msgspec.Struct):
    """A PC sample with the index of its instruction text."""

    record: SampleRecord = msgspec.field(default_factory=SampleRecord)
    inst_index: int = -1


class BufferRecords(msgspec.Struct):
    """All traced records of a process."""

    kernel_dispatch: list[Dispatch] = []
    hip_api: list[Call] = []
    hsa_api: list[Call] = []
    marker_api: list[Call] = []
    rccl_api: list[Call] = []
    rocdecode_api: list[Call] = []
    rocjpeg_api: list[Call] = []
    memory_copy: list[Copy] = []
    pc_sample_host_trap: list[Sample] = []
    pc_sample_stochastic: list[Sample] = []


class CallbackRecords(msgspec.Struct):
    """All counted dispatches of a process."""

    counter_collection: list[Counted] = []


class Operations(msgspec.Struct):
    """Names of one kind of record and of its operations, by index."""

    kind: str = ""
    operations: list[str] = []


class Marker(msgspec.Struct):
    """The text of a roctx call."""

    key: int = -1
    value: str = ""


class Strings(msgspec.Struct):
    """Texts that records refer to by index."""

    buffer_records: list[Operations] = []
    marker_api: list[Marker] = []
    pc_sample_instructions: list[str] = []
    pc_sample_comments: list[str] = []


class Symbol(msgspec.Struct):
    """A kernel symbol."""

    kernel_id: int = -1
    kernel_name: str = ""
    formatted_kernel_name: str = ""
    demangled_kernel_name: str = ""
    arch_vgpr_count: int | None = None
    accum_vgpr_count: int | None = None
    sgpr_count: int | None = None


class Counter(msgspec.Struct):
    """A counter definition."""

    id: Handle
    name: str = ""


class Process(msgspec.Struct):
    """One process of the program."""

    metadata: dict[str, Any] = {}
    agents: list[dict[str, Any]] = []
    counters: list[Counter] = []
    strings: Strings = msgspec.field(default_factory=Strings)
    kernel_symbols: list[Symbol] = []
    callback_records: CallbackRecords = msgspec.field(default_factory=CallbackRecords)
    buffer_records: BufferRecords = msgspec.field(default_factory=BufferRecords)


class Root(msgspec.Struct):
    """The whole file."""

    processes: list[Process] = msgspec.field(name="rocprofiler-sdk-tool", default_factory=list)
