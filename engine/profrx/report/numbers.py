"""Numbers as a person reads them: three significant digits, scaled units, ranges, speed-ups.

Values come in base units (ns, B, Hz, FLOP/s …); `quantity` picks the prefix. Unknown is an en dash, never 0.
"""

from __future__ import annotations

import math
import re

NOTHING = "–"
MOST_DIGITS = 9
_ZEROS = re.compile(r"(\.\d*?[1-9])0+(?!\d)|\.0+(?!\d)")
FAR = 10.0
"""From ten times the limit on, a margin says no more than that it is large."""

_DECIMAL = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_BYTES = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B"))
_TIMES = ((60e9, "min"), (1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))
_TO_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_SCALED = ("FLOP/s", "FLOP", "Hz", "inst/s", "OP/s")
_PER_NS = {"B/ns": "B/s", "FLOP/ns": "FLOP/s", "cycle/ns": "Hz", "cycles/ns": "Hz"}
"""Rates in the base units of the rule language, whose time is the nanosecond."""
_PLAIN = ("", "ratio", "1")
_COUNTS = frozenset(
    {"inst", "sectors", "sector", "requests", "request", "warps", "warp", "threads", "thread", "blocks", "block",
     "launches", "launch", "cycles", "cycle", "registers", "register", "bytes", "samples"}
)  # fmt: skip


def digits(value: float, significant: int = 3) -> str:
    """Return `value` with so many significant digits, thousands grouped, no exponent between 1e-3 and 1e15.

    >>> digits(1234.5), digits(0.01234), digits(9.999), digits(0)
    ('1,234', '0.0123', '10.0', '0')
    """
    if not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    if not -300 < magnitude < 15:
        return f"{value:.{significant - 1}e}"
    if round(abs(value), significant - 1 - magnitude) >= 10 ** (magnitude + 1):
        magnitude += 1
    if magnitude >= significant - 1:
        return f"{value:,.0f}" if magnitude < 15 else f"{value:.{significant - 1}e}"
    if magnitude < -3:
        return f"{value:.{significant - 1}e}"
    return f"{value:.{significant - 1 - magnitude}f}"


def quantity(value: float | str | None, unit: str | None = "", significant: int = 3) -> str:
    """Return a value with its unit, scaled where the unit has prefixes.

    Percentages have one decimal unless more than three significant digits are asked for.

    >>> quantity(1500, "ns"), quantity(3.2e12, "B/s"), quantity(45.04, "%"), quantity(None, "ns")
    ('1.50 us', '3.20 TB/s', '45.0%', '–')
    """
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return NOTHING
    unit = unit or ""
    if unit in ("%", "pp"):
        shown = percent_digits(value) if significant <= 3 else digits(value, significant)
        return f"{shown}{'%' if unit == '%' else ' pp'}"
    if unit in _TO_NS:
        return _scale(value * _TO_NS[unit], _TIMES, "", "ns", significant)
    if unit in _PER_NS:
        return quantity(value * 1e9, _PER_NS[unit], significant)
    if unit in ("B", "byte", "B/s", "byte/s"):
        return _scale(value, _BYTES, "/s" if unit.endswith("/s") else "", "B", significant)
    for name in _SCALED:
        if unit == name:
            return _scale(value, tuple((f, p + name) for f, p in _DECIMAL), "", name, significant)
    if unit in _PLAIN:
        return (
            f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e6 else digits(value, significant)
        )
    if unit in _COUNTS and float(value).is_integer() and abs(value) < 1e6:
        return f"{value:,.0f} {unit}"
    return f"{digits(value, significant)} {unit}"


def _scale(value: float, steps: tuple[tuple[float, str], ...], tail: str, base: str, significant: int) -> str:
    size = abs(value)
    for factor, name in steps:
        if size >= factor * 0.9995:
            if factor == 1.0 and float(value).is_integer():
                return f"{value:.0f} {name}{tail}"
            return f"{digits(value / factor, significant)} {name}{tail}"
    return f"{digits(value, significant)} {base}{tail}"


def compared(value: float | str | None, limit: float | str | None, unit: str | None = "") -> tuple[str, str]:
    """Return a value and its limit with as many digits as tell them apart; no limit reads ``< 0.1``.

    >>> compared(1.004, 1.0, "waves"), compared(3.0, 0.02, "%"), compared(45.0, 5.0, "%")
    (('1.004 waves', '1 waves'), ('3%', '0.02%'), ('45.0%', '5.0%'))
    """
    texts = quantity(value, unit), quantity(limit, unit)
    if isinstance(value, str) or isinstance(limit, str) or value is None or limit is None:
        return texts
    for significant in range(4, MOST_DIGITS + 1):
        if (texts[0] != texts[1] or value == limit) and not texts[1].startswith(("<", ">")):
            break
        shown = (quantity(number, unit, significant) for number in (value, limit))
        texts = tuple(_ZEROS.sub(lambda zeros: zeros[1] or "", text) for text in shown)  # type: ignore[assignment]
    return texts


def percent_digits(value: float) -> str:
    """Return a percentage without its sign: one decimal below 100, none from there on."""
    if value != 0 and abs(value) < 0.05:
        return "< 0.1" if value > 0 else "> -0.1"
    return f"{value:.1f}" if abs(value) < 99.95 else digits(value)


def share(value: float | None) -> str:
    """Return a share (0..1) in percent.

    >>> share(0.4), share(None), share(1.0), share(0.0001)
    ('40%', '–', '100%', '< 0.1%')
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    percent = value * 100
    if abs(percent) >= 9.95 or abs(percent - round(percent)) < 0.05:
        text = f"{percent:.0f}" if not (0 < abs(percent) < 0.05) else percent_digits(percent)
        return f"{text}%"
    return f"{percent_digits(percent)}%"


def share_range(low: float, high: float) -> str:
    """Return a range of shares: ``30 to 45%``; one number where both ends read the same.

    >>> share_range(0.3, 0.45), share_range(0.3, 0.301), share_range(0, 0.05)
    ('30 to 45%', '30%', 'up to 5%')
    """
    first, last = share(low), share(high)
    if first == last:
        return last
    if low <= 0:
        return f"up to {last}"
    return f"{first.removesuffix('%')} to {last}"


def speedup_range(low: float, high: float) -> str:
    """Return the speed-up 1 / (1 - s) for a range of run time saved.

    >>> speedup_range(0.5, 0.75), speedup_range(0.2, 0.2), speedup_range(0, 1)
    ('2.0x to 4.0x', '1.2x', '1.0x or more')
    """
    first = _factor(low)
    if low <= 0 and high < 0.995:
        return f"up to {_factor(high)}"
    if high >= 0.995:
        return f"{first} or more"
    last = _factor(high)
    return first if first == last else f"{first} to {last}"


def _factor(saved: float) -> str:
    factor = 1 / (1 - min(max(saved, 0.0), 0.995))
    return f"{factor:.1f}x" if factor < 10 else f"{factor:.0f}x"


def margin(value: float | None) -> str:
    """Return how far a value lies beyond its limit, relative to it.

    >>> margin(0.12), margin(-0.5), margin(685.87), margin(-40.0), margin(None)
    ('+12%', '-50%', 'far beyond', 'far short', '–')
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    if abs(value) >= FAR:
        return "far beyond" if value > 0 else "far short"
    return ("+" if value >= 0 else "-") + share(abs(value))


def plural(count: int, one: str, many: str = "") -> str:
    """Return ``1 launch``, ``2 launches``.

    >>> plural(1, "launch", "launches"), plural(1200, "launch", "launches")
    ('1 launch', '1,200 launches')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"
