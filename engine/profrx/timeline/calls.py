"""What host API calls are for: synchronisation, allocation, copy, launch, module loading. CUDA and HIP names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from profrx.timeline.capture import Calls
from profrx.timeline.intervals import Bools, Union, nothing, union

PATTERNS = {
    "sync": r"^(cuda|cu|hip)(Device|Ctx|Context|Stream|Event|Thread)Synchronize|^hsa_signal_wait",
    "allocation": (
        r"^(cuda|hip)(Malloc|Free|HostAlloc|MallocHost|MallocManaged|MallocPitch|FreeHost|HostRegister|HostUnregister)"
        r"(Host|Managed|Pitch|3D|Array)?$|^cuMem(Alloc|Free|HostAlloc|FreeHost|AllocHost|AllocManaged|AllocPitch|Create|"
        r"Release|Map|Unmap|HostRegister|HostUnregister)$|^hsa_amd_memory_pool_(allocate|free)$"
    ),
    "copy": r"^(cuda|cu|hip)(Memcpy|Memset)|^hsa_amd_memory_async_copy",
    "launch": r"Launch(Cooperative)?(Kernel|Grid|Graph)|GraphLaunch|^hipModuleLaunch|^hipExtLaunch",
    "load": r"^(cu|hip)(Library|Module|Link|Kernel)(Load|Complete|GetFunction|AddData|AddFile|SetCacheConfig)",
}
"""Group -> RE2 expression over the call's name without ABI suffix. Stream-ordered allocation (``…Async``) is no
allocation here: it does not wait for the device."""

GROUPS = tuple(PATTERNS)


@dataclass(frozen=True)
class CallGroups:
    """Calls of one process by group, as unions of time over all its threads.

    Attributes:
        rows: group -> which calls.
        time: group -> union of their time.
        recorder: time in which the profiler itself worked in the process.
    """

    calls: Calls
    rows: dict[str, Bools]
    time: dict[str, Union]
    recorder: Union = field(default_factory=nothing)


def group_calls(calls: Calls, recorder: Union | None = None) -> CallGroups:
    """Sort calls into groups."""
    rows = {group: calls.name.hits(pattern) for group, pattern in PATTERNS.items()}
    time = {group: union(calls.start[hit], calls.end[hit]) for group, hit in rows.items()}
    return CallGroups(calls, rows, time, recorder or nothing())


def by_process(calls: Calls, recorder: Mapping[int, Union] | None = None) -> dict[int, CallGroups]:
    """Group the calls of each process; `recorder` gives the profiler's own work by process."""
    return {
        int(p): group_calls(calls.take(calls.process == p), (recorder or {}).get(int(p)))
        for p in np.unique(calls.process)
    }
