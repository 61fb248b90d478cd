"""Candidates for findings: fired subjects grouped, so that launches of one kernel become one finding."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from profrx.evaluate.frames import group_rows
from profrx.evaluate.outcomes import LEVELS, Fired, Outcomes

if TYPE_CHECKING:
    from profrx.evaluate.frame import Frame
    from profrx.language import ast

CONFIDENCE_WEIGHT = {"high": 1.0, "medium": 0.7, "low": 0.4}
"""How much a saving counts in the ranking, by confidence."""

IMPACT_LEVELS = ((0.30, "critical"), (0.10, "high"), (0.03, "medium"), (0.005, "low"))
"""Severity where a rule writes none: share of the base time that would be saved, at least."""


@dataclass
class Candidate:
    """A rule that fired on a group of subjects of one report.

    Attributes:
        rule: the rule.
        report: position of the report.
        key: the group's identity (kernel or subject), equal over the rules of one scope.
        rows: rows of the scope's frame, ascending; `lead` is the heaviest of them.
        share: the group's share of the base time; None = unknown.
        low, high: saving weighted by time over the group; None = no estimate known.
        severity, confidence: level words; confidence is "" until the margin is known.
        explains: symptoms that this one stands behind, in order.
        same_cause_as: rule of a better-ranked candidate with the same cause on the same subject.
    """

    rule: ast.Rule
    report: int
    key: tuple[str, int]
    rows: Any
    lead: int
    share: float | None
    low: float | None
    high: float | None
    severity: str
    confidence: str
    explains: list[str] = field(default_factory=list)
    same_cause_as: str = ""

    @property
    def kind(self) -> str:
        """``global``, ``local`` or "" for no estimate."""
        return self.rule.estimate.kind if self.rule.estimate is not None and self.low is not None else ""

    @property
    def middle(self) -> float | None:
        """Middle of the saving."""
        return None if self.low is None or self.high is None else (self.low + self.high) / 2

    @property
    def score(self) -> float | None:
        """Share of the base time saved x confidence; None without a global estimate or a known share."""
        if self.kind != "global" or self.middle is None or self.share is None:
            return None
        return self.middle * self.share * CONFIDENCE_WEIGHT[self.confidence or "medium"]


def base_times(outcomes: Outcomes) -> dict[int, float]:
    """Return what time shares refer to, per report: the report frame's own time, where it is known."""
    frame = outcomes.frames.get("report")
    if frame is None:
        return {}
    reports = frame.column("report").to_pylist()
    return {r: w for r, w in zip(reports, frame.weights.tolist(), strict=True) if w == w and w > 0}


def groups_of(frame: Frame) -> Any:
    """Return the group of every row: launches of one kernel in one report, else the row itself."""
    if frame.scope == "launch":
        return group_rows([frame.column("report"), frame.column("kernel_id")])[0]
    return np.arange(frame.rows)


def candidates(outcomes: Outcomes) -> list[Candidate]:
    """Return every fired rule by group; suppressed symptoms are folded into the rule that explains them."""
    bases = base_times(outcomes)
    groups = {scope: groups_of(frame) for scope, frame in outcomes.frames.scopes.items()}
    found: list[Candidate] = []
    explained: dict[tuple[str, int], list[str]] = {}
    for name, fired in outcomes.fired.items():
        rule = outcomes.program.pack.rules[name]
        frame = outcomes.frames.scopes[rule.scope]
        for at, by in enumerate(fired.explained_by):
            if by:
                told = explained.setdefault((by, int(groups[rule.scope][fired.rows[at]])), [])
                if name not in told:
                    told.append(name)
        found.extend(_grouped(rule, fired, frame, groups[rule.scope], bases))
    for one in found:
        one.explains = explained.get((one.rule.name, one.key[1]), [])
    return found


def _grouped(
    rule: ast.Rule, fired: Fired, frame: Frame, groups: Any, bases: dict[int, float]
) -> list[Candidate]:
    keep = np.asarray([not by for by in fired.explained_by], dtype=bool)
    if not keep.any():
        return []
    rows = fired.rows[keep]
    low, high, severity, confidence = (
        a[keep] for a in (fired.low, fired.high, fired.severity, fired.confidence)
    )
    weights = np.nan_to_num(frame.weights[rows], nan=0.0)
    reports = frame.column("report").to_numpy()[rows]
    order = np.argsort(groups[rows], kind="stable")
    bounds = np.flatnonzero(np.diff(groups[rows][order], prepend=-1))
    found = []
    for part in np.split(order, bounds[1:]):
        lead = part[np.argmax(weights[part])]
        report = int(reports[lead])
        time = float(weights[part].sum())
        base = bases.get(report)
        share = min(time / base, 1.0) if base and time > 0 else None
        ends = _weighted(low[part], high[part], weights[part])
        written = int(severity[lead])
        found.append(
            Candidate(
                rule,
                report,
                (rule.scope, int(groups[rows[lead]])),
                rows[part],
                int(rows[lead]),
                share,
                *ends,
                LEVELS["severity"][written] if written >= 0 else severity_of(rule, ends, share),
                LEVELS["confidence"][confidence[lead]] if confidence[lead] >= 0 else "",
            )
        )
    return found


def _weighted(low: Any, high: Any, weights: Any) -> tuple[float | None, float | None]:
    """Mean of the savings over a group, weighted by time (evenly where no time is known)."""
    known = ~np.isnan(low)
    if not known.any():
        return None, None
    weights = weights[known]
    if weights.sum() <= 0:
        weights = np.ones_like(weights)
    return float(np.average(low[known], weights=weights)), float(np.average(high[known], weights=weights))


def severity_of(rule: ast.Rule, ends: tuple[float | None, float | None], share: float | None) -> str:
    """Return the severity of a rule that writes none: by the share of the base time that would be saved."""
    low, high = ends
    if low is None or high is None or share is None or rule.estimate is None:
        return "low"
    if rule.estimate.kind == "local":
        return "low"
    impact = (low + high) / 2 * share
    return next((level for least, level in IMPACT_LEVELS if impact >= least), "info")
