"""A declaration seen on a few chosen rows: evaluator, traced condition, what its templates read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from profrx.evaluate import operators, trace
from profrx.evaluate.showing import named, shown_unit
from profrx.language import ast

if TYPE_CHECKING:
    from profrx.evaluate.compile import Evaluator
    from profrx.evaluate.outcomes import Outcomes


@dataclass(frozen=True)
class Closer:
    """A rule seen on its candidates' heaviest subjects only: row i belongs to candidate i.

    Attributes:
        evaluator: over the frame of those subjects.
        step: the traced condition.
    """

    evaluator: Evaluator
    step: trace.Step


def look_closer(outcomes: Outcomes, rule: ast.Rule | ast.Verdict | ast.Guard, rows: Sequence[int]) -> Closer:
    """Evaluate a declaration's condition on some rows and keep every part's value."""
    evaluator = closer_evaluator(outcomes, rule, rows)
    condition = rule.rows[0].when if isinstance(rule, ast.Verdict) else rule.when
    return Closer(evaluator, trace.trace(evaluator, condition))


def closer_evaluator(outcomes: Outcomes, rule: ast.Rule | ast.Verdict | ast.Guard, rows: Any) -> Evaluator:
    """Return an evaluator over some rows of a declaration's frame, guards on metrics included."""
    frame = outcomes.frames.scopes[rule.scope]
    at = np.asarray(rows, dtype=np.int64)
    whole = outcomes.metrics(rule.scope)
    some = frame.take(at)
    if some is frame:
        return outcomes.evaluator(rule, whole)
    part = whole.some(some, at)
    evaluator = outcomes.evaluator(rule, part)
    full = evaluator.fired
    evaluator.fired = lambda name: _picked(full(name) if full else operators.UNDECIDED, at)
    return evaluator


def _picked(column: Any, at: Any) -> Any:
    return column if isinstance(column, pa.Scalar) else column.take(pa.array(at))


def lookup(evaluator: Evaluator, row: int) -> Callable[[str], tuple[Any, str]]:
    """Return what a template's names mean on a row."""

    def find(name: str) -> tuple[Any, str]:
        expr = named(name)
        known = evaluator.let(name) or evaluator.param(name) or name in evaluator.metrics.pack.metrics
        if not known:
            return None, ""
        column = operators.spread(evaluator.value(expr), evaluator.rows)
        return column[row].as_py(), shown_unit(evaluator, expr)

    return find
