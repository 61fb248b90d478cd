# ruff: noqa: D102 - callbacks are named after their grammar rule, which says what they read
"""Callbacks of the grammar: tokens and nodes in, syntax tree out.

The parser calls the method named like the reduced rule with all its children, punctuation included, so the
first and last child give the exact span. Statements of a block become `Item`s; `_blocks` gathers them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from profrx.language import ast
from profrx.language.diagnostics import Diagnostic, Lines, Place
from profrx.language.lr import Token
from profrx.language.scan import MAX_DEPTH
from profrx.language.text import decode

_NUMBER = re.compile(r"[\d_.]+(?:[eE][+-]?\d+)?")


def _shown(number: str) -> str:
    """A number as written, cut where nobody would count its digits."""
    return number if len(number) <= 40 else f"{number[:20]}… ({len(number)} characters)"


@dataclass(slots=True, eq=False)
class Item:
    """One statement of a block: its keyword, its parsed value, its place."""

    kind: str
    value: Any
    span: Place


def _all(children: Sequence[Any], kind: type) -> list[Any]:
    return [child for child in children if isinstance(child, kind)]


def _of(children: Sequence[Any], type_: str) -> list[Token]:
    return [child for child in children if isinstance(child, Token) and child.type == type_]


Callback = Callable[[Any, list[Any]], Item]


def _string(kind: str) -> Callback:
    return lambda self, c: Item(kind, self.phrase(c[1]), self.span(c))


def _word(kind: str) -> Callback:
    return lambda self, c: Item(kind, self.word(c[1]), self.span(c))


def _ids(kind: str) -> Callback:
    return lambda self, c: Item(kind, tuple(self.word(x) for x in c[1:] if x.type == "ID"), self.span(c))


def _expr(kind: str) -> Callback:
    return lambda self, c: Item(kind, c[1], self.span(c))


class Builder:
    """Builds the nodes of one declaration.

    Attributes:
        map: line starts of the whole file, to turn offsets into lines and columns.
        problems: mistakes that the grammar cannot see (duplicate statement, statement of another block…).
    """

    def __init__(self, lines: Lines) -> None:
        self.map = lines
        self.problems: list[Diagnostic] = []
        self.depths: dict[int, int] = {}

    # --- places and literals -------------------------------------------------------------------------------

    def span(self, children: Sequence[Any]) -> Place:
        """The place from the first to the last child."""
        first, last = children[0], children[-1]
        start = first.start if type(first) is Token else first.span.at[1]
        end = last.end if type(last) is Token else last.span.at[2]
        return Place(self.map, start, end)

    def word(self, token: Token) -> ast.Word:
        """An id or name with its place."""
        word = ast.Word(token)
        word.span = Place(self.map, token.start, token.end)
        return word

    def phrase(self, token: Token) -> ast.Word:
        """The text of a string literal with its place."""
        word = ast.Word(decode(token))
        word.span = Place(self.map, token.start, token.end)
        return word

    def report(self, code: str, message: str, span: ast.Span, hint: str = "") -> None:
        """Note a mistake and go on."""
        self.problems.append(Diagnostic(code, message, span, hint=hint))

    def number(self, token: Token) -> tuple[float, str]:
        """Value and unit of NUMBER and QUANTITY tokens."""
        number, unit = str(token), ""
        if token.type == "QUANTITY":
            match = _NUMBER.match(token)
            assert match is not None  # the lexer matched the same pattern
            number, unit = match[0], token[match.end() :].lstrip()
        value = float(number.replace("_", ""))
        if value == math.inf:
            self.report(
                "number-too-large", f"{_shown(number)} is larger than a number can be", self.span([token])
            )
        return value, unit

    def whole(self, token: Token, what: str) -> int:
        """An integer of at least 0, for versions and counts."""
        value, _ = self.number(token)
        if not value.is_integer() or value > 1e9:
            self.report("whole-number", f"{what} is a whole number, not {_shown(token)}", self.span([token]))
            return 1
        return int(value)

    def same_line(self, before: Any, after: Token | Item) -> bool:
        """Whether `after` starts on the line on which `before` ends: a word on its own line is a statement."""
        return self.span([before]).end_line == self.span([after]).line

    # --- expressions ---------------------------------------------------------------------------------------

    def deep(self, node: Any, *parts: Any) -> Any:
        """Keep count of nesting, so that nothing after the parser recurses without bound."""
        depth = 1
        for part in parts:
            below = self.depths.get(id(part))
            if below is not None and below >= depth:
                depth = below + 1
        self.depths[id(node)] = depth
        if depth == MAX_DEPTH + 1:
            message = f"this expression nests more than {MAX_DEPTH} operators"
            self.report("too-deep", message, node.span, "name its parts with `let`")
        return node

    def quantity(self, c: list[Any]) -> ast.Quantity:
        token = c[0]
        value, unit = self.number(token)
        return ast.Quantity(value, unit, span=Place(self.map, token.start, token.end))

    def text(self, c: list[Any]) -> ast.Text:
        return ast.Text(decode(c[0]), span=self.span(c))

    def bool_(self, c: list[Any]) -> ast.Bool:
        return ast.Bool(c[0] == "true", span=self.span(c))

    def name(self, c: list[Any]) -> ast.Name:
        token = c[0]
        return ast.Name(str(token), span=Place(self.map, token.start, token.end))

    def raw(self, c: list[Any]) -> ast.Raw:
        return ast.Raw(decode(c[1]), str(c[2]) if len(c) > 2 else "", span=self.span(c))

    def parens(self, c: list[Any]) -> Any:
        """Parentheses leave no node, but the place of what they hold includes them."""
        object.__setattr__(c[1], "span", self.span(c))
        return c[1]

    def unary(self, c: list[Any]) -> Any:
        """`-5 %` is one negative quantity, not a minus in front of one."""
        op, operand, span = str(c[0]), c[1], self.span(c)
        if op == "-" and isinstance(operand, ast.Quantity) and operand.value >= 0:
            return ast.Quantity(-operand.value, operand.unit, span=span)
        return self.deep(ast.Unary(cast(Any, op), operand, span=span), operand)

    def binary(self, c: list[Any]) -> Any:
        return self.deep(ast.Binary(cast(Any, str(c[1])), c[0], c[2], span=self.span(c)), c[0], c[2])

    def compare(self, c: list[Any]) -> Any:
        ops = tuple(str(op) for op in c[1::2])
        return self.deep(ast.Compare(tuple(c[0::2]), cast(Any, ops), span=self.span(c)), *c[0::2])

    def in_set(self, c: list[Any]) -> Any:
        items = tuple(child for child in c[3:] if not isinstance(child, Token))
        return self.deep(ast.In(c[0], items, False, span=self.span(c)), c[0], *items)

    def in_range(self, c: list[Any]) -> Any:
        return self.deep(ast.In(c[0], (c[2], c[4]), True, span=self.span(c)), c[0], c[2], c[4])

    def matches(self, c: list[Any]) -> Any:
        return self.deep(ast.Matches(c[0], decode(c[-1]), len(c) == 4, span=self.span(c)), c[0])

    def if_(self, c: list[Any]) -> Any:
        return self.deep(ast.If(c[1], c[3], c[5], span=self.span(c)), c[1], c[3], c[5])

    def fired(self, c: list[Any]) -> ast.Fired:
        return ast.Fired(self.word(c[2]), span=self.span(c))

    def choice(self, c: list[Any]) -> Any:
        labels = tuple(decode(token) for token in _of(c, "STRING"))
        values = tuple(child for child in c if not isinstance(child, Token))
        return self.deep(ast.Choice(cast(Any, str(c[0])), labels, values, span=self.span(c)), *values)

    def call(self, c: list[Any]) -> Any:
        arguments = tuple(child for child in c if not isinstance(child, Token))
        return self.deep(ast.Call(self.word(c[0]), arguments, span=self.span(c)), *arguments)

    def aggregate(self, c: list[Any]) -> Any:
        domain, metric, raw = c[4].value
        where = c[6] if len(c) > 6 else None
        node = ast.Aggregate(self.word(c[0]), c[2], domain, metric, where, raw, span=self.span(c))
        return self.deep(node, c[2], where)

    def domain(self, c: list[Any]) -> Item:
        raw = len(c) == 2 and c[1].type == "STRING"
        metric = "" if len(c) == 1 else decode(c[1]) if raw else self.word(c[1])
        return Item("domain", (self.word(c[0]), metric, raw), self.span(c))

    def range(self, c: list[Any]) -> ast.Range:
        return ast.Range(c[0], c[2], span=self.span(c))

    def open_range(self, c: list[Any]) -> ast.Range:
        span = self.span(c)
        unit = c[0].unit if isinstance(c[0], ast.Quantity) else ""
        return ast.Range(c[0], ast.Quantity(math.inf, unit, span=span), span=span)

    # --- statements ----------------------------------------------------------------------------------------

    title, since, because = _string("title"), _string("since"), _string("because")
    fix, except_, meaning, deprecated = (
        _string("fix"),
        _string("except"),
        _string("meaning"),
        _string("deprecated"),
    )
    cause_of, scope, kind, family, unit = (
        _word("cause"),
        _word("scope"),
        _word("kind"),
        _word("family"),
        _word("unit"),
    )
    applies_to, see = _ids("applies_to"), _ids("see")
    when, valid, require = _expr("when"), _expr("valid"), _expr("require")

    def under(self, c: list[Any]) -> Item:
        return Item("under", (tuple(self.word(x) for x in _of(c, "ID")), c[-1] == "anyway"), self.span(c))

    def version(self, c: list[Any]) -> Item:
        return Item("version", self.whole(c[1], "a version"), self.span(c))

    def status(self, c: list[Any]) -> Item:
        return Item("status", (self.word(c[1]), self.word(c[3]) if len(c) > 3 else ""), self.span(c))

    def level(self, c: list[Any]) -> Item:
        if len(c) == 1:
            return Item("level", [ast.Level(self.word(c[0]), span=self.span(c))], self.span(c))
        if self.same_line(c[0], c[1]):
            return Item("level", [ast.Level(self.word(c[0]), c[2], span=self.span(c))], self.span(c))
        return Item(
            "level", [ast.Level(self.word(c[0]), span=self.span(c[:1])), self.when(c[1:])], self.span(c)
        )

    def levels(self, c: list[Any]) -> list[Item]:
        """`severity high` and, on the next line, `when …`: the second is the rule's own condition."""
        parts = [part for item in _all(c, Item) for part in item.value]
        levels = tuple(part for part in parts if isinstance(part, ast.Level))
        items = [Item(str(c[0]), levels, self.span(c))]
        return items + [part for part in parts if isinstance(part, Item)]

    severity = confidence = levels

    def param(self, c: list[Any]) -> list[Item]:
        see = next((x for x in c if isinstance(x, Item)), None)
        stray = see is not None and not self.same_line(c[c.index(see) - 1], see)
        strings = _of(c, "STRING")
        node = ast.Param(
            self.word(c[1]),
            c[3],
            next(iter(_all(c, ast.Range)), None),
            decode(strings[0]) if strings else "",
            see.value if see is not None and not stray else (),
            bool(_of(c, "HEURISTIC")),
            span=self.span(c[: c.index(see)] if stray else c),
        )
        items = [Item("param", node, cast(Place, node.span))]
        return [*items, see] if stray and see is not None else items

    def let(self, c: list[Any]) -> Item:
        return Item("let", ast.Let(self.word(c[1]), c[3], span=self.span(c)), self.span(c))

    def estimate(self, c: list[Any]) -> Item:
        high = c[4] if len(c) > 4 else None
        return Item(
            "estimate", ast.Estimate(cast(Any, str(c[1])), c[2], high, span=self.span(c)), self.span(c)
        )

    def evidence(self, c: list[Any]) -> Item:
        label = decode(c[3]) if len(c) > 3 else ""
        return Item("evidence", ast.Evidence(c[1], label, span=self.span(c)), self.span(c))

    def lines(self, c: list[Any]) -> Item:
        top = self.whole(c[3], "top") if len(c) > 3 else 5
        return Item("lines", ast.Lines(self.word(c[1]), top, span=self.span(c)), self.span(c))

    def collect(self, c: list[Any]) -> Item:
        return Item(
            "collect", ast.Collect(str(c[1]), str(c[2]), decode(c[3]), span=self.span(c)), self.span(c)
        )

    def suppresses(self, c: list[Any]) -> Item:
        when = c[3] if str(c[2]) == "when" else None
        return Item(
            "suppresses",
            ast.Suppresses(self.word(c[1]), decode(c[-1]), when, span=self.span(c)),
            self.span(c),
        )

    def blocked_metric(self, c: list[Any]) -> Token:
        return cast(Token, c[1])

    def blocks(self, c: list[Any]) -> Item:
        names = tuple(self.word(x) for x in c[1:] if x.type in ("ID", "NAME"))
        return Item("blocks", names, self.span(c))

    def row(self, c: list[Any]) -> ast.Row:
        strings = [x for x in c if isinstance(x, Token) and x.type == "STRING"]
        at = next(i for i, x in enumerate(c) if isinstance(x, Token) and str(x) == "when" and i > 0)
        title = decode(c[1]) if at == 2 else ""
        because = self.phrase(strings[-1]) if strings and strings[-1] is not c[1] else ""
        last = len(c) - (1 if str(c[-1]) == "," else 0)
        return ast.Row(self.word(c[0]), c[at + 1], because, title, span=self.span(c[:last]))

    def table(self, c: list[Any]) -> Item:
        return Item("table", (str(c[0]), tuple(_all(c, ast.Row))), self.span(c))

    # --- metric sources ------------------------------------------------------------------------------------

    def version_span(self, c: list[Any]) -> Item:
        words = [str(x) for x in c]
        if ".." not in words:
            return Item("span", (words[0], words[0]), self.span(c))
        at = words.index("..")
        return Item("span", ("".join(words[:at]), "".join(words[at + 1 :])), self.span(c))

    def arch(self, c: list[Any]) -> Item:
        return Item("arch", c[1].value, self.span(c))

    def tool_version(self, c: list[Any]) -> Item:
        return Item("tool_version", c[1].value, self.span(c))

    def source(self, c: list[Any]) -> Item:
        filters = {item.kind: item.value for item in _all(c, Item)}
        formula = c[-1] if str(c[-2]) == "=" else None
        names = () if formula is not None else tuple(decode(x) for x in _of(c, "STRING"))
        units = _of(c, "UNIT") if formula is None else []
        node = ast.MetricSource(
            self.word(c[1]),
            names,
            formula,
            filters.get("arch"),
            filters.get("tool_version"),
            str(units[0]) if units else "",
            span=self.span(c),
        )
        return Item("source", node, cast(Place, node.span))
