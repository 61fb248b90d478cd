"""Counter names that circulate in guides but stand in no report, with the logical metric that is meant.

A wrong name is never taken silently for the right one: `check` reports it and says what to write.
Source: none of these names occurs in any report that was looked at, over all architectures; each logical
metric lists the counters that do.
"""

from __future__ import annotations

import re

_MISNAMED = (
    (r"(smsp|sm)__average_warps?_active\b", "occupancy.achieved", "the counter is sm__warps_active"),
    (r"dram__throughput\b", "dram.throughput", "the counter is gpu__dram_throughput"),
    (
        r"sm__pipe_tensor_op_[hi]mma_cycles_active\b.*elapsed",
        "pipe.tensor",
        "it is kept as a share of active cycles",
    ),
    (r"achieved_occupancy$", "occupancy.achieved", "that name is of nvprof, which wrote other files"),
    (r"(gld|gst)_efficiency$", "global.excess_share", "that name is of nvprof, which wrote other files"),
    (r"warp_execution_efficiency$", "warp.threads", "that name is of nvprof, which wrote other files"),
)
_PATTERNS = tuple((re.compile(pattern), logical, why) for pattern, logical, why in _MISNAMED)


def meant(raw: str) -> tuple[str, str] | None:
    """The logical metric meant by a name that no report holds, and why the name is wrong; None for other names."""
    for pattern, logical, why in _PATTERNS:
        if pattern.match(raw):
            return logical, why
    return None
