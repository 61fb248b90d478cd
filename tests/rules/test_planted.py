"""The pack names what was planted: first, or among the first three; what costs nothing stays silent."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.rules.conftest import Planted

    from profrx.report.model import ReportFindings


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
    )


def test_planted_cause_is_first(planted: list[Planted]) -> None:
    """Nine in ten first, a cause that is as right accepted; all among the first three."""
    rows = [("case", "planted", "first", "second", "third")]
    first = third = 0
    for case in planted:
        top = (case.causes + ["-"] * 3)[:3]
        first += top[0] in case.accepted
        third += bool(case.accepted & set(top))
        mark = "" if top[0] in case.accepted else " !"
        rows.append((case.name + mark, case.cause, *top))
    print("\n" + _table(rows) + f"\nfirst {first} of {len(planted)}, in the first three {third}")
    assert len(planted) >= 26
    assert first >= 0.925 * len(planted)
    assert third == len(planted)


def test_traps_are_silent(planted: list[Planted]) -> None:
    """A cause that costs nothing has no finding that claims run time."""
    traps = [case for case in planted if case.trap]
    assert traps
    guilty = [
        (case.name, finding.rule)
        for case in traps
        for finding in case.findings.findings
        if finding.cause == case.trap and finding.saving is not None and finding.saving.kind == "global"
    ]
    assert not guilty


def test_repaired_kernels_are_rid_of_the_cause(repaired: list[tuple[str, str, ReportFindings]]) -> None:
    """What was taken out is not found again, but for patterns that a repair only halves (sorted gathers)."""
    again = [
        (name, finding.rule)
        for name, was, report in repaired
        for finding in report.findings
        if finding.cause == was
        and finding.saving
        and finding.saving.kind == "global"
        and finding.saving.low > 0
    ]
    assert len(repaired) >= 25
    assert len(again) <= 0.05 * len(repaired), again


def test_rules_fire_on_some_real_reports_and_not_on_others(
    planted: list[Planted], repaired: list[tuple[str, str, ReportFindings]]
) -> None:
    """Most counter rules find something among the real captures, as a finding or as a symptom explained by one."""
    reports = [case.findings for case in planted] + [report for _, _, report in repaired]
    fired: Counter[str] = Counter()
    for report in reports:
        fired.update({name for f in report.findings for name in (f.rule, *f.explains)})
    assert len(fired) >= 45
    everywhere = {rule for rule, count in fired.items() if count == len(reports)}
    assert everywhere <= {"clock-not-locked"}  # all were taken without clock control


def test_no_rule_names_a_case(planted: list[Planted], cases: list[dict[str, object]]) -> None:
    """Rules reason about mechanisms: no fixture, kernel or device name stands in the pack."""
    from importlib.resources import files

    names = {case.findings.kernels[0].short for case in planted} | {str(case["case"]) for case in cases}
    names |= {"H200", "A100", "H100", "RTX", "Tesla"}
    texts = [path.read_text("utf-8") for path in files("profrx_rules").rglob("*.rule")]  # type: ignore[attr-defined]
    conditions = [
        line
        for text in texts
        for line in text.splitlines()
        if " matches " in line or line.strip().startswith("when")
    ]
    assert not [name for name in names if any(f'"{name}"' in line for line in conditions)]
