"""Verdicts of one report as rows to show: per kernel, the row of each decision table that holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profrx.evaluate import evidence, trace
from profrx.evaluate.closer import closer_evaluator, lookup
from profrx.evaluate.group import base_times
from profrx.evaluate.lacking import missing as missing_names
from profrx.evaluate.outcomes import suppliable
from profrx.language import walk
from profrx.language.template import render
from profrx.report.model import VerdictOf
from profrx.report.verdicts import UNNAMED

if TYPE_CHECKING:
    from profrx.evaluate.outcomes import Outcomes
    from profrx.language import ast

MAX_KERNELS = 500
"""Groups per decision table that are worked out, the heaviest first."""


def verdicts(outcomes: Outcomes, report: int) -> list[VerdictOf]:
    """Return the verdicts on a report's subjects: the finest table (most rows) first, heaviest subjects first."""
    base = base_times(outcomes).get(report)
    found: list[VerdictOf] = []
    tables = outcomes.program.pack.verdicts
    for name in sorted(outcomes.held, key=lambda name: -len(tables[name].rows)):
        found.extend(_of_table(outcomes, tables[name], outcomes.held[name], report, base))
    return found


def _of_table(
    outcomes: Outcomes, verdict: ast.Verdict, held: object, report: int, base: float | None
) -> list[VerdictOf]:
    frame = outcomes.frames.scopes[verdict.scope]
    code = np.asarray(held)
    judged = (code >= 0) | suppliable(outcomes.program, verdict, outcomes.metrics(verdict.scope))
    here = np.flatnonzero((frame.column("report").to_numpy() == report) & judged)
    weights = np.nan_to_num(frame.weights, nan=0.0)
    keys = frame.groups[here] * (len(verdict.rows) + 1) + code[here] + 1
    _, group = np.unique(keys, return_inverse=True)
    time = np.bincount(group, weights=weights[here])
    order = np.argsort(-time, kind="stable")[:MAX_KERNELS]
    leads, members = [], []
    for one in order.tolist():
        rows = here[group == one]
        members.append(rows)
        leads.append(int(rows[np.argmax(weights[rows])]))
    if not leads:
        return []
    evaluator = closer_evaluator(outcomes, verdict, leads)
    steps = [trace.trace(evaluator, when) for when in walk.conditions(verdict)]
    subjects = frame.subjects.take(leads).to_pylist()
    nameless = UNNAMED if verdict.scope in ("launch", "kernel") else ""
    found = []
    for at, (lead, rows, subject) in enumerate(zip(leads, members, subjects, strict=True)):
        total = float(weights[rows].sum())
        index = int(code[lead])
        row = verdict.rows[index] if index >= 0 else None
        if row is not None:
            lines = evidence.evidence(evaluator, steps[index], at)
            because = render(row.because, lookup(evaluator, at))
        else:
            names = {name: None for step in steps for name in missing_names(evaluator, step, at)}
            lines = []
            because = "Not known: " + (", ".join(names) or "its inputs") + "."
        found.append(
            VerdictOf(
                kernel=subject["kernel"] or nameless or subject["subject"] or "",
                short=subject["kernel_short"] or nameless or subject["subject"] or "",
                launches=frame.column("subject_id").to_numpy()[rows].tolist(),
                verdict=row.name if row is not None else "unknown",
                table=verdict.name,
                title=(row.title or row.name) if row is not None else "Unknown",
                because=because,
                time_share=min(total / base, 1.0) if base and total > 0 else None,
                evidence=lines,
            )
        )
    return found
