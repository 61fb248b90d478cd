"""Interval arithmetic over expressions: between which values can this lie, by the catalogue's valid ranges?

Bounds are exact fractions in base units, or plus / minus infinity. Every interval is a superset of what can
happen: an operand that occurs twice counts as two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from profrx.language import ast
from profrx.language.check.context import Scope
from profrx.language.printer import expr_text
from profrx.language.units import UnitError, unit

Bound = Fraction | float
INF = math.inf


@dataclass(frozen=True)
class Interval:
    """``low .. high``, both ends included where finite."""

    low: Bound = -INF
    high: Bound = INF

    @property
    def bounded(self) -> bool:
        """Whether anything is known."""
        return self.low > -INF or self.high < INF

    def union(self, other: Interval) -> Interval:
        """The hull of both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def intersect(self, other: Interval) -> Interval:
        """What both allow; this one where they exclude each other."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Interval(low, high) if low <= high else self


MAX_BITS = 8192
"""Of a numerator or denominator; the largest double has 1024."""
ANYTHING = Interval()
SHARE = Interval(Fraction(0), Fraction(1))
POSITIVE = Interval(Fraction(0), INF)


def exact(node: ast.Quantity) -> Bound:
    """A literal in base units, exactly as written."""
    return _exact(node.value, node.unit)


@lru_cache(maxsize=4096)
def _exact(value: float, name: str) -> Bound:
    if not math.isfinite(value):
        return value
    try:
        return Fraction(repr(value)) * unit(name).scale
    except UnitError:
        return math.nan


def interval(
    node: ast.Expr,
    scope: Scope,
    params: Callable[[ast.Param], Interval],
    given: Mapping[str, Interval] | None = None,
) -> Interval:
    """Where the value of `node` can lie.

    `params` says what is assumed of a parameter, `given` what is known of names from elsewhere.
    """
    return Ranger(params, given or {}).of(node, scope)


def implied(when: ast.Expr, scope: Scope) -> dict[str, Interval]:
    """What a condition says when it holds: about names (``name < threshold``), and about differences (``a > b``).

    A difference is keyed by its text: ``a - b`` is positive where the condition holds.
    """
    found: dict[str, Interval] = {}
    pending = [when]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Binary) and node.op == "and":
            pending += [node.left, node.right]
        elif isinstance(node, ast.Compare):
            for a, op, b in zip(node.operands, node.ops, node.operands[1:], strict=False):
                if op in ("<", "<=", ">", ">="):
                    larger, smaller = (b, a) if op in ("<", "<=") else (a, b)
                    found[expr_text(ast.Binary("-", larger, smaller))] = POSITIVE
                for name, other, below in ((a, b, op in ("<", "<=")), (b, a, op in (">", ">="))):
                    if isinstance(name, ast.Name) and op in ("<", "<=", ">", ">="):
                        end = interval(other, scope, over_range)
                        limit = Interval(-INF, end.high) if below else Interval(end.low, INF)
                        found[name.name] = found.get(name.name, ANYTHING).intersect(limit)
    return found


def over_range(param: ast.Param) -> Interval:
    """A parameter anywhere in its allowed range; at its default when none is given."""
    at_default = by_default(param)
    if param.valid is None:
        return at_default
    ends = [
        exact(end) if isinstance(end, ast.Quantity) else math.nan
        for end in (param.valid.low, param.valid.high)
    ]
    return at_default if any(end != end for end in ends) else Interval(*ends)


def by_default(param: ast.Param) -> Interval:
    """A parameter at its default."""
    if not isinstance(param.default, ast.Quantity):
        return ANYTHING
    value = exact(param.default)
    return ANYTHING if value != value else Interval(value, value)


def valid_range(metric: ast.Metric) -> Interval:
    """The declared range of a metric: values outside are invalid, so they never reach a condition."""
    if metric.valid is None:
        return ANYTHING
    low, high = (
        exact(e) if isinstance(e, ast.Quantity) else math.nan for e in (metric.valid.low, metric.valid.high)
    )
    return Interval(-INF if low != low else low, INF if high != high else high)


class Ranger:
    """Intervals of expressions of one declaration; those of its lets are found once."""

    def __init__(self, params: Callable[[ast.Param], Interval], given: Mapping[str, Interval]) -> None:
        self.params = params
        self.given = given
        self.lets: dict[int, Interval] = {}

    def of(self, node: ast.Expr, scope: Scope) -> Interval:
        """Where the value of `node` can lie."""
        match node:
            case ast.Quantity():
                value = exact(node)
                return ANYTHING if value != value else Interval(value, value)
            case ast.Name():
                return self.name(node, scope)
            case ast.Unary("-"):
                inner = self.of(node.operand, scope)
                return Interval(-inner.high, -inner.low)
            case ast.Binary():
                left, right = self.of(node.left, scope), self.of(node.right, scope)
                found = _widened(_BINARY[node.op](left, right)) if node.op in _BINARY else ANYTHING
                known = self.given.get(expr_text(node)) if self.given and node.op == "-" else None
                return found.intersect(known) if known is not None else found
            case ast.If():
                return self.of(node.then, scope).union(self.of(node.otherwise, scope))
            case ast.Call():
                return _widened(
                    _call(node.function, [self.of(argument, scope) for argument in node.arguments])
                )
            case ast.Aggregate():
                return self.aggregate(node, scope)
        return ANYTHING

    def name(self, node: ast.Name, scope: Scope) -> Interval:
        """Where what a name stands for can lie, by what is given and what is declared."""
        if scope.members and node.name in ("key", "index", "value"):
            return ANYTHING
        found = self.declared(node, scope)
        return found.intersect(self.given[node.name]) if node.name in self.given else found

    def declared(self, node: ast.Name, scope: Scope) -> Interval:
        """Where what a name stands for can lie by its declaration."""
        found = scope.find(node.name)
        if isinstance(found, ast.Metric):
            return valid_range(found)
        if isinstance(found, ast.Param):
            return self.params(found)
        if isinstance(found, ast.Let):
            if id(found) not in self.lets:
                self.lets[id(found)] = self.of(found.expr, scope.before(found))
            return self.lets[id(found)]
        return ANYTHING

    def aggregate(self, node: ast.Aggregate, scope: Scope) -> Interval:
        """Where an aggregate over members can lie."""
        if node.function in ("share", "topshare"):
            return SHARE
        if node.function == "count":
            return POSITIVE
        inner = self.of(node.expr, scope.inside())
        if node.function == "sum":
            return Interval(Fraction(0) if inner.low >= 0 else -INF, Fraction(0) if inner.high <= 0 else INF)
        return inner


def unwieldy(value: Bound) -> bool:
    """Whether a fraction takes too many digits: 25 lets that square each other would fill the memory."""
    return isinstance(value, Fraction) and (
        value.numerator.bit_length() > MAX_BITS or value.denominator.bit_length() > MAX_BITS
    )


def _widened(found: Interval) -> Interval:
    """The interval, without the ends that are too exact."""
    low, high = found.low, found.high
    if not (unwieldy(low) or unwieldy(high)):
        return found
    return Interval(-INF if unwieldy(low) else low, INF if unwieldy(high) else high)


def _add(a: Interval, b: Interval) -> Interval:
    return Interval(a.low + b.low, a.high + b.high)


def _subtract(a: Interval, b: Interval) -> Interval:
    return Interval(a.low - b.high, a.high - b.low)


def _times(a: Bound, b: Bound) -> Bound:
    return Fraction(0) if a == 0 or b == 0 else a * b


def _hull(values: Iterable[Any]) -> Interval:
    values = list(values)
    return Interval(min(values), max(values))


def _multiply(a: Interval, b: Interval) -> Interval:
    return _hull(_times(x, y) for x in (a.low, a.high) for y in (b.low, b.high))


def _divide(a: Interval, b: Interval) -> Interval:
    """Division by zero is unknown, so a denominator that reaches zero only comes close to it."""
    if b.low < 0 < b.high or (b.low == 0 == b.high):
        return ANYTHING
    if b.high <= 0:
        return _divide(Interval(-a.high, -a.low), Interval(-b.high, -b.low))
    near = INF if b.low == 0 else _inverse(b.low)
    return _multiply(a, Interval(_inverse(b.high), near))


def _inverse(value: Bound) -> Bound:
    return Fraction(0) if math.isinf(value) else 1 / Fraction(value)


_BINARY: dict[str, Callable[[Interval, Interval], Interval]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "??": Interval.union,
}


def _call(name: str, a: list[Interval]) -> Interval:
    if name == "min":
        return Interval(min(x.low for x in a), min(x.high for x in a))
    if name == "max":
        return Interval(max(x.low for x in a), max(x.high for x in a))
    if name == "clamp" and len(a) == 3:
        return _call("min", [_call("max", [a[0], a[1]]), a[2]])
    if name == "abs":
        ends = _hull((abs(a[0].low), abs(a[0].high)))
        return Interval(Fraction(0), ends.high) if a[0].low <= 0 <= a[0].high else ends
    if name in ("ceil", "floor"):
        rounded = math.ceil if name == "ceil" else math.floor
        low, high = (end if math.isinf(end) else Fraction(rounded(end)) for end in (a[0].low, a[0].high))
        return Interval(low, high)
    if name == "sqrt":
        return Interval(_root(a[0].low), _root(a[0].high))
    if name == "amdahl" and len(a) == 2:
        gain = _subtract(
            Interval(Fraction(1), Fraction(1)), _divide(Interval(Fraction(1), Fraction(1)), a[1])
        )
        return _multiply(a[0], gain)
    return ANYTHING


def _root(value: Bound) -> Bound:
    try:
        return Fraction(math.sqrt(max(0.0, float(value))))
    except OverflowError:
        return INF
