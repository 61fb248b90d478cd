"""Parts of the summary on tables that a test wrote."""

from __future__ import annotations

from typing import Any

import pytest

from profrx.report import model as m
from profrx.summary import complete
from profrx.summary.conditions import conditions
from profrx.summary.kernels import groups, total
from profrx.summary.vendor import beside
from profrx_parsers import schema
from profrx_parsers.info import ReportInfo
from profrx_parsers.problems import ProblemLog
from profrx_parsers.report import Report


def report(
    launches: list[dict[str, Any]],
    *,
    vendor: list[dict[str, Any]] | None = None,
    devices: tuple[dict[str, Any], ...] = (),
    **info: Any,
) -> Report:
    rows = [{"launch_id": i, **row} for i, row in enumerate(launches)]
    given = {"source": "x.ncu-rep", "format": "ncu-rep", "tool": "ncu", **info}
    loaders = {
        "launches": lambda: schema.from_rows("launches", rows),
        "devices": lambda: schema.from_rows("devices", devices),
        "vendor_findings": lambda: schema.from_rows("vendor_findings", vendor or []),
    }
    return Report(ReportInfo(**given), loaders, ProblemLog())


def launch(kernel: str | None, duration: float | None) -> dict[str, Any]:
    return {"kernel": kernel, "kernel_short": kernel, "duration_ns": duration}


def test_kernels_are_ranked_by_their_time_and_stand_for_the_median_launch() -> None:
    found = groups(report([launch("a", 5.0), launch("b", 100.0), launch("a", 7.0), launch("a", 50.0)]))
    assert [(g.kernel, g.launches, g.duration_ns, g.chosen) for g in found] == [
        ("b", 1, 100.0, 1),
        ("a", 3, 62.0, 2),
    ]
    assert sum(g.share or 0 for g in found) == pytest.approx(1)


def test_a_launch_without_a_time_counts_nothing() -> None:
    found = groups(
        report(
            [
                launch("a", None),
                launch("a", float("nan")),
                launch("a", 3.0),
                launch("b", None),
                launch(None, 1.0),
            ]
        )
    )
    by_name = {g.kernel: g for g in found}
    assert by_name["a"].duration_ns == 3.0
    assert by_name["a"].chosen == 2
    assert by_name["b"].duration_ns is None
    assert by_name["b"].share is None
    assert by_name["(no name)"].share == pytest.approx(0.25)
    assert total(found) == 4.0


def test_no_time_at_all_is_unknown_and_not_zero() -> None:
    found = groups(report([launch("a", None)]))
    assert total(found) is None
    assert found[0].share is None


def test_only_the_launches_asked_for_count() -> None:
    assert [g.kernel for g in groups(report([launch("a", 1.0), launch("b", 2.0)]), {0: 0})] == ["a"]


@pytest.mark.parametrize(
    ("info", "facts", "missing"),
    [
        (
            {},
            {"Tool": "Nsight Compute"},
            {"device", "driver version", "tool version", "whether clocks were locked"},
        ),
        (
            {"driver": "570.1", "tool_version": "2025.3"},
            {"Driver": "570.1", "Tool": "Nsight Compute 2025.3"},
            {"device"},
        ),
        ({"clocks": "locked"}, {"Clocks": "locked to base by the profiler"}, set()),
        (
            {"options": {"set": "full", "sections": list("abcdef")}},
            {"Collected": "set full; 6 sections"},
            set(),
        ),
    ],
)
def test_conditions_say_what_is_known_and_what_is_not(
    info: dict[str, Any], facts: dict[str, str], missing: set[str]
) -> None:
    found = conditions(report([launch("a", 1.0)], **info))
    assert facts.items() <= found.facts.items()
    assert missing <= set(found.missing)
    assert not {"Driver", "Device"} & set(found.facts) - set(facts)


def test_unlocked_clocks_are_a_warning() -> None:
    assert any(
        "not locked" in text for text in conditions(report([launch("a", 1.0)], clocks="unlocked")).warnings
    )
    assert not conditions(report([launch("a", 1.0)], clocks="locked")).warnings


def test_a_whole_run_is_told_what_replay_does_and_how_to_profile_one_launch() -> None:
    whole = conditions(report([launch("a", 1.0)] * 20)).warnings
    assert any("--launch-skip" in text and "--launch-count 1" in text for text in whole)
    chosen = conditions(report([launch("a", 1.0)] * 20, options={"launch_count": "20"})).warnings
    assert chosen == []


def test_launches_without_time_are_a_warning() -> None:
    assert any("No launch has a time" in text for text in conditions(report([launch("a", None)])).warnings)
    assert any(
        "1 launch without" in text
        for text in conditions(report([launch("a", None), launch("a", 1.0)])).warnings
    )


def vendor_row(rule: str, title: str, pct: float | None = 30.0, kind: str = "optimization") -> dict[str, Any]:
    return {
        "launch_id": 0, "rule": rule, "title": title, "kind": kind, "estimate_pct": pct, "estimate_kind": "global",
    }  # fmt: skip


def found_with(cause: str, verdict: str = "memory-bound") -> m.ReportFindings:
    finding = m.Finding(
        rank=1, rule="r", cause=cause, title="Ours", severity="high", confidence="high", scope="launch",
        subject=m.Subject(kernel="a", short="a"),
    )  # fmt: skip
    return m.ReportFindings(
        source="x", format="ncu-rep", findings=[finding],
        verdicts=[m.VerdictOf(kernel="a", short="a", launches=[0], verdict=verdict, table="speed-of-light")],
        kernels=[m.KernelRow(kernel="a", short="a", launches=1, duration_ns=1.0, time_share=1.0)],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("row", "cause", "version", "agreement"),
    [
        (vendor_row("UncoalescedGlobalAccess", "Uncoalesced"), "global-access-pattern", "2025.3", "agrees"),
        (vendor_row("UncoalescedGlobalAccess", "Uncoalesced"), "occupancy", "2025.3", "differs"),
        (vendor_row("CPIStall", "Long Scoreboard Stalls"), "dram-bandwidth", "2025.3", "agrees"),
        (vendor_row("CPIStall", "Wait Stalls"), "barrier", "2025.3", "differs"),
        (vendor_row("CPIStall", "Barrier Stalls"), "barrier", "2025.3", "agrees"),
        (vendor_row("LaunchConfiguration", "Tail Effect"), "occupancy", "2024.1", "older rule"),
        (vendor_row("LaunchConfiguration", "Tail Effect"), "occupancy", "2025.3", "differs"),
        (vendor_row("SOLBottleneck", "High Memory Throughput"), "occupancy", "2025.3", "agrees"),
        (vendor_row("SOLBottleneck", "High Compute Throughput"), "occupancy", "2025.3", "differs"),
        (vendor_row("SomethingNew", "Never seen"), "occupancy", "2025.3", "not judged"),
    ],
)
def test_the_vendors_view_is_compared(row: dict[str, Any], cause: str, version: str, agreement: str) -> None:
    (shown,) = beside(report([launch("a", 1.0)], vendor=[row], tool_version=version), found_with(cause))
    assert shown.agreement == agreement


def test_stored_results_that_advise_nothing_are_left_out() -> None:
    rows = [vendor_row("HighPipeUtilization", "Balanced", kind="ok"), vendor_row("X", "y", kind="none")]
    assert beside(report([launch("a", 1.0)], vendor=rows), found_with("occupancy")) == []


def test_complete_without_metrics_leaves_numbers_out() -> None:
    found = complete(m.ReportFindings(source="x", format="ncu-rep", tool="ncu"), report([launch("a", 9.0)]))
    assert found.base_time_ns == 9.0
    assert found.summary.sol == []
    assert found.summary.roofline == []
    assert found.summary.busy == "unknown"
    assert [row.short for row in found.kernels] == ["a"]


def test_a_finding_carries_the_stored_result_that_agrees() -> None:
    rows = [
        vendor_row("TheoreticalOccupancy", "Theoretical", 40.0),
        {**vendor_row("AchievedOccupancy", "Achieved", 90.0), "estimate_kind": "local"},
        vendor_row("ThreadDivergence", "Divergence", 99.0),
    ]
    found = found_with("occupancy")
    beside(report([launch("a", 1.0)], vendor=rows), found)
    assert found.findings[0].vendor == {
        "rule": "TheoreticalOccupancy", "title": "Theoretical", "estimate_pct": 40.0, "estimate_kind": "global",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"registers": 2.0, "shared": 4.0}, "limited by registers"),
        ({"registers": 2.0, "shared": 2.0}, "registers and shared memory"),
    ],
)
def test_the_path_names_what_limits_occupancy(limits: dict[str, float], words: str) -> None:
    import pyarrow as pa

    from profrx.evaluate.frames import frames_of
    from profrx.evaluate.metrics import Metrics
    from profrx.language.pack import load_pack

    values = {"occupancy.achieved": 0.2, "occupancy.theoretical": 0.25} | {
        f"occupancy.limit_{k}": v for k, v in limits.items()
    }
    source = report([launch("a", 9.0)])
    given = {name: (pa.array([value]), pa.array([True])) for name, value in values.items()}
    metrics = Metrics(load_pack(), frames_of(source).scopes["launch"], given=given)
    found = complete(m.ReportFindings(source="x", format="ncu-rep", tool="ncu"), source, metrics)
    assert words in found.summary.path[-1].answer
    assert "20% achieved of 25% that fit" in found.summary.path[-1].answer


@pytest.mark.parametrize(
    ("cause", "achieved", "words"),
    [
        ("block-size", 0.2, "more warps are the first fix here"),
        ("block-size", 0.9, "a means, not a goal"),
        ("barrier", 0.2, "a means, not a goal"),
    ],
)
def test_the_path_asks_for_more_warps_only_where_places_are_empty(
    cause: str, achieved: float, words: str
) -> None:
    import pyarrow as pa

    from profrx.evaluate.frames import frames_of
    from profrx.evaluate.metrics import Metrics
    from profrx.language.pack import load_pack

    source = report([launch("a", 9.0)])
    values = {"occupancy.achieved": achieved, "occupancy.theoretical": 1.0}
    given = {name: (pa.array([value]), pa.array([True])) for name, value in values.items()}
    found = found_with(cause)
    found.findings[0].score = 0.5
    metrics = Metrics(load_pack(), frames_of(source).scopes["launch"], given=given)
    assert words in complete(found, source, metrics).summary.path[-1].answer
