"""Symptoms: findings that a rule which fired on the same subject explains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from profrx.evaluate.operators import tristate

if TYPE_CHECKING:
    from profrx.evaluate.outcomes import Outcomes


def suppress(outcomes: Outcomes) -> None:
    """Mark fired symptoms: subjects on which a rule that `suppresses` another one fired too."""
    for name in outcomes.program.order:
        rule = outcomes.program.pack.rules.get(name)
        fired = outcomes.fired.get(name)
        if rule is None or fired is None:
            continue
        for target in rule.suppresses:
            symptom = outcomes.fired.get(target.rule)
            if symptom is None or outcomes.program.pack.rules[target.rule].scope != rule.scope:
                continue
            rows = fired.rows
            if target.when is not None:
                held, _ = tristate(
                    outcomes.evaluator(rule).column(target.when), outcomes.frames.scopes[rule.scope].rows
                )
                rows = rows[held[rows]]
            # rules that suppress each other in a circle: the earliest stands
            for root, part in standing(outcomes, name, rows):
                if root == target.rule:
                    rows = np.setdiff1d(rows, part)
            hits = np.isin(symptom.rows, rows, assume_unique=True) & (symptom.explained_by < 0)
            if hits.any():
                symptom.explained_by = symptom.explained_by.copy()
                symptom.explained_by[hits] = len(symptom.suppressors)
                symptom.suppressors.append(name)


def standing(outcomes: Outcomes, name: str, rows: Any) -> list[tuple[str, Any]]:
    """Return which rule stands behind `name` on rows it fired on: itself, or the last of those that explain it."""
    found: list[tuple[str, Any]] = []
    pending = [(name, rows)]
    while pending:
        rule, part = pending.pop()
        fired = outcomes.fired[rule]
        by = fired.explained_by[np.searchsorted(fired.rows, part)]
        if (by < 0).any():
            found.append((rule, part[by < 0]))
        pending.extend(
            (fired.suppressors[index], part[by == index]) for index in np.unique(by[by >= 0]).tolist()
        )
    return found
