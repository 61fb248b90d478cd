"""A second, scalar interpreter of the language, written from its documentation: one row, plain Python.

It shares no code with the engine. A value is a float, bool or str; None is unknown.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from profrx.language import ast

SCALES = {"": Fraction(1), "%": Fraction(1, 100), "us": Fraction(1000), "ns": Fraction(1), "B": Fraction(1)}


def finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Reference:
    """Evaluates expressions for one row.

    Args:
        names: metric, let and param values.
        raws: vendor metrics.
        members: instanced metric -> list of (key, value).
    """

    def __init__(
        self,
        names: dict[str, Any] | None = None,
        raws: dict[str, Any] | None = None,
        members: dict[str, list[tuple[str, float | None]]] | None = None,
    ) -> None:
        self.names = names or {}
        self.raws = raws or {}
        self.members = members or {}

    def value(self, node: ast.Expr) -> Any:
        return getattr(self, "on_" + type(node).__name__.lower())(node)

    def on_quantity(self, node: ast.Quantity) -> Any:
        scale = SCALES[node.unit]
        return finite(node.value * scale.numerator / scale.denominator)

    def on_text(self, node: ast.Text) -> Any:
        return node.value

    def on_bool(self, node: ast.Bool) -> Any:
        return node.value

    def on_name(self, node: ast.Name) -> Any:
        return self.names[node.name]

    def on_raw(self, node: ast.Raw) -> Any:
        return finite(self.raws.get(node.name))

    def on_unary(self, node: ast.Unary) -> Any:
        value = self.value(node.operand)
        if value is None:
            return None
        return (not value) if node.op == "not" else -value

    def on_binary(self, node: ast.Binary) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        if node.op == "and":
            if left is False or right is False:
                return False
            return None if left is None or right is None else True
        if node.op == "or":
            if left is True or right is True:
                return True
            return None if left is None or right is None else False
        if node.op == "??":
            return right if left is None else left
        if left is None or right is None or (node.op == "/" and right == 0):
            return None
        if node.op == "+":
            return finite(left + right)
        if node.op == "-":
            return finite(left - right)
        return finite(left * right) if node.op == "*" else finite(left / right)

    def _compare(self, op: str, left: Any, right: Any) -> Any:
        if left is None or right is None:
            return None
        return {
            "<": lambda: left < right,
            "<=": lambda: left <= right,
            ">": lambda: left > right,
            ">=": lambda: left >= right,
            "==": lambda: left == right,
            "!=": lambda: left != right,
        }[op]()

    def _all(self, values: list[Any]) -> Any:
        return False if False in values else None if None in values else True

    def on_compare(self, node: ast.Compare) -> Any:
        values = [self.value(o) for o in node.operands]
        return self._all(
            [self._compare(op, a, b) for op, a, b in zip(node.ops, values, values[1:], strict=False)]
        )

    def on_in(self, node: ast.In) -> Any:
        value, items = self.value(node.operand), [self.value(i) for i in node.items]
        if node.is_range:
            return self._all([self._compare(">=", value, items[0]), self._compare("<=", value, items[1])])
        hits = [self._compare("==", value, item) for item in items]
        return True if True in hits else None if None in hits else False

    def on_if(self, node: ast.If) -> Any:
        condition = self.value(node.condition)
        then, otherwise = self.value(node.then), self.value(node.otherwise)
        if condition is None:
            return then if then is not None and then == otherwise else None
        return then if condition else otherwise

    def on_call(self, node: ast.Call) -> Any:
        values = [self.value(a) for a in node.arguments]
        if node.function == "known":
            return values[0] is not None
        if None in values:
            return None
        match node.function:
            case "min":
                return min(values)
            case "max":
                return max(values)
            case "abs":
                return abs(values[0])
            case "ceil":
                return float(math.ceil(values[0]))
            case "floor":
                return float(math.floor(values[0]))
            case "sqrt":
                return math.sqrt(values[0]) if values[0] >= 0 else None
            case "log2":
                return math.log2(values[0]) if values[0] > 0 else None
            case "clamp":
                return max(values[1], min(values[0], values[2]))
            case "amdahl":
                return None if values[1] == 0 else finite(values[0] * (1 - 1 / values[1]))
        raise AssertionError(node.function)

    def on_choice(self, node: ast.Choice) -> Any:
        known = [
            (v, label)
            for v, label in zip(map(self.value, node.values), node.labels, strict=True)
            if v is not None
        ]
        if not known:
            return None
        best = (min if node.function == "least" else max)(v for v, _ in known)
        labels = [label for v, label in known if v == best]
        return labels[0] if len(labels) == 1 else ", ".join(labels[:-1]) + " and " + labels[-1]

    def on_aggregate(self, node: ast.Aggregate) -> Any:
        rows = self.members.get(node.metric)
        if not rows:
            return None
        kept: list[tuple[str, Any]] = []
        every: list[Any] = []
        tests: list[Any] = []
        for key, number in rows:
            inner = Reference({**self.names, "key": key, "value": finite(number)}, self.raws)
            where = True if node.where is None else inner.value(node.where)
            value = inner.value(node.expr)
            tests.append((where, value))
            every.append(value)
            if where is True:
                kept.append((key, value))
        if node.function in ("any", "all"):
            return self._quantified(node.function, tests)
        if any(where is None for where, _ in tests):
            return None
        values = [value for _, value in kept]
        if node.function == "count":
            if any(isinstance(v, bool) or v is None for v in values) and node.expr is not None:
                return None if None in values and self._boolean(node.expr) else self._count(values, node.expr)
            return float(len(values))
        if None in values:
            return None
        if node.function == "share":
            total = None if None in every else sum(every)
            return None if not total else sum(values) / total
        if node.function == "sum":
            return float(sum(values))
        if not values:
            return None
        return self._statistic(node.function, kept, values)

    def _boolean(self, expr: ast.Expr) -> bool:
        return isinstance(expr, ast.Compare | ast.In | ast.Bool | ast.Matches)

    def _count(self, values: list[Any], expr: ast.Expr) -> float:
        return float(sum(v is True for v in values)) if self._boolean(expr) else float(len(values))

    def _quantified(self, function: str, tests: list[tuple[Any, Any]]) -> Any:
        results = []
        for where, value in tests:
            if function == "any":
                part = False if where is False or value is False else None if None in (where, value) else True
            else:
                part = True if where is False or value is True else None if None in (where, value) else False
            results.append(part)
        if function == "any":
            return True if True in results else None if None in results else False
        return self._all(results)

    def _statistic(self, function: str, kept: list[tuple[str, Any]], values: list[float]) -> Any:
        ordered = sorted(values)
        match function:
            case "mean":
                return sum(values) / len(values)
            case "min":
                return ordered[0]
            case "max":
                return ordered[-1]
            case "topshare":
                return ordered[-1] / sum(values) if sum(values) else None
            case "key_of_max":
                return next(key for key, value in kept if value == ordered[-1])
        share = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99}[function]
        place = (len(ordered) - 1) * share
        low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
        return low + (high - low) * (place - math.floor(place))
