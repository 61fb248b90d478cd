"""Types of expressions: number with a dimension, text, condition; and the sentence that says how to repair one.

Over 400 lines because every kind of expression has its case here, and cases apart would hide what is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from profrx.language import ast
from profrx.language.check.context import Context, Scope
from profrx.language.diagnostics import did_you_mean
from profrx.language.printer import expr_text
from profrx.language.units import NONE, UNITS, Dimension, unit

Flavour = Literal["plain", "share", "points"]


@dataclass(frozen=True)
class Type:
    """What an expression is.

    Attributes:
        kind: number, text, bool; `any` when it could not be told (no further message then).
        dimension: of a number; None when a raw counter was given no unit: it then fits anything.
        flavour: share (a percentage), points (a difference of percentages), or neither.
        literal: a bare number as written, such as ``5``: no unit was given.
    """

    kind: Literal["number", "text", "bool", "any"]
    dimension: Dimension | None = NONE
    flavour: Flavour = "plain"
    literal: bool = False

    @property
    def measured(self) -> Type:
        """The same for a value that is not a bare number as written."""
        return replace(self, literal=False) if self.literal else self

    def __str__(self) -> str:
        if self.kind == "bool":
            return "a condition"
        if self.kind == "text":
            return "text"
        if self.dimension is None:
            return "a raw counter without a unit"
        if self.flavour == "points":
            return "percentage points"
        if self.dimension == NONE:
            return "a percentage" if self.flavour == "share" else "a number without a unit"
        return f"a quantity in {self.dimension}"


ANY = Type("any")
BOOL = Type("bool")
TEXT = Type("text")
NUMBER = Type("number")
SHARE = Type("number", NONE, "share")
FREE = Type("number", None)

AGGREGATES = (
    *("sum", "mean", "median", "min", "max", "count", "p5", "p25", "p75", "p95", "p99"),
    *("share", "topshare", "any", "all", "key_of_max"),
)
FUNCTIONS = {
    "min": (1, 16),
    "max": (1, 16),
    "abs": (1, 1),
    "ceil": (1, 1),
    "floor": (1, 1),
    "sqrt": (1, 1),
    "log2": (1, 1),
    "clamp": (3, 3),
    "known": (1, 1),
    "amdahl": (2, 2),
}
"""Built-in functions: fewest and most arguments."""


_LOOK = 'write x matches glob "*gemm*", or x matches "RE2"'
FOREIGN = dict.fromkeys(
    ("contains", "startswith", "endswith", "like", "regex", "match", "search", "glob"), _LOOK
)
FOREIGN |= dict.fromkeys(("avg", "average"), "write mean(x over launches)")
FOREIGN |= dict.fromkeys(
    ("exists", "defined", "has", "isnull", "is_null", "isnan"), "write known(x), or not known(x)"
)
FOREIGN |= dict.fromkeys(("coalesce", "default", "ifnull", "nvl"), "write x ?? default")
FOREIGN |= dict.fromkeys(("iif", "where", "case"), "write if c then a else b")
FOREIGN |= dict.fromkeys(("pow", "power", "exp"), "write powers as products")
FOREIGN |= dict.fromkeys(("log", "ln", "log10"), "write log2(x); log2(x) / log2(10) is the other one")
FOREIGN |= dict.fromkeys(("round", "int", "trunc"), "write floor(x + 0.5), floor(x) or ceil(x)")
FOREIGN |= dict.fromkeys(("len", "size"), "write count(launch.duration over launches)")
"""Functions of other languages -> what is written here."""


@lru_cache(maxsize=512)
def unit_type(name: str) -> Type:
    """The type of a quantity in a unit."""
    found = unit(name)
    flavour: Flavour = "points" if found.points else "share" if found.percent else "plain"
    return Type("number", found.dimension, flavour, literal=not name)


class Typer:
    """Infers types inside one declaration; each mistake is reported once, at the smallest wrong part."""

    def __init__(self, context: Context, owner: ast.Declaration) -> None:
        self.context = context
        self.owner = owner
        self.lets: dict[int, Type] = {}
        self.open: set[str] = set()
        self.known: dict[tuple[int, int, bool], tuple[Type, ast.Expr]] = {}

    def wrong(self, code: str, message: str, node: ast.Node, hint: str = "") -> Type:
        """Report a mistake; the part then fits anything."""
        self.context.report(self.owner, code, message, node.span, hint=hint)
        return ANY

    def warn(self, code: str, message: str, node: ast.Node, hint: str = "") -> None:
        """Report what is allowed but hardly meant."""
        self.context.report(self.owner, code, message, node.span, severity="warning", hint=hint)

    def condition(self, expr: ast.Expr, scope: Scope) -> None:
        """Require a condition."""
        found = self.infer(expr, scope)
        if found.kind not in ("bool", "any"):
            self.wrong(
                "not-a-condition", f"this is {found}, not a condition", expr, "compare it with a threshold"
            )

    def number(self, expr: ast.Expr, scope: Scope, what: str = "") -> Type:
        """Require a number."""
        found = self.infer(expr, scope)
        if found.kind in ("number", "any"):
            return found
        return self.wrong("type-mismatch", f"{what or 'this'} takes a number, not {found}", expr)

    # --- by node -------------------------------------------------------------------------------------------

    def infer(self, node: ast.Expr, scope: Scope) -> Type:
        """The type of an expression; found once, for `min(min(min(…` would ask for the inner ones again and again."""
        key = (id(node), len(scope.lets), scope.members)
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = (self._infer(node, scope), node)
        return known[0]

    def _infer(self, node: ast.Expr, scope: Scope) -> Type:
        match node:
            case ast.Quantity():
                return unit_type(node.unit)
            case ast.Text():
                return TEXT
            case ast.Bool() | ast.Fired():
                return BOOL
            case ast.Name():
                return self.name(node, scope)
            case ast.Raw():
                return unit_type(node.unit) if node.unit else FREE
            case ast.Unary():
                return self.unary(node, scope)
            case ast.Binary():
                return self.binary(node, scope)
            case ast.Compare():
                return self.compare(node, scope)
            case ast.In():
                for item in node.items:
                    self.comparable(node.operand, item, "in" if node.is_range else "==", scope)
                return BOOL
            case ast.Matches():
                found = self.infer(node.operand, scope)
                if found.kind not in ("text", "any"):
                    self.wrong("type-mismatch", f"`matches` takes text, not {found}", node.operand)
                return BOOL
            case ast.If():
                self.condition(node.condition, scope)
                return self.same(node.then, node.otherwise, scope, "the two arms of `if`")
            case ast.Call():
                return self.call(node, scope)
            case ast.Choice():
                self.all_same(node.values, scope, node.function)
                return TEXT
            case ast.Aggregate():
                return self.aggregate(node, scope)

    def name(self, node: ast.Name, scope: Scope) -> Type:
        """The type of what a name stands for."""
        if scope.members and node.name in ("key", "index", "value"):
            return {"key": TEXT, "index": NUMBER, "value": FREE}[node.name]
        found = scope.find(node.name)
        if isinstance(found, ast.Metric):
            return metric_type(found)
        if isinstance(found, ast.Param):
            return self.infer(found.default, Scope(scope.pack, scope.owner)).measured
        if isinstance(found, ast.Let):
            if id(found) not in self.lets:
                self.lets[id(found)] = self.infer(found.expr, scope.before(found))
            return self.lets[id(found)].measured
        return ANY

    def unary(self, node: ast.Unary, scope: Scope) -> Type:
        """``not`` of a condition, minus of a number."""
        if node.op == "not":
            self.condition(node.operand, scope)
            return BOOL
        return self.number(node.operand, scope, "minus")

    def binary(self, node: ast.Binary, scope: Scope) -> Type:
        """Logic, default, arithmetic."""
        if node.op in ("and", "or"):
            self.condition(node.left, scope)
            self.condition(node.right, scope)
            return BOOL
        if node.op == "??":
            return self.same(node.left, node.right, scope, "the two sides of `??`")
        left = self.number(node.left, scope, f"`{node.op}`")
        right = self.number(node.right, scope, f"`{node.op}`")
        if "any" in (left.kind, right.kind):
            return ANY
        if node.op in ("*", "/"):
            return _product(node, left, right)
        return self.sum(node, left, right, scope)

    def sum(self, node: ast.Binary, left: Type, right: Type, scope: Scope) -> Type:
        """``+`` and ``-``: equal dimensions; the difference of two percentages is in points."""
        if left.dimension is None or right.dimension is None:
            return FREE
        if left.dimension != right.dimension:
            verb = "add" if node.op == "+" else "subtract"
            hint = (
                _missing_unit(left, right)
                or _missing_unit(right, left)
                or "`*` and `/` combine units; `+` and `-` do not"
            )
            return self.wrong("unit-mismatch", f"cannot {verb} {left} and {right}", node, hint)
        for value, other, expr in ((left, right, node.right), (right, left, node.left)):
            if self._bare(value, other, expr, scope, "combined"):
                return ANY
        return Type("number", left.dimension, _sum_flavour(node, left, right), left.literal and right.literal)

    def compare(self, node: ast.Compare, scope: Scope) -> Type:
        """A chain of comparisons."""
        for left, op, right in zip(node.operands, node.ops, node.operands[1:], strict=False):
            self.comparable(left, right, op, scope)
        return BOOL

    def comparable(self, a: ast.Expr, b: ast.Expr, op: str, scope: Scope) -> None:
        """Require two sides that can be compared."""
        left, right = self.infer(a, scope), self.infer(b, scope)
        if "any" in (left.kind, right.kind):
            return
        if left.kind != right.kind:
            self.wrong("type-mismatch", f"cannot compare {left} with {right}", b)
            return
        if left.kind == "text":
            if op not in ("==", "!="):
                self.wrong(
                    "type-mismatch", f"`{op}` has no meaning for text", b, "use ==, !=, in { … } or matches"
                )
            return
        if left.kind == "bool":
            self.wrong(
                "type-mismatch", "conditions are not compared", b, "write the condition, or `not` of it"
            )
            return
        if left.dimension is None or right.dimension is None:
            return
        if left.dimension != right.dimension:
            hint = (
                _missing_unit(left, right) or _missing_unit(right, left) or "convert one side by `*` or `/`"
            )
            self.wrong(
                "unit-mismatch", f"cannot compare {left} with {right}", b if right.literal else a, hint
            )
            return
        for value, literal, expr in ((left, right, b), (right, left, a)):
            self._percent(value, literal, expr, scope)

    def _percent(self, value: Type, other: Type, expr: ast.Expr, scope: Scope) -> None:
        """Percentages compare with ``%``, their differences with ``pp``."""
        if self._bare(value, other, expr, scope, "compared") or not isinstance(expr, ast.Quantity):
            return
        if value.flavour == "points" and other.flavour == "share":
            message = "the difference of two percentages is in percentage points"
            self.warn(
                "percentage-points",
                message,
                expr,
                f"write {expr.value:g} pp, or divide to compare relatively",
            )
        elif value.flavour == "share" and other.flavour == "points":
            message = "a percentage is compared with percentage points, which are for differences"
            self.wrong("percentage-points", message, expr, f"write {expr.value:g} %")

    def _bare(self, value: Type, other: Type, expr: ast.Expr, scope: Scope, how: str) -> bool:
        """Report a bare number over 1 beside a percentage, also by the name of a param or let: ``low = 30``."""
        if value.flavour == "plain" or other.measured != NUMBER:
            return False
        found = scope.find(expr.name) if isinstance(expr, ast.Name) else None
        written = found.default if isinstance(found, ast.Param) else getattr(found, "expr", expr)
        if not isinstance(written, ast.Quantity) or abs(written.value) <= 1:
            return False
        unit_ = "pp" if value.flavour == "points" else "%"
        number = _with_unit(written, unit_)
        shown = f"{written.value:g}, which is {written.value * 100:g} %"
        if isinstance(expr, ast.Name):
            shown = f"`{expr.name}`, whose {shown}".replace(", which", "")
            number = f"`{expr.name} = {number}`"
        if isinstance(found, ast.Param) and found.valid is not None:
            low, high = (_with_unit(end, unit_) for end in (found.valid.low, found.valid.high))
            number = f"{number[:-1]} in {low} .. {high}`"
        self.wrong("unit-mismatch", f"a percentage is {how} with {shown}", expr, f"write {number}")
        return True

    def same(self, a: ast.Expr, b: ast.Expr, scope: Scope, what: str) -> Type:
        """Require one type on both sides, and return it."""
        left, right = self.infer(a, scope), self.infer(b, scope)
        if left.kind == "any" or right.kind == "any":
            return right if left.kind == "any" else left
        if self._bare(left, right, b, scope, "combined") or self._bare(right, left, a, scope, "combined"):
            return ANY
        if left.kind != right.kind:
            return self.wrong("type-mismatch", f"{what} differ: {left} and {right}", b)
        if left.kind != "number" or left.dimension is None:
            return left if left.kind != "number" else right
        if right.dimension is None:
            return left
        if left.dimension != right.dimension:
            zero = isinstance(b, ast.Quantity) and b.value == 0 and right.literal
            hint = _missing_unit(left, right) or ("write 0 with the unit of the other side" if zero else "")
            return self.wrong("unit-mismatch", f"{what} differ: {left} and {right}", b, hint)
        return left if left.flavour != "plain" or left == right else replace(left, flavour=right.flavour)

    def all_same(self, nodes: tuple[ast.Expr, ...], scope: Scope, what: str) -> Type:
        """Require numbers of one dimension."""
        first = self.number(nodes[0], scope, f"`{what}`")
        for node in nodes[1:]:
            if self.number(node, scope, f"`{what}`").kind == "any":
                continue
            found = self.same(nodes[0], node, scope, f"the arguments of `{what}`")
            first = found if first.dimension is None else first
        return first

    def call(self, node: ast.Call, scope: Scope) -> Type:
        """A built-in function."""
        name, arguments = node.function, node.arguments
        if name not in FUNCTIONS:
            if name in AGGREGATES:
                example = f"{name}(launch.duration over launches)"
                return self.wrong(
                    "unknown-function", f"`{name}` aggregates over members", node, f"write {example}"
                )
            hint = (
                FOREIGN.get(name.lower(), "")
                or did_you_mean(name, [*FUNCTIONS, *AGGREGATES])
                or f"functions: {', '.join(FUNCTIONS)}"
            )
            return self.wrong("unknown-function", f"there is no function `{name}`", node, hint)
        fewest, most = FUNCTIONS[name]
        if not fewest <= len(arguments) <= most:
            wanted = f"{fewest}" if fewest == most else f"{fewest} to {most}"
            message = f"`{name}` takes {wanted} argument{'s' * (most != 1)}, not {len(arguments)}"
            return self.wrong("argument-count", message, node)
        return self._typed_call(name, node, arguments, scope)

    def _typed_call(self, name: str, node: ast.Call, arguments: tuple[ast.Expr, ...], scope: Scope) -> Type:
        if name == "known":
            self.infer(arguments[0], scope)
            return BOOL
        if name in ("min", "max", "clamp", "abs", "ceil", "floor"):
            return self.all_same(arguments, scope, name).measured
        types = [self.number(argument, scope, f"`{name}`") for argument in arguments]
        if any(found.kind == "any" for found in types):
            return ANY
        if name == "sqrt":
            dimension = types[0].dimension
            if dimension is None:
                return FREE
            root = dimension.root()
            if root is None:
                return self.wrong("unit-mismatch", f"there is no square root of {types[0]}", arguments[0])
            return Type("number", root)
        for argument, found in zip(arguments, types, strict=True):
            if found.dimension not in (NONE, None):
                return self.wrong(
                    "unit-mismatch", f"`{name}` takes a number without a unit, not {found}", argument
                )
        return SHARE if name == "amdahl" else NUMBER

    def aggregate(self, node: ast.Aggregate, scope: Scope) -> Type:
        """An aggregate over members."""
        if node.function not in AGGREGATES:
            hint = did_you_mean(node.function, AGGREGATES) or f"aggregates: {', '.join(AGGREGATES)}"
            return self.wrong("unknown-function", f"there is no aggregate `{node.function}`", node, hint)
        inner = scope.inside()
        if node.where is not None:
            self.condition(node.where, inner)
        if node.function in ("any", "all"):
            self.condition(node.expr, inner)
            return BOOL
        if node.function == "count":
            self.infer(node.expr, inner)
            return NUMBER
        found = self.number(node.expr, inner, f"`{node.function}`")
        if node.function == "key_of_max":
            return TEXT
        if node.function in ("share", "topshare"):
            return SHARE
        if isinstance(node.expr, ast.Name) and node.expr.name == "value" and not node.raw:
            metric = self.context.pack.metrics.get(node.metric)
            return metric_number(metric) if metric is not None else FREE
        return found


def metric_type(metric: ast.Metric) -> Type:
    """The type of a metric read by its name."""
    return TEXT if metric.kind == "text" else metric_number(metric)


def metric_number(metric: ast.Metric) -> Type:
    """The type of a metric's values; FREE when its unit is unknown (reported where it is declared)."""
    try:
        return unit_type(metric.unit).measured
    except ValueError:
        return FREE


def _product(node: ast.Binary, left: Type, right: Type) -> Type:
    if left.dimension is None or right.dimension is None:
        return FREE
    dimension = left.dimension * right.dimension if node.op == "*" else left.dimension / right.dimension
    both = node.op == "*" and left.flavour == right.flavour == "share"
    return Type("number", dimension, "share" if both else "plain")


def _sum_flavour(node: ast.Binary, left: Type, right: Type) -> Flavour:
    if "points" in (left.flavour, right.flavour):
        return "points" if left.flavour == right.flavour else "share"
    if node.op == "-" and left.flavour == right.flavour == "share":
        complement = isinstance(node.left, ast.Quantity) and node.left.value in (1, 100)
        return "share" if complement else "points"
    return "share" if "share" in (left.flavour, right.flavour) else "plain"


def _with_unit(expr: ast.Expr, unit_: str) -> str:
    """How to write a bare number as a percentage; anything else as it stands."""
    bare = isinstance(expr, ast.Quantity) and not expr.unit
    return f"{expr_text(expr)} {unit_}" if bare else expr_text(expr)


def _missing_unit(quantity: Type, number: Type) -> str:
    """How to write a bare number beside a quantity."""
    if not number.literal or quantity.dimension in (NONE, None):
        return ""
    fits = [name for name, known in UNITS.items() if known.dimension == quantity.dimension]
    written = " or ".join(dict.fromkeys(fits)) or str(quantity.dimension).replace(" / ", "/")
    return f"give the number its unit: {written}"


Check = Callable[[Context], None]
