"""Under which conditions a report was taken: a measurement without them cannot be compared to the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from profrx.report import numbers
from profrx.report.model import Conditions

if TYPE_CHECKING:
    from profrx_parsers.report import Report

TOOLS = {
    "ncu": "Nsight Compute",
    "nsys": "Nsight Systems",
    "nvprof": "nvprof",
    "rocprof": "rocprof",
    "rocprofv2": "rocprofv2",
    "rocprofv3": "rocprofv3",
    "rocprof-compute": "rocprof-compute",
    "torch.profiler": "torch.profiler",
}
"""Tool -> the name people use."""

CLOCKS = {
    "locked": "locked to base by the profiler",
    "unlocked": "not locked",
    "mixed": "locked for some launches only",
}
OPTIONS = (
    "set", "sections", "metrics", "replay_mode", "cache_control", "clock_control", "kernel_name", "launch_skip",
    "launch_count", "nvtx_include", "graph_profiling", "trace", "sampling_interval",
)  # fmt: skip
"""Collection options worth a place under the title, in this order."""

MANY_LAUNCHES = 10
SELECTING = frozenset({"kernel_name", "launch_skip", "launch_count", "nvtx_include", "kernel_id"})
STEADY = "`ncu --set full --kernel-name NAME --launch-skip 100 --launch-count 1 -o report APPLICATION`"
"""How to profile one launch after warm-up."""


def conditions(report: Report) -> Conditions:
    """Return the facts, what is not recorded, and what makes the numbers less than they seem."""
    info = report.info
    devices = report.table("devices").to_pylist()
    found = Conditions()
    missing = found.missing
    names = list(dict.fromkeys(text for row in devices if (text := _device(row))))
    _fact(found, "Device", ", ".join(names), "device")
    _fact(found, "Driver", info.driver or _first(devices, "driver"), "driver version")
    if info.runtime_version:
        label = "ROCm" if any(row.get("vendor") == "amd" for row in devices) else "CUDA"
        found.facts[label] = info.runtime_version.removeprefix(label).strip()
    tool = TOOLS.get(info.tool or "", info.tool or "")
    _fact(found, "Tool", f"{tool} {info.tool_version or ''}".strip(), "tool")
    if tool and not info.tool_version:
        missing.append("tool version")
    _fact(found, "Clocks", CLOCKS.get(info.clocks or "", info.clocks), "whether clocks were locked")
    _fact(
        found,
        "Captured",
        (info.captured_at or "").replace("T", " ").removesuffix("Z").removesuffix("+00:00"),
        "capture time",
    )
    options = _options(info.options)
    if options:
        found.facts["Collected"] = options
    elif info.tool == "ncu":
        missing.append("collection options")
    found.facts |= {f"Private: {key}": _words(value) for key, value in info.private.items() if value}
    found.warnings = _warnings(report)
    return found


def _words(value: object) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key} {_words(inner)}" for key, inner in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _fact(found: Conditions, label: str, value: str | None, otherwise: str) -> None:
    if value:
        found.facts[label] = value
    else:
        found.missing.append(otherwise)


def _device(row: dict[str, Any]) -> str:
    name, arch, partition = row.get("name"), row.get("arch"), row.get("partition")
    words = name or arch or ""
    if name and arch:
        words = f"{name} ({arch})"
    return f"{words}, partition {partition}" if words and partition else words


def _first(rows: list[dict[str, Any]], key: str) -> str | None:
    return next((str(row[key]) for row in rows if row.get(key)), None)


def _options(options: dict[str, Any]) -> str:
    """Return the options that shaped the numbers: ``set full, launch-count 1``; long lists are counted."""
    words = []
    for key in OPTIONS:
        value = options.get(key)
        if value in (None, "", []):
            continue
        if isinstance(value, list):
            value = ", ".join(map(str, value)) if len(value) <= 4 else f"{len(value)} {key}"
            words.append(str(value) if key in str(value) else f"{key}: {value}")
        else:
            words.append(f"{key.replace('_', '-')} {value}")
    return "; ".join(words)


def _warnings(report: Report) -> list[str]:
    info = report.info
    found = []
    if info.clocks == "unlocked":
        found.append(
            "Clocks were not locked: times move with temperature and power, compare them only with care."
        )
    elif info.clocks == "mixed":
        found.append(
            "Clocks were locked for some launches only: do not compare the times of one with another."
        )
    if info.tool == "ncu":
        found += _profiled_alone(report)
    found += _times(report)
    found += _sums(report)
    return found


def _profiled_alone(report: Report) -> list[str]:
    """What running kernels one by one, several times, does to the times of a whole run."""
    launches = len(report.table("launches"))
    mode = str(report.info.options.get("replay_mode", "kernel"))
    found = []
    if launches >= MANY_LAUNCHES and not SELECTING & set(report.info.options):
        found.append(
            f"{numbers.plural(launches, 'launch', 'launches')} of a whole run were profiled: the tool runs kernels one at a "
            "time, replays them and flushes caches, so overlap, gaps and warm caches are gone. Profile one steady "
            f"launch of the kernel that a timeline shows to matter: {STEADY}."
        )
    if mode.startswith(("application", "app-range")):
        found.append(
            "Counters come from several runs of the application: a kernel whose work differs from run to run mixes them."
        )
    return found


def _times(report: Report) -> list[str]:
    """Launches without a usable time: they carry no share and are ranked last."""
    import numpy as np

    if not report.has("launches"):
        return []
    times = report.table("launches").column("duration_ns").to_numpy(zero_copy_only=False).astype(float)
    bad = int(np.count_nonzero(~np.isfinite(times) | (times < 0)))
    if not bad or not len(times):
        return []
    if bad == len(times):
        return ["No launch has a time: nothing can be ranked by time."]
    return [f"{numbers.plural(bad, 'launch', 'launches')} without a valid time: ranked last."]


def _sums(report: Report) -> list[str]:
    """A summary-only input: sums over launches, nothing per launch."""
    if not report.has("summaries") or (report.has("launches") and len(report.table("launches"))):
        return []
    rows = len(report.table("summaries"))
    if not rows:
        return []
    return [
        f"This input holds {numbers.plural(rows, 'sum')} over launches and nothing per launch: only the sums are judged. "
        "Read them with `profrx tables FILE --table summaries`; give the report they were made from for the rest."
    ]
