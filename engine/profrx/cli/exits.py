"""Exit codes, the same for every verb. Where several apply, the first in the order of `EXIT_ORDER` is used."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Exit(IntEnum):
    """What a verb tells the shell."""

    CLEAN = 0
    FINDINGS = 1
    """Findings at or above ``--fail-on``, a failed gate or a failed rule test."""
    USAGE = 2
    """The call, a parameter or a rule pack is wrong."""
    UNREADABLE = 3
    """Some input could not be read; the others were analysed."""
    NOTHING = 4
    """Nothing to analyse: no readable input holds a kernel, a timeline or a summary."""
    INTERNAL = 70
    """A defect of profrx (EX_SOFTWARE); please report it."""
    INTERRUPTED = 130
    """Stopped from the keyboard."""


EXIT_ORDER = (Exit.USAGE, Exit.UNREADABLE, Exit.FINDINGS, Exit.NOTHING, Exit.CLEAN)


def first(codes: Iterable[Exit]) -> Exit:
    """Return the code that wins among those that apply; clean when none does.

    >>> first([Exit.NOTHING, Exit.UNREADABLE])
    <Exit.UNREADABLE: 3>
    """
    held = set(codes)
    return next((code for code in EXIT_ORDER if code in held), Exit.CLEAN)
