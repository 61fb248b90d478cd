"""Architectures and tool versions as things that can be ordered."""

from __future__ import annotations

import re
from functools import lru_cache

_DOTTED = re.compile(r"(\d+)\.(\d+)")
_SM = re.compile(r"sm_?(\d+)")
_GFX = re.compile(r"gfx_?([0-9a-f]+)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@lru_cache(maxsize=1024)
def arch_number(text: str | None) -> float | None:
    """Return an architecture as a number: ``sm_90`` and ``9.0`` -> 9.0, ``gfx942`` -> 2370.0 (0x942).

    AMD's names are hexadecimal (``gfx90a``), ordered within a family only. Anything else with a number in it
    gives that number (``apple-m2`` -> 2.0); no number gives None.
    """
    if not text:
        return None
    text = text.strip().lower()
    if match := _SM.match(text):
        return int(match[1]) / 10
    if match := _GFX.match(text):
        return float(int(match[1], 16))
    if match := _DOTTED.fullmatch(text):
        return float(text)
    found = _NUMBER.search(text)
    return float(found[0]) if found else None


@lru_cache(maxsize=1024)
def version_key(text: str | None) -> tuple[int, ...] | None:
    """Return a tool version as numbers: ``2025.3.1.0 (build 1)`` -> (2025, 3, 1, 0); None when there are none."""
    if not text:
        return None
    match = re.match(r"\s*[vV]?(\d+(?:\.\d+)*)", text)
    return tuple(int(part[:9]) for part in match[1].split(".")) if match else None


@lru_cache(maxsize=4096)
def version_within(text: str | None, low: str, high: str) -> bool:
    """Whether a version lies in an inclusive range; ``2025.3`` as upper bound takes in ``2025.3.9``.

    An empty bound is open; an unknown version is in no bounded range.
    """
    key = version_key(text)
    lower, upper = version_key(low), version_key(high)
    if key is None:
        return lower is None and upper is None
    return (lower is None or key >= lower) and (upper is None or key[: len(upper)] <= upper)
