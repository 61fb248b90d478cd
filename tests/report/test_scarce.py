"""A report that most rules cannot judge says so first, with numbers and the command that changes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from profrx.diagnose import diagnose
from profrx.report import model as m
from profrx.report import scarce
from profrx.report.commands import lines
from profrx.report.page import page
from profrx.report.views import Gap

KERNEL = {"kernel": "scale(float *)", "short": "scale"}
LONG = "ncu --section A --section B --section C"


def gap(option: str, *rules: str) -> Gap:
    return Gap(option, rules, tuple(lines([option])) if option else ())


def report(judged: int, verdict: str = "unknown", **more: object) -> m.ReportFindings:
    return m.ReportFindings(
        source="x",
        format="ncu-rep",
        tool="ncu",
        kernels=[m.KernelRow(**KERNEL, launches=1, duration_ns=1.0, time_share=1.0)],
        verdicts=[m.VerdictOf(**KERNEL, launches=[0], verdict=verdict, table="speed-of-light")],
        coverage=m.Coverage(rules=70, judged=judged),
        **more,
    )


def test_it_counts_and_gives_the_shortest_command() -> None:
    told = scarce.lede(report(4), (gap(LONG, "a", "b"), gap("ncu --section D", "c")))
    assert "4 of 70 rules" in told
    assert f"`{scarce.EVERYTHING}`" in told
    assert LONG not in told


def test_one_section_is_shorter_than_the_set() -> None:
    assert (
        scarce.shortest(report(4), (gap("ncu --section SpeedOfLight", "a"),))
        == "ncu --section SpeedOfLight -o report APPLICATION"
    )


def test_no_command_is_made_up() -> None:
    told = scarce.lede(report(4), (gap("", "a"),))
    assert "`" not in told
    assert "See below" in told


def test_an_unknown_verdict_beside_many_judged_rules_is_not_called_little() -> None:
    told = scarce.lede(report(60), ())
    assert "60 of 70 rules" in told
    assert "too little" not in told


@pytest.mark.parametrize(
    "known",
    [
        report(4, "memory-bound"),
        report(4).model_copy(update={"kernels": []}),
        report(4).model_copy(update={"coverage": None}),
        report(4).model_copy(update={"verdicts": []}),
    ],
)
def test_others_speak_for_themselves(known: m.ReportFindings) -> None:
    assert scarce.lede(known, (gap(LONG, "a"),)) == ""


def test_coverage_counts_rules_of_the_tool(fixtures: Path) -> None:
    """A full set can judge nearly all; a report of the launch facts alone hardly any. Both apply the same rules."""
    full, some = diagnose(
        [fixtures / "ncu" / name / "report.ncu-repz" for name in ("dram-stream", "style-metrics")]
    ).reports
    assert full.coverage is not None
    assert some.coverage is not None
    assert full.coverage.rules == some.coverage.rules
    assert full.coverage.judged >= 0.9 * full.coverage.rules
    assert some.coverage.judged == some.coverage.rules - len({one.rule for one in some.unknown}) - len(
        {one.rule for one in some.blocked}
    )


@pytest.mark.corpus
def test_a_real_report_of_three_metrics(corpus: Path) -> None:
    """Nine in ten rules lack their counters there: the page begins with that."""
    (path,) = corpus.rglob("2025.2.1.0_RTX-5060-Ti*20eba6.ncu-rep")
    shown = page(diagnose([path]).reports[0])
    assert shown.lede.startswith("This report holds too little")
    assert scarce.EVERYTHING in shown.lede
    assert not shown.nothing
