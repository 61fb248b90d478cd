"""Findings of one report: candidates with their words, evidence and places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from profrx.evaluate import collect, evidence, operators, trace
from profrx.evaluate.group import Candidate
from profrx.evaluate.locations import locations
from profrx.evaluate.metrics import Metrics
from profrx.evaluate.rank import order
from profrx.evaluate.showing import shown_unit, text_of
from profrx.evaluate.template import render
from profrx.language import ast
from profrx.report.model import Evidence, Finding, Link, Saving, Subject

if TYPE_CHECKING:
    from profrx.evaluate.compile import Evaluator
    from profrx.evaluate.outcomes import Outcomes
    from profrx_parsers.report import Report

MAX_FINDINGS = 2000
"""Findings of one report that are worked out; the best by score are."""

NARROW_MARGIN = 0.10
"""Below this distance from its threshold, relative to it, a decision is of low confidence."""


@dataclass(frozen=True)
class Closer:
    """A rule seen on its candidates' heaviest subjects only: row i belongs to candidate i.

    Attributes:
        evaluator: over the frame of those subjects.
        step: the traced condition.
    """

    evaluator: Evaluator
    step: trace.Step


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
    closer: dict[str, Closer] = {}
    places: dict[int, tuple[str, int]] = {}
    by_rule: dict[str, list[Candidate]] = {}
    for one in kept:
        by_rule.setdefault(one.rule.name, []).append(one)
    for name, members in by_rule.items():
        closer[name] = look_closer(outcomes, members[0].rule, [one.lead for one in members])
        for at, one in enumerate(members):
            places[id(one)] = (name, at)
            if not one.confidence:
                margin = evidence.smallest_margin(closer[name].evaluator, closer[name].step, at)
                one.confidence = "low" if margin is not None and margin < NARROW_MARGIN else "medium"
    ranked = order(kept)[:top]
    return [
        _finding(outcomes, one, rank, closer[places[id(one)][0]], places[id(one)][1], report)
        for rank, one in enumerate(ranked, start=1)
    ]


def look_closer(outcomes: Outcomes, rule: ast.Rule | ast.Verdict | ast.Guard, rows: Sequence[int]) -> Closer:
    """Evaluate a declaration's condition on some rows and keep every part's value."""
    evaluator = closer_evaluator(outcomes, rule, rows)
    condition = rule.rows[0].when if isinstance(rule, ast.Verdict) else rule.when
    return Closer(evaluator, trace.trace(evaluator, condition))


def closer_evaluator(
    outcomes: Outcomes, rule: ast.Rule | ast.Verdict | ast.Guard, rows: Sequence[int]
) -> Evaluator:
    """Return an evaluator over some rows of a declaration's frame, guards on metrics included."""
    frame = outcomes.frames.scopes[rule.scope]
    at = np.asarray(rows, dtype=np.int64)
    whole = outcomes.metrics(rule.scope)
    part = Metrics(outcomes.program.pack, frame.take(at), given=_taken(whole, at))
    for name, (mask, guard) in whole.blocked.items():
        part.block(name, mask[at], guard)
    evaluator = outcomes.evaluator(rule, part)
    full = evaluator.fired
    evaluator.fired = lambda name: _picked(full(name) if full else operators.UNDECIDED, at)
    return evaluator


def _taken(whole: Metrics, at: Any) -> dict[str, tuple[Any, Any]]:
    import pyarrow as pa

    rows = pa.array(at)
    return {name: (values.take(rows), mask.take(rows)) for name, (values, mask) in whole.given.items()}


def _picked(column: Any, at: Any) -> Any:
    import pyarrow as pa

    return column if isinstance(column, pa.Scalar) else column.take(pa.array(at))


def lookup(evaluator: Evaluator, row: int) -> Callable[[str], tuple[Any, str]]:
    """Return what a template's names mean on a row."""

    def find(name: str) -> tuple[Any, str]:
        expr = ast.Name(name)
        known = evaluator.let(name) or evaluator.param(name) or name in evaluator.metrics.pack.metrics
        if not known:
            return None, ""
        column = operators.spread(evaluator.value(expr), evaluator.rows)
        return column[row].as_py(), shown_unit(evaluator, expr)

    return find


def _finding(
    outcomes: Outcomes, one: Candidate, rank: int, closer: Closer, at: int, report: Report
) -> Finding:
    rule, evaluator = one.rule, closer.evaluator
    program = outcomes.program
    fill = lookup(evaluator, at)
    estimated: tuple[ast.Expr, ...] = ()
    if rule.estimate is not None:
        estimated = (rule.estimate.low, *([rule.estimate.high] if rule.estimate.high is not None else []))
    lines = evidence.evidence(evaluator, closer.step, at, estimated)
    if len(one.rows) > 1:
        _note_ranges(outcomes, one, lines, closer, at)
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
        locations=locations(evaluator.metrics, rule.lines, at, report) if rule.scope == "launch" else [],
        because=because,
        fix=[render(text, fill) for text in rule.fix],
        exceptions=[render(text, fill) for text in rule.exceptions],
        collect=collect.options(rule.collect, outcomes.frames.tool, collect.present(report)),
        references=references(outcomes, rule),
        explains=one.explains,
        same_cause_as=one.same_cause_as or None,
    )


def _note_ranges(outcomes: Outcomes, one: Candidate, lines: list[Evidence], closer: Closer, at: int) -> None:
    """Add to compared evidence how its value spreads over the group's subjects."""
    spread = closer_evaluator(outcomes, one.rule, one.rows)
    for leaf in trace.deciding(closer.step, at):
        fact = trace.fact(closer.evaluator, leaf, at)
        line = next(
            (e for e in lines if e.metric == text_of(fact.measured) and e.threshold is not None), None
        )
        if line is None or not isinstance(fact.value, float):
            continue
        values = operators.as_floats(spread.value(fact.measured), spread.rows)
        values = values[~np.isnan(values)]
        if values.size and values.min() < values.max():
            from profrx.evaluate.quantity import from_base

            low, high = (from_base(float(v), fact.unit) for v in (values.min(), values.max()))
            unit = f" {fact.unit}" if fact.unit and fact.unit != "ratio" else ""
            line.label += f" ({low:.4g} .. {high:.4g}{unit} over {values.size} launches)"


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
