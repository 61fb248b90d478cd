"""Expressions run over whole columns: each node is one `pyarrow.compute` call, whatever the number of rows.

The result of a node is an array or a scalar (constants stay scalars until they meet a column). A `let` is
evaluated once per declaration and frame; metrics once per frame (`Metrics`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from profrx.evaluate import aggregates, operators
from profrx.evaluate.frame import Members
from profrx.evaluate.operators import UNDECIDED, UNKNOWN, Value
from profrx.evaluate.params import Owner, Parameters
from profrx.evaluate.patterns import matches
from profrx.evaluate.quantity import ONE, rescale, scalar, to_base
from profrx.language import ast
from profrx_parsers.errors import RuleError

if TYPE_CHECKING:
    from profrx.evaluate.metrics import Metrics
    from profrx.evaluate.notes import Notes

FiredOf = Callable[[str], Value]
"""Outcome of a rule on the frame's rows as a truth column."""


@dataclass(frozen=True)
class Inside:
    """Evaluation inside an aggregate: what names mean there.

    Attributes:
        outer: evaluator of the declaration's own frame, for its lets and params.
        owner: outer row of each member.
        members: instances whose ``key index value`` can be read, None for other domains.
        scale: of the members' values to base units.
    """

    outer: Evaluator
    owner: Any
    members: Members | None
    scale: Fraction = ONE


class Evaluator:
    """Evaluates expressions of one declaration over one frame.

    Args:
        metrics: the catalogue over the frame.
        params: parameters with overrides; None where there are none (metric formulas).
        owner: the declaration whose lets and params are in sight.
        fired: answers ``fired(rule)``.
        inside: set while evaluating the inner expression of an aggregate.
        notes: what is known of the declaration's expressions; see `notes`.
    """

    def __init__(
        self,
        metrics: Metrics,
        params: Parameters | None = None,
        owner: Owner | None = None,
        fired: FiredOf | None = None,
        inside: Inside | None = None,
        notes: Notes | None = None,
    ) -> None:
        self.metrics = metrics
        self.params = params
        self.owner = owner
        self.fired = fired
        self.inside = inside
        self.notes: Notes = {} if notes is None else notes
        self._lets = {let.name: let for let in owner.lets} if owner else {}
        self._own = {param.name: param for param in owner.params} if owner else {}
        self._kept: dict[str, Value] = {}

    @property
    def rows(self) -> int:
        """Number of rows that results are spread over."""
        return self.inside.owner.size if self.inside else self.metrics.frame.rows

    def column(self, expr: ast.Expr) -> Any:
        """Return the value of an expression as an array over all rows.

        Raises `RuleError` for an expression that is nested too deeply or whose parts do not fit together
        (both are found by the static checks, which a pack may not have passed).
        """
        try:
            return operators.spread(self.value(expr), self.rows)
        except (pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowInvalid) as err:
            span = expr.span
            where = f"{span.file}:{span.line}:{span.column}" if span.file else ""
            raise RuleError(
                "rule-type",
                "the parts of this expression do not fit together: " + str(err).splitlines()[0][:160],
                where=where or (self.owner.name if self.owner else ""),
                next_step="run `profrx rules check`",
            ) from err
        except RecursionError:
            raise RuleError(
                "rule-too-deep",
                "the expression is nested too deeply to evaluate",
                where=self.owner.name if self.owner else "",
                next_step="give inner parts names with `let`",
            ) from None

    def value(self, expr: ast.Expr) -> Value:
        """Return the value of an expression: an array, or a scalar when no column takes part."""
        return _NODES[type(expr)](self, expr)

    # --- leaves ------------------------------------------------------------------------------------------

    def _quantity(self, node: ast.Quantity) -> Value:
        value = to_base(node.value, node.unit)
        return scalar(value) if math.isfinite(value) else UNKNOWN

    def _text(self, node: ast.Text) -> Value:
        return pa.scalar(node.value)

    def _bool(self, node: ast.Bool) -> Value:
        return pa.scalar(node.value)

    def _raw(self, node: ast.Raw) -> Value:
        value = self.metrics.raw(node.name, node.unit)
        return self._spread_in(value) if self._among_instances() else value

    def _name(self, node: ast.Name) -> Value:
        return self.name(node.name)

    def name(self, name: str) -> Value:
        """Return what a name means here: member field, let, param or metric, in this order."""
        if name not in self._kept:
            value = self._member(name) if self.inside else None
            value = self._declared(name) if value is None else value
            if value is None:
                return self._metric(name)
            self._kept[name] = value
        return self._kept[name]

    def _member(self, name: str) -> Value | None:
        assert self.inside is not None
        members = self.inside.members
        if members is not None and name in ("key", "index", "value"):
            if name == "key":
                return members.keys
            if name == "index":
                return members.index.cast(pa.float64(), safe=False)
            return operators.finite(rescale(members.value, self.inside.scale))
        outer = self.inside.outer
        if outer.declares(name):
            return self._spread_in(outer.name(name))
        return None

    def _among_instances(self) -> bool:
        """Whether rows are instances, which share the frame of the subjects around them."""
        return self.inside is not None and self.inside.members is not None

    def _spread_in(self, value: Value) -> Value:
        assert self.inside is not None
        if isinstance(value, pa.Scalar):
            return value
        from profrx.evaluate.metrics import owners

        return value.take(owners(self.inside.owner))

    def let(self, name: str) -> ast.Let | None:
        """Return the let of this name in sight."""
        return self._lets.get(name)

    def param(self, name: str) -> ast.Param | None:
        """Return the param of this name in sight: the declaration's own, else the pack's."""
        return self._own.get(name) or (self.params.shared.get(name) if self.params else None)

    def declares(self, name: str) -> bool:
        """Whether a name is a let or param in sight (here or around)."""
        if name in self._lets or name in self._own:
            return True
        if self.params is not None and name in self.params.shared:
            return True
        return self.inside is not None and self.inside.outer.declares(name)

    def _declared(self, name: str) -> Value | None:
        if name in self._lets:
            return self.value(self._lets[name].expr)
        if self.params is None:
            return None
        owner = self.owner.name if self.owner else ""
        param = self.param(name)
        return None if param is None else self.params.value(owner, param, self.metrics.frame)

    def _metric(self, name: str) -> Value:
        if name not in self.metrics.pack.metrics:
            raise RuleError(
                "rule-unknown-name",
                f"{name!r} is no metric, let or param",
                where=self.owner.name if self.owner else "",
                next_step="`profrx rules check` lists the nearest names",
            )
        if self._among_instances():
            return self._spread_in(self.metrics.column(name))
        return self.metrics.column(name)

    # --- operators ---------------------------------------------------------------------------------------

    def _unary(self, node: ast.Unary) -> Value:
        return operators.negate(self.value(node.operand))

    def _binary(self, node: ast.Binary) -> Value:
        # a long chain (`a or b or c …`) leans to the left: walk down its spine instead of recursing
        spine = [node]
        while isinstance(spine[-1].left, ast.Binary):
            spine.append(spine[-1].left)
        value = self.value(spine[-1].left)
        for step in reversed(spine):
            value = self._apply(step, value)
        return value

    def _apply(self, node: ast.Binary, left: Value) -> Value:
        if node.op in ("and", "or"):
            # a side that settles every row makes the other one needless
            if isinstance(left, pa.Scalar) and left.is_valid and left.as_py() == (node.op == "or"):
                return left
            combine = operators.both if node.op == "and" else operators.either
            return combine(left, self.value(node.right))
        right = self.value(node.right)
        if node.op == "??":
            return operators.default(left, right)
        return operators.arithmetic(node.op, left, right)

    def _compare(self, node: ast.Compare) -> Value:
        values = [self.value(operand) for operand in node.operands]
        result = operators.compare(node.ops[0], values[0], values[1])
        for op, left, right in zip(node.ops[1:], values[1:], values[2:], strict=False):
            result = operators.both(result, operators.compare(op, left, right))
        return result

    def _in(self, node: ast.In) -> Value:
        value = self.value(node.operand)
        items = [self.value(item) for item in node.items]
        if node.is_range:
            return operators.both(
                operators.compare(">=", value, items[0]), operators.compare("<=", value, items[1])
            )
        result: Value = operators.FALSE
        for item in items:
            result = operators.either(result, operators.compare("==", value, item))
        return result

    def _matches(self, node: ast.Matches) -> Value:
        value = self.value(node.operand)
        return matches(value, node) if operators.is_text(value) else UNDECIDED

    def _if(self, node: ast.If) -> Value:
        return operators.choose(self.value(node.condition), self.value(node.then), self.value(node.otherwise))

    def _call(self, node: ast.Call) -> Value:
        return operators.apply(node.function, [self.value(a) for a in node.arguments])

    def _choice(self, node: ast.Choice) -> Value:
        return operators.label_of(node.function, node.labels, [self.value(v) for v in node.values], self.rows)

    def _fired(self, node: ast.Fired) -> Value:
        if self.fired is None:
            return UNDECIDED
        return self.fired(node.rule)

    # --- aggregates --------------------------------------------------------------------------------------

    def _aggregate(self, node: ast.Aggregate) -> Value:
        if self.inside is not None:
            raise RuleError(
                "rule-nested-aggregate",
                f"{node.function}(…) stands inside another aggregate",
                where=self.owner.name if self.owner else "",
                next_step="give the inner one a name with `let`",
            )
        inner = self._inner(node)
        if inner is None:
            return pa.nulls(self.rows, _aggregate_type(node.function))
        where = None if node.where is None else inner.column(node.where)
        assert inner.inside is not None
        members = aggregates.group(self.rows, inner.inside.owner, where)
        value = inner.column(node.expr)
        keys = None
        if node.function == "key_of_max":
            keys = inner.name("key") if inner.inside.members else inner.metrics.frame.column("subject")
        return aggregates.aggregate(node.function, members, value, keys)

    def _inner(self, node: ast.Aggregate) -> Evaluator | None:
        if node.domain == "instances":
            members, scale = self.metrics.members(node.metric)
            if members is None:
                return None
            inside = Inside(self, members.row, members, scale)
            return Evaluator(self.metrics, self.params, None, None, inside)
        link = self.metrics.frame.members.get(node.domain)
        if link is None:
            return None
        inside = Inside(self, link.owner, None)
        return Evaluator(self.metrics.related(link.frame), self.params, None, None, inside)


def _aggregate_type(function: str) -> Any:
    if function in ("any", "all"):
        return pa.bool_()
    return pa.string() if function == "key_of_max" else pa.float64()


_NODES: dict[type, Callable[[Any, Any], Value]] = {
    ast.Quantity: Evaluator._quantity,
    ast.Text: Evaluator._text,
    ast.Bool: Evaluator._bool,
    ast.Name: Evaluator._name,
    ast.Raw: Evaluator._raw,
    ast.Unary: Evaluator._unary,
    ast.Binary: Evaluator._binary,
    ast.Compare: Evaluator._compare,
    ast.In: Evaluator._in,
    ast.Matches: Evaluator._matches,
    ast.If: Evaluator._if,
    ast.Call: Evaluator._call,
    ast.Choice: Evaluator._choice,
    ast.Aggregate: Evaluator._aggregate,
    ast.Fired: Evaluator._fired,
}
