"""``suppress``: findings that a settings file accepts for now are taken out of the ranking and listed with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profrx.report.model import Suppressed

if TYPE_CHECKING:
    from profrx.language.settings import Suppressions
    from profrx.report.model import Finding, Findings, ReportFindings


def suppress(findings: Findings, suppressions: Suppressions) -> Findings:
    """Move suppressed findings of each report to `suppressed`, renumber the rest, and return `findings`.

    A finding is covered by the first entry whose rule, kernel and report match and whose day is not over. What it
    stood behind stays with it: accepting a cause accepts its symptoms.
    """
    gone: set[tuple[str, str, str | None]] = set()
    for report in findings.reports:
        kept: list[Finding] = []
        for one in report.findings:
            if _suppressed(report, one, suppressions):
                gone.add((report.source, one.rule, one.subject.kernel))
            else:
                kept.append(one)
        for rank, one in enumerate(kept, 1):
            one.rank = rank
        report.findings = kept
    if gone:
        left = [r for r in findings.ranking if (r.source, r.rule, r.kernel) not in gone]
        for rank, entry in enumerate(left, 1):
            entry.rank = rank
        findings.ranking = left
    return findings


def _suppressed(report: ReportFindings, one: Finding, suppressions: Suppressions) -> bool:
    subject = one.subject.kernel or one.subject.name or ""
    entry = suppressions.find(one.rule, subject, report.source)
    if entry is None:
        return False
    report.suppressed.append(
        Suppressed(
            rule=one.rule,
            title=one.title,
            kernel=one.subject.kernel,
            short=one.subject.short or one.subject.name,
            reason=entry.reason,
            expires=entry.expires.isoformat() if entry.expires else None,
        )
    )
    return True
