"""What a `pack` header asks for: an engine that is new enough, and the parts of its folder that belong to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from profrx.language import ast
from profrx.language.diagnostics import Diagnostic

_DEMAND = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)\s*")


def excluded(header: ast.Pack, files: Iterable[str]) -> set[str]:
    """Files of a pack's folder that its `include` statements leave out; without any, none is."""
    if not header.includes:
        return set()
    own = header.span.file
    root = own[: own.rfind("/") + 1]
    return {
        name
        for name in files
        if name != own and not any(_below(name, root, part) for part in header.includes)
    }


def _below(name: str, root: str, part: str) -> bool:
    """Whether a file lies in an included folder, or is the included file."""
    return name == root + part or name.startswith(root + part.rstrip("/") + "/")


def header_problems(header: ast.Pack, files: Iterable[str], engine: str) -> list[Diagnostic]:
    """What is wrong with a header: a demand that this engine does not meet, an `include` out of the folder or of nothing."""
    found: list[Diagnostic] = []
    subject = f"pack {header.name}"
    if header.requires and not meets(engine, header.requires):
        message = f"pack {header.name} requires engine {header.requires}; this is {engine}"
        hint = (
            "install an engine that fits"
            if _DEMANDS.fullmatch(header.requires)
            else 'write it as ">=0.1" or ">=0.1,<2"'
        )
        found.append(Diagnostic("engine-version", message, header.span, hint=hint, subject=subject))
    files = list(files)
    own = header.span.file
    root = own[: own.rfind("/") + 1]
    for part in header.includes:
        if (
            part.startswith(("/", "~"))
            or "://" in part
            or ".." in part.split("/")
            or re.match(r"[A-Za-z]:", part)
        ):
            message = f"`{part}` leads out of the pack"
            hint = "include folders and files of the pack only"
            found.append(Diagnostic("bad-include", message, header.span, hint=hint, subject=subject))
        elif not any(_below(name, root, part) for name in files):
            message = f"`{part}` includes nothing"
            hint = "name a folder or file beside the header"
            found.append(Diagnostic("bad-include", message, header.span, hint=hint, subject=subject))
    return found


_DEMANDS = re.compile(rf"{_DEMAND.pattern}(?:,{_DEMAND.pattern})*")


def meets(version: str, demands: str) -> bool:
    """Whether a version satisfies ``>=0.1,<2``; what cannot be read is not satisfied.

    >>> meets("0.10.0", ">=0.9,<1")
    True
    """
    if not _DEMANDS.fullmatch(demands):
        return False
    return all(_holds(_numbers(version), *match.groups()) for match in _DEMAND.finditer(demands))


def _holds(have: tuple[int, ...], op: str, written: str) -> bool:
    want = _numbers(written)
    size = max(len(have), len(want))
    a, b = (part + (0,) * (size - len(part)) for part in (have, want))
    outcomes: Mapping[str, bool] = {
        ">=": a >= b,
        "<=": a <= b,
        ">": a > b,
        "<": a < b,
        "==": a == b,
        "!=": a != b,
    }
    return outcomes[op]


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in match[0].split(".")) if match else (0,)
