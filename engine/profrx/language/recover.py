"""Where to go on after a mistake: the next statement of the same block."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from profrx.language.diagnostics import Lines
from profrx.language.lr import Driver, Token, Unexpected
from profrx.language.scan import Chunk
from profrx.language.tables import tables

_PIECE = re.compile(
    r'"""(?:[^"]|"(?!""))*"""|"(?:[^"\\\n]|\\[^\n])*"|#[^\n]*'
    r"|(?P<open>[{(])|(?P<close>[})])|^[ \t]*(?P<word>[a-z_]+)",
    re.MULTILINE,
)
_FIRST_WORD = re.compile(r"[ \t]*([a-z_]+)[ \t]+")


@dataclass(frozen=True)
class Resume:
    """An offset and the stacks to go on with."""

    at: int
    states: list[int]
    values: list[Any]


@cache
def statement_words() -> frozenset[str]:
    """Words that begin a statement of a block."""
    keywords, bodies = tables().keywords, body_states()
    return frozenset(
        w for w, terminal in keywords.items() if any(terminal in tables().actions[b] for b in bodies)
    )


@cache
def body_states() -> frozenset[int]:
    """States in which the next statement of a rule, guard, verdict or metric may begin."""
    return frozenset(
        number
        for number, row in enumerate(tables().actions)
        if row.keys() >= {"RBRACE", "TITLE", "WHEN", "SOURCE"}
        and all(row[t] >= 0 for t in ("RBRACE", "TITLE", "WHEN", "SOURCE"))
    )


def swallowed(stop: Unexpected, lines: Lines) -> Token | None:
    """A statement keyword that was read as a name, because the expression before it has no end.

    In ``when x >`` / ``estimate global 5 %`` the parser stops at `global`; the mistake is before `estimate`.
    """
    line = lines.text.rfind("\n", 0, stop.found.start) + 1
    first = _FIRST_WORD.fullmatch(lines.text, line, stop.found.start)
    if first is None or first[1] not in statement_words():
        return None
    last = stop.values[-1] if stop.values else None
    if isinstance(last, Token) and last.start == first.start(1):
        return None  # the parser did take it for the statement
    word = Token(first[1])
    word.type, word.start, word.end = "NAME", first.start(1), first.end(1)
    return word


def next_statement(stop: Unexpected, lines: Lines, chunk: Chunk, driver: Driver) -> Resume | None:
    """The next place in the block of `stop` at which a statement begins or the block ends; None when there is none."""
    bodies = body_states()
    mark = next((i for i in range(len(stop.states) - 1, -1, -1) if stop.states[i] in bodies), None)
    if mark is None:
        return None
    depth = sum(isinstance(value, Token) and value == "{" for value in stop.values[mark:])
    word = swallowed(stop, lines)
    at = word.start if word is not None else stop.found.start
    for piece in _PIECE.finditer(lines.text, at, chunk.end):
        if piece["open"] == "{":
            depth += 1
        elif piece["close"] == "}":
            depth -= 1
            if depth < 0:
                return Resume(piece.start(), stop.states[: mark + 1], stop.values[:mark])
        elif piece["word"] in statement_words() and depth == 0:
            start = piece.start("word")
            if start > stop.found.start or word is not None or stop.states[-1] not in bodies:
                return Resume(start, stop.states[: mark + 1], stop.values[:mark])
    return None
