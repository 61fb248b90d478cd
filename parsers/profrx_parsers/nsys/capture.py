"""From raw tables to a `Report`: the joins, once, for every form of an nsys capture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import pyarrow as pa

from profrx_parsers.info import ReportInfo
from profrx_parsers.nsys import directives, graphics, host, memory, work
from profrx_parsers.nsys.devices import DeviceMap, read_devices
from profrx_parsers.nsys.raw import RawTables
from profrx_parsers.nsys.recorder import DIAGNOSTIC_COLUMNS, OVERHEAD_COLUMNS, Recorder, read_recorder
from profrx_parsers.nsys.required import CheckedTables
from profrx_parsers.problems import ProblemLog
from profrx_parsers.report import Report, Wanted
from profrx_parsers.source import Source

NORMAL_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "NVTX_EVENTS": host.NVTX_COLUMNS,
    "CUPTI_ACTIVITY_KIND_RUNTIME": host.CALL_COLUMNS,
    "CUPTI_ACTIVITY_KIND_KERNEL": work.KERNEL_COLUMNS,
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": work.GRAPH_COLUMNS,
    "CUPTI_ACTIVITY_KIND_MEMCPY": work.COPY_COLUMNS,
    "CUPTI_ACTIVITY_KIND_MEMSET": work.SET_COLUMNS,
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": work.SYNC_COLUMNS,
    "CUDA_GPU_MEMORY_USAGE_EVENTS": memory.USAGE_COLUMNS,
    "CUPTI_ACTIVITY_KIND_OPENACC": directives.COLUMNS,
    "DIAGNOSTIC_EVENT": DIAGNOSTIC_COLUMNS,
    "PROFILER_OVERHEAD": OVERHEAD_COLUMNS,
}
"""Raw tables and columns that the normalised tables are made of."""


@dataclass(frozen=True)
class Facts:
    """What a form says about the capture outside its event tables; None = not recorded.

    Attributes:
        utc_ns: unix nanoseconds of event time 0.
        duration_ns: length of the session; event times run from 0 to it.
        system: operating system as text; `machine`: processor architecture.
    """

    format: str
    tool_version: str | None = None
    utc_ns: int | None = None
    duration_ns: int | None = None
    driver: str | None = None
    cuda_version: str | None = None
    system: str | None = None
    machine: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    private: Mapping[str, Any] = field(default_factory=dict)


class Capture:
    """Normalised tables of one capture, each built on first use; tables that others need are kept."""

    def __init__(self, raw: RawTables, facts: Facts, log: ProblemLog) -> None:
        self.raw = CheckedTables(raw, log)
        self.facts = facts
        self.log = log

    @cached_property
    def _devices(self) -> tuple[pa.Table, DeviceMap]:
        return read_devices(self.raw, driver_version(self.facts.driver))

    @cached_property
    def _ranges(self) -> host.Ranges:
        return host.read_ranges(self.raw, self.facts.duration_ns)

    @cached_property
    def _calls(self) -> host.Calls:
        found = host.read_calls(self.raw, self._ranges)
        pa.default_memory_pool().release_unused()  # by the million; what was used on the way is large, too
        return found

    def release(self, name: str) -> None:
        """Let go of a kept table; see `Report.release`."""
        if name == "ranges":
            self.__dict__.pop("_ranges", None)

    def devices(self) -> pa.Table:
        """GPUs."""
        return self._devices[0]

    def ranges(self) -> pa.Table:
        """NVTX ranges and marks."""
        return self._ranges.table

    def api_calls(self) -> pa.Table:
        """CUDA runtime and driver calls."""
        return self._calls.table

    def launches(self) -> pa.Table:
        """Kernels, and CUDA graphs traced as one item."""
        found = work.read_launches(self.raw, self._calls, self._devices[1], self.log)
        pa.default_memory_pool().release_unused()
        return found

    def copies(self) -> pa.Table:
        """Copies and sets."""
        return work.read_copies(self.raw, self._calls, self._devices[1])

    def syncs(self) -> pa.Table:
        """Synchronisations, their kind by the name of the call."""
        return work.read_syncs(self.raw, self._calls, self._devices[1])

    def memory_events(self) -> pa.Table:
        """Allocations and frees."""
        return memory.read_memory_events(self.raw, self._devices[1])

    def samples(self) -> pa.Table:
        """GPU metric samples, long."""
        return memory.read_samples(self.raw)

    def ops(self) -> pa.Table:
        """Constructs of OpenACC and OpenMP."""
        return directives.read_directives(self.raw, self.log)

    def device_uuids(self) -> dict[int, str]:
        """What tells GPUs of several captures apart, by device_id; private."""
        return self._devices[1].uuids

    def recorder(self) -> Recorder:
        """What the recorder says about its own work."""
        return self._recorder

    @cached_property
    def _recorder(self) -> Recorder:
        return read_recorder(self.raw, self.log)

    @cached_property
    def _graphics(self) -> graphics.Flagged | None:
        windows = "windows" in (self.facts.system or "").lower()
        return graphics.read_flagged(self.raw, readable=self.facts.format != "nsys-rep" or not windows)

    def graphics(self) -> graphics.Flagged | None:
        """Memory operations of Direct3D 12 that the hardware does not like."""
        return self._graphics

    def os_calls(self) -> pa.Table:
        """OS runtime calls, in the schema of `api_calls`; only on demand (they can outnumber all else)."""
        return host.read_os_calls(self.raw)


def report_of(raw: RawTables, facts: Facts, source: Source, log: ProblemLog, wanted: Wanted) -> Report:
    """Build the `Report` of a capture. Event tables are read when first asked for."""
    capture = Capture(raw, facts, log)
    info = ReportInfo(
        source=source.name,
        format=facts.format,
        tool="nsys",
        tool_version=facts.tool_version,
        captured_at=_iso(facts.utc_ns),
        driver=driver_version(facts.driver),
        runtime_version=_cuda_version(facts.cuda_version),
        platform=", ".join(part for part in (facts.system, facts.machine) if part) or None,
        time_origin="start of the profiling session",
        base_time="wall time of the window",
        options=dict(facts.options),
        private=dict(facts.private) if wanted.private else {},
    )
    loaders: dict[str, Callable[[], pa.Table]] = {
        "devices": capture.devices,
        "launches": capture.launches,
        "copies": capture.copies,
        "api_calls": capture.api_calls,
        "syncs": capture.syncs,
        "ranges": capture.ranges,
        "memory_events": capture.memory_events,
        "samples": capture.samples,
        "ops": capture.ops,
    }
    extras: dict[str, Any] = {
        "session_ns": facts.duration_ns,
        "os_calls": capture.os_calls,
        "recorder": capture.recorder,
        "device_uuids": capture.device_uuids,
        "graphics": capture.graphics,
        "raw": raw,
        "release": capture.release,
    }
    return Report(info, loaders, log, extras)


def _iso(utc_ns: int | None) -> str | None:
    if utc_ns is None or not 0 < utc_ns < 1 << 62:
        return None
    return datetime.fromtimestamp(utc_ns // 1_000_000_000, UTC).isoformat()


def _cuda_version(text: str | None) -> str | None:
    """Return ``12.4`` for ``12040``."""
    if text is None or not text.isdigit() or len(text) > 6:
        return None
    return f"CUDA {int(text) // 1000}.{int(text) % 1000 // 10}"


def driver_version(text: str | None) -> str | None:
    """Return ``470.57.02`` for ``4705702``, the form of older captures; ``0`` means no driver."""
    if text is None or not text.isdigit():
        return text
    return f"{text[:3]}.{text[3:-2]}.{text[-2:]}" if 6 < len(text) < 10 else None
