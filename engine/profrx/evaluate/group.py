"""Candidates for findings: fired subjects grouped, so that launches of one kernel become one finding."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from profrx.evaluate.outcomes import Fired, Outcomes
from profrx.evaluate.suppress import standing
from profrx.report.model import CONFIDENCES, SEVERITIES, Confidence, Severity

if TYPE_CHECKING:
    from profrx.evaluate.frame import Frame
    from profrx.language import ast

CONFIDENCE_WEIGHT = {"high": 1.0, "medium": 0.7, "low": 0.4}
"""How much a saving counts in the ranking, by confidence."""

IMPACT_LEVELS: tuple[tuple[float, Severity], ...] = (
    (0.30, "critical"),
    (0.10, "high"),
    (0.03, "medium"),
    (0.005, "low"),
)
"""Severity where a rule writes none: score (share of the base time saved x confidence), at least."""


@dataclass
class Candidate:
    """A rule that fired on a group of subjects of one report.

    Attributes:
        rule: the rule.
        report: position of the report.
        key: scope and number of the group, equal over the rules of one scope.
        about: what the group is, equal over scopes: a kernel's id, else its scope and number.
        rows: rows of the scope's frame, ascending; `lead` is the heaviest of them.
        share: the group's share of the base time; None = unknown.
        low, high: saving weighted by time over the group; None = no estimate known.
        written: severity that the rule writes, "" = it follows the score.
        confidence: level word, "" until the margin is known.
        explains: symptoms that this one stands behind, in order.
        same_cause_as: rule of a better-ranked candidate with the same cause on the same subject.
    """

    rule: ast.Rule
    report: int
    key: tuple[str, int]
    about: tuple[str, str]
    rows: Any
    lead: int
    share: float | None
    low: float | None
    high: float | None
    written: Severity | Literal[""]
    confidence: Confidence | Literal[""]
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

    @property
    def severity(self) -> Severity:
        """As written, else by the score: what is hardly certain is not critical."""
        return self.written or severity_of(self.score, self.low)


def base_times(outcomes: Outcomes) -> dict[int, float]:
    """Return what time shares refer to, per report: the report frame's own time, where it is known."""
    frame = outcomes.frames.get("report")
    if frame is None:
        return {}
    reports = frame.column("report").to_pylist()
    return {r: w for r, w in zip(reports, frame.weights.tolist(), strict=True) if w == w and w > 0}


def candidates(outcomes: Outcomes) -> list[Candidate]:
    """Return every fired rule by group; suppressed symptoms are folded into the rule that explains them."""
    bases = base_times(outcomes)
    groups = {scope: frame.groups for scope, frame in outcomes.frames.scopes.items()}
    orders = {
        scope: np.lexsort((-np.nan_to_num(frame.weights, nan=0.0), groups[scope]))
        for scope, frame in outcomes.frames.scopes.items()
    }
    found: list[Candidate] = []
    explained: dict[tuple[str, str, int], list[str]] = {}
    for name, fired in outcomes.fired.items():
        rule = outcomes.program.pack.rules[name]
        frame = outcomes.frames.scopes[rule.scope]
        for index, by in enumerate(fired.suppressors):
            for root, rows in standing(outcomes, by, fired.rows[fired.explained_by == index]):
                for key in np.unique(groups[rule.scope][rows]).tolist():
                    explained.setdefault((root, rule.scope, key), []).append(name)
        found.extend(_grouped(rule, fired, frame, groups[rule.scope], orders[rule.scope], bases))
    for one in found:
        one.explains = explained.get((one.rule.name, *one.key), [])
    return found


def _grouped(
    rule: ast.Rule, fired: Fired, frame: Frame, groups: Any, order: Any, bases: dict[int, float]
) -> list[Candidate]:
    """Group the subjects a rule fired on; `order` is the frame's rows by group, the heaviest first in each."""
    place = np.full(frame.rows, -1, dtype=np.int64)
    kept = np.flatnonzero(fired.explained_by < 0)
    place[fired.rows[kept]] = kept
    keep = place[order]
    keep = keep[keep >= 0]
    if not keep.size:
        return []
    rows, low, high = fired.rows[keep], fired.low[keep], fired.high[keep]
    weights = np.nan_to_num(frame.weights[rows], nan=0.0)
    starts = np.flatnonzero(np.diff(groups[rows], prepend=-1))
    time = np.add.reduceat(weights, starts)
    lows, highs = _weighted(low, weights, starts), _weighted(high, weights, starts)
    reports = frame.column("report").to_numpy()
    kernels = frame.column("kernel_id") if frame.scope in ("launch", "kernel") else None
    found = []
    parts = np.split(rows, starts[1:])
    for part, at, total, lower, upper in zip(parts, starts.tolist(), time.tolist(), lows, highs, strict=True):
        lead = int(part[0])
        base = bases.get(int(reports[lead]))
        share = min(total / base, 1.0) if base and total > 0 else None
        severity, confidence = int(fired.severity[keep[at]]), int(fired.confidence[keep[at]])
        found.append(
            Candidate(
                rule,
                int(reports[lead]),
                (rule.scope, int(groups[lead])),
                about(frame.scope, int(groups[lead]), None if kernels is None else kernels[lead].as_py()),
                np.sort(part),
                lead,
                share,
                lower,
                upper,
                SEVERITIES[severity] if severity >= 0 else "",
                CONFIDENCES[confidence] if confidence >= 0 else "",
            )
        )
    return found


def about(scope: str, group: int, kernel: str | None) -> tuple[str, str]:
    """Return what a group is: a kernel by its id whatever the scope, else the group itself."""
    return ("kernel", kernel) if kernel else (scope, str(group))


def _weighted(ends: Any, weights: Any, starts: Any) -> list[float | None]:
    """Mean of known savings per group, weighted by time (evenly where no time is known)."""
    known = ~np.isnan(ends)
    values = np.where(known, ends, 0.0)
    total = np.add.reduceat(np.where(known, weights, 0.0), starts)
    mean = np.add.reduceat(values * weights, starts) / np.where(total > 0, total, 1.0)
    count = np.add.reduceat(known.astype(np.float64), starts)
    plain = np.add.reduceat(values, starts) / np.where(count > 0, count, 1.0)
    chosen = np.where(total > 0, mean, plain)
    return [value if n else None for value, n in zip(chosen.tolist(), count.tolist(), strict=True)]


def severity_of(score: float | None, low: float | None) -> Severity:
    """Return the severity of a rule that writes none: by saving x time share x confidence, low without one.

    A range that begins with nothing (`low`) counts half: the subject may be finished.
    """
    if score is None:
        return "low"
    if low is not None and low <= 0:
        score /= 2
    return next((level for least, level in IMPACT_LEVELS if score >= least), "info")
