"""Numbers with units as the engine meets them: literals, thresholds, the units that reports give.

Scales are exact fractions: a column in percent and a threshold in percent become the same floats.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from profrx.language.units import UnitError, unit

ONE = Fraction(1)

_SPELLINGS = {
    "byte": "B",
    "bytes": "B",
    "hz": "Hz",
    "nsecond": "ns",
    "usecond": "us",
    "msecond": "ms",
    "second": "s",
}
"""Units as tools spell them, where the language spells them otherwise. Source: exports of Nsight Compute."""


@lru_cache(maxsize=4096)
def to_base(value: float, name: str, like: str | None = None) -> float:
    """Return a value in base units.

    Args:
        value: the number as written.
        name: its unit.
        like: unit whose dimension it must have, None = any.

    Raises:
        ValueError: an unknown unit, or another dimension than `like`.
    """
    found = unit(name)
    if like is not None and found.dimension != unit(like).dimension:
        raise ValueError(f"{name or 'a bare number'} is not a unit of {unit(like).dimension}")
    return float(found.to_base(value))


def from_base(value: float, name: str) -> float:
    """Return a base value in a unit."""
    return float(unit(name).from_base(value))


@cache
def scale_of(name: str) -> Fraction:
    """Return how many base units one `name` is."""
    return unit(name).scale


@cache
def scale_from(stored: str | None, declared: str) -> Fraction:
    """Return the scale of a report's value: its own unit where that has the declared dimension.

    Reports give no unit, a vendor's spelling, or a looser one (``warp`` for warps per cycle): then the
    catalogue's declaration decides.
    """
    wanted = unit(declared)
    try:
        found = unit(_spelled(stored)) if stored else wanted
    except UnitError:
        return wanted.scale
    return found.scale if found.dimension == wanted.dimension or not declared else wanted.scale


def _spelled(stored: str) -> str:
    return "/".join(_SPELLINGS.get(part, part) for part in stored.split("/"))


@lru_cache(maxsize=4096)
def scalar(value: float | None) -> pa.Scalar:
    """Return a constant as the evaluator wants it; making one costs as much as adding two columns of a few rows."""
    return pa.scalar(value)


def rescale(column: Any, scale: Fraction) -> Any:
    """Multiply a column by an exact scale."""
    if scale is ONE or scale == ONE:
        return column
    if scale.numerator != 1:
        column = pc.multiply(column, scalar(float(scale.numerator)))
    return column if scale.denominator == 1 else pc.divide(column, scalar(float(scale.denominator)))
