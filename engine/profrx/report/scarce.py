"""What to say first of a report that holds too little for a verdict: how little, and the command that changes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profrx.report.verdicts import UNKNOWN, leading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profrx.report.model import ReportFindings
    from profrx.report.views import Gap

FEW = 0.5
"""Below this share of the rules judged, what is missing matters more than what was found."""
EVERYTHING = "ncu --set full -o report APPLICATION"
SECTIONS = 2
"""More sections than these are longer to type than the set that holds them all."""


def lede(report: ReportFindings, gaps: Sequence[Gap]) -> str:
    """Return the page's first sentences when no kernel has a verdict, else an empty string.

    Timelines, and inputs without kernels, speak for themselves.
    """
    verdicts = leading(report.verdicts)
    if isinstance(report.summary.busy, dict) or not report.kernels or report.coverage is None:
        return ""
    if not verdicts or any(one.verdict != UNKNOWN for one in verdicts):
        return ""
    rules, judged = report.coverage.rules, report.coverage.judged
    command = shortest(report, gaps)
    run = f" Collect more first: `{command}`." if command else " See below what to collect." if gaps else ""
    if report.next_step:
        run = f" Its data is damaged. {report.next_step}"
    if judged < FEW * rules:
        return f"This report holds too little to say what limits it: {judged} of {rules} rules could be judged.{run}"
    return f"What limits it is not known, although {judged} of {rules} rules could be judged.{run}"


def shortest(report: ReportFindings, gaps: Sequence[Gap]) -> str:
    """Return the command for what most of the missing rules need; empty when there is none, or none for one line."""
    first = next((gap for gap in gaps if gap.option), None)
    if first is None:
        return ""
    if report.tool == "ncu" and first.option.count("--section") > SECTIONS:
        return EVERYTHING
    return first.command[0] if len(first.command) == 1 else ""
