"""Reports made by hand for the timeline tests: kernels, copies, calls and ranges in a few words."""

from __future__ import annotations

from typing import Any

from profrx_parsers import schema
from profrx_parsers.info import ReportInfo
from profrx_parsers.problems import ProblemLog
from profrx_parsers.report import Report

US = 1000


def kernel(
    start: int, length: int, *, called: int | None = None, name: str = "k", **more: Any
) -> dict[str, Any]:
    """A kernel; times in us. `called` is the start of its launch call, which takes 1 us."""
    given = {"kernel": name, "kernel_short": name, "kernel_id": name, "workload": "kernel", "device_id": 0,
             "process_id": 1, "stream_id": 7, "grid_x": 1000, "grid_y": 1, "grid_z": 1, "start_ns": start * US,
             "end_ns": (start + length) * US, "duration_ns": float(length * US)}  # fmt: skip
    if called is not None:
        given |= {"thread_id": 1, "launch_api_start_ns": called * US, "launch_api_end_ns": (called + 1) * US}
    return given | more


def copy(start: int, length: int, **more: Any) -> dict[str, Any]:
    """A pinned host-to-device copy; times in us."""
    given = {"operation": "copy", "direction": "HtoD", "source_kind": "pinned", "target_kind": "device", "device_id": 0,
             "process_id": 1, "stream_id": 8, "bytes": length * 1000, "start_ns": start * US,
             "end_ns": (start + length) * US}  # fmt: skip
    return given | more


def call(name: str, start: int, length: int, **more: Any) -> dict[str, Any]:
    """A host call; times in us."""
    given = {"name": name, "domain": "cudart", "process_id": 1, "thread_id": 1, "start_ns": start * US,
             "end_ns": (start + length) * US}  # fmt: skip
    return given | more


def span(name: str, start: int, length: int | None, **more: Any) -> dict[str, Any]:
    """A push/pop range; times in us."""
    end = None if length is None else (start + length) * US
    given = {
        "name": name,
        "kind": "push-pop",
        "process_id": 1,
        "thread_id": 1,
        "start_ns": start * US,
        "end_ns": end,
    }
    return given | more


def report(session: int | None = None, **tables: list[dict[str, Any]]) -> Report:
    """A report of these rows; row ids are added."""
    ids = {"launches": "launch_id", "copies": "copy_id", "api_calls": "call_id", "ranges": "range_id"}
    tables.setdefault(
        "devices", [{"device_id": 0, "name": "made", "compute_units": 100, "memory_bytes": 1000}]
    )
    loaders = {}
    for name, rows in tables.items():
        numbered = [{ids[name]: i, **row} if name in ids else row for i, row in enumerate(rows)]
        loaders[name] = lambda name=name, numbered=numbered: schema.from_rows(name, numbered)
    info = ReportInfo(source="made", format="made", tool="nsys", base_time="wall time of the window")
    return Report(info, loaders, ProblemLog(), {"session_ns": None if session is None else session * US})
