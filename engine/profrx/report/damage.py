"""Whether an input is damaged, and what to do first then: what is lost with it need not be collected again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable


class Problem(Protocol):
    """A row of the import log, of a reader or of the findings."""

    @property
    def severity(self) -> str:
        """``info``, ``warning``, ``data-loss`` or ``error``."""

    @property
    def code(self) -> str:
        """Its stable name."""

    @property
    def message(self) -> str:
        """What is wrong."""

    @property
    def where(self) -> str:
        """Where it was seen first; may be empty."""

    @property
    def count(self) -> int:
        """How often."""


LOST = frozenset({"data-loss", "error"})
"""Severities of problems that cost data."""
WHOLE = frozenset(
    (
        "ncu-no-blocks", "ncu-second-report", "ncu-too-many-blocks", "ncu-too-many-findings", "ncu-too-many-instances",
        "ncu-too-many-metrics", "ncu-too-many-names", "nsys-csv-too-long", "nsys-missing-column", "nsys-recorder-lost",
        "nsys-too-large",
    )
)  # fmt: skip
"""Losses that every copy of the file has: while it was recorded, by its size, or by how it was exported."""
STEP = "Copy the file again or read the original; collect again only if that is damaged, too."


def losses(problems: Iterable[Problem]) -> list[str]:
    """Return one sentence for each problem that cost data: what, how often, where first, its code."""
    return [f"Data is lost: {told(one)} [{one.code}]" for one in problems if one.severity in LOST]


def told(one: Problem) -> str:
    """Return what a problem is, where it was seen first and how often."""
    where = f" at {one.where}" if one.where else ""
    times = f" ({one.count} times)" if one.count > 1 else ""
    return f"{one.message}{where}{times}"


def next_step(problems: Iterable[Problem]) -> str:
    """Return what to do before anything is collected again; empty when a fresh copy would say no more."""
    return STEP if any(one.severity in LOST and one.code not in WHOLE for one in problems) else ""
