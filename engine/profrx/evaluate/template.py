"""Text templates: ``{name}``, ``{name:.1f us}``, ``{name:.0%}``, ``{n:plural block blocks}``, ``{{``.

No code runs in a template: a field is a name and one of these formats, everything else is text. Values come
from the report and are untrusted: they are put in as they are and escaped by whoever renders the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from profrx.evaluate.quantity import from_base
from profrx.language.units import UnitError

Lookup = Callable[[str], tuple[float | str | bool | None, str]]
"""Name -> (value in base units or text, unit to show it in)."""

MISSING = "n/a"
_FIELD = re.compile(r"\{\{|\}\}|\{([A-Za-z_][\w.]*)(?::([^{}]*))?\}")
_NUMBER = re.compile(r"(,?)(?:\.(\d{1,2}))?([fgedn%]?)\s*(\S*)")
MAX_RENDERED = 20_000
"""Characters of one rendered text; more is cut."""


def render(template: str, lookup: Lookup) -> str:
    """Fill a template; an unknown value prints ``n/a``, an unreadable format prints the value plainly."""

    def field(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        value, unit = lookup(match[1])
        return formatted(value, unit, (match[2] or "").strip())

    return _FIELD.sub(field, template)[:MAX_RENDERED]


def names(template: str) -> list[str]:
    """Return the names a template reads, in order."""
    return [match[1] for match in _FIELD.finditer(template) if match[1]]


def formatted(value: float | str | bool | None, unit: str, spec: str) -> str:
    """Format one value: `unit` is what it is shown in unless the format names another."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if spec.startswith("plural "):
        words = spec.split()
        one, many = words[1], words[2] if len(words) > 2 else words[1] + "s"
        return f"{_plain(value)} {one if value == 1 else many}"
    match = _NUMBER.fullmatch(spec)
    if not spec or match is None:
        return _with_unit(value, unit)
    comma, digits, kind, wanted = match[1], match[2], match[3] or ("f" if match[2] else "g"), match[4]
    if kind == "%":
        return f"{value:.{digits or 0}%}"
    kind = {"d": "f", "n": "g"}.get(kind, kind)
    try:
        number = from_base(value, wanted or unit)
    except UnitError:
        return _with_unit(value, unit)
    precision = f".{digits}" if digits else ".0" if kind == "f" else ""
    text = f"{number:{comma}{precision}{kind}}"
    return f"{text}{'' if wanted in ('%',) else ' '}{wanted}" if wanted else text


def _with_unit(value: float, unit: str) -> str:
    number = from_base(value, unit)
    if unit in ("", "ratio"):
        return _plain(number)
    return f"{number:.3g}%" if unit == "%" else f"{_plain(number)} {unit}"


def _plain(number: float) -> str:
    if number == int(number) and abs(number) < 1e15:
        return f"{int(number):,}"
    return f"{number:,.1f}" if abs(number) >= 1000 else f"{number:.3g}"
