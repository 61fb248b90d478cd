"""Cells of exported tables: numbers in any locale, units in any scale, missing values.

Exports print numbers with the digit groups of the machine's locale: ``27,595,520`` and ``65.77``, or
``27.595.520`` and ``65,77``. One cell such as ``117.344`` says nothing, so the style is decided per file.
Source: public exports; Nsight Compute 2020.3 to 2025.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

MISSING = frozenset({"", "n/a", "(!) n/a", "-", "<n/a>", "N/A"})
_NAN = frozenset({"nan", "-nan", "(!) nan", "-nan(ind)", "+nan"})
_INFINITE = {"inf": float("inf"), "-inf": float("-inf"), "+inf": float("inf")}
_SPACES = re.compile(r"(?<=\d)[ \u00a0\u202f'\u2019](?=\d{3}(?:\D|$))")
_NUMERIC = re.compile(r"^[+-]?\d[\d.,]*(?:[eE][+-]?\d+)?$")
_POINT = re.compile(
    r"^[+-]?(?:\d{1,3}(?:,\d{3}){2,}|\d{1,3}(?:,\d{3})+\.\d+|0\.\d+|\d+\.\d{1,2}|\d+\.\d{4,}|\d{4,}\.\d+)$"
)
_COMMA = re.compile(
    r"^[+-]?(?:\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:\.\d{3})+,\d+|0,\d+|\d+,\d{1,2}|\d+,\d{4,}|\d{4,},\d+)$"
)
_EITHER = re.compile(r"^[+-]?[1-9]\d{0,2}[.,]\d{3}$")


@dataclass(frozen=True)
class Style:
    """How a file prints numbers.

    Attributes:
        decimal: ``.`` or ``,``.
        certain: False when cells were found that read differently in the other style and nothing decides.
        mixed: True when cells of both styles were found.
    """

    decimal: str = "."
    certain: bool = True
    mixed: bool = False


def decide(cells: Iterable[str]) -> Style:
    """Decide the number style of a file from all its cells; the decimal point when nothing speaks against it."""
    point = comma = point_groups = comma_groups = 0
    for cell in cells:
        text = _SPACES.sub("", cell.strip())
        if "." not in text and "," not in text:
            continue
        point += bool(_POINT.match(text))
        comma += bool(_COMMA.match(text))
        if _EITHER.match(text):
            point_groups += "." in text
            comma_groups += "," in text
    if point or comma:
        return Style("." if point >= comma else ",", True, min(point, comma) * 20 > max(point, comma))
    if comma_groups and point_groups:
        return Style(".", True)
    return Style(".", certain=not (point_groups or comma_groups))


def number(cell: str, style: Style) -> float | None:
    """Read a cell; None when it is missing or no number."""
    text = cell.strip()
    if text in MISSING:
        return None
    lowered = text.lower()
    if lowered in _NAN:
        return float("nan")
    if lowered in _INFINITE:
        return _INFINITE[lowered]
    text = _SPACES.sub("", text.partition(" (")[0])
    if not _NUMERIC.match(text):
        return None
    group = "," if style.decimal == "." else "."
    text = text.replace(group, "").replace(style.decimal, ".")
    try:
        return float(text)
    except ValueError:
        return None


_TIMES = {
    "ns": 1e-9, "nsecond": 1e-9, "us": 1e-6, "usecond": 1e-6, "ms": 1e-3, "msecond": 1e-3, "s": 1.0,
    "sec": 1.0, "second": 1.0, "seconds": 1.0, "nseconds": 1e-9,
}  # fmt: skip
_PREFIXES = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_PLURALS = {"bytes": "byte", "cycles": "cycle", "sectors": "sector", "insts": "inst"}


@lru_cache(maxsize=1024)
def scale(unit: str) -> tuple[float, str | None]:
    """Return the factor to the base unit, and the base unit (``ns``, ``hz``, ``byte``, ``byte/s``, ``%``).

    >>> scale("Kbyte/block")
    (1000.0, 'byte/block')
    >>> scale("cycle/nsecond")
    (1000000000.0, 'hz')
    """
    unit = unit.strip()
    if not unit:
        return 1.0, None
    above, slash, below = unit.partition("/")
    factor, base = _one(above)
    if not slash:
        return (factor * 1e9, "ns") if base == "s" and above in _TIMES else (factor, base)
    divisor, per = _one(below)
    factor /= divisor
    if base == "cycle" and per == "s":
        return factor, "hz"
    return factor, f"{base}/{per}"


def _one(unit: str) -> tuple[float, str]:
    if unit in _TIMES:
        return _TIMES[unit], "s"
    unit = _PLURALS.get(unit, unit)
    prefix, rest = unit[:1], unit[1:]
    if prefix in _PREFIXES and len(rest) > 1 and rest.islower():
        return _PREFIXES[prefix], _PLURALS.get(rest, rest)
    return 1.0, unit
