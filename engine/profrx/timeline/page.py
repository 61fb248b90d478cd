"""The page docs/timeline-metrics.md, written from the catalogue: ``python -m profrx.timeline.page > docs/timeline-metrics.md``."""

from __future__ import annotations

from collections.abc import Iterable

from profrx.timeline.catalogue import KERNEL_METRICS, METRICS, RANGE_METRICS, Metric

_INTRODUCTION = """# Timeline metrics

`profrx.timeline.timeline_metrics(report)` computes them for any report whose launches or copies have times (Nsight Systems,
rocprof, PyTorch traces, the GPU trace of `nsys stats`). There is one table per scope: `report`, `device`, `stream`, `range`, `rank`
(a process where ranks are not recorded) and `kernel`. Each has `subject_id`, `subject`, `weight_ns` (the subject's time, the base of its
shares) and the metrics below. In a rule: `source timeline "busy_share"`.

**The window** runs from the first to the last GPU operation of the subject. Shares are ratios from 0 to 1. A union counts time in
which several operations run once; a sum counts it several times and says so. The report's row folds its devices: counts and bytes are
added, shares are averaged with the windows as weights.

**Idle time has one reason each.** For every gap the first that applies: *unknown* (no call recorded for the operation after it),
*queue* (it was submitted before the gap began), *first* (set-up: before the first kernel, the first
launch of a kernel, or before 90 % of the kernels were seen once in the first half of the capture), *allocation* and *copy* (half of the gap
inside such calls), *sync* (the host was waiting for the device when the gap began), *launch* (up to 50 us, or three usual pauses between launch calls, at most 200 us), *host*. A wait is blamed for no more
idle time than the work it waited for took; the rest counts as *launch* in a gap that is no longer than a launch takes, else as *host*. Time in which the profiler itself worked in the process is taken off the gap's reason
and counts as *profiler* (not off *queue* and *unknown*). So the `idle_…_share` metrics add up to `gap_share`.

**Kernel classes** come from `engine/profrx/timeline/kernel_classes.csv` (pattern, class, library; first match wins). Give your own table as
`timeline_metrics(report, classes=Path("mine.csv"))`.
"""


def page() -> str:
    """Return the page's text."""
    parts = [
        _INTRODUCTION,
        "## Scopes report, device, stream, rank\n\n" + _rows(METRICS),
        "`memory_…` and `late_allocation_count` are there for report and device, `rank_…` for the report, `session_ns` and\n"
        "`busy_session_share` for report, device and rank; elsewhere they are null.\n",
        "## Scope kernel\n\nOne row per kernel id; `weight_ns` is its time (sum). Also `class` and `library` (text).\n\n"
        + _rows(KERNEL_METRICS),
        "## Scope range\n\nOne row per path of ranges open on the launching thread, and per prefix of it; work belongs to a range by its\n"
        "launch, not by its GPU time. `weight_ns` is `gpu_busy_ns`.\n\n" + _rows(RANGE_METRICS),
    ]
    return "\n".join(parts)


def _rows(metrics: Iterable[Metric]) -> str:
    lines = ["| metric | unit | meaning | null when |", "|---|---|---|---|"]
    lines += [f"| `{m.name}` | {m.unit} | {m.meaning} | {m.null} |" for m in metrics]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
