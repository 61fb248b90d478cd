"""Estimates against the clock: each planted kernel was repaired and timed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.rules.conftest import Planted

ROUND = 0.005
"""Half a point: ranges are shown in whole percent."""


def test_measured_saving_lies_in_the_range(planted: list[Planted]) -> None:
    """For three pairs in four at least; the errors are printed."""
    inside = total = 0
    errors: list[float] = []
    lines = []
    for case in planted:
        if case.measured is None or case.trap:
            continue
        total += 1
        finding = case.of_cause()
        if finding is None or finding.saving is None:
            lines.append(f"{case.name:26} measured {case.measured:6.1%}  no estimate")
            continue
        low, high = finding.saving.low, finding.saving.high
        hit = low - ROUND <= case.measured <= high + ROUND
        inside += hit
        errors.append(abs((low + high) / 2 - case.measured))
        lines.append(
            f"{case.name:26} measured {case.measured:6.1%}  {low:6.1%} .. {high:6.1%}  {'' if hit else 'outside'}  {finding.rule}"
        )
    print(
        "\n"
        + "\n".join(lines)
        + f"\ninside {inside} of {total}, mean error {sum(errors) / max(1, len(errors)):.1%}"
    )
    assert total >= 12
    assert inside >= 0.75 * total


def test_ranges_are_narrow(planted: list[Planted]) -> None:
    """A global estimate is at most 25 points wide and within 0..100 %."""
    for case in planted:
        for finding in case.findings.findings:
            if finding.saving and finding.saving.kind == "global":
                assert 0 <= finding.saving.low <= finding.saving.high <= 1, (case.name, finding.rule)
                assert finding.saving.high - finding.saving.low <= 0.25 + 1e-9, (case.name, finding.rule)
