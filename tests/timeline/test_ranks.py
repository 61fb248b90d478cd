"""Captures of two GPUs: the planted cause comes first, healthy ones have nothing above low severity."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from profrx.diagnose import diagnose
from profrx.report.model import ReportFindings
from profrx_parsers.registry import open_report

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("cases", ROOT / "fixtures/timeline/cases.py")
assert _spec
assert _spec.loader
_cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_cases)
CASES = {case.name: case for case in _cases.RANK_CASES}
PLANTED = [name for name, case in CASES.items() if case.cause]
HEALTHY = [name for name, case in CASES.items() if not case.cause]
SPLIT = [name for name, case in CASES.items() if case.style == _cases.SPLIT]


def paths(name: str) -> list[Path]:
    return [ROOT / f"fixtures/nsys/{report}/report.nsys-rep" for report in _cases.reports(CASES[name])]


@pytest.fixture(scope="module")
def judged() -> dict[str, ReportFindings]:
    """Every case as one report; those with a report per rank joined."""
    found = {}
    for name in CASES:
        (found[name],) = diagnose(paths(name), ranks=name in SPLIT).reports
    return found


@pytest.mark.parametrize("name", PLANTED)
def test_planted_cause_is_first(name: str, judged: dict[str, ReportFindings]) -> None:
    first = judged[name].findings[0]
    assert first.cause == CASES[name].cause, [f.rule for f in judged[name].findings]
    assert first.score is not None
    assert first.saving is not None


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        (
            "rank-straggler",
            (1.6 - 1.3) / (1.6 + 0.1),
        ),  # computing 1.6 on one rank and 1 on the other, 0.1 to communicate
        ("rank-straggler-split", (1.6 - 1.3) / (1.6 + 0.1)),
        (
            "data-straggler",
            (1.9 - 1.1) / 1.9,
        ),  # the host is busy for 1.9 while a step computes and communicates for 1.1
        ("data-straggler-split", (1.9 - 1.1) / 1.9),
        (
            "pipeline-imbalance",
            1 - (8 * 2 + 2) / (8 * 3 + 1),
        ),  # 8 pieces in stages of 1 and 3, against 2 and 2
    ],
)
def test_estimate_holds_what_the_program_plants(
    name: str, saved: float, judged: dict[str, ReportFindings]
) -> None:
    saving = judged[name].findings[0].saving
    assert saving is not None
    assert saving.low <= saved <= saving.high


@pytest.mark.parametrize("name", list(CASES))
def test_no_page_sends_a_communication_kernel_to_ncu(name: str, judged: dict[str, ReportFindings]) -> None:
    busy = judged[name].summary.busy
    assert isinstance(busy, dict)
    assert busy["kernels"]
    assert not [k["short"] for k in busy["kernels"] if k["class"] == "communication"]
    talks = {
        k.short for k in judged[name].kernels if k.short.startswith("nccl") and (k.time_share or 0) >= 0.05
    }
    assert {k["short"] for k in busy["not_profiled"]} == talks
    assert bool(busy["advice"]) == (CASES[name].style != _cases.PROCESS)


def test_the_first_line_says_what_busy_hides(judged: dict[str, ReportFindings]) -> None:
    busy = judged["rank-straggler"].summary.busy
    assert isinstance(busy, dict)
    assert busy["busy_share"] > 0.95
    assert busy["busy_useful_share"] == pytest.approx(busy["busy_share"] - busy["comm_wait_share"])
    assert "only waiting for other ranks" in busy["verdict"]
    healthy = judged["devices-parallel"].summary.busy
    assert isinstance(healthy, dict)
    assert "waiting" not in healthy["verdict"]


@pytest.mark.parametrize("name", list(CASES))
def test_nothing_is_asked_for_that_was_collected(name: str, judged: dict[str, ReportFindings]) -> None:
    """All captures trace CUDA and NVTX, so no rule may ask for these again."""
    asked = {one.rule: [str(c) for c in one.collect] for one in judged[name].unknown}
    assert not {rule for rule, texts in asked.items() if any("cuda,nvtx" in text for text in texts)}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_capture_has_nothing_above_low(name: str, judged: dict[str, ReportFindings]) -> None:
    assert {f.severity for f in judged[name].findings} <= {"info", "low"}


def test_the_host_is_named_where_the_host_is_late(judged: dict[str, ReportFindings]) -> None:
    assert judged["data-straggler"].findings[0].rule == "rank-host-late"
    assert judged["data-straggler-split"].findings[0].rule == "rank-host-late"
    assert judged["rank-straggler"].findings[0].rule == "rank-straggler"
    assert judged["rank-straggler-split"].findings[0].rule == "rank-straggler"


@pytest.mark.parametrize("name", SPLIT)
def test_reports_of_single_ranks_know_their_rank(name: str) -> None:
    for rank, path in enumerate(paths(name)):
        for form in (path, path.with_name("export.sqlite.zst")):
            options = open_report(form).info.options
            assert (options["rank"], options["world_size"]) == (rank, 2)


@pytest.mark.parametrize("name", SPLIT)
def test_order_of_the_reports_does_not_matter(name: str, judged: dict[str, ReportFindings]) -> None:
    (turned,) = diagnose(paths(name)[::-1], ranks=True).reports
    assert [f.rule for f in turned.findings] == [f.rule for f in judged[name].findings]


@pytest.mark.parametrize(("split", "whole"), [(n, n.removesuffix("-split")) for n in SPLIT])
def test_split_and_whole_captures_of_one_program_agree(
    split: str, whole: str, judged: dict[str, ReportFindings]
) -> None:
    above = [
        {f.rule for f in judged[n].findings if f.severity not in ("info", "low")} for n in (split, whole)
    ]
    assert above[0] == above[1]
