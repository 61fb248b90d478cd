"""What a page says of findings and gaps."""

from __future__ import annotations

import pytest

from profrx.report import model as m
from profrx.report.commands import together
from profrx.report.focus import LEAST_SHARE, worth
from profrx.report.views import advice, gaps, held_back, launched, ranges


def unknown(rule: str, *options: str) -> m.Unknown:
    return m.Unknown(rule=rule, title=rule, collect=[m.Collect(tool="ncu", option=text) for text in options])


def report(*rules: m.Unknown) -> m.ReportFindings:
    return m.ReportFindings(source="x", format="ncu-rep", tool="ncu", unknown=list(rules))


def test_few_gaps_are_listed_each_with_its_option() -> None:
    found = gaps(
        report(unknown("a", "--section A"), unknown("b", "--section A"), unknown("c", "--section C"))
    )
    assert [(g.option, g.rules) for g in found] == [
        ("ncu --section A", ("“a”", "“b”")),
        ("ncu --section C", ("“c”",)),
    ]


def test_many_gaps_become_one_more_run() -> None:
    rules = [unknown(name, f"--section {name.upper()}") for name in "abcdef"]
    (one, nothing) = gaps(report(*rules, unknown("z")))
    assert one.option == "ncu --section A --section B --section C --section D --section E --section F"
    assert set(one.rules) == {f"“{name}”" for name in "abcdef"}
    assert (nothing.option, nothing.rules) == ("", ("“z”",))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["ncu --section A", "ncu --section B"], "ncu --section A --section B"),
        (["ncu --set full"], "ncu --set full"),
        (["ncu --section A", "nsys --trace cuda"], "ncu --section A and nsys --trace cuda"),
        ([], ""),
    ],
)
def test_options_of_one_tool_are_one_command(options: list[str], text: str) -> None:
    assert together(options) == text


@pytest.mark.parametrize(
    ("launches", "text"),
    [
        ([], ""),
        ([3], "3"),
        ([0, 1, 2, 5], "0-2, 5"),
        ([5, 1, 1, 0], "0-1, 5"),
        (list(range(0, 20, 2)), "0, 2, 4, 6, 8, 10 and 4 more"),
        ([*range(0, 12, 2), *range(100, 1300)], "0, 2, 4, 6, 8, 10 and 1,200 more"),
    ],
)
def test_launches_are_ranges(launches: list[int], text: str) -> None:
    assert ranges(launches) == text


@pytest.mark.parametrize(
    ("launches", "of", "text"),
    [
        ([], 5, ""),
        ([3], None, ""),
        ([0], 1, ""),
        ([3], 41, "1 of 41 launches (3)"),
        ([0, 1, 5], 3, "3 launches (0-1, 5)"),
        ([0, 1], 1, "2 launches (0-1)"),
        (list(range(3000)), 4000, "3,000 of 4,000 launches (0-2999)"),
    ],
)
def test_a_finding_says_which_launches_it_covers(launches: list[int], of: int | None, text: str) -> None:
    assert launched(launches, of) == text
    shown = advice(finding(subject={"kernel": "k", "short": "k", "launches": launches}), of)
    assert shown.launches == text


def finding(**more: object) -> m.Finding:
    base = {
        "rank": 1, "rule": "r", "cause": "c", "title": "T", "severity": "high", "confidence": "high", "scope": "launch",
        "subject": {"kernel": "k", "short": "k"}, "time_share": 0.5,
    }  # fmt: skip
    return m.Finding.model_validate(base | more)


def test_a_saving_is_told_of_the_kernel_and_of_the_total() -> None:
    shown = advice(finding(saving={"kind": "global", "low": 0.2, "high": 0.5}))
    assert (shown.saves, shown.speedup, shown.of_report) == ("20 to 50%", "1.2x to 2.0x", "10 to 25%")


def test_a_local_estimate_is_no_share_of_run_time() -> None:
    shown = advice(finding(saving={"kind": "local", "low": 0.2, "high": 0.5}))
    assert (shown.saves, shown.speedup, shown.of_report, shown.ranked) == (
        "20 to 50% of the unit's work",
        "",
        "",
        False,
    )


def test_the_metric_that_decided_is_named() -> None:
    fact = {
        "metric": "excess", "value": 62.0, "unit": "%", "threshold": 10.0, "label": ">= min_excess",
        "provenance": "derived", "source": "global.excess_share",
    }  # fmt: skip
    assert advice(finding(evidence=[fact])).decided_by == "global.excess_share 62.0% (>= 10.0%)"
    formula = fact | {"source": "a.b / c.d"}
    assert advice(finding(evidence=[formula])).decided_by == "excess 62.0% (>= 10.0%)"
    assert advice(finding(evidence=[])).decided_by == ""


@pytest.mark.parametrize(
    ("share", "high", "expected"),
    [
        (0.5, 0.5, True),
        (LEAST_SHARE, 0.5, False),
        (None, None, True),
        (0.001, None, False),
        (0.2, None, True),
    ],
)
def test_findings_about_next_to_nothing_are_only_counted(
    share: float | None, high: float | None, expected: bool
) -> None:
    saving = None if high is None else {"kind": "global", "low": 0.0, "high": high}
    assert worth(finding(time_share=share, saving=saving)) is expected


def test_a_finding_about_the_report_does_not_show_its_path() -> None:
    shown = advice(finding(scope="report", subject={"name": "/home/alice/run.nsys-rep"}))
    assert (shown.subject, shown.full) == ("the whole run", "")


def test_what_one_guard_held_back_is_one_line(findings: m.Findings) -> None:
    (held,) = held_back(findings.reports[0])
    assert held.rules == ("tail-effect", "small-grid")
    assert (held.guard, held.kernels, held.more) == ("too-short", ("scale",), 0)


def test_kernels_that_were_held_back_are_named_and_counted(findings: m.Findings) -> None:
    blocked = findings.reports[0].model_copy(
        update={"blocked": [m.Blocked(rule="r", guard="g", reason="why", kernels=list("abcde"))]}
    )
    (held,) = held_back(blocked)
    assert (held.kernels, held.more) == (("a", "b", "c"), 2)


def test_no_roofline_is_asked_of_a_device_without_one(findings: m.Findings) -> None:
    def asked(arch: str) -> str:
        one = findings.reports[0].model_copy(update={"devices": [{"arch": arch}], "summary": m.Summary()})
        return " ".join(gap.option for gap in gaps(one))

    assert "SpeedOfLight_RooflineChart" in asked("sm_70")
    assert "SpeedOfLight_RooflineChart" not in asked("sm_61")
    assert "WarpStateStats" in asked("sm_61")
