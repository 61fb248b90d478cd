"""Did you mean …"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the nearest known word, or nothing.

    >>> did_you_mean("lauches", ["launches", "metrics"])
    "; did you mean 'launches'?"
    """
    from difflib import get_close_matches

    near = get_close_matches(word.lower(), list(known), n=1, cutoff=0.65)
    return f"; did you mean {near[0]!r}?" if near else ""
