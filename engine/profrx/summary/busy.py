"""Question 1 of the flowchart: is the GPU busy at all? Only a timeline can answer it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from profrx_parsers.report import Report

NSYS = "nsys profile --trace=cuda,nvtx,osrt -o run APPLICATION"
"""The command that records the timeline the question needs."""

TIMELINES = {"nvidia": (NSYS, "run.nsys-rep"), "amd": ("rocprofv3 --sys-trace -d run -- APPLICATION", "run")}
"""By vendor of the device: the command that records a timeline, and what it leaves to be diagnosed."""

PROFILED_ALONE = frozenset({"ncu", "nvprof", "rocprof-compute"})
"""Tools that run kernels one at a time to count: their files hold no timeline of the application."""


def busy(report: Report) -> dict[str, Any] | Literal["unknown"]:
    """Return the busy summary of a timeline, or ``unknown`` for a report that holds none."""
    if not is_timeline(report):
        return "unknown"
    try:
        from profrx.timeline import busy_summary
    except ImportError:
        return "unknown"
    found: dict[str, Any] | None = busy_summary(report)
    return found or "unknown"


def devices(busy: dict[str, Any] | Literal["unknown"]) -> int:
    """Return on how many devices the window of a busy summary passes; 1 where there is none."""
    return max(len(busy.get("devices") or ()), 1) if isinstance(busy, dict) else 1


def is_timeline(report: Report) -> bool:
    """Whether the report records when kernels or copies ran, in the application's own time."""
    if (report.info.tool or "") in PROFILED_ALONE or report.info.options.get("kernels_serialised"):
        return False
    launches = report.table("launches")
    work = launches if len(launches) else report.compact("copies")
    return len(work) > 0 and all(work.column(name).null_count < len(work) for name in ("start_ns", "end_ns"))
