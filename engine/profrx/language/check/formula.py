"""Conditions as formulas over independent inputs, for exact reasoning in `regions`.

A comparison becomes an `Order` between an input and a threshold, or between two inputs. What cannot be taken apart
(``a / b``, an aggregate, ``min(a, b)``) is an input of its own; it remembers the metrics inside, because two inputs
over one metric are not independent. Formulas and their compiler stand in one module, because each is only read with the
other.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, cast

from profrx.language import ast
from profrx.language.check.context import Scope
from profrx.language.check.intervals import Interval, Ranger, by_default, exact, over_range, unwieldy
from profrx.language.printer import expr_text
from profrx.language.walk import children

MAX_NESTING = 150
"""Formulas nested deeper are not reasoned about."""

Value = Fraction | str | bool | None
"""Of an input; None is unknown."""

_OPS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


class TooComplex(Exception):
    """Raised when a condition is beyond what is reasoned about."""


@dataclass(frozen=True)
class Variable:
    """An input: a metric, or an expression that is not taken apart.

    Attributes:
        key: equal for equal expressions, whatever lets they are written with.
        text: as the author wrote it.
        inputs: metrics inside.
        range: where its value can lie.
        unit: to show values in.
        param: it is a parameter: never unknown.
    """

    key: int
    kind: Literal["number", "text", "bool"] = field(compare=False)
    text: str = field(compare=False)
    inputs: frozenset[str] = field(compare=False)
    range: Interval = field(default_factory=Interval, compare=False)
    unit: str = field(default="", compare=False)
    param: bool = field(default=False, compare=False)


class Formula:
    """A three-valued condition."""

    nesting = 0


@dataclass(frozen=True)
class Always(Formula):
    """A constant."""

    value: bool


@dataclass(frozen=True)
class And(Formula):
    """All parts."""

    parts: tuple[Formula, ...]

    def __post_init__(self) -> None:
        _nest(self, self.parts)


@dataclass(frozen=True)
class Or(Formula):
    """Any part."""

    parts: tuple[Formula, ...]

    def __post_init__(self) -> None:
        _nest(self, self.parts)


@dataclass(frozen=True)
class Not(Formula):
    """The opposite."""

    part: Formula

    def __post_init__(self) -> None:
        _nest(self, (self.part,))


def _nest(node: Formula, parts: tuple[Formula, ...]) -> None:
    object.__setattr__(node, "nesting", 1 + max(part.nesting for part in parts))
    if node.nesting > MAX_NESTING:
        raise TooComplex


@dataclass(frozen=True)
class Order(Formula):
    """`left` compared with a threshold or with another input."""

    left: Variable
    op: str
    right: Variable | Fraction

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The inputs compared."""
        return (self.left, self.right) if isinstance(self.right, Variable) else (self.left,)

    def holds(self, left: Value, right: Value = None) -> bool | None:
        """Whether it holds at these values."""
        other = right if isinstance(self.right, Variable) else self.right
        if left is None or other is None:
            return None
        return _OPS[self.op](cast(Fraction, left), cast(Fraction, other))


@dataclass(frozen=True)
class Simple(Formula):
    """A condition on one input that has no order: text in a set, a condition of its own, whether it is known.

    Attributes:
        test: ``in`` (text in `texts`), ``true`` (a condition), ``known``, ``always`` / ``never`` (when known).
    """

    variable: Variable
    test: Literal["in", "true", "known", "always", "never"]
    texts: frozenset[str] = frozenset()

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The one input."""
        return (self.variable,)

    def holds(self, value: Value) -> bool | None:
        """Whether it holds at this value."""
        if self.test == "known":
            return value is not None
        if value is None:
            return None
        if self.test == "in":
            return value in self.texts
        return bool(value) if self.test == "true" else self.test == "always"


Atom = Order | Simple


def constant(formula: Formula) -> bool | None:
    """The value of a formula without inputs; None when it has any."""
    match formula:
        case Always():
            return formula.value
        case Not():
            inner = constant(formula.part)
            return None if inner is None else not inner
        case And() | Or():
            values = [constant(part) for part in formula.parts]
            if None in values:
                return None
            return all(values) if isinstance(formula, And) else any(values)
    return None


@dataclass(frozen=True)
class Linear:
    """``factor * variable + offset``; without a variable a constant."""

    factor: Fraction
    variable: Variable | None
    offset: Fraction


class Compiler:
    """Turns conditions of one pack into formulas over shared inputs.

    Attributes:
        free: parameters are inputs of their own, anywhere in their range; else they stand at their default.
        at: values of some parameters instead of their defaults, by name.
    """

    def __init__(self, free: bool = False, at: Mapping[str, Fraction] | None = None) -> None:
        self.free = free
        self.at = at or {}
        self.ranger = Ranger(over_range if free else by_default, {})
        self.keys: dict[object, int] = {}
        self.let_keys: dict[int, int] = {}
        self.let_linear: dict[int, Linear] = {}
        self.let_formula: dict[int, Formula] = {}
        self.let_inputs: dict[int, frozenset[str]] = {}

    # --- conditions ----------------------------------------------------------------------------------------

    def condition(self, node: ast.Expr, scope: Scope) -> Formula:
        """The formula of a condition.

        Raises:
            TooComplex: it nests too deeply.
        """
        match node:
            case ast.Bool():
                return Always(node.value)
            case ast.Unary("not"):
                return Not(self.condition(node.operand, scope))
            case ast.Binary("and" | "or"):
                parts = (self.condition(node.left, scope), self.condition(node.right, scope))
                return And(parts) if node.op == "and" else Or(parts)
            case ast.Compare():
                pairs = zip(node.operands, node.ops, node.operands[1:], strict=False)
                return _and([self.order(a, op, b, scope) for a, op, b in pairs])
            case ast.In():
                return self._membership(node, scope)
            case ast.If():
                condition = self.condition(node.condition, scope)
                then, otherwise = self.condition(node.then, scope), self.condition(node.otherwise, scope)
                agree = And((then, otherwise))  # decides even where the condition is unknown
                return Or((And((condition, then)), And((Not(condition), otherwise)), agree))
            case ast.Call("known") if len(node.arguments) == 1:
                return Simple(self.variable(node.arguments[0], scope, "number"), "known")
            case ast.Name():
                found = None if scope.members else scope.find(node.name)
                if isinstance(found, ast.Let):
                    if id(found) not in self.let_formula:
                        self.let_formula[id(found)] = self.condition(found.expr, scope.before(found))
                    return self.let_formula[id(found)]
        return Simple(self.variable(node, scope, "bool"), "true")

    def _membership(self, node: ast.In, scope: Scope) -> Formula:
        if node.is_range:
            low, high = node.items
            return And(
                (self.order(low, "<=", node.operand, scope), self.order(node.operand, "<=", high, scope))
            )
        if all(isinstance(item, ast.Text) for item in node.items):
            texts = frozenset(item.value for item in node.items if isinstance(item, ast.Text))
            return Simple(self.variable(node.operand, scope, "text"), "in", texts)
        return _or([self.order(node.operand, "==", item, scope) for item in node.items])

    def order(self, a: ast.Expr, op: str, b: ast.Expr, scope: Scope) -> Formula:
        """The formula of one comparison."""
        for one, other, turned in ((a, b, op), (b, a, _FLIPPED[op])):
            if isinstance(other, ast.Text):
                texts = Simple(self.variable(one, scope, "text"), "in", frozenset({other.value}))
                return Not(texts) if op == "!=" else texts
            default, inner = self._default(one, scope)
            if default is not None:
                known = Simple(self.variable(default.left, inner, "number"), "known")
                left = self._between(self.linear(default.left, inner), turned, self.linear(other, scope))
                right = self._between(self.linear(default.right, inner), turned, self.linear(other, scope))
                return Or((And((known, left)), And((Not(known), right))))
        return self._between(self.linear(a, scope), op, self.linear(b, scope))

    def _default(self, node: ast.Expr, scope: Scope) -> tuple[ast.Binary | None, Scope]:
        """``x ?? d`` behind any number of lets."""
        while isinstance(node, ast.Name) and not scope.members:
            found = scope.find(node.name)
            if not isinstance(found, ast.Let):
                break
            node, scope = found.expr, scope.before(found)
        return (node if isinstance(node, ast.Binary) and node.op == "??" else None), scope

    def _between(self, a: Linear, op: str, b: Linear) -> Formula:
        if a.variable is None and b.variable is None:
            return Always(_OPS[op](a.offset, b.offset))
        if b.variable is None or a.variable is None:
            if a.variable is None:
                a, b, op = b, a, _FLIPPED[op]
            assert a.variable is not None
            turned = op if a.factor > 0 else _FLIPPED[op]
            return Order(a.variable, turned, (b.offset - a.offset) / a.factor)
        if a.variable == b.variable:
            factor = a.factor - b.factor
            if factor == 0:
                return Simple(a.variable, "always" if _OPS[op](a.offset, b.offset) else "never")
            return Order(a.variable, op if factor > 0 else _FLIPPED[op], (b.offset - a.offset) / factor)
        if a.factor == b.factor and a.offset == b.offset:
            return Order(a.variable, op if a.factor > 0 else _FLIPPED[op], b.variable)
        key = self._key(("difference", a, b))
        text = f"{a.variable.text} against {b.variable.text}"
        return Order(Variable(key, "number", text, a.variable.inputs | b.variable.inputs), op, Fraction(0))

    # --- inputs --------------------------------------------------------------------------------------------

    def linear(self, node: ast.Expr, scope: Scope) -> Linear:
        """An expression as a multiple of one input, plus a constant."""
        match node:
            case ast.Quantity():
                value = exact(node)
                if isinstance(value, Fraction):
                    return Linear(Fraction(0), None, value)
            case ast.Name() if not scope.members:
                found = scope.find(node.name)
                if isinstance(found, ast.Param) and found.name in self.at:
                    return Linear(Fraction(0), None, self.at[found.name])
                if isinstance(found, ast.Param) and not self.free and isinstance(found.default, ast.Quantity):
                    return self.linear(found.default, scope)
                if isinstance(found, ast.Let):
                    if id(found) not in self.let_linear:
                        self.let_linear[id(found)] = self.linear(found.expr, scope.before(found))
                    return self.let_linear[id(found)]
            case ast.Unary("-"):
                inner = self.linear(node.operand, scope)
                return Linear(-inner.factor, inner.variable, -inner.offset)
            case ast.Binary("+" | "-" | "*" | "/"):
                made = self._arithmetic(node, self.linear(node.left, scope), self.linear(node.right, scope))
                if made is not None and not (unwieldy(made.factor) or unwieldy(made.offset)):
                    return made
        return Linear(Fraction(1), self.variable(node, scope, "number"), Fraction(0))

    def _arithmetic(self, node: ast.Binary, a: Linear, b: Linear) -> Linear | None:
        if node.op == "-":
            b = Linear(-b.factor, b.variable, -b.offset)
        if node.op in ("+", "-"):
            if a.variable is not None and b.variable is not None and a.variable != b.variable:
                return None
            factor, variable = a.factor + b.factor, a.variable or b.variable
            return Linear(factor, variable, a.offset + b.offset) if factor or variable is None else None
        if node.op == "*" and a.variable is None:
            a, b = b, a
        if b.variable is not None or b.offset == 0:
            return None
        factor = b.offset if node.op == "*" else 1 / b.offset
        return Linear(a.factor * factor, a.variable, a.offset * factor)

    def variable(self, node: ast.Expr, scope: Scope, kind: Literal["number", "text", "bool"]) -> Variable:
        """The input that an expression is when it is not taken apart."""
        range_, unit, param = Interval(), "", False
        found = scope.find(node.name) if isinstance(node, ast.Name) and not scope.members else None
        if isinstance(found, ast.Let):
            return self.variable(found.expr, scope.before(found), kind)
        if isinstance(found, ast.Metric):
            unit, kind = found.unit, "text" if found.kind == "text" else kind
        elif isinstance(found, ast.Param):
            unit = found.default.unit if isinstance(found.default, ast.Quantity) else ""
            param = True
        if kind == "number":
            range_ = self.ranger.of(node, scope)
        return Variable(
            self.key(node, scope), kind, expr_text(node), self.inputs(node, scope), range_, unit, param
        )

    def inputs(self, node: ast.Expr, scope: Scope) -> frozenset[str]:
        """Metrics, raw counters and free parameters inside an expression."""
        if isinstance(node, ast.Name):
            found = scope.find(node.name)
            if isinstance(found, ast.Let) and not scope.members:
                if id(found) not in self.let_inputs:
                    self.let_inputs[id(found)] = self.inputs(found.expr, scope.before(found))
                return self.let_inputs[id(found)]
            if isinstance(found, ast.Param) and not self.free:
                return frozenset()
            return frozenset({node.name})
        own = (
            {node.name}
            if isinstance(node, ast.Raw)
            else {node.metric}
            if isinstance(node, ast.Aggregate)
            else set()
        )
        return frozenset(own).union(*(self.inputs(part, scope) for part in children(node)))

    def key(self, node: ast.Expr, scope: Scope) -> int:
        """A number that equal expressions share; a let counts as what it stands for."""
        if isinstance(node, ast.Name) and not scope.members:
            found = scope.find(node.name)
            if isinstance(found, ast.Let):
                if id(found) not in self.let_keys:
                    self.let_keys[id(found)] = self.key(found.expr, scope.before(found))
                return self.let_keys[id(found)]
            owner = scope.owner.name if isinstance(found, ast.Param) and "." not in node.name else ""
            return self._key(("name", node.name, owner))
        parts = tuple(self.key(part, scope) for part in children(node))
        if not parts:
            return self._key(node)
        return self._key((type(node).__name__, _label(node), parts))

    def _key(self, structure: object) -> int:
        return self.keys.setdefault(structure, len(self.keys))


def _label(node: ast.Expr) -> object:
    match node:
        case ast.Unary() | ast.Binary():
            return node.op
        case ast.Compare():
            return node.ops
        case ast.In():
            return node.is_range
        case ast.Matches():
            return node.pattern, node.glob
        case ast.Call():
            return node.function
        case ast.Choice():
            return node.function, node.labels
        case ast.Aggregate():
            return node.function, node.domain, node.metric, node.where is None
    return None


def _and(parts: list[Formula]) -> Formula:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _or(parts: list[Formula]) -> Formula:
    return parts[0] if len(parts) == 1 else Or(tuple(parts))
