"""What the rules alone say of an expression, kept between reports: what it reads, its parts, the unit to show.

Rules are judged over thousands of reports in one process, and walking their expressions again for each costs
more than evaluating them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from profrx.evaluate.compile import Evaluator
    from profrx.language import ast

    Notes = dict[tuple[Any, ...], tuple[Any, tuple[ast.Expr, ...]]]
    """(function, identities of expressions) -> what it says, and the expressions, so that identities stay theirs."""

T = TypeVar("T")

MAX_NOTES = 10_000
"""Notes kept of one declaration; beyond, they are written anew."""


def noted(function: Callable[..., T]) -> Callable[..., T]:
    """Keep what a function of (evaluator, expressions) returns: it must depend on the evaluator's declaration only."""

    @wraps(function)
    def answer(evaluator: Evaluator, *exprs: ast.Expr) -> T:
        notes = evaluator.notes
        key = (function, *map(id, exprs))
        found = notes.get(key)
        if found is None:
            if len(notes) >= MAX_NOTES:
                notes.clear()
            found = notes[key] = (function(evaluator, *exprs), exprs)
        said: T = found[0]
        return said

    return answer
