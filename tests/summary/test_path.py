"""The way through the flowchart: commands that fit the tool of the report."""

from __future__ import annotations

import pytest

from profrx.report import model as m
from profrx.summary import complete
from profrx_parsers import schema
from profrx_parsers.problems import ProblemLog
from profrx_parsers.report import Report, ReportInfo


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
