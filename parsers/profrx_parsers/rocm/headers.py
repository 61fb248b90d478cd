"""Column names of every AMD profiler generation, and which kind of table a header announces.

The same fact has up to six names (`KernelName`, `Kernel_Name`; `lds`, `LDS_Per_Workgroup`, `LDS_Block_Size`,
`Lds_Block_Size`, `Group_Segment_Size`): `fact_of` maps all of them to one. What is neither a fact nor a leftover
of a join is a counter. Source: headers seen in public rocprof, rocprofv2, rocprofv3 and rocprof-compute files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

FACTS: dict[str, tuple[str, ...]] = {
    "dispatch": ("index", "dispatch_id"),
    "kernel": ("kernelname", "kernel_name"),
    "agent": ("gpu_id", "agent_id"),
    "queue": ("queue_id",),
    "stream": ("stream_id",),
    "pid": ("pid", "process_id"),
    "tid": ("tid", "thread_id"),
    "grid": ("grd", "grid_size"),
    "grid_x": ("grid_size_x",),
    "grid_y": ("grid_size_y",),
    "grid_z": ("grid_size_z",),
    "block": ("wgr", "workgroup_size"),
    "block_x": ("workgroup_size_x",),
    "block_y": ("workgroup_size_y",),
    "block_z": ("workgroup_size_z",),
    "lds": ("lds", "lds_per_workgroup", "lds_block_size", "group_segment_size"),
    "scratch": ("scr", "scratch_per_workitem", "scratch_size", "private_segment_size"),
    "vgpr": ("vgpr", "vgpr_count", "arch_vgpr"),
    "agpr": ("accum_vgpr", "accum_vgpr_count"),
    "sgpr": ("sgpr", "sgpr_count"),
    "wave_size": ("wave_size",),
    "start": ("beginns", "start_timestamp"),
    "end": ("endns", "end_timestamp"),
    "duration": ("durationns", "duration"),
    "dispatched": ("dispatchns",),
    "completed": ("completens",),
    "correlation": ("correlation_id",),
    "kernel_number": ("kernel_id",),
    "kind": ("kind",),
    "counter": ("counter_name",),
    "value": ("counter_value",),
    "xcc": ("xcc_index",),
    "guid": ("guid",),
    "signal": ("sig",),
    "object": ("obj",),
    "barrier": ("fbar",),
    "slot": ("queue_index",),
}
_FACT_OF = {name: fact for fact, names in FACTS.items() for name in names}

TEXT_FACTS = frozenset({"kernel", "agent", "kind", "counter", "guid", "signal", "object"})
TIME_FACTS = frozenset({"start", "end", "dispatched", "completed"})
REAL_COUNTERS_WITH_NUMBER = re.compile(r"SQC_DCACHE_REQ_READ_\d+|SQ_WAVES_(EQ|LT|GT)_\d+")
_NUMBERED = re.compile(r"(.+)_(\d+)")
_INSTANCE = re.compile(r"([A-Za-z0-9_]+)\[(\d{1,5})\]")


def plain(name: str) -> str:
    """Return the spelling-independent form: lower case, ``_`` for ``-`` and blanks."""
    return name.strip().lower().replace("-", "_").replace(" ", "_")


@lru_cache(maxsize=16_384)
def fact_of(name: str) -> str | None:
    """Return the fact a column holds, or None for a counter."""
    return _FACT_OF.get(plain(name))


def instance_of(name: str) -> tuple[str, int] | None:
    """Split ``TCC_HIT[12]`` into its counter and channel; None when it is no instance."""
    found = _INSTANCE.fullmatch(name)
    return (found[1], int(found[2])) if found else None


def leftovers(header: Sequence[str]) -> frozenset[str]:
    """Return the columns a join left behind: ``obj_18``, ``Kernel_ID_7``, ``GRBM_GUI_ACTIVE_13``.

    ``X_N`` is a leftover when ``X`` is a column too; a few real counters end in a number and are kept.
    """
    known = set(header)
    found = []
    for name in header:
        parts = _NUMBERED.fullmatch(name)
        if parts and parts[1] in known and not REAL_COUNTERS_WITH_NUMBER.fullmatch(name):
            found.append(name)
    return frozenset(found)


def accumulators(header: Sequence[str]) -> dict[str, str]:
    """Name the accumulation columns after the level counter of the same pass.

    ``SQ_ACCUM_PREV_HIRES`` and its join copies ``_7`` … ``_12`` say nothing by name; each stands in one pass
    together with exactly one level counter (``SQ_LEVEL_WAVES``, ``SQ_IFETCH_LEVEL``, …), and a pass starts at
    a fact column. The result uses the newer tools' own names, e.g. ``SQ_LEVEL_WAVES_ACCUM``.
    """
    named: dict[str, str] = {}
    levels: list[str] = []
    sums: list[str] = []
    for name in [*header, "Kernel_ID"]:
        parts = _NUMBERED.fullmatch(name)
        if fact_of(name) or (parts and fact_of(parts[1])):
            if len(levels) == 1 and len(sums) == 1:
                named[sums[0]] = f"{levels[0]}_ACCUM"
            levels, sums = [], []
        elif name.startswith("SQ_ACCUM_PREV_HIRES"):
            sums.append(name)
        elif name.startswith("SQ") and "LEVEL" in name and "[" not in name and not name.endswith("_ACCUM"):
            levels.append(name)
    return named


def kind_of(header: Sequence[str]) -> str | None:
    """Return which table the header announces; None when it is no known ROCm table.

    One of: counters (long), dispatches, api, copies, allocations, scratch, stats, agents, pc-samples,
    att, sysinfo, roofline, kernel-top.
    """
    names = {plain(name) for name in header}
    facts = {fact_of(name) for name in header}
    for kind, needed in _KINDS:
        if needed <= names:
            return kind
    if {"kernel", "counter", "value"} <= facts:
        return "counters"
    if "kernel" in facts and "dispatch" in facts and "kernel_time" not in names:
        return "dispatches"
    if {"kernel", "start", "end"} <= facts:
        return "dispatches"
    return None


_KINDS: tuple[tuple[str, set[str]], ...] = (
    ("api", {"domain", "function", "start_timestamp", "end_timestamp"}),
    ("copies", {"kind", "direction", "start_timestamp", "end_timestamp"}),
    ("allocations", {"kind", "operation", "allocation_size"}),
    ("scratch", {"kind", "operation", "alloc_flags"}),
    ("stats", {"name", "calls", "totaldurationns"}),
    ("agents", {"node_id", "agent_type", "cu_count"}),
    ("pc-samples", {"exec_mask", "dispatch_id", "instruction"}),
    ("att", {"codeobj", "vaddr", "instruction", "hitcount"}),
    ("sysinfo", {"workload_name", "gpu_arch"}),
    ("sysinfo", {"workload_name", "gpu_soc"}),
    ("roofline", {"device", "hbmbw", "l2bw"}),
    ("kernel-top", {"kernel_name", "count", "sum(ns)"}),
)
