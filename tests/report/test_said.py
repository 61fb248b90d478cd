"""Sentences of a page that depend on what a report lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from profrx.report.formats import render
from profrx.report.page import page

if TYPE_CHECKING:
    from profrx.report.model import Findings


@pytest.mark.parametrize(
    ("verdict", "timed", "timeline", "said"),
    [
        (True, True, False, "Memory-bound: 2.31 ms in 4 launches."),
        (True, False, False, "Memory-bound: 4 launches without a time."),
        (False, True, False, "Unknown: 2.31 ms in 4 launches."),
        (False, False, False, "Unknown: 4 launches without a time."),
        (False, True, True, "2.31 ms in 4 launches."),
        (False, False, True, "4 launches without a time."),
    ],
)
def test_the_only_kernel(findings: Findings, verdict: bool, timed: bool, timeline: bool, said: str) -> None:
    report = findings.reports[0]
    report.verdicts = report.verdicts if verdict else []
    report.kernels[0].duration_ns = report.kernels[0].duration_ns if timed else None
    report.summary.busy = {"verdict": "The GPU is busy."} if timeline else report.summary.busy
    assert page(report).alone == said


def test_a_share_is_of_the_known_time_when_a_kernel_has_none(findings: Findings) -> None:
    report = findings.reports[0]
    report.kernels.append(report.kernels[0].model_copy(update={"kernel": "b()", "short": "b"}))
    assert "of the time, is memory-bound" in page(report).lede
    report.kernels[1].duration_ns = None
    assert "of the time that is known, is memory-bound" in page(report).lede


def test_the_top_fix_is_one_of_the_findings_listed(findings: Findings) -> None:
    report = findings.reports[0]
    first = report.findings[0]
    small = first.model_copy(update={"saving": None, "time_share": 0.001, "title": "Of a small kernel"})
    large = small.model_copy(update={"time_share": 0.2, "title": "Of a large kernel", "rank": 2})
    report.findings = [small, large]
    found = page(report)
    assert found.top is not None
    assert found.top.title == "Of a large kernel"
    assert [a.title for a in found.findings] == ["Of a large kernel"]
    report.findings = [small]
    found = page(report)
    assert found.top is not None
    assert [a.title for a in found.findings] == [found.top.title] == ["Of a small kernel"]
    assert found.more_findings == 0


@pytest.mark.parametrize("format_", ["md", "html", "text"])
def test_the_folders_above_an_unreadable_input_are_not_shown(many: Findings, format_: str) -> None:
    many.failed[0].source = "/home/somebody/captures/no.ncu-rep"
    made = render(many, format_)
    assert "somebody" not in made
    assert "captures/no.ncu-rep" in made
