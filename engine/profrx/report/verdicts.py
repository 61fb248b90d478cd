"""Which of a kernel's verdicts leads: a pack may hold several decision tables, the page names one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profrx.report.model import VerdictOf

UNNAMED = "(no name)"
"""Stands for a kernel whose launches have no name."""

UNKNOWN = "unknown"
ROOT = "speed-of-light"
"""The table that leads where it was judged: the root of the flowchart."""


def leading(verdicts: Sequence[VerdictOf]) -> list[VerdictOf]:
    """Return the verdicts of the leading table: `ROOT` if judged at all, else the first table."""
    tables = list(dict.fromkeys(one.table for one in verdicts))
    table = ROOT if ROOT in tables else tables[0] if tables else ""
    return [one for one in verdicts if one.table == table]


def question(table: str) -> str:
    """Return a decision table's name as a question.

    >>> question("speed-of-light"), question("latency-first")
    ('Memory or compute bound?', 'Latency first?')
    """
    if table == ROOT:
        return "Memory or compute bound?"
    return f"{table.replace('-', ' ').capitalize()}?"
