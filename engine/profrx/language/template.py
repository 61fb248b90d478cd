"""Text templates: ``{name}``, ``{name:.1f us}``, ``{name:.0%}``, ``{n:plural block blocks}``, ``{{``.

No code runs in a template: a field is a name and one of these formats, everything else is text. Values come
from the report and are untrusted: they are put in as they are and escaped by whoever renders the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from profrx.language.units import UnitError, unit

FIELD = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|([{}])")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*")
NUMBER = re.compile(r"(,?)(?:\.(\d{1,2}))?([fgedn%]?)\s*(\S*)")
"""Thousands sign, digits, kind, unit."""

Lookup = Callable[[str], tuple[float | str | bool | None, str]]
"""Name -> (value in base units or text, unit to show it in)."""

MISSING = "n/a"
MAX_RENDERED = 20_000
"""Characters of one rendered text; more is cut."""


@dataclass(frozen=True)
class Field:
    """One ``{name:spec}``; `problem` says what is wrong with its spelling."""

    name: str
    spec: str = ""
    problem: str = ""


def fields(template: str) -> Iterator[Field]:
    """The fields of a template in order, the misspelt ones included."""
    for match in FIELD.finditer(template):
        if match[0] in ("{{", "}}"):
            continue
        if match[2]:
            yield Field("", problem=f"a single `{match[2]}`; write `{match[2] * 2}` for a brace")
            continue
        name, _, spec = match[1].partition(":")
        if not _NAME.fullmatch(name):
            yield Field("", problem=f"`{match[0][:40]}` is no field; write {{name}} or {{name:.1f unit}}")
        else:
            yield Field(name, spec.strip())


def render(template: str, lookup: Lookup) -> str:
    """Fill a template; an unknown value prints ``n/a``, an unreadable format prints the value plainly."""

    def field(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        name, _, spec = (match[1] or "").partition(":")
        if not _NAME.fullmatch(name):
            return match[0]
        value, shown_in = lookup(name)
        return formatted(value, shown_in, spec.strip())

    return FIELD.sub(field, template)[:MAX_RENDERED]


def formatted(value: float | str | bool | None, shown_in: str, spec: str) -> str:
    """Format one value: `shown_in` is the unit it is shown in unless the format names another."""
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
    match = NUMBER.fullmatch(spec)
    if not spec or match is None:
        return _with_unit(value, shown_in)
    comma, digits, kind, wanted = match[1], match[2], match[3] or ("f" if match[2] else "g"), match[4]
    if kind == "%":
        return f"{value:.{digits or 0}%}"
    kind = {"d": "f", "n": "g"}.get(kind, kind)
    try:
        number = float(unit(wanted or shown_in).from_base(value))
    except UnitError:
        return _with_unit(value, shown_in)
    precision = f".{digits}" if digits else ".0" if kind == "f" else ""
    text = f"{number:{comma}{precision}{kind}}"
    return f"{text}{'' if wanted in ('%',) else ' '}{wanted}" if wanted else text


def _with_unit(value: float, shown_in: str) -> str:
    number = float(unit(shown_in).from_base(value))
    if shown_in in ("", "ratio"):
        return _plain(number)
    return f"{number:.3g}%" if shown_in == "%" else f"{_plain(number)} {shown_in}"


def _plain(number: float) -> str:
    if number == int(number) and abs(number) < 1e15:
        return f"{int(number):,}"
    return f"{number:,.1f}" if abs(number) >= 1000 else f"{number:.3g}"
