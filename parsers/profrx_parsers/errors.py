"""Errors that reach a user: each has a stable code, a place and a next step.

Four families share one base: `InputError` (a file cannot be read), `RuleError` (a rule pack cannot be
used), `UsageError` (the call itself is wrong) and `InternalError` (a defect of profrx). Damage inside a
readable file is not an error: it is a row of the `problems` table (see `problems.py`).
"""

from __future__ import annotations


class ProfrxError(Exception):
    """Base of every error that profrx raises on purpose.

    Attributes:
        code: stable identifier such as ``input-empty``; an anchor in ``docs/errors.md``.
        message: what happened, in one line.
        where: the file (and byte offset, or ``line:col``) it happened in; empty when there is none.
        next_step: what the user can do about it, in one line.
    """

    family = "internal"

    def __init__(self, code: str, message: str, *, where: str = "", next_step: str = "") -> None:
        """Keep the four parts; `str()` joins them into one line."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.where = where
        self.next_step = next_step

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        step = f" ({self.next_step})" if self.next_step else ""
        return f"{place}{self.message} [{self.code}]{step}"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle all four parts: errors cross process boundaries in a batch."""
        return (_rebuild, (type(self), self.code, self.message, self.where, self.next_step))


def _rebuild(kind: type[ProfrxError], code: str, message: str, where: str, next_step: str) -> ProfrxError:
    return kind(code, message, where=where, next_step=next_step)


class InputError(ProfrxError):
    """An input cannot be read at all: exit code 3."""

    family = "input"


class RuleError(ProfrxError):
    """A rule, metric or pack cannot be used: exit code 2."""

    family = "rule"


class UsageError(ProfrxError):
    """The call is wrong: unknown table, parameter, option value. Exit code 2."""

    family = "usage"


class InternalError(ProfrxError):
    """A defect of profrx itself; never the user's fault."""

    family = "internal"
