"""A verdict that a guard blocks is no headline: the guard's sentence stands there instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from profrx.diagnose import diagnose
from profrx.report import model as m
from profrx.report.formats import render
from profrx.report.page import page


@pytest.mark.parametrize("case", ["style-graph", "style-range", "style-app-range"])
def test_numbers_of_launch_gaps_are_no_verdict(fixtures: Path, case: str) -> None:
    """These windows hold several kernels and the gaps between them: by its instructions none of them idles."""
    found = diagnose([fixtures / "ncu" / case / "report.ncu-repz"])
    report = found.reports[0]
    root = [one for one in report.verdicts if one.table == "speed-of-light"]
    assert {one.guard for one in root} == {"idle-window"}
    assert {row.verdict for row in report.kernels} == {"unknown"}
    shown = page(report)
    assert shown.lede.startswith("What limits ")
    assert "is not known" in shown.lede
    assert "launch gaps" in shown.lede
    for format_ in ("md", "text", "html"):
        made = render(found, format_)
        assert "Latency-bound (doubtful)" in made
        assert "range: latency-bound" not in made.replace("`", "").replace("<code>", "").replace(
            "</code>", ""
        )


def test_a_kernel_that_filled_its_window_keeps_its_headline(fixtures: Path) -> None:
    report = diagnose([fixtures / "ncu/strided-load/report.ncu-repz"]).reports[0]
    assert all(one.guard is None and not one.doubt for one in report.verdicts)
    assert page(report).lede.startswith("Memory-bound.")


@pytest.mark.parametrize("format_", ["md", "text", "html"])
def test_any_guard_will_do(findings: m.Findings, format_: str) -> None:
    report = findings.reports[0]
    for one in report.verdicts:
        one.guard, one.doubt = "some-guard", "The <clock> stood still."
    made = render(findings, format_)
    assert "What limits it is not known. The" in made
    assert "Memory-bound (doubtful)" in made
    assert "matmul_naive: memory-bound" not in made
    escaped = {"md": "\\<clock>", "text": "<clock>", "html": "&lt;clock&gt;"}[format_]
    assert made.count("clock> stood") + made.count("clock&gt; stood") == made.count(f"{escaped} stood") > 0
