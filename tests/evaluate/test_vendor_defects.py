"""Defects found in the vendor's own rules, as rules of ours: the engine gets each of them right.

D1 and D2 (units), D10 (operation counts) and D11 (texts) are the checker's; here are those of evaluation.
"""

from __future__ import annotations

import pytest
from tests.evaluate.support import frame_of, pack_of, report_frames
from tests.evaluate.test_findings import a_report

from profrx.evaluate.findings import findings
from profrx.evaluate.group import candidates
from profrx.evaluate.outcomes import OUTCOMES, Outcomes, run
from profrx.evaluate.program import Program
from profrx.report.model import Finding

METRICS = """
metric sm   { unit % meaning "compute" source ncu "sm" }
metric mem  { unit % meaning "memory" source ncu "mem" }
metric fma  { unit % meaning "FMA pipe" source ncu "fma" }
metric fp64 { unit % meaning "FP64 pipe" source ncu "fp64" }
metric active { unit inst/cycle meaning "issued" source ncu "active" }
metric limit.registers { unit blocks meaning "r" source ncu "limit_registers" }
metric limit.shared    { unit blocks meaning "s" source ncu "limit_shared" }
metric limit.warps     { unit blocks meaning "w" source ncu "limit_warps" }
metric limit.barriers  { unit blocks meaning "b" source ncu "limit_barriers" }
"""


def judged(text: str, raw: dict[str, list[float | None]]) -> tuple[Outcomes, list[Finding]]:
    outcomes = run(Program(pack_of(METRICS + text)), report_frames(frame_of(raw)))
    return outcomes, findings(outcomes, candidates(outcomes), a_report())


def test_d3_every_tied_limiter_is_named() -> None:
    text = """rule occupancy { title "o" when limit.registers <= 64 blocks because "limited by {limiter}"
      let limiter = least("registers": limit.registers, "shared memory": limit.shared,
                          "warps": limit.warps, "barriers": limit.barriers) }"""
    limits: dict[str, list[float | None]] = {
        "limit_registers": [4.0, 4.0], "limit_shared": [4.0, None], "limit_warps": [4.0, 9.0], "limit_barriers": [4.0, 4.0],
    }  # fmt: skip
    _, found = judged(text, limits)
    assert sorted(f.because for f in found) == [
        "limited by registers and barriers",
        "limited by registers, shared memory, warps and barriers",
    ]


def test_d4_d5_evidence_carries_the_metric_that_was_read() -> None:
    text = 'rule high-compute { title "c" when sm > 60 % and sm > mem because "b" }'
    _, (one,) = judged(text, {"sm": [83.0], "mem": [41.0]})
    values = {(e.metric, e.source): e.value for e in one.evidence}
    assert values["sm", "sm"] == 83.0
    assert values["mem", "mem"] == 41.0


def test_d6_an_optional_metric_that_is_missing_does_not_kill_the_rule() -> None:
    text = 'rule pipes { title "p" when fma > 50 % or fp64 > 50 % because "{fma:.0%} {fp64:.0%}" }'
    outcomes, (one,) = judged(text, {"fma": [80.0, None, 10.0], "fp64": [None, None, None]})
    assert [OUTCOMES[c] for c in outcomes.codes["pipes"]] == ["fired", "unknown", "unknown"]
    assert one.because == "80% n/a"


def test_d7_a_divisor_of_zero_is_unknown() -> None:
    text = 'rule idle { title "i" when 1 inst/cycle / active > 5 because "b" }'
    outcomes, _ = judged(text, {"active": [0.0, 0.1, 1.0]})
    assert [OUTCOMES[c] for c in outcomes.codes["idle"]] == ["unknown", "fired", "not fired"]


def test_d9_a_least_impact_is_a_parameter() -> None:
    text = """rule excess { title "e" when sm / 100 > min_impact because "b" param min_impact = 1 % in 0 % .. 100 % "m" }"""
    outcomes, _ = judged(text, {"sm": [2.0, 100.0]})
    assert [OUTCOMES[c] for c in outcomes.codes["excess"]] == ["not fired", "not fired"]
    program = Program(pack_of(METRICS + text), {"excess.min_impact": "0 %"})
    again = run(program, report_frames(frame_of({"sm": [2.0, 100.0]})))
    assert [OUTCOMES[c] for c in again.codes["excess"]] == ["fired", "fired"]


def test_d12_a_child_is_silent_with_its_parent_and_local_never_outranks_global() -> None:
    text = """
      rule parent { title "p" when sm > 60 % because "b" }
      rule child  { title "c" under parent when mem > 1 % because "b" estimate local 90 % .. 95 % }
      rule plain  { title "g" when mem > 1 % because "b" estimate global 2 % .. 4 % }
    """
    outcomes, found = judged(text, {"sm": [10.0, 80.0], "mem": [50.0, 50.0]})
    assert [OUTCOMES[c] for c in outcomes.codes["child"]] == ["skipped", "fired"]
    assert [f.rule for f in found if f.subject.launches == [1]] == ["plain", "child", "parent"]
    assert next(f for f in found if f.rule == "child").score is None
    assert next(f for f in found if f.rule == "plain").score == pytest.approx(0.03 * 0.5 * 0.7)
