"""What could not be judged in one report: unknown rules with what is missing, blocked rules with the guard; and how many could."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx.evaluate import collect, operators, trace
from profrx.evaluate.closer import closer_evaluator, lookup
from profrx.evaluate.lacking import NOT_COLLECTED, not_computable
from profrx.evaluate.lacking import missing as names_missing
from profrx.evaluate.outcomes import (
    BLOCKED,
    FIRED,
    NOT_APPLICABLE,
    NOT_FIRED,
    SKIPPED,
    UNKNOWN,
    guard_mask,
)
from profrx.language import ast, walk
from profrx.language.template import render
from profrx.report.model import Blocked, Coverage, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from profrx.evaluate.compile import Evaluator
    from profrx.evaluate.frame import Frame
    from profrx.evaluate.outcomes import Outcomes
    from profrx.evaluate.program import Parent
    from profrx_parsers.report import Report

Blamed = tuple["ast.Rule | ast.Verdict", Any]
"""A declaration and the rows of its scope's frame on which it is what is unknown."""

Truths = dict[tuple["Parent", str], tuple[Any, Any]]
"""(parent, scope) -> masks of the scope's subjects: it certainly holds, it is unknown."""

PATTERNS = 8
"""Distinct patterns of missing metrics that are looked into per rule."""
NAMED_KERNELS = 20
"""Kernels named per blocked rule."""


def unknown(outcomes: Outcomes, report: int, source: Report) -> list[Unknown]:
    """Return the rules that are unknown for some subjects of a report, and what would tell."""
    return unknown_of_many(outcomes, {report: source})[report]


def unknown_of_many(outcomes: Outcomes, reports: Mapping[int, Report]) -> dict[int, list[Unknown]]:
    """Return what `unknown` says of each report (position -> report) of a pass."""
    found: dict[int, list[Unknown]] = {report: [] for report in reports}
    cases: list[tuple[int, ast.Rule, Any, list[Blamed]]] = []
    truths: Truths = {}
    for name, codes in outcomes.codes.items():
        rule = outcomes.program.pack.rules[name]
        for report, rows in by_report(outcomes.frames.scopes[rule.scope], codes == UNKNOWN):
            if report in reports:
                cases.append((report, rule, rows, blame(outcomes, rule, rows, truths)))
    lacks = _lacks(outcomes, [one for *_, blamed in cases for one in blamed])
    present = {report: collect.present(source) for report, source in reports.items()}
    for report, rule, rows, blamed in cases:
        found[report].append(_unknown(outcomes, rule, rows, blamed, lacks, present[report]))
    return found


def coverage(outcomes: Outcomes) -> dict[int, Coverage]:
    """Return per report how many rules apply to it, and how many of them were decided for some subject."""
    rules: Counter[int] = Counter()
    judged: Counter[int] = Counter()
    for name, codes in outcomes.codes.items():
        frame = outcomes.frames.scopes[outcomes.program.pack.rules[name].scope]
        rules.update(_reports(frame, codes != NOT_APPLICABLE))
        judged.update(_reports(frame, np.isin(codes, (FIRED, NOT_FIRED, SKIPPED))))
    return {report: Coverage(rules=count, judged=judged[report]) for report, count in rules.items()}


def _reports(frame: Frame, chosen: Any) -> list[int]:
    if chosen.all():
        chosen = slice(None)
    reports: list[int] = np.unique(frame.column("report").to_numpy()[chosen]).tolist()
    return reports


def by_report(frame: Frame, chosen: Any) -> list[tuple[int, Any]]:
    """Return the chosen rows (a mask) of a frame, report by report."""
    rows = np.flatnonzero(chosen)
    if not rows.size:
        return []
    reports = frame.column("report").to_numpy()[rows]
    return [(int(report), rows[reports == report]) for report in np.unique(reports)]


@dataclass(frozen=True)
class Lack:
    """What makes a declaration unknown on some rows.

    Attributes:
        missing: metrics that are unknown.
        absent: those of them that were not collected.
        reasons: why, one line each.
    """

    missing: tuple[str, ...]
    absent: tuple[str, ...]
    reasons: tuple[str, ...]


def _unknown(
    outcomes: Outcomes,
    rule: ast.Rule,
    rows: Any,
    blamed: list[Blamed],
    lacks: Mapping[tuple[str, bytes], Lack],
    present: collect.Present,
) -> Unknown:
    missing: dict[str, None] = {}
    absent: dict[str, None] = {}
    reasons: dict[str, None] = {}
    for declaration, part in blamed:
        if declaration is not rule:
            codes = outcomes.codes.get(declaration.name)
            blocked_ = codes is not None and bool((codes[part] == BLOCKED).any())
            reasons[f"its parent {declaration.name} is {'blocked' if blocked_ else 'unknown'}"] = None
        lack = lacks[declaration.name, part.tobytes()]
        missing.update(dict.fromkeys(lack.missing))
        absent.update(dict.fromkeys(lack.absent))
        reasons.update(dict.fromkeys(lack.reasons))
    pack, tool = outcomes.program.pack, outcomes.frames.tool
    actions = collect.for_metrics(pack, absent, tool, present)
    if absent and not actions:
        actions = collect.options(rule.collect, tool, present)
    return Unknown(
        rule=rule.name,
        title=rule.title,
        missing=list(missing),
        reasons=list(reasons)[:12],
        subjects=int(rows.size),
        collect=actions,
    )


def _lacks(outcomes: Outcomes, blamed: Sequence[Blamed]) -> dict[tuple[str, bytes], Lack]:
    """Find what declarations lack on the rows they are blamed for; each is evaluated once, for all its rows."""
    parts: dict[str, dict[bytes, Any]] = {}
    for declaration, rows in blamed:
        parts.setdefault(declaration.name, {})[rows.tobytes()] = rows
    found: dict[tuple[str, bytes], Lack] = {}
    for declaration in {one.name: one for one, _ in blamed}.values():
        keys = parts[declaration.name]
        patterns = _patterns(outcomes, declaration)
        samples = [_samples(patterns[rows], rows) for rows in keys.values()]
        chosen = np.unique(np.concatenate(samples))
        evaluator = closer_evaluator(outcomes, declaration, chosen)
        steps = [trace.trace(evaluator, when) for when in walk.conditions(declaration)]
        for key, sample in zip(keys, samples, strict=True):
            places = np.searchsorted(chosen, sample).tolist()
            found[declaration.name, key] = _lack(evaluator, steps, places)
    return found


def _lack(evaluator: Evaluator, steps: Sequence[trace.Step], rows: Iterable[int]) -> Lack:
    missing: dict[str, None] = {}
    absent: dict[str, None] = {}
    reasons: dict[str, None] = {}
    for at in rows:
        for step in steps:
            reasons.update(dict.fromkeys(not_computable(evaluator, step, at)))
            for name, (kind, text) in names_missing(evaluator, step, at).items():
                reasons[text] = None
                missing[name] = None
                if kind in NOT_COLLECTED:
                    absent[name] = None
    return Lack(tuple(missing), tuple(absent), tuple(reasons))


def blame(outcomes: Outcomes, rule: ast.Rule, rows: Any, truths: Truths | None = None) -> list[Blamed]:
    """Split unknown rows by what is unknown: the rule's own condition, or the nearest unknown ancestors.

    Args:
        outcomes: of the pass.
        rule: the rule.
        rows: rows of its frame on which it is unknown.
        truths: kept from one call to the next, as rules share parents.

    Returns:
        declarations with rows of their own scope's frame.
    """
    truths = {} if truths is None else truths
    pending: list[Blamed] = [(rule, rows)]
    found: list[Blamed] = []
    seen: set[str] = set()
    while pending:
        declaration, part = pending.pop()
        if declaration.name in seen or not part.size:
            continue
        seen.add(declaration.name)
        scope = declaration.scope
        parents = outcomes.program.parents(declaration)
        own = np.ones(part.size, dtype=bool)
        if parents and not getattr(declaration, "anyway", False):
            total = outcomes.frames.scopes[scope].rows
            unsure: dict[str, Any] = {}
            own = np.zeros(part.size, dtype=bool)
            for parent in parents:
                if (parent, scope) not in truths:
                    column = operators.spread(outcomes.truth_of(parent, scope), total)
                    truths[parent, scope] = operators.tristate(column, total)
                true, unknown = truths[parent, scope]
                own |= true[part]
                unsure[parent.owner] = unsure.get(parent.owner, False) | unknown[part]
            for name, mask in unsure.items():
                above = outcomes.program.owners[name]
                if not isinstance(above, ast.Guard):
                    rows_above = _rows_at(outcomes, scope, above.scope, part[~own & mask])
                    pending.append((above, rows_above))
        if own.any():
            found.append((declaration, part[own]))
    return found


def _rows_at(outcomes: Outcomes, scope: str, other: str, rows: Any) -> Any:
    """Rows of another scope's frame that rows belong to, or that belong to them."""
    if scope == other:
        return rows
    frame = outcomes.frames.scopes[scope]
    if other in frame.wider:
        owner = np.unique(frame.wider[other].owner[rows])
        return owner[owner >= 0]
    for link in frame.members.values():
        if link.scope == other:
            return np.flatnonzero(np.isin(link.owner, rows))
    return np.zeros(0, dtype=np.int64)


def _patterns(outcomes: Outcomes, declaration: ast.Rule | ast.Verdict) -> Any:
    """Return a number per subject that is equal where the same metrics of a declaration are unknown."""
    metrics = outcomes.metrics(declaration.scope)
    pattern = np.zeros(metrics.frame.rows, dtype=np.uint64)
    for bit, name in enumerate(sorted(outcomes.program.metrics_read(declaration))):
        if metrics.pack.metrics[name].kind == "instances":
            continue
        column = metrics.column(name)
        if column.null_count:
            nulls = column.is_null().to_numpy(zero_copy_only=False)
            pattern ^= nulls.astype(np.uint64) << np.uint64(bit % 64)
    return pattern


def _samples(pattern: Any, rows: Any) -> Any:
    """Return one of `rows` per distinct pattern, at most `PATTERNS`."""
    _, first = np.unique(pattern, return_index=True)
    return rows[np.sort(first)[:PATTERNS]]


def blocked(outcomes: Outcomes, report: int) -> list[Blocked]:
    """Return the rules that guards blocked for some subjects of a report, with the guard's reason."""
    return blocked_of_many(outcomes).get(report, [])


def blocked_of_many(outcomes: Outcomes) -> dict[int, list[Blocked]]:
    """Return what `blocked` says of each report of a pass."""
    found: dict[int, list[Blocked]] = {}
    reasons: dict[tuple[str, int], str] = {}
    for name, codes in outcomes.codes.items():
        rule = outcomes.program.pack.rules[name]
        for guard in outcomes.program.guards_of(name) if (codes == BLOCKED).any() else ():
            held = (codes == BLOCKED) & guard_mask(outcomes, guard, rule.scope)
            for report, rows in by_report(outcomes.frames.scopes[rule.scope], held):
                key = (guard.name, report)
                if key not in reasons:
                    reasons[key] = reason(outcomes, guard, report)
                one = Blocked(
                    rule=name,
                    guard=guard.name,
                    reason=reasons[key],
                    subjects=int(rows.size),
                    kernels=_kernels(outcomes.frames.scopes[rule.scope], rows),
                )
                found.setdefault(report, []).append(one)
    return found


def _kernels(frame: Frame, rows: Any) -> list[str]:
    names = pc.unique(frame.column("kernel_short").take(pa.array(rows))).to_pylist()
    return [name for name in names if name][:NAMED_KERNELS]


def reason(outcomes: Outcomes, guard: ast.Guard, report: int) -> str:
    """Return a guard's sentence, filled in for the first subject of a report that it holds for."""
    frame = outcomes.frames.scopes[guard.scope]
    held = outcomes.guards[guard.name] & (frame.column("report").to_numpy() == report)
    rows = np.flatnonzero(held)
    if not rows.size:
        return guard.title
    return render(guard.because, lookup(closer_evaluator(outcomes, guard, [int(rows[0])]), 0))
