"""From name ids to metrics: which strings of a report's name table name a metric that is wanted.

A metric is referred to by its code, a small number. For a projection the codes are the same in every report,
whatever its name table says, so that names, units and what else depends on the name alone are made once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx_parsers.ncu import _gather as g
from profrx_parsers.ncu._names import NAME_BYTES, record
from profrx_parsers.ncu._units import unit_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from profrx_parsers.ncu._names import NameTable, Strings

    Codes = NDArray[np.int32]

_DOMAIN = re.compile(rb"Triage")
_KEPT = 1000
"""Most names with a counter domain that are kept over reports; real reports hold a few dozen."""

_KEPT_PROJECTIONS = 4


def plain_name(name: str) -> str:
    """Strip the counter-domain prefix, which differs per chip and version (``FBSP.TriageSCG.dramc__…``)."""
    head, dot, tail = name.partition(".Triage")
    if dot and head.isidentifier() and "." in tail:
        return tail.partition(".")[2]
    if name.startswith("Triage") and "." in name:
        return name.partition(".")[2]
    return name


class Labels:
    """Names of metrics by code, and what depends on them alone.

    Args:
        names: distinct names; their index is the code.
        asked: whether the caller asked for the metric, else only other tables need it.
    """

    def __init__(self, names: Sequence[str], asked: NDArray[np.bool_]) -> None:
        self.names = names
        self.asked = asked
        self._kinds: dict[Callable[[str], int], NDArray[np.uint8]] = {}

    @cached_property
    def array(self) -> pa.StringArray:
        """The names as an Arrow array."""
        return g.strings(self.names)

    @cached_property
    def code_of(self) -> dict[str, int]:
        """Name -> code."""
        return {name: code for code, name in enumerate(self.names)}

    @cached_property
    def units(self) -> tuple[Codes, pa.StringArray]:
        """The unit of every code, as its place among the distinct units; -1 where there is none."""
        units = [unit_of(name) for name in self.names]
        distinct = sorted({unit for unit in units if unit})
        place: dict[str | None, int] = {unit: at for at, unit in enumerate(distinct)}
        return np.array([place.get(unit, -1) for unit in units], np.int32), g.strings(distinct)

    @cached_property
    def _prefixed(self) -> dict[str, list[int]]:
        """Name without its counter domain -> codes of the names that have one."""
        found: dict[str, list[int]] = {}
        for code, name in enumerate(self.names):
            plain = plain_name(name)
            if plain != name:
                found.setdefault(plain, []).append(code)
        return found

    def codes(self, wanted: Collection[str]) -> list[int]:
        """Return the codes of metrics by their names, with or without counter domain."""
        found = [code for name in wanted if (code := self.code_of.get(name)) is not None]
        if self._prefixed:
            found += [code for name in wanted for code in self._prefixed.get(name, ())]
        return found

    def kinds(self, judge: Callable[[str], int]) -> NDArray[np.uint8]:
        """Return what a function says of every name."""
        if judge not in self._kinds:
            self._kinds[judge] = np.fromiter(map(judge, self.names), np.uint8, len(self.names))
        return self._kinds[judge]


@dataclass(frozen=True)
class Lookup:
    """A name table seen from the metrics that are wanted.

    Attributes:
        labels: the metrics by code.
        code_of_id: name id -> code; -1 = not wanted.
    """

    labels: Labels
    code_of_id: Codes


def look_up(table: NameTable, wanted: frozenset[str] | None, structural: frozenset[str]) -> Lookup:
    """Find the wanted metrics (None = all of them), and the structural ones, in a name table."""
    if len(table.parts) != 1:
        return _look_up(table.parts, wanted, structural)
    (part,) = table.parts
    known = part.found.get((wanted, structural))
    if not isinstance(known, Lookup):
        if len(part.found) >= _KEPT_PROJECTIONS:
            part.found.clear()
        known = part.found[wanted, structural] = _look_up(table.parts, wanted, structural)
    return known


def _look_up(parts: Sequence[Strings], wanted: frozenset[str] | None, structural: frozenset[str]) -> Lookup:
    if wanted is None:
        return _everything(parts)
    options = _options(wanted, structural)
    found = [_codes(pc.call_function("index_in", [part.records], options)) for part in parts]
    code_of_id = np.concatenate([np.empty(0, np.int32), *found])
    needed = wanted | structural
    prefixed: dict[str, list[int]] = {}
    for ident, name in _prefixed(parts):
        plain = plain_name(name)
        if plain != name and not needed.isdisjoint((name, plain)):
            prefixed.setdefault(name, []).append(ident)
    labels = (_labels if len(prefixed) <= _KEPT else _labels.__wrapped__)(wanted, structural, tuple(prefixed))
    for code, idents in enumerate(prefixed.values(), len(labels.names) - len(prefixed)):
        code_of_id[idents] = code
    return Lookup(labels, code_of_id)


def _everything(parts: Sequence[Strings]) -> Lookup:
    code_of: dict[str, int] = {}
    records = (one for part in parts for one in part.records.to_pylist())
    code_of_id = [code_of.setdefault(_text(one), len(code_of)) for one in records]
    labels = Labels(list(code_of), np.ones(len(code_of), np.bool_))
    return Lookup(labels, np.array(code_of_id, np.int32))


def _codes(found: pa.Int32Array) -> Codes:
    """Return places as numbers, -1 where they are null."""
    valid, places = found.buffers()
    codes = np.frombuffer(places, np.int32, len(found))
    if valid is None:
        return codes
    known = np.unpackbits(np.frombuffer(valid, np.uint8), count=len(found), bitorder="little")
    return np.where(known, codes, np.int32(-1))


@lru_cache(maxsize=16)
def _labels(wanted: frozenset[str], structural: frozenset[str], prefixed: tuple[str, ...]) -> Labels:
    names = [*_sorted(wanted, structural), *prefixed]
    asked = [name in wanted for name in names[: -len(prefixed) or None]]
    asked += [name in wanted or plain_name(name) in wanted for name in prefixed]
    return Labels(names, np.array(asked, np.bool_))


def _sorted(wanted: frozenset[str], structural: frozenset[str]) -> list[str]:
    return sorted(name for name in wanted | structural if plain_name(name) == name)


@lru_cache(maxsize=16)
def _options(wanted: frozenset[str], structural: frozenset[str]) -> pc.SetLookupOptions:
    """The wanted names as a name table would store them."""
    encoded = (name.encode("utf-8", "replace")[:NAME_BYTES] for name in _sorted(wanted, structural))
    return pc.SetLookupOptions(g.binary(map(record, encoded)))


def _prefixed(parts: Sequence[Strings]) -> Iterator[tuple[int, str]]:
    """Yield id and name of the strings that mention a counter domain."""
    first = 0
    for part in parts:
        records = part.records
        _, offsets, stored = records.buffers()
        begins = np.frombuffer(offsets, np.int32)[records.offset : records.offset + len(records) + 1]
        places = [found.start() for found in _DOMAIN.finditer(memoryview(stored))]
        for at in dict.fromkeys((np.searchsorted(begins, places, side="right") - 1).tolist()):
            if 0 <= at < len(records):
                yield first + at, _text(records[at].as_py())
        first += len(records)


def _text(stored: bytes) -> str:
    """Decode a record; damaged UTF-8 is replaced."""
    return stored[2 if stored[1] < 0x80 else 3 :].decode("utf-8", "replace")
