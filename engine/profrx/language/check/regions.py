"""Exact reasoning over conditions: the space of inputs cut into cells in which no condition changes.

A condition depends on a value only through its order among the thresholds and among the values it is compared
with. So it is enough to try, for each input, every threshold itself and enough points between neighbours to
realise every order; and `unknown`. That is a proof and not a sample, as long as the inputs are independent:
`Space.exact` says whether they are (``a`` and ``a / b`` are not).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from profrx.language.check.formula import Always, And, Atom, Formula, Not, Or, Order, Simple, Value, Variable
from profrx.language.check.intervals import Interval

MAX_CELLS = 500_000
"""More cells than this are not looked at: the answer is then `too_large`."""
MAX_WORK = 50 * MAX_CELLS
"""Cells times comparisons."""
OTHER = "\x00any other text"

Cell = dict[Variable, Value]


class Space:
    """The inputs of some formulas and the values of each that matter.

    Attributes:
        variables: the inputs.
        candidates: per variable, the values to try; None is unknown.
        groups: inputs that are compared with each other, directly or through others.
        exact: the inputs are independent of each other.
        too_large: there are more cells than are looked at.
    """

    def __init__(self, formulas: Sequence[Formula]) -> None:
        atoms = list(_atoms(formulas))
        self.variables = variables(formulas)
        thresholds: dict[Variable, set[Any]] = {
            variable: _ends(variable.range) for variable in self.variables
        }
        linked = {variable: {variable} for variable in self.variables}
        for atom in atoms:
            if isinstance(atom, Simple):
                thresholds[atom.variable] |= atom.texts
            elif isinstance(atom.right, Variable):
                group = linked[atom.left] | linked[atom.right]
                linked.update(dict.fromkeys(group, group))
            else:
                thresholds[atom.left].add(atom.right)
        self.candidates = [
            _candidates(
                variable, set().union(*(thresholds[v] for v in linked[variable])), len(linked[variable])
            )
            for variable in self.variables
        ]
        self.groups = [list(group) for group in {id(group): group for group in linked.values()}.values()]
        self.exact = not any(a.inputs & b.inputs for a, b in combinations(self.variables, 2))
        cells = math.prod(map(len, self.candidates))
        self.too_large = cells > MAX_CELLS or cells * len(atoms) > MAX_WORK
        self._memo: dict[int, tuple[Any, Any]] = {}

    def truth(self, formula: Formula) -> tuple[Any, Any]:
        """Where a formula is true and where it is false: two boolean arrays with an axis for each variable."""
        if id(formula) not in self._memo:
            self._memo[id(formula)] = self._truth(formula)
        return self._memo[id(formula)]

    def _truth(self, formula: Formula) -> tuple[Any, Any]:
        match formula:
            case Always(value):
                return np.array(value), np.array(not value)
            case And(parts):
                trues, falses = zip(*map(self.truth, parts), strict=True)
                return reduce(np.logical_and, trues), reduce(np.logical_or, falses)
            case Or(parts):
                trues, falses = zip(*map(self.truth, parts), strict=True)
                return reduce(np.logical_or, trues), reduce(np.logical_and, falses)
            case Not(part):
                true, false = self.truth(part)
                return false, true
            case Order() | Simple():
                return self._atom(formula)
        raise TypeError(formula)

    def _atom(self, atom: Atom) -> tuple[Any, Any]:
        axes = [self.variables.index(variable) for variable in atom.variables]
        first = self.candidates[axes[0]]
        if isinstance(atom, Order) and len(axes) == 2:
            table = np.array([[_code(atom.holds(a, b)) for b in self.candidates[axes[1]]] for a in first])
            if axes[0] > axes[1]:
                table = table.T
        elif isinstance(atom, Order):
            table = _ordered(first, atom)
        else:
            table = np.array([_code(atom.holds(value)) for value in first])
        shape = [len(values) if axis in axes else 1 for axis, values in enumerate(self.candidates)]
        table = table.reshape(shape)
        return table == 1, table == 0

    def full(self, array: Any) -> Any:
        """An array over all cells."""
        return np.broadcast_to(array, [len(values) for values in self.candidates])

    def witness(self, where: Any) -> Cell | None:
        """A cell at which an array holds: one with all inputs known, if there is any."""
        found = self.full(where)
        if not found.any():
            return None
        known = found
        for axis, values in enumerate(self.candidates):
            keep = np.array([value is not None for value in values]).reshape(
                [-1 if axis == other else 1 for other in range(len(self.candidates))]
            )
            known = known & keep
        index = np.unravel_index(int(np.argmax(known if known.any() else found)), found.shape)
        return {
            v: self.candidates[axis][i] for axis, (v, i) in enumerate(zip(self.variables, index, strict=True))
        }

    def possible(self, formula: Formula) -> bool:
        """Whether a formula can be true."""
        return bool(self.truth(formula)[0].any())


def variables(formulas: Sequence[Formula]) -> list[Variable]:
    """The inputs of some formulas."""
    return list(dict.fromkeys(variable for atom in _atoms(formulas) for variable in atom.variables))


def parts(formula: Formula) -> int:
    """How much there is to look at in a formula: its nodes and their links, what is shared once."""
    pending, seen, count = [formula], set(), 0
    while pending:
        one = pending.pop()
        count += 1
        if id(one) in seen:
            continue
        seen.add(id(one))
        match one:
            case And(below) | Or(below):
                pending += below
            case Not(below):
                pending.append(below)
    return count


def _atoms(formulas: Sequence[Formula]) -> Iterator[Atom]:
    pending, seen = list(formulas), set()
    while pending:
        formula = pending.pop()
        if id(formula) in seen:
            continue
        seen.add(id(formula))
        match formula:
            case And(parts) | Or(parts):
                pending += parts
            case Not(part):
                pending.append(part)
            case Order() | Simple():
                yield formula


def _ordered(values: Sequence[Value], atom: Order) -> Any:
    """`_code` of a comparison with one threshold at ascending values, by where the threshold stands among them."""
    known: Sequence[Any] = values[:-1] if values and values[-1] is None else values
    below, upto = bisect_left(known, atom.right), bisect_right(known, atom.right)
    order = np.ones(len(known), dtype=np.int8)
    order[:upto], order[:below] = 0, -1
    table = np.full(len(values), -1, dtype=np.int8)
    table[: len(known)] = _OUTCOMES[atom.op](order, 0)
    return table


_OUTCOMES = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
"""What an operator makes of -1, 0, 1: smaller, equal, larger."""


def _code(outcome: bool | None) -> int:
    return -1 if outcome is None else int(outcome)


def _ends(range_: Interval) -> set[Any]:
    return {end for end in (range_.low, range_.high) if isinstance(end, Fraction)}


def _candidates(variable: Variable, thresholds: set[Any], points: int) -> list[Value]:
    """The values of one input that matter; `points` of them between neighbouring thresholds."""
    unknown: list[Value] = [] if variable.param else [None]
    if variable.kind == "bool":
        return [True, False, *unknown]
    if variable.kind == "text":
        return [*sorted(thresholds), OTHER, *unknown]
    low, high = variable.range.low, variable.range.high
    known = sorted(thresholds)
    values: list[Fraction] = []
    if not known:
        values = [Fraction(point) for point in range(points)]
    else:
        values += [known[0] - 1 - point for point in range(points)]
        for a, b in pairwise(known):
            values += [a, *(a + (b - a) * Fraction(point, points + 1) for point in range(1, points + 1))]
        values += [known[-1], *(known[-1] + 1 + point for point in range(points))]
    return [*sorted(value for value in values if low <= value <= high), *unknown]
