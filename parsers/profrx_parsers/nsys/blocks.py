"""Event blocks to raw tables, columns at once, in one pass over the file with bounded memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from google.protobuf.message import DecodeError

from profrx_parsers.nsys import events as spec
from profrx_parsers.nsys.container import Container
from profrx_parsers.nsys.events import EventTable
from profrx_parsers.nsys.merge import Column, Form, Path, good_events
from profrx_parsers.problems import ProblemLog

FLUSH_BYTES = 2 << 20
"""Decompressed bytes merged at a time; larger merges are slower (caches), smaller ones pay per call."""

MAX_NAMED_UNKNOWN = 64
"""Unknown fields named one by one; further ones are only counted."""


class _Router:
    """Collects events by type and turns them into columns every `FLUSH_BYTES`."""

    def __init__(self, tables: Sequence[EventTable], log: ProblemLog) -> None:
        self.log = log
        self.groups = _groups(tables)
        self.group_of = {_key(c): at for at, (codes, _) in enumerate(self.groups) for c in codes}
        self.waiting: dict[int, list[bytes]] = defaultdict(list)
        self.chunks: dict[str, list[dict[str, pa.Array]]] = defaultdict(list)
        self.counts: dict[int, int] = defaultdict(int)
        self.total = 0
        self.unknown: dict[Path, int] = defaultdict(int)
        self.classes: dict[int, int] = defaultdict(int)
        self._bytes = 0

    def add(self, events: Sequence[bytes], size: int) -> None:
        self.total += len(events)
        for key, same in groupby(events, _type_byte):
            group = self.group_of.get(key)
            if group is None:
                self.counts[key] += sum(1 for _ in same)
            else:
                self.waiting[group].extend(same)
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
        form = _form(table.name)
        events, found = self._merge(form, events, check=True)
        if not events:
            return
        chunk = {}
        for name, path in table.columns.items():
            column = found[path]
            if column is None:
                chunk[name] = pa.nulls(len(events))
            elif table.kinds.get(name) == "bytes":
                chunk[name] = _text(column) if name != "payloadData" else column.arrow()
            else:
                chunk[name] = column.arrow()
        self.chunks[table.name].append(chunk)

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


def read_events(box: Container, tables: Sequence[EventTable], log: ProblemLog) -> dict[str, pa.Table]:
    """Read the raw tables asked for. A table without events is absent.

    Columns are int8…int64 (whatever holds them), float or string; dense text ids stay ids into the string
    block. Unknown event types, classes and fields are counted in `log`; so is every damaged event.
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
    return {name: _stack(chunks) for name, chunks in router.chunks.items()}


def _stack(chunks: list[dict[str, pa.Array]]) -> pa.Table:
    columns = {}
    for name in list(chunks[0]):
        parts = [chunk.pop(name) for chunk in chunks]
        widest = _widest({p.type for p in parts})
        columns[name] = pa.chunked_array([p if p.type == widest else p.cast(widest) for p in parts])
    return pa.table(columns)


_RANK = {pa.null(): 0, pa.int8(): 1, pa.int16(): 2, pa.int32(): 3, pa.int64(): 4}


def _widest(kinds: set[pa.DataType]) -> pa.DataType:
    return max(kinds, key=lambda kind: _RANK.get(kind, 9))


def _text(column: Column) -> pa.Array:
    raw = column.arrow()
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array(
            [None if v is None else v.decode("utf-8", "replace") for v in raw.to_pylist()], pa.string()
        )


def _type_byte(event: bytes) -> int:
    """Return a key that tells event types apart without parsing: the first byte of the type code."""
    return event[1] if len(event) > 2 and event[0] == 8 else -1


def _key(code: int) -> int:
    return code if code < 128 else code & 127 | 128


@cache
def _form(name: str) -> Form:
    table = next(t for t in (*spec.TIMELINE, *spec.ON_DEMAND) if t.name == name)
    kinds = {path: table.kinds.get(column, "int") for column, path in table.columns.items()}
    return Form(kinds, {**dict.fromkeys(table.known, "int"), **dict.fromkeys(table.known_bytes, "bytes")})


@cache
def _key_form(path: Path) -> Form:
    return Form({path: "int"})


@cache
def _block_form() -> Any:
    return Form({(1,): "bytes"})


def _report(router: _Router, box: Container, log: ProblemLog) -> None:
    expected = box.header.integer(1)
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
            what = f"type {key & 127}{' (plus a multiple of 128)' if key > 127 else ''}"
            log.add(
                "info" if key >= 0 else "data-loss",
                "nsys-unknown-event",
                f"events of {what} are not known and were skipped"
                if key >= 0
                else "events without a type were skipped",
                count=count,
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


def as_int64(values: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return integers as one int64 array; nulls become 0, so ask for the mask where they matter."""
    filled = values.fill_null(0) if values.null_count else values
    out: npt.NDArray[np.int64] = np.asarray(filled.cast(pa.int64()))
    return out
