"""The way through the flowchart: commands that fit the tool of the report."""

from __future__ import annotations

import pytest

from profrx.report import model as m
from profrx.summary import complete
from profrx_parsers import schema
from profrx_parsers.info import ReportInfo
from profrx_parsers.problems import ProblemLog
from profrx_parsers.report import Report


@pytest.mark.parametrize(
    ("tool", "command", "foreign"),
    [
        ("ncu", "nsys profile", "rocprofv3"),
        ("rocprof-compute", "rocprofv3 --sys-trace", "nsys"),
        ("rocprof", "rocprofv3 --sys-trace", "nsys"),
    ],
)
def test_the_timeline_that_is_asked_for_is_one_of_the_same_vendor(
    tool: str, command: str, foreign: str
) -> None:
    rows = [{"launch_id": 0, "kernel": "a", "kernel_short": "a", "duration_ns": 9.0}]
    info = ReportInfo(source="x", format="x", tool=tool)
    source = Report(info, {"launches": lambda: schema.from_rows("launches", rows)}, ProblemLog())
    found = complete(m.ReportFindings(source="x", format="x", tool=tool), source)
    busy = next(step.answer for step in found.summary.path if step.question == "Is the GPU busy at all?")
    assert command in busy
    assert foreign not in busy


def test_a_kernel_without_a_name_keeps_its_verdict() -> None:
    from profrx.diagnose import judge
    from profrx.evaluate.program import Program
    from profrx.language.pack import load_pack

    rows = [{"launch_id": 0, "kernel": None, "kernel_short": None, "duration_ns": 9e4}]
    names = {
        "sm__throughput.avg.pct_of_peak_sustained_elapsed": 10.0,
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": 90.0,
    }
    metrics = [{"launch_id": 0, "metric": name, "value": value, "unit": "%"} for name, value in names.items()]
    source = Report(
        ReportInfo(source="x.ncu-rep", format="ncu-rep", tool="ncu"),
        {
            "launches": lambda: schema.from_rows("launches", rows),
            "metrics": lambda: schema.from_rows("metrics", metrics),
        },
        ProblemLog(),
    )
    found = judge(Program(load_pack(), {}), source)
    assert [(k.short, k.verdict) for k in found.kernels] == [("(no name)", "memory-bound")]
