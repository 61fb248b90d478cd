"""All readers, known by descriptor and imported on first use.

Built-in readers are listed in `BUILT_IN`; third parties register a `Descriptor` (or a list of them) under
the entry-point group ``profrx.readers``. Names and priorities are unique: a clash raises.
"""

from __future__ import annotations

import importlib
import logging
import os
import time
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from profrx_parsers.descriptor import Descriptor, Head, Match
from profrx_parsers.errors import InputError, InternalError
from profrx_parsers.report import EVERYTHING, Report, Wanted
from profrx_parsers.source import Source, open_source

if TYPE_CHECKING:
    from collections.abc import Mapping

BUILT_IN = ("profrx_parsers.ncu", "profrx_parsers.nsys", "profrx_parsers.rocm")
"""Packages with a tuple `DESCRIPTORS`; their `__init__` imports nothing heavy."""

GROUP = "profrx.readers"
LOG = logging.getLogger(__name__)
_ARCHIVES = (b"PK\x03\x04", b"7z\xbc\xaf\x27\x1c", b"Rar!")
"""How zip, 7z and rar files begin. Source: their published formats."""
_BATCH = "this is an archive of files: unpack it; `profrx batch` reads reports inside zip and tar files"


@cache
def readers() -> Mapping[str, Descriptor]:
    """Return every known reader by name, in order of priority."""
    found: list[Descriptor] = []
    for package in BUILT_IN:
        found.extend(importlib.import_module(package).DESCRIPTORS)
    found.extend(_third_party())
    by_name: dict[str, Descriptor] = {}
    priorities: dict[int, str] = {}
    for one in sorted(found, key=lambda d: d.priority):
        if one.name in by_name:
            raise InternalError("reader-clash", f"two readers are called {one.name!r}")
        if one.priority in priorities:
            raise InternalError(
                "reader-clash",
                f"readers {priorities[one.priority]!r} and {one.name!r} share priority {one.priority}",
            )
        by_name[one.name] = one
        priorities[one.priority] = one.name
    return MappingProxyType(by_name)


def _third_party() -> list[Descriptor]:
    from importlib.metadata import entry_points

    found: list[Descriptor] = []
    for point in entry_points(group=GROUP):
        loaded = point.load()
        found.extend([loaded] if isinstance(loaded, Descriptor) else loaded)
    return found


def sniff(head: Head) -> list[tuple[Descriptor, Match]]:
    """Return every reader that recognises `head`, best first: certain before weak, suffix, then priority."""
    hits = []
    for one in readers().values():
        if bool(head.members) and not one.folder:
            continue
        match = one.sniff(head)
        if match is not None:
            hits.append((one, match))
    if len(hits) < 2:
        return hits
    name = head.name.lower()
    return sorted(
        hits, key=lambda h: (not h[1].certain, not name.endswith(h[0].suffixes or ("\0",)), h[0].priority)
    )


def detect(path: str | os.PathLike[str]) -> tuple[Source, Descriptor, Match]:
    """Find the reader of `path` by content. Raises `InputError` with the reason when none fits."""
    source, head = open_source(path)
    hits = sniff(head)
    if hits:
        return source, *hits[0]
    if source.is_folder:
        raise InputError(
            "input-folder",
            "this folder is not one capture",
            where=source.name,
            next_step="name the reports inside it, or use `profrx batch` for a folder of reports",
        )
    raise InputError(
        "input-unknown-format",
        "no reader recognises this file",
        where=source.name,
        next_step=_BATCH if head.data.startswith(_ARCHIVES) else _expected(source.name),
    )


def _expected(name: str) -> str:
    """Say what a file of this name should hold; of another name, which names reports have."""
    known = readers().values()
    titles = [d.title for d in known if d.suffixes and name.lower().endswith(d.suffixes)]
    if titles:
        return f"named like: {'; '.join(titles[:3])}; its content is none of them: copy or export it again"
    suffixes = dict.fromkeys(suffix for d in known for suffix in d.suffixes)
    return f"reports are named {', '.join(suffixes)}"


def open_report(path: str | os.PathLike[str], wanted: Wanted = EVERYTHING) -> Report:
    """Read a report. Raises `InputError` only when the container itself is unreadable."""
    return read(*detect(path), wanted)


def read(source: Source, descriptor: Descriptor, match: Match, wanted: Wanted) -> Report:
    """Read what `detect` found; for callers that look at the source in between."""
    began = time.perf_counter()
    module, _, function = descriptor.reader.partition(":")
    report: Report = getattr(importlib.import_module(module), function)(source, wanted)
    report.why = match.why
    for what in source.damage:
        report.problems.add("data-loss", "packing-cut", what, advice="copy the file again")
    LOG.info(
        "%s: %s, it %s; opened in %.3f s",
        source.name,
        descriptor.name,
        match.why,
        time.perf_counter() - began,
    )
    return report
