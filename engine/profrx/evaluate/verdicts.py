"""Verdicts of one report as rows to show: per kernel, the row of each decision table that holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profrx.evaluate import evidence, trace
from profrx.evaluate.closer import closer_evaluator, lookup
from profrx.evaluate.group import base_times
from profrx.evaluate.lacking import missing as missing_names
from profrx.evaluate.outcomes import guard_mask, suppliable
from profrx.language import walk
from profrx.language.template import render
from profrx.report.model import VerdictOf
from profrx.report.verdicts import UNNAMED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profrx.evaluate.outcomes import Outcomes
    from profrx.language import ast

MAX_KERNELS = 500
"""Groups per decision table that are worked out, the heaviest first."""


def verdicts(outcomes: Outcomes, report: int) -> list[VerdictOf]:
    """Return the verdicts on a report's subjects: the finest table (most rows) first, heaviest subjects first."""
    return verdicts_of_many(outcomes).get(report, [])


def verdicts_of_many(outcomes: Outcomes) -> dict[int, list[VerdictOf]]:
    """Return the verdicts on the subjects of every report of a pass; see `verdicts`."""
    bases = base_times(outcomes)
    found: dict[int, list[VerdictOf]] = {}
    tables = outcomes.program.pack.verdicts
    for name in sorted(outcomes.held, key=lambda name: -len(tables[name].rows)):
        for report, one in _of_table(outcomes, tables[name], outcomes.held[name], bases):
            found.setdefault(report, []).append(one)
    return found


def _of_table(
    outcomes: Outcomes, verdict: ast.Verdict, held: object, bases: dict[int, float]
) -> list[tuple[int, VerdictOf]]:
    frame = outcomes.frames.scopes[verdict.scope]
    code = np.asarray(held)
    here = np.flatnonzero(
        (code >= 0) | suppliable(outcomes.program, verdict, outcomes.metrics(verdict.scope))
    )
    reports = frame.column("report").to_numpy()
    weights = np.nan_to_num(frame.weights, nan=0.0)
    keys = frame.groups[here] * (len(verdict.rows) + 1) + code[here] + 1
    _, group = np.unique(keys, return_inverse=True)
    time = np.bincount(group, weights=weights[here])
    by_group = here[np.argsort(group, kind="stable")]
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    owner, order = reports[by_group[starts]], np.argsort(-time, kind="stable")
    leads, members = [], []
    for report in np.unique(owner):
        for one in order[owner[order] == report][:MAX_KERNELS].tolist():
            rows = by_group[starts[one] : starts[one] + sizes[one]]
            members.append(rows)
            leads.append(int(rows[np.argmax(weights[rows])]))
    if not leads:
        return []
    evaluator = closer_evaluator(outcomes, verdict, leads)
    steps = [trace.trace(evaluator, when) for when in walk.conditions(verdict)]
    doubts = _doubts(outcomes, verdict, leads)
    subjects = frame.subjects.take(leads).to_pylist()
    nameless = UNNAMED if verdict.scope in ("launch", "kernel") else ""
    subject_id = frame.column("subject_id").to_numpy()
    found = []
    for at, (lead, rows, subject) in enumerate(zip(leads, members, subjects, strict=True)):
        total = float(weights[rows].sum())
        base = bases.get(int(reports[lead]))
        index = int(code[lead])
        row = verdict.rows[index] if index >= 0 else None
        if row is not None:
            lines = evidence.evidence(evaluator, steps[index], at)
            because = render(row.because, lookup(evaluator, at))
        else:
            names = {name: None for step in steps for name in missing_names(evaluator, step, at)}
            lines = []
            because = "Not known: " + (", ".join(f"`{name}`" for name in names) or "its inputs") + "."
        guard, doubt = doubts.get(at, (None, "")) if row is not None else (None, "")
        one = VerdictOf(
            kernel=subject["kernel"] or nameless or subject["subject"] or "",
            short=subject["kernel_short"] or nameless or subject["subject"] or "",
            launches=subject_id[rows].tolist(),
            verdict=row.name if row is not None else "unknown",
            table=verdict.name,
            title=(row.title or row.name) if row is not None else "Unknown",
            because=because,
            guard=guard,
            doubt=doubt,
            time_share=min(total / base, 1.0) if base and total > 0 else None,
            evidence=lines,
        )
        found.append((int(reports[lead]), one))
    return found


def _doubts(outcomes: Outcomes, verdict: ast.Verdict, leads: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Return (guard, its sentence and first fix) by place in `leads`, where a guard that blocks the table holds."""
    found: dict[int, tuple[str, str]] = {}
    for guard in outcomes.program.guards_of(verdict.name):
        mask = guard_mask(outcomes, guard, verdict.scope)
        places = [at for at, lead in enumerate(leads) if mask[lead] and at not in found]
        if not places:
            continue
        own = guard.scope == verdict.scope
        evaluator = closer_evaluator(outcomes, guard, [leads[at] for at in places]) if own else None
        for row, at in enumerate(places):
            texts = (guard.because, *guard.fix[:1])
            said = (
                [render(text, lookup(evaluator, row)) for text in texts] if evaluator else [guard.title + "."]
            )
            found[at] = (guard.name, " ".join(said))
    return found
