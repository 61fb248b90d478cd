"""Units of Nsight Compute metrics: a rule over the name, corrected by a small table.

Reports do not store units. The rule reads the quantity from the words of the counter (``…_sectors_…``) and the
roll-up from its suffix (``.sum.per_second``). Where the vendor's own module answers otherwise, `units.csv`
decides; it lists exceptions only, as ``name,unit``, where a name that ends in ``.`` stands for every roll-up of
that counter. Source of the table: units reported by `ncu_report` 2026.3.1 for 3,700 metric names, measured.
"""

from __future__ import annotations

import csv
import re
from functools import cache, lru_cache
from importlib.resources import files

_WORDS = (
    (re.compile(r"(?:^|_)bytes?(?:_|$)"), "byte"),
    (re.compile(r"(?:^|_)(?:thread_)?inst(?:s|_executed|_issued)?(?:_|$)"), "inst"),
    (re.compile(r"(?:^|_)sectors?(?:_|$)"), "sector"),
    (re.compile(r"(?:^|_)cycles?(?:_|$)"), "cycle"),
    (re.compile(r"(?:^|_)requests?(?:_|$)"), "request"),
    (re.compile(r"(?:^|_)warps?(?:_|$)"), "warp"),
    (re.compile(r"(?:^|_)ctas?(?:_|$)"), "block"),
)
_DOMAIN = re.compile(r"^(?:[a-z]+:)?(?:(?:[A-Za-z_]+\.)?Triage[A-Za-z]*\.)?")
"""Sampling kind and counter domain, which change no unit."""
_ROLLUPS = frozenset({"sum", "avg", "min", "max"})


def rule(name: str) -> str | None:
    """Derive the unit from the name alone; None where the name does not say."""
    parts = name.split(".")
    if any(part.startswith("pct") for part in parts[1:]) or parts[0].endswith("_pct"):
        return "%"
    if len(parts) < 2 or parts[1] not in _ROLLUPS:
        return None
    base = quantity(parts[0])
    if base is None:
        return None
    rest = parts[2:]
    if not rest:
        return base
    if rest[-1] == "per_second":
        return "hz" if base == "cycle" else f"{base}/s"
    if rest[-1].startswith(("per_cycle", "peak_sustained")):
        return base if base == "warp" else None if base == "cycle" else f"{base}/cycle"
    return None


def quantity(counter: str) -> str | None:
    """Return what a counter counts, by the words of its name."""
    words = counter.partition("__")[2] or counter
    for pattern, unit in _WORDS:
        if pattern.search(words):
            return unit
    return None


@cache
def _exceptions() -> dict[str, str]:
    text = files("profrx_parsers.ncu").joinpath("units.csv").read_text("utf-8")
    return {row["name"]: row["unit"] for row in csv.DictReader(text.splitlines())}


@lru_cache(maxsize=16384)
def unit_of(name: str) -> str | None:
    """Return the base unit of a metric, None when it is unknown or the metric has none."""
    table = _exceptions()
    found = table.get(name)
    if found is None:
        name = _DOMAIN.sub("", name)
        found = table.get(name)
    if found is None:
        counter, dot, rest = name.partition(".")
        base = table.get(counter + ".")
        found = _rolled(base, rest) if base is not None and dot else rule(name)
    return found or None


def _rolled(base: str, rest: str) -> str | None:
    """Apply the roll-up suffix to a base unit taken from the table."""
    parts = rest.split(".")
    if any(part.startswith("pct") for part in parts):
        return "%"
    if not base or parts[0] not in _ROLLUPS:
        return None
    if len(parts) == 1:
        return base
    if parts[-1] == "per_second":
        return "hz" if base == "cycle" else f"{base}/s"
    if parts[-1].startswith(("per_cycle", "peak_sustained")):
        return base if base == "warp" else None if base == "cycle" else f"{base}/cycle"
    return None
