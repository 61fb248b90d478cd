"""A small LALR(1) driver with a contextual scanner, over the tables that lark made of the grammar.

lark's own driver gives the same trees (a test compares them) at a third of the speed. A word is a keyword only in
states that accept the keyword, a name, an id or a version otherwise; a unit belongs to the number it follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from profrx.language.scan import braced
from profrx.language.tables import tables
from profrx.language.units import is_unit

MAX_STACK = 200
"""Open brackets, statements and operators at one time."""

_TOKEN = re.compile(
    r"(?:[ \t\r\n]+|#[^\n]*+)*+"
    r'(?:("""(?:[^"]++|"(?!""))*+"""|"(?:[^"\\\n]++|\\[^\n])*+")'
    r"|(\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)"
    r"|([A-Za-z_][A-Za-z0-9_]*(?:[.-][A-Za-z0-9_]+)*)"
    r"|(\?\?|\.\.|[<>=!]=|[{}(),:=<>+\-*/])|(%))"
)
_STRING, _NUMBER, _WORD, _OPERATOR, _PERCENT = range(1, 6)
_PLAIN = (_OPERATOR, _STRING)
"""What is the same wherever it stands."""
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*")
_UNIT = re.compile(r"[ \t]*(%|[A-Za-z]+)(/[A-Za-z]+)?(?![A-Za-z0-9_]|-[A-Za-z0-9_]|\.[A-Za-z0-9_])")
_SPACE = re.compile(r"(?:[ \t\r\n]+|#[^\n]*+)*+")
_TEST = re.compile(rf'\s*+"(?:[^"\\\n]|\\[^\n])*+"\s*+{braced(4)}')
"""What follows the word `test`: its name and its block, whatever stands in it."""


class Token(str):
    """A piece of text with its terminal and its place: `start` and `end` are offsets into the file."""

    __slots__ = ("end", "start", "type")

    type: str
    start: int
    end: int


def token(type_: str, text: str, start: int) -> Token:
    """Make a token."""
    made = Token(text)
    made.type = type_
    made.start = start
    made.end = start + len(text)
    return made


class Unexpected(Exception):
    """The parser stopped: what stood there, what could have, and the stacks to go on from.

    Attributes:
        found: the token; its type is ``?`` for text that is no token, ``$END`` at the end.
        expected: terminals that could have stood there.
        states, values: the stacks; `Driver.resume` goes on from them.
        deep: the stack was full.
    """

    def __init__(
        self,
        found: Token,
        expected: tuple[str, ...],
        states: list[int],
        values: list[Any],
        deep: bool = False,
    ) -> None:
        super().__init__(found)
        self.found, self.expected, self.states, self.values, self.deep = found, expected, states, values, deep


Reduction = tuple[int, bool, bool, str, Callable[[list[Any]], Any] | None]
"""Size, whether children are spliced, whether a lone child stands for itself, what is made, and by whom."""


class Driver:
    """Parses one declaration or expression with the callbacks of a builder.

    Attributes:
        tokens: how many it has read.
        trace: when a list, every token read is appended to it.
        tests: whether inline tests are parsed; else a test with a name and closed braces is passed over.
    """

    def __init__(self, builder: object, trace: list[Token] | None = None, tests: bool = True) -> None:
        self.tables = tables()
        self.reductions: list[Reduction] = [
            (
                p.size,
                p.splices,
                p.single,
                p.origin,
                getattr(builder, p.callback, None) if p.callback else None,
            )
            for p in self.tables.productions
        ]
        self.tokens = 0
        self.trace = trace
        self.tests = tests

    def parse(self, text: str, start: int, end: int, symbol: str) -> Any:
        """Parse ``text[start:end]`` as `symbol`.

        Raises:
            Unexpected: at the first mistake.
        """
        return self.resume(text, start, end, [self.tables.starts[symbol]], [], symbol)

    def resume(
        self, text: str, at: int, end: int, states: list[int], values: list[Any], symbol: str = "declaration"
    ) -> Any:
        """Go on with the given stacks from offset `at`.

        Raises:
            Unexpected: at the next mistake.
        """
        actions, gotos, reductions = self.tables.actions, self.tables.gotos, self.reductions
        final = self.tables.ends[symbol]
        scan, lone, chains, readings = self.scan, self.tables.lone, self.tables.chains, self.tables.readings
        next_token, operators, count, trace = _TOKEN.match, self.tables.operators, self.tokens, self.trace
        while True:
            state = states[-1]
            match = next_token(text, at, end)
            kind = match.lastindex if match is not None else 0
            type_ = None
            if kind == _WORD:
                start, stop = match.span(kind)  # type: ignore[union-attr]
                word = text[start:stop]
                here, sort, other = readings[state]
                type_ = here.get(word) or (None if other is None or other in word else sort)
            elif kind == _OPERATOR:
                start, stop = match.span(kind)  # type: ignore[union-attr]
                type_ = operators[text[start:stop]]
            elif kind == _STRING:
                start, stop = match.span(kind)  # type: ignore[union-attr]
                type_ = "STRING"
            if type_ is None:
                type_, start, stop = scan(text, at, end, state, match)
            count += 1
            while True:
                action = actions[state].get(type_)
                if action is None:
                    raise Unexpected(
                        token(type_, text[start:stop], start), self.expected(states), states, values
                    )
                if action >= 0:
                    break
                number = ~action
                if number in lone:
                    key = (states[-2], state, type_)
                    state = states[-1] = chains.get(key) or self.chain(*key)
                else:
                    size, splices, single, origin, callback = reductions[number]
                    if size:
                        children = values[-size:]
                        del values[-size:], states[-size:]
                        if splices:
                            children = _splice(children)
                    else:
                        children = []
                    if callback is None:
                        values.append(children if type(children) is _Splice else _Splice(children))
                    elif single and len(children) == 1:
                        values.append(children[0])
                    else:
                        values.append(callback(children))
                    state = gotos[states[-1]][origin]
                    states.append(state)
                if type_ == "$END" and state == final:
                    self.tokens = count
                    return values[-1]
            if type_ == "TEST" and not self.tests and (test := _TEST.match(text, stop, end)):
                at = test.end()
                continue
            if len(states) > MAX_STACK:
                self.tokens = count
                raise Unexpected(token(type_, text[start:stop], start), (), states, values, deep=True)
            states.append(action)
            made = Token(text[start:stop])
            made.type, made.start, made.end = type_, start, stop
            values.append(made)
            at = stop
            if trace is not None:
                trace.append(made)

    def chain(self, below: int, state: int, terminal: str) -> int:
        """Follow reductions that rename one node (a product that is just a number, a sum that is just a product…)."""
        key = (below, state, terminal)
        while (
            action := self.tables.actions[state].get(terminal)
        ) is not None and ~action in self.tables.lone:
            state = self.tables.gotos[below][self.tables.productions[~action].origin]
        self.tables.chains[key] = state
        return state

    def scan(
        self, text: str, at: int, end: int, state: int, match: re.Match[str] | None
    ) -> tuple[str, int, int]:
        """The next word, number or sign as (terminal, start, end): what it is depends on what `state` accepts."""
        if match is None:
            space = _SPACE.match(text, at, end)
            start = space.end() if space else at
            return ("$END", start, start) if start >= end else ("?", start, start + 1)
        kind = match.lastindex or 0
        start, stop = match.span(kind)
        row = self.tables.actions[state]
        if kind == _WORD:
            return self._word(text, start, stop, end, state, row, at)
        if kind == _PERCENT:
            return ("UNIT" if "UNIT" in row else "?"), start, stop
        if "WORD" in row and (version := _VERSION.match(text, start, end)):
            return "WORD", start, version.end()
        if "QUANTITY" in row and (unit_stop := unit_end(text, stop, end)):
            return "QUANTITY", start, unit_stop
        return "NUMBER", start, stop

    def _word(
        self, text: str, start: int, stop: int, end: int, state: int, row: dict[str, int], last: int
    ) -> tuple[str, int, int]:
        """A word; on another line than what ends at `last` it is no unit, also where one could follow (``blocks``)."""
        if "UNIT" in row and "\n" not in text[last:start] and (unit_stop := unit_end(text, start, end)):
            return "UNIT", start, unit_stop
        word = text[start:stop]
        sort = self.tables.words[state]
        if sort != "ID" and "-" in word:
            word = word[: word.index("-")]
        if (sort == "ID" or not sort) and "." in word:
            word = word[: word.index(".")]
        stop = start + len(word)
        keyword = self.tables.keywords.get(word)
        if keyword is not None and keyword in row:
            return keyword, start, stop
        return sort or "?", start, stop

    def expected(self, states: list[int]) -> tuple[str, ...]:
        """Terminals that would really be shifted here; lookaheads of merged states are left out."""
        return tuple(sorted(t for t in self.tables.actions[states[-1]] if self._shifts(list(states), t)))

    def _shifts(self, states: list[int], terminal: str) -> bool:
        while True:
            action = self.tables.actions[states[-1]].get(terminal)
            if action is None or action >= 0:
                return action is not None
            production = self.tables.productions[~action]
            if production.size:
                del states[-production.size :]
            states.append(self.tables.gotos[states[-1]][production.origin])
            if terminal == "$END" and states[-1] in self.tables.ends.values():
                return True


class _Splice(list[Any]):
    """Children of a nonterminal that leaves no node of its own."""


def _splice(children: list[Any]) -> list[Any]:
    """The children with those that leave no node spliced in; a list that begins with such ones grows in place."""
    first = children[0]
    flat: list[Any] = first if type(first) is _Splice else [first]
    for child in children[1:]:
        if type(child) is _Splice:
            flat += child
        else:
            flat.append(child)
    return flat


def unit_end(text: str, at: int, end: int) -> int:
    """Where the unit that starts at `at` (after blanks on the same line) ends; 0 when there is none."""
    match = _UNIT.match(text, at, end)
    if match is None:
        return 0
    if is_unit(match[1] + (match[2] or "")):
        return match.end()
    if match[2] and is_unit(match[1]):
        return match.end(1)
    return 0
