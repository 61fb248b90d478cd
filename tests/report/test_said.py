"""Sentences of a page that depend on what a report lacks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from profrx.diagnose import diagnose
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


@pytest.mark.parametrize("format_", ["md", "html", "text"])
def test_launches_of_a_finding_stand_beside_its_kernel(many: Findings, format_: str) -> None:
    report = many.reports[0]
    report.kernels[0].launches = 1200
    report.findings[0].subject.launches = list(range(0, 1000, 2))
    made = " ".join(render(many, format_).split())
    assert "500 of 1,200 launches (0, 2, 4, 6, 8, 10 and 494 more)" in made


@pytest.mark.parametrize("format_", ["md", "text", "json"])
def test_a_capture_without_gpu_work_has_a_headline(findings: Findings, format_: str) -> None:
    report = findings.reports[0]
    first = report.findings[0].model_copy(
        update={"scope": "report", "title": "No GPU work was recorded", "fix": ["Trace CUDA."]}
    )
    report.findings, report.kernels, report.verdicts = [first], [], []
    assert page(report).lede == "No GPU work was recorded. Trace CUDA."
    assert "No GPU work was recorded" in render(findings, format_)


def test_kernels_of_one_name_get_commands_of_their_own(fixtures: Path) -> None:
    """Three functors of one template: each is named, and no profile overwrites another (ncu refuses to)."""
    found = diagnose([fixtures / "nsys/unfused-elementwise/report.nsys-rep"])
    commands = page(found.reports[0]).commands
    assert [kernel.rpartition(" ")[2] for kernel, _, _ in commands] == ["[1]", "[2]", "[3]"]
    files = [re.findall(r" -o (\S+) ", command) for _, _, command in commands]
    assert len({str(one) for one in files}) == 3
    made = render(found, "md")
    for kernel, part, _ in commands:
        assert f"* `{kernel}` ({part}): `ncu " in made


def test_unknown_metrics_are_set_as_code(fixtures: Path) -> None:
    (report,) = diagnose([fixtures / "ncu/style-metrics/report.ncu-repz"]).reports
    assert ("Memory or compute bound?", "Not known: `memory.throughput`.") in page(report).path


def test_launches_of_a_kernel_may_differ(many: Findings) -> None:
    report = many.reports[0]
    (first, *_) = [one for one in report.verdicts if one.table == "speed-of-light"]
    other = first.model_copy(update={"verdict": "latency-bound", "title": "Latency-bound", "launches": [1]})
    report.verdicts.append(other)
    assert page(report).lede.endswith("differs between its launches: memory-bound, latency-bound.")


@pytest.mark.parametrize(("format_", "code"), [("md", "`the whole run`"), ("text", "T in the whole run")])
def test_a_finding_about_the_report_is_in_no_kernel(many: Findings, format_: str, code: str) -> None:
    many.reports[0].findings[0].scope = "report"
    many.reports[0].findings[0].title = "T"
    assert code not in render(many, format_)


def test_a_range_is_not_called_a_kernel_run_alone(fixtures: Path) -> None:
    kernels, ranges = diagnose(
        [fixtures / "ncu" / name / "report.ncu-repz" for name in ("style-basic", "style-range")]
    ).reports
    assert "kernels were run one by one" in page(kernels).path[0][1]
    assert "one by one" not in page(ranges).path[0][1]
