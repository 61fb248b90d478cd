"""How a compared value spreads over the launches of each finding of one rule: evaluated once per rule."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from profrx.evaluate import operators
from profrx.evaluate.closer import closer_evaluator
from profrx.evaluate.quantity import from_base
from profrx.evaluate.showing import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profrx.evaluate.compile import Evaluator
    from profrx.evaluate.group import Candidate
    from profrx.evaluate.outcomes import Outcomes
    from profrx.language import ast


class Spread:
    """Values of expressions over all subjects of a rule's candidates.

    Args:
        outcomes: of the pass.
        members: the rule's candidates, in the order that `text` counts them.
    """

    def __init__(self, outcomes: Outcomes, members: Sequence[Candidate]) -> None:
        self._outcomes = outcomes
        self._members = members
        self._bounds = np.cumsum([0, *(len(one.rows) for one in members)])
        self._kept: dict[str, Any] = {}

    @cached_property
    def _evaluator(self) -> Evaluator:
        rows = np.concatenate([one.rows for one in self._members])
        return closer_evaluator(self._outcomes, self._members[0].rule, rows)

    def text(self, at: int, expr: ast.Expr, unit: str) -> str:
        """Return ``12 .. 34 % over 5 launches`` for a candidate, empty where the value does not vary."""
        if len(self._members[at].rows) < 2:
            return ""
        name = text_of(expr)
        if name not in self._kept:
            self._kept[name] = operators.as_floats(self._evaluator.value(expr), self._evaluator.rows)
        values = self._kept[name][self._bounds[at] : self._bounds[at + 1]]
        values = values[~np.isnan(values)]
        if not values.size or values.min() == values.max():
            return ""
        low, high = (from_base(float(value), unit) for value in (values.min(), values.max()))
        shown = f" {unit}" if unit and unit != "ratio" else ""
        return f"{low:.4g} .. {high:.4g}{shown} over {values.size} launches"
