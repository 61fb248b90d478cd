"""Event blocks to raw tables, columns at once, in one pass over the file with bounded memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import compress
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from google.protobuf.message import DecodeError

from profrx_parsers.nsys import events as spec
from profrx_parsers.nsys.container import Container
from profrx_parsers.nsys.events import EventTable
from profrx_parsers.nsys.growing import GrowingColumn
from profrx_parsers.nsys.merge import Column, Form, Path, good_events
from profrx_parsers.problems import ProblemLog

FLUSH_BYTES = 2 << 20
"""Decompressed bytes merged at a time; larger merges are slower (caches), smaller ones pay per call."""

MAX_NAMED_UNKNOWN = 64
"""Unknown fields named one by one; further ones are only counted."""


_UNTYPED = 256
_BYTE_0, _BYTE_1 = itemgetter(0), itemgetter(1)

Wanted = Mapping[EventTable, Iterable[str]]
"""Table -> the columns to decode."""


class _Router:
    """Collects events by type and turns them into columns every `FLUSH_BYTES`."""

    def __init__(self, tables: Wanted, log: ProblemLog) -> None:
        self.log = log
        self.groups = _groups(list(tables))
        self.group_of = {_key(c): at for at, (codes, _) in enumerate(self.groups) for c in codes}
        self.waiting: dict[int, list[bytes]] = defaultdict(list)
        self.columns = {table.name: _growing(table, columns) for table, columns in tables.items()}
        self.rows: dict[str, int] = defaultdict(int)
        self.counts: dict[int, int] = defaultdict(int)
        self.total = 0
        self.unknown: dict[Path, int] = defaultdict(int)
        self.classes: dict[int, int] = defaultdict(int)
        self._bytes = 0

    def add(self, events: Sequence[bytes], size: int) -> None:
        self.total += len(events)
        keys = _type_bytes(events)
        present = np.flatnonzero(np.bincount(keys, minlength=_UNTYPED + 1)).tolist()
        for key in present:
            if key not in self.group_of:
                self.counts[key] += int((keys == key).sum())
        for group in {self.group_of[key] for key in present if key in self.group_of}:
            chosen = np.isin(keys, [key for key in present if self.group_of.get(key) == group])
            self.waiting[group].extend(events if chosen.all() else compress(events, chosen.tolist()))
        self._bytes += size
        if self._bytes >= FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        self._bytes = 0
        waiting, self.waiting = self.waiting, defaultdict(list)
        for group, events in waiting.items():
            codes, tables = self.groups[group]
            if max(codes) > 127:
                events = [e for e in events if e[1] < 128 or e[2] == 1]
            for table, chosen in self._choose(tables, events):
                if chosen:
                    self._read(table, chosen)

    def _choose(
        self, tables: Sequence[EventTable], events: Sequence[bytes]
    ) -> Iterable[tuple[EventTable, Sequence[bytes]]]:
        path = tables[0].key
        if not path:
            yield from ((table, events) for table in tables)
            return
        form = _key_form(path)
        events, found = self._merge(form, events)
        column = found.get(path)
        keys = column.values if column is not None else np.full(len(events), -1)
        if path == (108, 6):
            for value, count in zip(*np.unique(keys, return_counts=True), strict=True):
                self.classes[int(value)] += int(count)
        for table in tables:
            hit = np.flatnonzero(np.isin(keys, table.key_values))
            yield table, events if len(hit) == len(events) else [events[i] for i in hit.tolist()]

    def _read(self, table: EventTable, events: Sequence[bytes]) -> None:
        columns = self.columns[table.name]
        form = _form(table.name, tuple(columns))
        events, found = self._merge(form, events, check=True)
        if events:
            self.rows[table.name] += len(events)
            for name, column in columns.items():
                column.append(found[table.columns[name]], len(events))

    def _merge(
        self, form: Form, events: Sequence[bytes], check: bool = False
    ) -> tuple[Sequence[bytes], dict[Path, Column | None]]:
        try:
            merged = form.parse(events)
        except DecodeError:
            good = good_events(form, events)
            lost = len(events) - len(good)
            self.log.add(
                "data-loss",
                "nsys-damaged-event",
                "events that are no valid messages were left out",
                count=lost,
            )
            events = good
            if not events:
                return events, dict.fromkeys(form.kinds)
            merged = form.parse(events)
        if check:
            for path, count in form.unknown(merged).items():
                self.unknown[path] += count
        return events, form.columns(merged, events)


def _groups(tables: Sequence[EventTable]) -> list[tuple[set[int], list[EventTable]]]:
    """Join tables that share an event type: the events of a group stay in file order."""
    groups: list[tuple[set[int], list[EventTable]]] = []
    for table in tables:
        codes, members = set(table.codes), [table]
        for group in [g for g in groups if g[0] & codes]:
            groups.remove(group)
            codes, members = codes | group[0], group[1] + members
        groups.append((codes, members))
    return groups


def _growing(table: EventTable, columns: Iterable[str]) -> dict[str, GrowingColumn]:
    return {name: GrowingColumn(name, table.kinds.get(name, "int")) for name in columns}


def read_events(box: Container, tables: Wanted, log: ProblemLog) -> dict[str, pa.Table]:
    """Read raw tables, each with the columns asked for. A table without events is absent.

    Columns are int8…int64 (whatever holds them), dictionaries of such for ids, float or string; text ids stay ids
    into the string block. Unknown event types, classes and fields are counted in `log`; so is every
    damaged event.
    """
    form = _block_form()
    router = _Router(tables, log)
    for message in box.event_blocks():
        try:
            merged = form.parse([message])
        except DecodeError:
            log.add("data-loss", "nsys-damaged-block", "an event block is no valid message and was left out")
            continue
        router.add(list(merged.f1), len(message))
    router.flush()
    _report(router, box, log)
    found = {}
    for table in tables:
        if router.rows[table.name]:
            columns = router.columns.pop(table.name)
            found[table.name] = pa.table({name: columns.pop(name).finish() for name in list(columns)})
    return found


def _type_bytes(events: Sequence[bytes]) -> npt.NDArray[np.uint8 | np.int64]:
    """Return a key per event that tells types apart without parsing: the first byte of the type code.

    An event starts with field 1, the code. Anything else gets the key `_UNTYPED`.
    """
    try:
        heads, keys = bytes(map(_BYTE_0, events)), bytes(map(_BYTE_1, events))
    except IndexError:
        return np.array([e[1] if len(e) > 2 and e[0] == 8 else _UNTYPED for e in events], np.int64)
    found = np.frombuffer(keys, np.uint8)
    if heads.count(8) != len(events) or min(map(len, events), default=3) < 3:
        found = np.where(np.frombuffer(heads, np.uint8) == 8, found, _UNTYPED)
    return found


def _key(code: int) -> int:
    return code if code < 128 else code & 127 | 128


@cache
def _form(name: str, columns: tuple[str, ...]) -> Form:
    table = next(t for t in (*spec.TIMELINE, *spec.ON_DEMAND) if t.name == name)
    every = {path: table.kinds.get(column, "int") for column, path in table.columns.items()}
    known = {**every, **dict.fromkeys(table.known, "int"), **dict.fromkeys(table.known_bytes, "bytes")}
    return Form({table.columns[c]: every[table.columns[c]] for c in columns}, known)


@cache
def _key_form(path: Path) -> Form:
    return Form({path: "int"})


@cache
def _block_form() -> Any:
    return Form({(1,): "bytes"})


def _report(router: _Router, box: Container, log: ProblemLog) -> None:
    expected = box.header.integer(1)
    if expected:
        damaged = sum(p.count for p in log if p.code == "nsys-damaged-event")
        box.lost_share = min(1.0, max(0.0, (expected - router.total + damaged) / expected))
    if expected is not None and expected != router.total:
        log.add(
            "data-loss",
            "nsys-event-count",
            f"the header counts {expected:,} events, {router.total:,} were read",
            advice="the file is damaged: copy it again, or collect again",
        )
    known = {_key(code) for code in spec.KNOWN_CODES}
    for key, count in sorted(router.counts.items()):
        if key not in known:
            if key == _UNTYPED:
                log.add("data-loss", "nsys-damaged-event", "events without a type were left out", count=count)
                continue
            what = f"type {key & 127}{' (plus a multiple of 128)' if key > 127 else ''}"
            log.add(
                "info", "nsys-unknown-event", f"events of {what} are not known and were skipped", count=count
            )
    for value, count in sorted(router.classes.items()):
        if value not in spec.KNOWN_CLASSES:
            log.add(
                "info",
                "nsys-unknown-class",
                f"calls of class {value} are not known and were skipped",
                count=count,
            )
    for path, count in sorted(router.unknown.items())[:MAX_NAMED_UNKNOWN]:
        place = ".".join(map(str, path))
        log.add("info", "nsys-unknown-field", f"field {place} is not known and was skipped", count=count)
    rest = sum(count for _, count in sorted(router.unknown.items())[MAX_NAMED_UNKNOWN:])
    if rest:
        log.add("info", "nsys-unknown-field", "further unknown fields were skipped", count=rest)
