"""The evaluated condition tree: every part of a condition with its value, for a few chosen rows.

Evidence, `profrx explain` and failed tests read the same tree: `deciding` finds the comparisons that settled
a row, `facts` states a comparison as value, threshold and margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from profrx.evaluate import operators
from profrx.evaluate.notes import noted
from profrx.evaluate.program import metric_named
from profrx.evaluate.quantity import from_base
from profrx.evaluate.showing import shown_unit, text_of
from profrx.language import ast, walk

if TYPE_CHECKING:
    from profrx.evaluate.compile import Evaluator

MAX_DEPTH = 60
"""Boolean nesting shown; deeper parts are leaves."""

_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


@dataclass(frozen=True)
class Step:
    """A part of a condition.

    Attributes:
        kind: ``and``, ``or``, ``not``, ``if``, ``let`` or ``leaf``.
        expr: the expression.
        text: the expression as written.
        values: per traced row: True, False or None (unknown).
        parts: sub-steps; of ``if``: condition, then, else.
        negated: whether what is asked for is the opposite (see `deciding`).
    """

    kind: str
    expr: ast.Expr
    text: str
    values: list[Any]
    parts: tuple[Step, ...] = ()
    negated: bool = False


@dataclass(frozen=True)
class Fact:
    """A comparison on one row.

    Attributes:
        measured: the side that was measured.
        op: comparison as seen from the measured side.
        value, threshold: both sides in `unit` (percentages as percent); None = unknown.
        margin: distance beyond the threshold relative to it, negative = short of it; None when not numeric.
        limit: the other side's expression.
    """

    measured: ast.Expr
    op: str
    value: float | str | bool | None
    threshold: float | str | bool | None
    unit: str
    margin: float | None
    limit: ast.Expr | None = None

    @property
    def text(self) -> str:
        """The comparison in words: ``sm.throughput = 12 %, needs < 30 %``."""
        value = _shown(self.value, self.unit)
        name = text_of(self.measured)
        if self.limit is None:
            return f"{name} = {value}"
        return f"{name} = {value}, needs {self.op} {_shown(self.threshold, self.unit)}"


def _shown(value: Any, unit: str) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool | str):
        return repr(value) if isinstance(value, str) else str(value).lower()
    return f"{value:.6g}" + (f" {unit}" if unit and unit != "ratio" else "")


def trace(evaluator: Evaluator, expr: ast.Expr, depth: int = 0) -> Step:
    """Evaluate a condition and keep every part's value for all rows of the evaluator."""
    text = text_of(expr)
    values = evaluator.column(expr).to_pylist()
    if depth < MAX_DEPTH:
        kind, inner = _parts(evaluator, expr)
        if kind:
            parts = tuple(trace(evaluator, part, depth + 1) for part in inner)
            return Step(kind, expr, text, values, parts)
    return Step("leaf", expr, text, values)


@noted
def _parts(evaluator: Evaluator, expr: ast.Expr) -> tuple[str, tuple[ast.Expr, ...]]:
    if isinstance(expr, ast.Binary) and expr.op in ("and", "or"):
        return expr.op, _flatten(expr, expr.op)
    if isinstance(expr, ast.Unary) and expr.op == "not":
        return "not", (expr.operand,)
    if isinstance(expr, ast.If):
        return "if", (expr.condition, expr.then, expr.otherwise)
    if isinstance(expr, ast.Name) and (let := evaluator.let(expr.name)) is not None:
        return "let", (let.expr,)
    if isinstance(expr, ast.Compare) and len(expr.ops) > 1:
        return "and", pairs(expr)
    if isinstance(expr, ast.In) and expr.is_range:
        low = ast.Compare((expr.operand, expr.items[0]), (">=",))
        return "and", (low, ast.Compare((expr.operand, expr.items[1]), ("<=",)))
    return "", ()


def _flatten(expr: ast.Binary, op: str) -> tuple[ast.Expr, ...]:
    found: list[ast.Expr] = []
    pending: list[ast.Expr] = [expr]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Binary) and node.op == op:
            pending += [node.right, node.left]
        else:
            found.append(node)
    return tuple(found)


def pairs(expr: ast.Compare) -> tuple[ast.Expr, ...]:
    """Split a chain ``a <= x < b`` into its comparisons."""
    sides = zip(expr.operands, expr.operands[1:], expr.ops, strict=False)
    return tuple(ast.Compare((left, right), (op,)) for left, right, op in sides)


def deciding(step: Step, row: int) -> list[Step]:
    """Return the leaves that settle a row: of a false `and` the first false part, of a true one all parts…

    Leaves below a `not`, and below the condition of an ``if`` whose other arm was taken, come back `negated`.
    """
    if step.kind == "leaf":
        return [step]
    value = step.values[row]
    if step.kind == "let":
        return deciding(step.parts[0], row)
    if step.kind == "not":
        return _negated(deciding(step.parts[0], row))
    if step.kind == "if":
        condition, then, otherwise = step.parts
        taken = condition.values[row]
        first = deciding(condition, row)
        if taken is None:
            return first
        return [*(first if taken else _negated(first)), *deciding(then if taken else otherwise, row)]
    chosen = [part for part in step.parts if part.values[row] is value]
    settles = value is not None and value == (step.kind == "or")
    if settles:
        chosen = chosen[:1]
    return [leaf for part in chosen for leaf in deciding(part, row)]


def _negated(leaves: list[Step]) -> list[Step]:
    return [replace(leaf, negated=not leaf.negated) for leaf in leaves]


def fact(evaluator: Evaluator, leaf: Step, row: int) -> Fact:
    """State a leaf on one row: a comparison with both sides, anything else as its value.

    Of a negated leaf, the comparison is the one that the condition around it asks for.
    """
    expr = leaf.expr
    if isinstance(expr, ast.Matches):
        words = "does not match" if leaf.negated else "matches"
        pattern = f"{'glob ' if expr.glob else ''}{expr.pattern}"
        return Fact(expr.operand, words, _value(evaluator, expr.operand, "", row), pattern, "", None, expr)
    if isinstance(expr, ast.In):
        words = "not in" if leaf.negated else "in"
        unit = shown_unit(evaluator, expr.operand, *expr.items)
        items = "{" + ", ".join(text_of(item) for item in expr.items) + "}"
        return Fact(expr.operand, words, _value(evaluator, expr.operand, unit, row), items, unit, None, expr)
    if not isinstance(expr, ast.Compare) or len(expr.ops) != 1:
        unit = shown_unit(evaluator, expr)
        return Fact(expr, "", _value(evaluator, expr, unit, row), None, unit, None)
    left, right = expr.operands
    op: str = _OPPOSITE[expr.ops[0]] if leaf.negated else expr.ops[0]
    if not is_measured(evaluator, left) and is_measured(evaluator, right):
        left, right, op = right, left, _FLIPPED[op]
    unit = shown_unit(evaluator, left, right)
    value, threshold = _value(evaluator, left, unit, row), _value(evaluator, right, unit, row)
    return Fact(left, op, value, threshold, unit, margin(op, value, threshold), right)


def margin(op: str, value: Any, threshold: Any) -> float | None:
    """Return how far a value lies beyond a threshold, relative to it; None where that says nothing."""
    if isinstance(value, bool | str) or isinstance(threshold, bool | str) or value is None or not threshold:
        return None
    if op in ("==", "!="):
        return None
    distance = float((value - threshold) / abs(threshold))
    if not math.isfinite(distance):
        return None
    return distance if op in (">", ">=") else -distance


@noted
def is_measured(evaluator: Evaluator, expr: ast.Expr) -> bool:
    """Whether an expression reads anything of the report, through lets too."""
    pending, seen = [expr], set()
    while pending:
        for node in walk.nodes(pending.pop()):
            if isinstance(node, ast.Raw | ast.Aggregate | ast.Fired):
                return True
            if isinstance(node, ast.Name) and node.name not in seen:
                seen.add(node.name)
                let = evaluator.let(node.name)
                if let is not None:
                    pending.append(let.expr)
                elif evaluator.param(node.name) is None:
                    return True
    return False


@noted
def metrics_in(evaluator: Evaluator, expr: ast.Expr) -> tuple[str, ...]:
    """Return the catalogue and raw metrics that an expression reads, through lets, in reading order."""
    found: dict[str, None] = {}
    pending, seen = [expr], set()
    while pending:
        for node in walk.nodes(pending.pop(0)):
            if isinstance(node, ast.Raw):
                found[node.name] = None
                continue
            name = metric_named(node)
            if not name or name in seen:
                continue
            seen.add(name)
            let = evaluator.let(name)
            if let is not None:
                pending.append(let.expr)
            elif evaluator.param(name) is None and name not in ("key", "index", "value"):
                found[name] = None
    return tuple(found)


@noted
def params_in(evaluator: Evaluator, expr: ast.Expr) -> tuple[ast.Param, ...]:
    """Return the parameters that an expression reads, through lets."""
    found: dict[str, ast.Param] = {}
    pending, seen = [expr], set()
    while pending:
        for node in walk.nodes(pending.pop()):
            if not isinstance(node, ast.Name) or node.name in seen:
                continue
            seen.add(node.name)
            let, param = evaluator.let(node.name), evaluator.param(node.name)
            if let is not None:
                pending.append(let.expr)
            elif param is not None:
                found[param.name] = param
    return tuple(found.values())


def _value(evaluator: Evaluator, expr: ast.Expr, unit: str, row: int) -> Any:
    value = operators.spread(evaluator.value(expr), evaluator.rows)[row].as_py()
    return from_base(value, unit) if isinstance(value, float) else value


@dataclass
class Written:
    """A traced condition as indented lines, for failed tests and `explain`."""

    lines: list[str] = field(default_factory=list)

    def add(self, evaluator: Evaluator, step: Step, row: int, depth: int = 0) -> Written:
        """Append a step and everything below it."""
        mark = {True: "true   ", False: "false  ", None: "unknown"}.get(
            step.values[row], str(step.values[row])
        )
        detail = f"   [{fact(evaluator, step, row).text}]" if step.kind == "leaf" else ""
        self.lines.append(f"{'  ' * depth}{mark} {step.text}{detail}")
        for part in step.parts:
            self.add(evaluator, part, row, depth + 1)
        return self


def written(evaluator: Evaluator, step: Step, row: int) -> list[str]:
    """Return the evaluated condition tree of a row as indented lines."""
    return Written().add(evaluator, step, row).lines
