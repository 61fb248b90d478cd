"""What is wrong with a rule file: a code, a place, a sentence, and how to repair it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, Literal

from profrx.language.ast import NOWHERE, Span

MAX_COMPARED = 2000
"""Names that a misspelt one is compared with."""
MAX_ERRORS = 100
"""Mistakes shown for one file, and as many warnings."""
Severity = Literal["error", "warning", "note"]


class Lines:
    """Line starts of a text: turns offsets into 1-based lines and columns."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.text = text

    @cached_property
    def starts(self) -> list[int]:
        """Offsets at which lines begin; found when the first place is asked for."""
        starts = [0]
        at = self.text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.text.find("\n", at + 1)
        return starts

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a character offset."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def span(self, start: int, end: int) -> Span:
        """The span of ``text[start:end]``."""
        return Place(self, start, end)

    def line(self, number: int) -> str:
        """The text of a line, without its end."""
        start = self.starts[number - 1]
        end = self.starts[number] - 1 if number < len(self.starts) else len(self.text)
        return self.text[start:end].rstrip("\r")


class Place(Span):
    """A span known by its offsets; lines and columns are counted when somebody asks, which is seldom."""

    at: tuple[Lines, int, int]

    def __init__(self, lines: Lines, start: int, end: int) -> None:
        self.__dict__["at"] = (lines, start, end)

    def __getattr__(self, name: str) -> Any:
        """Count all five fields of a span at once, the first time one is read."""
        if name not in _FIELDS:
            raise AttributeError(name)
        lines, start, end = self.__dict__["at"]
        (line, column), (end_line, end_column) = lines.place(start), lines.place(end)
        self.__dict__.update(zip(_FIELDS, (lines.file, line, column, end_line, end_column), strict=True))
        return self.__dict__[name]

    def __eq__(self, other: object) -> bool:
        """Equal to any span of the same place."""
        if not isinstance(other, Span):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _FIELDS)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in _FIELDS))


_FIELDS = ("file", "line", "column", "end_line", "end_column")


@dataclass(frozen=True)
class Diagnostic:
    """One finding about a rule file.

    Attributes:
        code: stable, kebab-case, an anchor of docs/errors.md.
        message: what is wrong, one sentence without a full stop.
        span: where; NOWHERE for a pack as a whole.
        severity: error (does not load), warning, note.
        hint: how to repair it.
        expected: what could have stood there.
        subject: the declaration it is about, such as ``rule tail-effect``.
    """

    code: str
    message: str
    span: Span = NOWHERE
    severity: Severity = "error"
    hint: str = ""
    expected: tuple[str, ...] = ()
    subject: str = ""

    @property
    def help(self) -> str:
        """How to repair it: its own hint, or what usually helps."""
        return self.hint or USUAL_REPAIR.get(self.code, "")

    def __str__(self) -> str:
        place = f"{self.span.file}:{self.span.line}:{self.span.column}: " if self.span.file else ""
        hint = f" ({self.help})" if self.help else ""
        return f"{place}{self.severity}[{self.code}]: {self.message}{hint}"


USUAL_REPAIR = {
    "argument-count": "docs/language.md lists the functions and their arguments",
    "cycle": "drop one of the links",
    "default-outside-range": "widen the range or change the default",
    "deprecated-use": "it works until a later release removes it; use something else",
    "duplicate-statement": "keep one of them",
    "empty-range": "write the lower end first",
    "misplaced-statement": "move it or drop it",
    "missing-statement": "add a line for it",
    "number-too-large": "write a smaller number, or a larger unit",
    "require": "change a default or the requirement",
    "template": "a field is {name}, {name:.1f unit} or {name:.0%}",
    "test-expectation": "write one: expect fired, expect not fired, expect unknown, or a row",
    "title": "shorten it to the problem itself",
    "type-mismatch": "compare text with text and numbers with numbers",
    "unit-mismatch": "`*` and `/` combine units; the result must fit",
    "unknown-name": "declare it with `let` or `param`, or use a metric",
    "whole-number": "drop the fraction",
}
"""Help for codes whose message has nothing more special to say."""


def capped(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Each diagnostic once, and of each file only so many: errors, warnings and notes counted apart."""
    kept: list[Diagnostic] = []
    counts: dict[tuple[str, Severity], int] = {}
    for one in found:
        key = (one.span.file, one.severity)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= MAX_ERRORS or one.code == "too-many-errors":
            kept.append(one)
        elif counts[key] == MAX_ERRORS + 1:
            kept.append(too_many(one.span, one.severity))
    return tuple(dict.fromkeys(kept))


def too_many(span: Span, severity: Severity = "error") -> Diagnostic:
    """What is said once in the place of all that is not listed."""
    what = {"error": "mistakes", "warning": "warnings", "note": "notes"}[severity]
    message = f"more than {MAX_ERRORS} {what} in this file; the rest is not listed"
    return Diagnostic("too-many-errors", message, span, severity, hint="repair those above and run again")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``did you mean x?`` for the nearest of `known`, or nothing; long words and far lengths are not compared."""
    if len(word) > 80:
        return ""
    near = (one for one in known if abs(len(one) - len(word)) <= 2 + len(word) // 2)
    close = _close(word, tuple(islice(near, MAX_COMPARED)))
    return f"did you mean {' or '.join(close)}?" if close else ""


@lru_cache(256)
def _close(word: str, near: tuple[str, ...]) -> list[str]:
    """The names most alike; a word is often misspelt in many places."""
    from difflib import get_close_matches

    return get_close_matches(word, near, n=3, cutoff=0.6)
