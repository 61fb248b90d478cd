"""Ranking on one scale: run time saved over the base time. One entry per cause and subject counts."""

from __future__ import annotations

from collections.abc import Iterable

from profrx.evaluate.group import Candidate
from profrx.evaluate.outcomes import LEVELS
from profrx.report.model import Ranked, ReportFindings

_SEVERITY = {level: rank for rank, level in enumerate(LEVELS["severity"])}
_CONFIDENCE = {level: rank for rank, level in enumerate(LEVELS["confidence"])}


def order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates best first and mark those that repeat a cause.

    Global estimates by score come first, then what has none by severity: a local estimate is no share of run
    time and never competes with one. Repeats of a cause on a subject (the one that ranks best stands) follow
    at the end, in the same order among themselves.
    """
    ranked = sorted(candidates, key=_key)
    first: dict[tuple[int, tuple[str, str], str], str] = {}
    for one in ranked:
        if not one.rule.cause:
            continue
        best = first.setdefault((one.report, one.about, one.rule.cause), one.rule.name)
        one.same_cause_as = "" if best == one.rule.name else best
    return [c for c in ranked if not c.same_cause_as] + [c for c in ranked if c.same_cause_as]


def _key(one: Candidate) -> tuple[object, ...]:
    score = one.score
    return (
        score is None,
        -(score or 0.0),
        -_SEVERITY[one.severity],
        -_CONFIDENCE.get(one.confidence, 1),
        -(one.share or 0.0),
        -(one.middle or 0.0),
        one.rule.name,
        one.key,
    )


def overall(reports: list[ReportFindings], top: int | None = None) -> list[Ranked]:
    """Return the ranking over all reports, best first; repeats of a cause on a subject are left out.

    Shares and scores refer to the time of all reports together. Where a report does not tell its time, the
    reports cannot be weighed against each other, and each keeps its own scale.
    """
    known = [r.base_time_ns for r in reports if r.base_time_ns]
    total = sum(known)
    everywhere = len(known) == len(reports) and total > 0
    entries = []
    for report in reports:
        factor = (report.base_time_ns or 0.0) / total if everywhere else 1.0
        for finding in report.findings:
            if finding.same_cause_as:
                continue
            score = None if finding.score is None else finding.score * factor
            share = None if finding.time_share is None else finding.time_share * factor
            entries.append((report.source, finding, share, score))
    entries.sort(key=lambda e: (e[3] is None, -(e[3] or 0.0), -_SEVERITY[e[1].severity], -(e[2] or 0.0)))
    return [
        Ranked(
            rank=rank,
            source=source,
            rule=finding.rule,
            cause=finding.cause,
            title=finding.title,
            kernel=finding.subject.short or finding.subject.name,
            severity=finding.severity,
            time_share=share,
            saving=finding.saving,
            score=score,
        )
        for rank, (source, finding, share, score) in enumerate(entries[:top], start=1)
    ]
