"""The import log: what a reader could not use, as rows instead of exceptions.

A `ProblemLog` folds repeated problems into one row with a count, so that a file damaged in a million
places still yields a short table. Codes are documented in ``docs/errors.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pyarrow as pa

Severity = Literal["info", "warning", "data-loss", "error"]

MAX_ROWS = 1000
"""Distinct (code, message) rows kept per report; more are counted in one `problems-cut` row."""


@dataclass
class Problem:
    """One kind of problem in one input.

    Attributes:
        severity: ``info`` (nothing lost), ``warning`` (a value may mislead), ``data-loss`` (something could
            not be read), ``error`` (the rest of the input was given up).
        code: stable identifier, e.g. ``truncated-block``.
        message: what is wrong, in one line, without untrusted text longer than needed.
        where: byte offset, ``line N``, table or result it was first seen at; empty when it is the whole input.
        count: how often it was seen.
        advice: what the user can do; empty when nothing.
    """

    severity: Severity
    code: str
    message: str
    where: str = ""
    count: int = 1
    advice: str = ""


@dataclass
class ProblemLog:
    """Collects problems in order of first appearance and counts repeats."""

    _rows: dict[tuple[str, str], Problem] = field(default_factory=dict)
    _deferred: list[Callable[[ProblemLog], None]] = field(default_factory=list)

    def defer(self, check: Callable[[ProblemLog], None]) -> None:
        """Call a function that adds problems to the log it is given, once somebody reads this one.

        It must not hold the log itself: what goes around in circles outlives its use.
        """
        self._deferred.append(check)

    def extend(self, other: ProblemLog) -> None:
        """Add the problems of another log."""
        for one in other:
            self.add(one.severity, one.code, one.message, where=one.where, count=one.count, advice=one.advice)

    def _complete(self) -> dict[tuple[str, str], Problem]:
        while self._deferred:
            self._deferred.pop(0)(self)
        return self._rows

    def add(
        self,
        severity: Severity,
        code: str,
        message: str,
        *,
        where: str = "",
        count: int = 1,
        advice: str = "",
    ) -> None:
        """Record a problem; the same (code, message) again only raises its count."""
        key = (code, message)
        known = self._rows.get(key)
        if known is not None:
            known.count += count
        elif len(self._rows) < MAX_ROWS:
            self._rows[key] = Problem(severity, code, message, where, count, advice)
        else:
            cut = ("problems-cut", "further kinds of problems were counted but not listed")
            if cut in self._rows:
                self._rows[cut].count += count
            else:
                self._rows[cut] = Problem("info", *cut, where=where, count=count)

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._complete().values())

    def __len__(self) -> int:
        return len(self._complete())

    def table(self) -> pa.Table:
        """Return the `problems` table (schema: `schema.PROBLEMS`)."""
        from profrx_parsers import schema

        return schema.from_rows("problems", [vars(p) for p in self])
