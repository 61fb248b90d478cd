"""The fields of text templates: ``{name}``, ``{name:.1f us}``, ``{name:.0%}``, ``{n:plural block blocks}``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

FIELD = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|([{}])")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*")
NUMBER = re.compile(r"(,?)(?:\.(\d{1,2}))?([fgedn%]?)\s*(\S*)")
"""Thousands sign, digits, kind, unit."""


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
