"""Findings and gaps as a page shows them: one line in the ranked table, one folded entry with everything."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from profrx.report import commands, numbers
from profrx.report.commands import option, together
from profrx.report.scarce import EVERYTHING

if TYPE_CHECKING:
    from profrx.report.model import Evidence, Finding, Link, ReportFindings

LOCATIONS = 5
METRIC = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+")
WHOLE = "the whole run"
"""Subject of a finding about the report itself: its path would say less and more than it should."""
GAPS = 3
KERNELS = 3
"""Kernels named beside what a guard held back."""
RUNS = 6
"""Runs of launch ids that are named."""
OLD_ARCH = re.compile(r"sm_[1-6]\d$")
"""Before compute capability 7.0, where ncu has no roofline. Source: sections of public reports by device."""
OPERATORS = frozenset({"<", "<=", ">", ">=", "==", "!="})


@dataclass(frozen=True)
class Fact:
    """One line of evidence, readable."""

    label: str
    value: str
    threshold: str
    margin: str
    source: str
    limit_name: str = ""
    """Parameter that the limit comes from."""


@dataclass(frozen=True)
class Fix:
    """The top fix: what to do, why, and what it is worth."""

    title: str
    kernel: str
    saves: str
    speedup: str
    because: str
    first: str


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
    """How many of the kernel's launches and which: ``3 of 41 launches (0-1, 5)``; empty where it has one only."""
    which: str
    """The same, or the only launch."""
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
        where = "" if self.subject == WHOLE else self.subject
        return Fix(self.title, where, self.saves, self.speedup, self.because, self.fixes[0])


@dataclass(frozen=True)
class Gap:
    """Rules that could not be judged for one reason, and the option that would change that."""

    option: str
    """Command line options, or empty when nothing can collect it."""
    rules: tuple[str, ...]
    """Their titles in quotes: bare, they would read as findings."""
    command: tuple[str, ...] = ()
    """The lines to type: the options with where to write to and the program to run."""


def advice(finding: Finding, of: int | None = None) -> Advice:
    """Return a finding with its numbers made readable; `of` is the number of the kernel's launches."""
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
        title=_title(finding),
        severity=finding.severity,
        confidence=finding.confidence,
        subject=WHOLE if finding.scope == "report" else subject.short or subject.name or subject.kernel or "",
        full="" if finding.scope == "report" else subject.kernel or subject.name or "",
        launches=launched(subject.launches, of),
        which=launched(subject.launches, of) or "".join(f"launch {one}" for one in subject.launches[:1]),
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


def _title(finding: Finding) -> str:
    return (
        f"{finding.title} (same cause as {finding.same_cause_as})" if finding.same_cause_as else finding.title
    )


def gaps(report: ReportFindings) -> tuple[Gap, ...]:
    """Group what could not be judged by what would collect the missing values, most rules first.

    More than `GAPS` groups of one tool become one, with all its options together: one more run answers them all.
    """
    found: dict[tuple[str, ...], dict[str, None]] = {}
    if report.tool == "ncu" and report.kernels:
        for part, held, section in _parts(report):
            if not held:
                found[(f"ncu --section {section}",)] = {part: None}
    for one in report.unknown:
        key = tuple(sorted({option(c) for c in one.collect}))
        found.setdefault(key, {})[one.title or one.rule] = None
    if sum(bool(key) for key in found) > GAPS:
        found = _merged(found)
    listed = [
        Gap(together(key), tuple(f"“{rule}”" for rule in rules), _typed(key, report))
        for key, rules in found.items()
    ]
    return tuple(sorted(listed, key=lambda g: (not g.option, -len(g.rules), g.option)))


def _typed(options: tuple[str, ...], report: ReportFindings) -> tuple[str, ...]:
    """Return the lines to type; for metrics that a damaged report lost, what collects them all instead of their names."""
    made = tuple(commands.lines(options))
    if report.next_step and report.tool == "ncu" and max(map(len, made), default=0) > commands.WIDTH:
        return (EVERYTHING,)
    return made


@dataclass(frozen=True)
class Held:
    """Rules that one guard kept from being judged on the same kernels, for the same reason."""

    guard: str
    reason: str
    kernels: tuple[str, ...]
    more: int
    """Kernels that are not named."""
    rules: tuple[str, ...]


def held_back(report: ReportFindings) -> tuple[Held, ...]:
    """Group blocked rules by guard, reason and kernels, in the order of their first mention."""
    found: dict[tuple[str, str, tuple[str, ...]], dict[str, None]] = {}
    for one in report.blocked:
        found.setdefault((one.guard, one.reason, tuple(one.kernels)), {})[one.rule] = None
    return tuple(
        Held(guard, reason, kernels[:KERNELS], max(len(kernels) - KERNELS, 0), tuple(rules))
        for (guard, reason, kernels), rules in found.items()
    )


def _merged(found: dict[tuple[str, ...], dict[str, None]]) -> dict[tuple[str, ...], dict[str, None]]:
    """Put all that some option collects under all those options together; the rest stays apart."""
    every = tuple(sorted({one for key in found for one in key}))
    merged: dict[tuple[str, ...], dict[str, None]] = {}
    for key, rules in sorted(found.items(), key=lambda item: -len(item[1])):
        merged.setdefault(every if key else (), {}).update(rules)
    return merged


def _parts(report: ReportFindings) -> tuple[tuple[str, bool, str], ...]:
    """Parts of the page, whether the report holds them or cannot, and the section that collects them."""
    summary = report.summary
    old = bool(report.devices) and all(OLD_ARCH.match(str(d.get("arch"))) for d in report.devices)
    return (
        ("Speed of light", bool(summary.sol), "SpeedOfLight"),
        ("Top stall reasons", bool(summary.stalls), "WarpStateStats"),
        (
            "Roofline",
            old or any(p.flop_per_s is not None for p in summary.roofline),
            "SpeedOfLight_RooflineChart",
        ),
    )


def launched(launches: list[int], of: int | None = None) -> str:
    """Return how many launches and which; nothing of the only launch of a kernel.

    >>> launched([0, 1, 5], of=41), launched([0, 1], of=2), launched([7], of=1)
    ('3 of 41 launches (0-1, 5)', '2 launches (0-1)', '')
    """
    count = len(set(launches))
    total = max(of or 0, count)
    if total < 2 or not count:
        return ""
    part = f"{count:,} of {total:,} launches" if count < total else f"{count:,} launches"
    return f"{part} ({ranges(launches)})"


def ranges(launches: list[int]) -> str:
    """Return launch ids as ranges: ``0-3, 7``, at most six of them; the launches after those are counted."""
    runs: list[list[int]] = []
    for one in sorted(set(launches)):
        if runs and one == runs[-1][1] + 1:
            runs[-1][1] = one
        else:
            runs.append([one, one])
    words = [str(a) if a == b else f"{a}-{b}" for a, b in runs[:RUNS]]
    more = sum(b - a + 1 for a, b in runs[RUNS:])
    return ", ".join(words) + (f" and {more:,} more" if more else "")


def _fact(one: Evidence) -> Fact:
    """Return a line of evidence; the engine labels a compared value with its operator: ``>= min_excess``."""
    operator, _, limit_name = one.label.partition(" ")
    compared = operator in OPERATORS and one.threshold is not None
    source = "" if one.source == one.metric else one.source
    if one.provenance not in ("exact", ""):
        source = f"{one.provenance}: {source}" if source else one.provenance
    label = one.label or one.metric
    if compared:
        label = one.metric
    elif one.provenance == "parameter" and one.label:
        label = f"{one.metric}: {one.label}"
    value, threshold = numbers.compared(one.value, one.threshold, one.unit)
    threshold = "" if one.threshold is None else threshold
    return Fact(
        label=label,
        value=value,
        threshold=f"{operator} {threshold}" if compared else threshold,
        margin="" if one.margin is None else numbers.margin(one.margin),
        source=source,
        limit_name=limit_name if compared else "",
    )


def _decided_by(evidence: list[Evidence]) -> str:
    """The compared value that decided: the first with a threshold, else the first."""
    compared = [one for one in evidence if one.threshold is not None and one.value is not None]
    for one in compared or evidence[:1]:
        fact = _fact(one)
        # A rule's own short name says less than the metric it stands for.
        name = one.source if one.provenance == "derived" and METRIC.fullmatch(one.source) else fact.label
        return f"{name} {fact.value}" + (f" ({fact.threshold})" if fact.threshold else "")
    return ""


def _vendor(vendor: dict[str, Any] | None) -> str:
    """Return what the vendor's stored result said, in one line."""
    if not vendor:
        return ""
    words = f"{vendor.get('rule', '')}: {vendor.get('title', '')}".strip(": ")
    percent = vendor.get("estimate_pct")
    if percent is None:
        return words
    return f"{words}, {numbers.quantity(percent, '%')} {vendor.get('estimate_kind') or ''}".rstrip()
