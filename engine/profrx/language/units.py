"""Units of the rule language: what each means, conversion to base units, algebra of dimensions.

Base units: ratio, B, ns, cycle, FLOP, inst, sector, request, warp, thread, block, launch, register, …, C, W.
A value is stored in base units: ``30 %`` is 0.3, ``5 us`` is 5000 (ns), ``1 GB/s`` is 1 (B/ns), ``1 GHz`` is
1 (cycle/ns), ``1 J`` is 1e9 (W ns). Scales are exact fractions, so that a threshold and a value written in
different units of the same size are the same float.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import TypeVar

from profrx.language.diagnostics import did_you_mean

Number = TypeVar("Number")


@dataclass(frozen=True)
class Dimension:
    """A product of base units with whole exponents; no factors is dimensionless."""

    factors: tuple[tuple[str, int], ...] = ()

    def __mul__(self, other: Dimension) -> Dimension:
        return self._combine(other, 1)

    def __truediv__(self, other: Dimension) -> Dimension:
        return self._combine(other, -1)

    def _combine(self, other: Dimension, sign: int) -> Dimension:
        powers = dict(self.factors)
        for base, power in other.factors:
            powers[base] = powers.get(base, 0) + sign * power
        return Dimension(tuple(sorted((base, power) for base, power in powers.items() if power)))

    def root(self) -> Dimension | None:
        """The dimension of a square root; None when an exponent is odd."""
        if any(power % 2 for _, power in self.factors):
            return None
        return Dimension(tuple((base, power // 2) for base, power in self.factors))

    def __str__(self) -> str:
        if not self.factors:
            return "ratio"
        top = [_power(base, power) for base, power in self.factors if power > 0]
        bottom = [_power(base, -power) for base, power in self.factors if power < 0]
        return " ".join(top or ["1"]) + "".join(f" / {part}" for part in bottom)


def _power(base: str, power: int) -> str:
    return base if power == 1 else f"{base}^{power}"


NONE = Dimension()


class UnitError(ValueError):
    """Raised for a unit that nobody defined; `hint` names near ones."""

    def __init__(self, name: str) -> None:
        self.unit = name
        super().__init__(f"unknown unit {name!r}")

    @property
    def hint(self) -> str:
        """What was meant."""
        return unit_hint(self.unit)


@dataclass(frozen=True)
class Unit:
    """A unit: its dimension and how many base units it is, as an exact fraction.

    Attributes:
        points: ``pp``, the difference of two percentages: dimensionless, but never a share.
        percent: ``%``: dimensionless, printed times 100.
    """

    name: str
    dimension: Dimension
    scale: Fraction
    points: bool = False
    percent: bool = False

    def to_base(self, value: Number) -> Number:
        """A value in this unit, as base units; floats and arrays alike."""
        return value * self.scale.numerator / self.scale.denominator  # type: ignore[operator, return-value]

    def from_base(self, value: Number) -> Number:
        """A value in base units, as this unit; floats and arrays alike."""
        return value * self.scale.denominator / self.scale.numerator  # type: ignore[operator, return-value]


def _base(name: str) -> Dimension:
    return Dimension(((name, 1),))


def _table() -> Iterator[tuple[str, Dimension, Fraction]]:
    yield from (("ratio", NONE, Fraction(1)), ("%", NONE, Fraction(1, 100)), ("pp", NONE, Fraction(1, 100)))
    byte, time, cycle, flop, watt = map(_base, ("B", "ns", "cycle", "FLOP", "W"))
    for power, letter in enumerate("KMGT", start=1):
        yield f"{letter}B", byte, Fraction(1000**power)
        yield f"{letter}iB", byte, Fraction(1024**power)
    for name, nanoseconds in (("ns", 1), ("us", 10**3), ("ms", 10**6), ("s", 10**9)):
        yield name, time, Fraction(nanoseconds)
    yield from (("min", time, Fraction(60 * 10**9)), ("h", time, Fraction(3600 * 10**9)))
    for power, prefix in enumerate(("", "k", "M", "G")):
        yield f"{prefix}Hz", cycle / time, Fraction(1000**power, 10**9)
    for power, prefix in enumerate(("", "K", "M", "G", "T", "P")):
        yield f"{prefix}FLOP", flop, Fraction(1000**power)
    yield from (("B", byte, Fraction(1)), ("C", _base("C"), Fraction(1)))
    yield from (
        ("W", watt, Fraction(1)),
        ("mW", watt, Fraction(1, 1000)),
        ("J", watt * time, Fraction(10**9)),
    )
    for word in _COUNTED:
        for spelling in (word, f"{word}es" if word == "launch" else f"{word}s"):
            if spelling != "insts":
                yield spelling, _base(word), Fraction(1)


_COUNTED = (
    *("cycle", "inst", "op", "sector", "request", "warp", "thread", "block", "launch", "register", "wave"),
    *("sample", "event", "node", "page", "token"),
)
UNITS = {name: Unit(name, dim, scale, name == "pp", name == "%") for name, dim, scale in _table()}
"""Every unit by name; ``a/b`` of two of them is a unit too."""


@cache
def unit(name: str) -> Unit:
    """Look up a unit: ``""`` (dimensionless), a name of `UNITS`, or ``a/b`` of two.

    Raises:
        UnitError: nobody defined it.
    """
    if not name:
        return UNITS["ratio"]
    if name in UNITS:
        return UNITS[name]
    top, slash, bottom = name.partition("/")
    if not slash or top not in UNITS or bottom not in UNITS:
        raise UnitError(name)
    a, b = UNITS[top], UNITS[bottom]
    return Unit(name, a.dimension / b.dimension, a.scale / b.scale)


@lru_cache(maxsize=1024)
def is_unit(name: str) -> bool:
    """Whether `unit` knows it."""
    try:
        return bool(name) and unit(name) is not None
    except UnitError:
        return False


_SPELT_OUT = {
    **dict.fromkeys(("percent", "pct", "percentage"), "%"),
    **dict.fromkeys(("byte", "bytes", "b"), "B"),
    **dict.fromkeys(("second", "seconds", "sec"), "s"),
    **dict.fromkeys(("millisecond", "milliseconds", "msec"), "ms"),
    **dict.fromkeys(("microsecond", "microseconds", "usec"), "us"),
    **dict.fromkeys(("nanosecond", "nanoseconds", "nsec"), "ns"),
    **dict.fromkeys(("flop", "flops", "FLOPS"), "FLOP"),
    **dict.fromkeys(("instruction", "instructions", "insts"), "inst"),
    **{
        name.lower(): name
        for name in ("KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "Hz", "kHz", "MHz", "GHz")
    },
    **dict.fromkeys(("\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s"), "us"),
    **{"watt": "W", "watts": "W", "joule": "J", "joules": "J", "celsius": "C", "degrees": "C"},
}


def unit_hint(name: str) -> str:
    """What a word that is no unit was perhaps meant to be."""
    top, slash, bottom = name.partition("/")
    parts = [
        part if part in UNITS else _SPELT_OUT.get(part, _SPELT_OUT.get(part.lower(), ""))
        for part in (top, bottom)
    ]
    if parts[0] and (parts[1] or not slash):
        return f"did you mean {parts[0]}{slash}{parts[1]}?"
    return did_you_mean(name, UNITS) or "docs/language.md lists the units"


def spellings(value: float, name: str) -> str:
    """How a bare number is to be written where the unit `name` is wanted; a share in both ways.

    >>> spellings(65, "%")
    'write 65 % or 0.65 ratio'
    """
    if not unit(name).percent:
        return f"write {value:g} {name}".rstrip()
    if abs(value) > 1:
        return f"write {value:g} % or {value / 100:g} ratio"
    return f"write {value * 100:g} % or {value:g} ratio, or {value:g} % if so little is meant"


def convert(value: Number, source: str, target: str) -> Number:
    """A value in `source` as `target`; both must have one dimension.

    >>> convert(2.0, "GB/s", "MB/ms")
    2.0
    """
    a, b = unit(source), unit(target)
    if a.dimension != b.dimension:
        raise ValueError(
            f"{source or 'ratio'} cannot become {target or 'ratio'}: {a.dimension} is not {b.dimension}"
        )
    scale = a.scale / b.scale
    return value * scale.numerator / scale.denominator  # type: ignore[operator, return-value]
