"""One pass of a pack over frames: for every verdict, guard and rule one outcome per subject."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from profrx.evaluate.compile import Evaluator
from profrx.evaluate.frame import Frame
from profrx.evaluate.frames import Frames
from profrx.evaluate.metrics import Metrics, owners
from profrx.evaluate.operators import UNDECIDED, Value, either, from_tristate, spread, tristate
from profrx.evaluate.params import Owner
from profrx.evaluate.program import Parent, Program, metric_named
from profrx.evaluate.suppress import suppress
from profrx.language import ast, walk
from profrx.report.model import CONFIDENCES, SEVERITIES

NOT_FIRED, FIRED, UNKNOWN, SKIPPED, BLOCKED, NOT_APPLICABLE = range(6)
OUTCOMES = ("not fired", "fired", "unknown", "skipped", "blocked", "not applicable")
"""Outcome of a rule on a subject, by code."""

KEPT_ROWS = 4096
"""Columns of frames up to this long are kept after their last use in a pass: words and evidence read them again."""

LEVELS: dict[str, tuple[str, ...]] = {"severity": SEVERITIES, "confidence": CONFIDENCES}
"""Levels in ascending order, as `Fired` counts them."""


@dataclass
class Fired:
    """What a rule says about the subjects it fired on, in ascending row order.

    Constant columns are broadcast, not stored: a pack of hundreds of rules may fire on every one of many launches.

    Attributes:
        rows: int32 rows of the scope's frame.
        low, high: share of the run time saved, float64 in 0..1, NaN = no estimate.
        severity, confidence: index into `LEVELS`, -1 = unwritten (derived later).
        suppressors: rules that suppress this one somewhere.
        explained_by: index into `suppressors` per row, -1 = none.
    """

    rows: Any
    low: Any
    high: Any
    severity: Any
    confidence: Any
    explained_by: Any
    suppressors: list[str] = field(default_factory=list)

    def symptom_of(self, at: int) -> str:
        """Return the rule that suppresses this one on the `at`-th row it fired on, "" = none."""
        by = int(self.explained_by[at])
        return self.suppressors[by] if by >= 0 else ""


@dataclass
class Outcomes:
    """Results of a pass.

    Attributes:
        frames, program: what ran on what.
        codes: rule -> uint8 code per subject of its scope; absent when there is no such scope.
        held: verdict -> row index per subject, -1 = unknown (of ``all`` tables: the first that holds).
        truth: (verdict, row) or (guard, "") -> truth column.
        guards: guard -> mask of the subjects it holds for.
        fired: rule -> details of the subjects it fired on; absent when there are none.
        family: metrics of every frame, for looking closer.
    """

    frames: Frames
    program: Program
    codes: dict[str, Any] = field(default_factory=dict)
    held: dict[str, Any] = field(default_factory=dict)
    truth: dict[tuple[str, str], Any] = field(default_factory=dict)
    guards: dict[str, Any] = field(default_factory=dict)
    fired: dict[str, Fired] = field(default_factory=dict)
    family: dict[int, Metrics] = field(default_factory=dict)

    def metrics(self, scope: str) -> Metrics:
        """Return the metrics of a scope's frame."""
        frame = self.frames.scopes[scope]
        known = self.family.get(id(frame))
        return known or Metrics(self.program.pack, frame, family=self.family)

    def evaluator(self, declaration: Owner, metrics: Metrics | None = None) -> Evaluator:
        """Return an evaluator with a declaration's names in sight."""
        metrics = metrics or self.metrics(declaration.scope)
        scope = declaration.scope
        return Evaluator(
            metrics,
            self.program.params,
            declaration,
            lambda name: self.truth_of(Parent(name), scope),
            notes=self.program.notes(declaration),
        )

    def truth_of(self, parent: Parent, scope: str) -> Value:
        """Return whether a rule fired or a verdict row holds, per subject of `scope`."""
        declaration = self.program.owners.get(parent.owner)
        if declaration is None:
            return UNDECIDED
        if isinstance(declaration, ast.Verdict):
            column = self.truth.get((parent.owner, parent.row))
        elif isinstance(declaration, ast.Guard):
            mask = self.guards.get(parent.owner)
            column = None if mask is None else from_tristate(mask)
        else:
            codes = self.codes.get(parent.owner)
            column = None if codes is None else _truth(codes)
        return UNDECIDED if column is None else self._at(column, declaration.scope, scope)

    def guard_outcome(self, guard: ast.Guard, row: int) -> str:
        """Return whether a guard holds for a subject, in the words of tests: fired, not fired, unknown."""
        held = self.truth[guard.name, ""][row].as_py()
        return "unknown" if held is None else OUTCOMES[FIRED] if held else OUTCOMES[NOT_FIRED]

    def _at(self, column: Value, source: str, target: str) -> Value:
        """Bring a truth column to another scope: spread from wider, any (Kleene) of narrower subjects."""
        if source == target:
            return column
        frame = self.frames.scopes[target]
        if source in frame.wider:
            wider = frame.wider[source]
            if len(column) == 1 and wider.owner.size and wider.owner.min() >= 0:
                return pa.repeat(column[0], frame.rows)  # all are of one report
            return column.take(owners(wider.owner))
        for link in frame.members.values():
            if link.scope == source:
                true, unknown = tristate(column, link.frame.rows)
                held = np.zeros(frame.rows, dtype=bool)
                open_ = np.zeros(frame.rows, dtype=bool)
                held[link.owner[true & (link.owner >= 0)]] = True
                open_[link.owner[unknown & (link.owner >= 0)]] = True
                return from_tristate(held, open_ & ~held)
        return UNDECIDED


def _truth(codes: Any) -> pa.Array:
    unknown = (codes == UNKNOWN) | (codes == BLOCKED)
    return from_tristate(codes == FIRED, unknown)


def run(
    program: Program,
    frames: Frames,
    *,
    family: dict[int, Metrics] | None = None,
    only: frozenset[str] | None = None,
) -> Outcomes:
    """Judge every subject of the frames by every declaration of the pack.

    Args:
        program: the pack.
        frames: the subjects.
        family: metrics of the frames where they exist already (tests).
        only: declarations to run; None = all.
    """
    outcomes = Outcomes(frames, program, family=family if family is not None else {})
    many = any(frame.rows > KEPT_ROWS for frame in frames.scopes.values())
    for name in program.order:
        if only is not None and name not in only:
            continue
        declaration = program.owners[name]
        frame = frames.get(declaration.scope)
        if frame is not None and frame.rows:
            if isinstance(declaration, ast.Guard):
                _run_guard(outcomes, declaration)
            elif isinstance(declaration, ast.Verdict):
                _run_verdict(outcomes, declaration)
            else:
                _run_rule(outcomes, declaration, frame)
        if many:
            for metric in program.last_use.get(name, ()):
                for metrics in outcomes.family.values():
                    metrics.release(metric)
    suppress(outcomes)
    return outcomes


def judge_alone(outcomes: Outcomes, declaration: Owner) -> None:
    """Judge one declaration as if its parents held and no guard did."""
    frame = outcomes.frames.get(declaration.scope)
    if frame is None or not frame.rows:
        return
    if isinstance(declaration, ast.Guard):
        _run_guard(outcomes, declaration, block=False)
    elif isinstance(declaration, ast.Verdict):
        _run_verdict(outcomes, replace(declaration, under=()))
    else:
        _run_rule(outcomes, declaration, frame, alone=True)


def _run_guard(outcomes: Outcomes, guard: ast.Guard, *, block: bool = True) -> None:
    column = outcomes.evaluator(guard).column(guard.when)
    mask, _ = tristate(column, outcomes.frames.scopes[guard.scope].rows)
    outcomes.guards[guard.name] = mask
    outcomes.truth[guard.name, ""] = column
    if not block or not mask.any():
        return
    for name in guard.blocks:
        metric = outcomes.program.pack.metrics.get(name)
        if metric is None:
            continue
        at = metric.scope if metric.scope in outcomes.frames.scopes else guard.scope
        held = spread(outcomes._at(from_tristate(mask), guard.scope, at), outcomes.frames.scopes[at].rows)
        outcomes.metrics(at).block(name, tristate(held, len(held))[0], guard.name)


def _run_verdict(outcomes: Outcomes, verdict: ast.Verdict) -> None:
    frame = outcomes.frames.scopes[verdict.scope]
    evaluator = outcomes.evaluator(verdict)
    parent = _parent(outcomes, verdict, frame)
    held = np.full(frame.rows, -1, dtype=np.int16)
    earlier_true = np.zeros(frame.rows, dtype=bool)
    earlier_open = np.zeros(frame.rows, dtype=bool)
    for index, row in enumerate(verdict.rows):
        true, unknown = tristate(evaluator.column(row.when), frame.rows)
        if verdict.hit == "first":
            unknown = (unknown & ~earlier_true) | (true & earlier_open & ~earlier_true)
            true = true & ~earlier_true & ~earlier_open
            earlier_true |= true
            earlier_open |= unknown
        if parent is not None:
            unknown = (unknown & (parent[0] | parent[1])) | (true & parent[1])
            true = true & parent[0]
        outcomes.truth[verdict.name, row.name] = from_tristate(true, unknown)
        held[true & (held < 0)] = index
    outcomes.held[verdict.name] = held


def _parent(outcomes: Outcomes, declaration: Owner, frame: Frame) -> tuple[Any, Any] | None:
    """Masks (certainly true, unknown) of "some parent holds"; None without parents."""
    parents = outcomes.program.parents(declaration)
    if not parents:
        return None
    column: Value = pa.scalar(False)
    for parent in parents:
        column = either(column, outcomes.truth_of(parent, declaration.scope))
    return tristate(column, frame.rows)


def _run_rule(outcomes: Outcomes, rule: ast.Rule, frame: Frame, *, alone: bool = False) -> None:
    if rule.applies_to and frame.tool not in rule.applies_to:
        # One value for all rows: a timeline has launches by the million, and most rules are of another tool.
        outcomes.codes[rule.name] = np.broadcast_to(np.uint8(NOT_APPLICABLE), (frame.rows,))
        return
    codes = np.full(frame.rows, NOT_FIRED, dtype=np.uint8)
    outcomes.codes[rule.name] = codes
    parent = None if alone else _parent(outcomes, rule, frame)
    judged = np.ones(frame.rows, dtype=bool)
    if parent is not None:
        true, unknown = parent
        _mark(codes, ~(true | unknown), SKIPPED)
        if not rule.anyway:
            _mark(codes, unknown, UNKNOWN)
            judged = true
        else:
            judged = true | unknown
    for guard in [] if alone else outcomes.program.guards_of(rule.name):
        held = guard_mask(outcomes, guard, rule.scope)
        _mark(codes, held & (codes != SKIPPED), BLOCKED)
        judged = judged & ~held
    if not judged.any():
        return
    evaluator = outcomes.evaluator(rule)
    true, unknown = tristate(evaluator.column(rule.when), frame.rows)
    _mark(codes, judged & true, FIRED)
    open_ = judged & unknown
    if open_.any():
        _mark(codes, open_, UNKNOWN)
        _mark(codes, open_ & ~suppliable(outcomes.program, rule, evaluator.metrics), NOT_APPLICABLE)
    rows = np.flatnonzero(codes == FIRED)
    if rows.size:
        outcomes.fired[rule.name] = _details(rule, evaluator, rows)


def _mark(codes: Any, mask: Any, code: int) -> None:
    """Set codes where a mask holds; by arithmetic, since masks of measured values mislead the processor's guesses."""
    codes *= ~mask
    codes += mask * np.uint8(code)


def guard_mask(outcomes: Outcomes, guard: ast.Guard, scope: str) -> Any:
    """Mask of the subjects of `scope` that a guard certainly holds for."""
    rows = outcomes.frames.scopes[scope].rows
    if guard.name not in outcomes.guards:
        return np.zeros(rows, dtype=bool)
    return tristate(spread(outcomes.truth_of(Parent(guard.name), scope), rows), rows)[0]


def suppliable(program: Program, declaration: ast.Rule | ast.Verdict, metrics: Metrics) -> Any:
    """Mask of the subjects whose tool, version and architecture can supply what a condition needs.

    A metric needed strictly (not below ``known`` or left of ``??``) that no source is for makes a declaration
    not applicable: no collection option would help. An architecture or version that the report does not tell
    rules nothing out.
    """
    lets = {let.name: let.expr for let in declaration.lets}
    usable = np.ones(metrics.frame.rows, dtype=bool)
    pending, seen = walk.conditions(declaration), set()
    while pending:
        for node in walk.strict_nodes(pending.pop()):
            name = metric_named(node)
            if not name or name in seen:
                continue
            seen.add(name)
            if name in lets:
                pending.append(lets[name])
            elif metric := program.pack.metrics.get(name):
                usable &= metrics.could_hold(metric)
    return usable


def _details(rule: ast.Rule, evaluator: Evaluator, rows: Any) -> Fired:
    low = high = np.broadcast_to(np.nan, rows.size)
    if rule.estimate is not None:
        low, high = estimate(rule.estimate, evaluator, rows)
    return Fired(
        rows.astype(np.int32),
        low,
        high,
        _level(rule.severity, "severity", evaluator, rows),
        _level(rule.confidence, "confidence", evaluator, rows),
        np.broadcast_to(np.int16(-1), rows.size),
    )


def estimate(node: ast.Estimate, evaluator: Evaluator, rows: Any) -> tuple[Any, Any]:
    """Return low and high ends of an estimate, clamped to 0..1 and in order; NaN where an end is unknown."""
    ends = []
    for expr in (node.low, node.low if node.high is None else node.high):
        column = evaluator.column(expr).fill_null(np.nan).to_numpy(zero_copy_only=False)
        ends.append(np.clip(column[rows], 0.0, 1.0))
    missing = np.isnan(ends[0]) | np.isnan(ends[1])
    low, high = np.fmin(*ends), np.fmax(*ends)
    low[missing] = high[missing] = np.nan
    return low, high


def _level(levels: tuple[ast.Level, ...], kind: str, evaluator: Evaluator, rows: Any) -> Any:
    """The first level whose condition certainly holds; -1 where none does."""
    if not levels:
        return np.broadcast_to(np.int8(-1), rows.size)
    found = np.full(rows.size, -1, dtype=np.int8)
    for level in levels:
        code = LEVELS[kind].index(level.level)
        held = found < 0
        if level.when is not None:
            held &= tristate(evaluator.column(level.when), evaluator.rows)[0][rows]
        found[held] = code
    return found
