"""Findings and gaps as a page shows them: one line in the ranked table, one folded entry with everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from profrx.report import numbers

if TYPE_CHECKING:
    from profrx.report.model import Collect, Evidence, Finding, Link, ReportFindings

LOCATIONS = 5


@dataclass(frozen=True)
class Fact:
    """One line of evidence, readable."""

    label: str
    value: str
    threshold: str
    margin: str
    source: str


@dataclass(frozen=True)
class Fix:
    """The top fix: what to do, why, and what it is worth."""

    title: str
    kernel: str
    saves: str
    speedup: str
    because: str
    first: str
    others: tuple[str, ...]
    rank: int


@dataclass(frozen=True)
class Advice:
    """A finding, readable. `saves` is of the subject's own time, `of_report` of the report's base time."""

    rank: int
    rule: str
    cause: str
    title: str
    severity: str
    confidence: str
    subject: str
    full: str
    launches: str
    saves: str
    speedup: str
    of_report: str
    decided_by: str
    because: str
    fixes: tuple[str, ...]
    exceptions: tuple[str, ...]
    facts: tuple[Fact, ...]
    locations: tuple[tuple[str, str], ...]
    """(``file:line``, share)."""
    collect: tuple[str, ...]
    references: tuple[Link, ...]
    explains: tuple[str, ...]
    vendor: str
    ranked: bool
    """Whether it has a global estimate, so that its place is worth run time."""

    def as_fix(self) -> Fix:
        """Return it as the top fix."""
        return Fix(
            self.title,
            self.subject,
            self.saves,
            self.speedup,
            self.because,
            self.fixes[0],
            self.fixes[1:],
            self.rank,
        )


@dataclass(frozen=True)
class Gap:
    """Rules that could not be judged for one reason, and the option that would change that."""

    option: str
    """A command line option, or empty when nothing can collect it."""
    rules: tuple[str, ...]
    missing: tuple[str, ...]


def advice(finding: Finding) -> Advice:
    """Return a finding with its numbers made readable."""
    subject = finding.subject
    saving = finding.saving
    saves = speedup = of_report = ""
    if saving is not None:
        text = numbers.share_range(saving.low, saving.high)
        saves = text if saving.kind == "global" else f"{text} of the unit's work"
        if saving.kind == "global":
            speedup = numbers.speedup_range(saving.low, saving.high)
            if finding.time_share is not None:
                part = finding.time_share
                of_report = numbers.share_range(saving.low * part, saving.high * part)
    facts = tuple(_fact(one) for one in finding.evidence)
    return Advice(
        rank=finding.rank,
        rule=finding.rule,
        cause=finding.cause,
        title=finding.title,
        severity=finding.severity,
        confidence=finding.confidence,
        subject=subject.short or subject.name or subject.kernel or "",
        full=subject.kernel or subject.name or "",
        launches=_launches(subject.launches),
        saves=saves,
        speedup=speedup,
        of_report=of_report,
        decided_by=_decided_by(finding.evidence),
        because=finding.because,
        fixes=tuple(finding.fix),
        exceptions=tuple(finding.exceptions),
        facts=facts,
        locations=tuple(
            (f"{one.file}:{one.line}", numbers.share(one.share)) for one in finding.locations[:LOCATIONS]
        ),
        collect=tuple(option(one) for one in finding.collect),
        references=tuple(finding.references),
        explains=tuple(finding.explains),
        vendor=_vendor(finding.vendor),
        ranked=saving is not None and saving.kind == "global",
    )


def gaps(report: ReportFindings) -> tuple[Gap, ...]:
    """Group the rules that could not be judged by what would collect the missing values, most rules first."""
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for one in report.unknown:
        key = " ".join(dict.fromkeys(option(c) for c in one.collect))
        rules, missing = found.setdefault(key, ({}, {}))
        rules[one.title or one.rule] = None
        missing.update(dict.fromkeys(one.missing or one.reasons))
    listed = [Gap(key, tuple(rules), tuple(missing)) for key, (rules, missing) in found.items()]
    return tuple(sorted(listed, key=lambda g: (not g.option, -len(g.rules), g.option)))


def option(collect: Collect) -> str:
    """Return a collection option as one types it."""
    if collect.option.startswith(collect.tool + " "):
        return collect.option
    return f"{collect.tool} {collect.option}".strip()


def _launches(launches: list[int]) -> str:
    """Return launch ids as ranges: ``0-3, 7``, at most six of them."""
    runs: list[list[int]] = []
    for one in sorted(set(launches)):
        if runs and one == runs[-1][1] + 1:
            runs[-1][1] = one
        else:
            runs.append([one, one])
    words = [str(a) if a == b else f"{a}-{b}" for a, b in runs]
    return ", ".join(words[:6]) + (f" and {len(words) - 6} more" if len(words) > 6 else "")


def _fact(one: Evidence) -> Fact:
    source = "" if one.source == one.metric else one.source
    if one.provenance not in ("exact", ""):
        source = f"{one.provenance}: {source}" if source else one.provenance
    return Fact(
        label=one.label or one.metric,
        value=numbers.quantity(one.value, one.unit),
        threshold="" if one.threshold is None else numbers.quantity(one.threshold, one.unit),
        margin="" if one.margin is None else numbers.signed_share(one.margin),
        source=source,
    )


def _decided_by(evidence: list[Evidence]) -> str:
    """The compared value that decided: the first with a threshold, else the first."""
    compared = [one for one in evidence if one.threshold is not None and one.value is not None]
    for one in compared or evidence[:1]:
        fact = _fact(one)
        limit = f" (limit {fact.threshold})" if fact.threshold else ""
        return f"{fact.label} {fact.value}{limit}"
    return ""


def _vendor(vendor: dict[str, object] | None) -> str:
    """Return what the vendor's stored result said, in one line."""
    if not vendor:
        return ""
    words = [
        f"{key.replace('_', ' ')}: {value}" for key, value in vendor.items() if value not in (None, "", [])
    ]
    return "; ".join(words)
