"""Findings of one report: candidates with their words, evidence and places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from profrx.evaluate import collect, evidence, trace
from profrx.evaluate.closer import Closer, look_closer, lookup
from profrx.evaluate.group import Candidate
from profrx.evaluate.locations import SourceLines, locations
from profrx.evaluate.rank import order
from profrx.evaluate.showing import text_of
from profrx.evaluate.spread import Spread
from profrx.language import ast
from profrx.language.template import fields, render
from profrx.report.model import Evidence, Finding, Link, Saving, Subject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from profrx.evaluate.outcomes import Outcomes
    from profrx.language.template import Lookup
    from profrx_parsers.report import Report

MAX_FINDINGS = 2000
"""Findings of one report that are worked out; the best by score are."""

NARROW_MARGIN = 0.10
"""Below this distance from its threshold, relative to it, a decision is of low confidence."""


def findings(
    outcomes: Outcomes, found: list[Candidate], report: Report, top: int | None = None
) -> list[Finding]:
    """Return the findings of one report, ranked from 1.

    Args:
        outcomes: of the pass.
        found: the report's candidates.
        report: for source lines and collection options.
        top: how many to return; None = all (at most `MAX_FINDINGS`).
    """
    kept = order(found)[:MAX_FINDINGS]
    return _ranked(outcomes, kept, _places(outcomes, kept), report, top)


def findings_of_many(
    outcomes: Outcomes, found: list[Candidate], reports: Mapping[int, Report], top: int | None = None
) -> dict[int, list[Finding]]:
    """Return the findings of each report (position -> report) of a pass; see `findings`."""
    kept = {at: order(one for one in found if one.report == at)[:MAX_FINDINGS] for at in reports}
    places = _places(outcomes, [one for part in kept.values() for one in part])
    return {at: _ranked(outcomes, kept[at], places, report, top) for at, report in reports.items()}


def _places(outcomes: Outcomes, kept: list[Candidate]) -> dict[int, Place]:
    """Look closer at every candidate, one evaluation per rule, and derive the confidence where none is written."""
    places: dict[int, Place] = {}
    by_rule: dict[str, list[Candidate]] = {}
    for one in kept:
        by_rule.setdefault(one.rule.name, []).append(one)
    for members in by_rule.values():
        closer = look_closer(outcomes, members[0].rule, [one.lead for one in members])
        spread = Spread(outcomes, members)
        for at, one in enumerate(members):
            places[id(one)] = Place(closer, spread, at)
            if not one.confidence:
                margin = evidence.smallest_margin(closer.evaluator, closer.step, at)
                one.confidence = "low" if margin is not None and margin < NARROW_MARGIN else "medium"
    return places


def _ranked(
    outcomes: Outcomes, kept: list[Candidate], places: dict[int, Place], report: Report, top: int | None
) -> list[Finding]:
    told = Told(SourceLines(report), collect.present(report))
    return [
        _finding(outcomes, one, rank, places[id(one)], told)
        for rank, one in enumerate(order(kept)[:top], start=1)
    ]


@dataclass(frozen=True)
class Place:
    """Where a candidate is found in what was evaluated for its rule: row `at`."""

    closer: Closer
    spread: Spread
    at: int


@dataclass(frozen=True)
class Told:
    """What a report tells besides its metrics: its source lines, how it was taken."""

    lines: SourceLines
    present: collect.Present


def _finding(outcomes: Outcomes, one: Candidate, rank: int, place: Place, told: Told) -> Finding:
    rule, closer, at = one.rule, place.closer, place.at
    evaluator = closer.evaluator
    program = outcomes.program
    fill = lookup(evaluator, at)
    estimated: tuple[ast.Expr, ...] = ()
    if rule.estimate is not None:
        estimated = (rule.estimate.low, *([rule.estimate.high] if rule.estimate.high is not None else []))
    lines = evidence.evidence(evaluator, closer.step, at, estimated)
    _note_ranges(lines, closer, place.spread, at)
    lines = evidence.add_own_lines(lines, evaluator, rule.evidence, at)
    because = render(rule.because, fill)
    for symptom in one.explains:
        reason = next((s.because for s in rule.suppresses if s.rule == symptom and s.because), "")
        title = program.pack.rules[symptom].title
        because += f" This also explains “{title}”" + (f": {reason.rstrip('.')}." if reason else ".")
    saving = None
    if one.low is not None and one.high is not None and rule.estimate is not None:
        saving = Saving(kind=rule.estimate.kind, low=one.low, high=one.high)
    return Finding(
        rank=rank,
        rule=rule.name,
        rule_version=rule.version,
        parameters_hash=program.params.digest(rule, program.shared_params(rule)),
        cause=rule.cause,
        title=rule.title,
        severity=one.severity,
        confidence=one.confidence or "medium",
        scope=rule.scope,
        subject=subject_of(outcomes, one),
        time_share=one.share,
        saving=saving,
        score=one.score,
        evidence=lines,
        locations=locations(evaluator.metrics, rule.lines, at, told.lines) if rule.scope == "launch" else [],
        because=because,
        fix=_advice(rule.fix, fill),
        exceptions=[render(text, fill) for text in rule.exceptions],
        collect=collect.options(rule.collect, outcomes.frames.tool, told.present),
        references=references(outcomes, rule),
        explains=one.explains,
        same_cause_as=one.same_cause_as or None,
    )


def _advice(texts: Sequence[str], fill: Lookup) -> list[str]:
    """Return the fixes filled in; one that lacks a number is left out as long as another remains."""
    whole = [text for text in texts if all(fill(field.name)[0] is not None for field in fields(text))]
    return [render(text, fill) for text in whole or texts]


def _note_ranges(lines: list[Evidence], closer: Closer, spread: Spread, at: int) -> None:
    """Add to compared evidence how its value spreads over the group's subjects."""
    for leaf in trace.deciding(closer.step, at):
        fact = trace.fact(closer.evaluator, leaf, at)
        if not isinstance(fact.value, float):
            continue
        name = text_of(fact.measured)
        line = next((e for e in lines if e.metric == name and e.threshold is not None), None)
        told = spread.text(at, fact.measured, fact.unit) if line is not None else ""
        if line is not None and told and told not in line.label:
            line.label += f" ({told})"


def subject_of(outcomes: Outcomes, one: Candidate) -> Subject:
    """Return what a candidate is about."""
    frame = outcomes.frames.scopes[one.rule.scope]
    row = frame.subjects.slice(one.lead, 1).to_pylist()[0]
    if frame.scope == "launch":
        ids = frame.column("subject_id").to_numpy()[one.rows]
        return Subject(kernel=row["kernel"], short=row["kernel_short"], launches=ids.tolist())
    return Subject(kernel=row["kernel"], short=row["kernel_short"], name=row["subject"])


def references(outcomes: Outcomes, rule: ast.Rule) -> list[Link]:
    """Return a rule's references, those of its parameters included, each once."""
    known = outcomes.program.pack.references
    names = [*rule.see, *(name for param in rule.params for name in param.see)]
    return [
        Link(title=known[name].title, url=known[name].url) for name in dict.fromkeys(names) if name in known
    ]
