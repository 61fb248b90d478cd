"""Metric values of all results, decoded in one numpy pass over the located entries.

An entry is {1 name id, 2 value, 3 repeated instance, 4 category}. Of a name that occurs twice in one result
the last entry counts, as in the vendor's own module. Names resolve through the cumulative string table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from profrx_parsers.ncu import _gather as g
from profrx_parsers.ncu._pages import slices
from profrx_parsers.ncu._units import unit_of
from profrx_parsers.wire import Message, WireError, decode_text, fields

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from profrx_parsers.ncu._names import NameSpans
    from profrx_parsers.ncu._results import MetricEntries
    from profrx_parsers.problems import ProblemLog

    Ints = NDArray[np.int64]

_ENTRY_FIELDS = (4, 13)
"""Field numbers of metric entries in a result: what a swallowed entry looks like from inside another."""
_DENSE = 1 << 20
"""Largest matrix of metrics x launches that is filled at once; beyond it, columns are built one by one."""
NAME_BYTES = 4096
"""Longest metric name kept; real ones reach about 160 bytes."""


class Names:
    """The cumulative name table: id -> code of a distinct name, decoded once."""

    def __init__(self, data: memoryview, spans: NameSpans, wanted: Collection[str] | None) -> None:
        self.names: list[str] = []
        codes: dict[str, int] = {}
        self.total = len(spans.starts)
        self.code_of_id = np.full(self.total, -1, dtype=np.int32)
        for index, (start, stop) in enumerate(zip(spans.starts, spans.stops, strict=True)):
            name = decode_text(data, (start, min(stop, start + NAME_BYTES)))
            if wanted is not None and name not in wanted and plain_name(name) not in wanted:
                continue
            code = codes.get(name)
            if code is None:
                code = codes[name] = len(self.names)
                self.names.append(name)
            self.code_of_id[index] = code


def plain_name(name: str) -> str:
    """Strip the counter-domain prefix, which differs per chip and version (``FBSP.TriageSCG.dramc__…``)."""
    head, dot, tail = name.partition(".Triage")
    if dot and head.isidentifier() and "." in tail:
        return tail.partition(".")[2]
    if name.startswith("Triage") and "." in name:
        return name.partition(".")[2]
    return name


class MetricValues(Protocol):
    """What tables of launches and devices need to know of metrics, whatever they were read from."""

    @property
    def rows(self) -> int:
        """Number of launches."""
        ...

    def numbers(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return a metric over all launches: values, and where there is one."""
        ...

    def texts(self, name: str) -> dict[int, str]:
        """Return a text metric: launch -> text."""
        ...


@dataclass
class MetricStore:
    """Decoded metrics: one element per (launch, metric) kept, in file order.

    Attributes:
        data: the report's bytes.
        rows: number of results.
        names: distinct metric names; `code` indexes them.
        launch, code: of every element.
        kind: see `_gather`; ABSENT = the metric has no value of its own.
        number: float64; NaN where the value is text or absent, and where it is stored as NaN.
        text_start, text_stop: span of a text value.
        tail, stop: span of the entry behind its value: where instances begin, if there are any.
    """

    data: memoryview
    rows: int
    names: list[str]
    launch: Ints
    code: Ints
    kind: NDArray[np.uint8]
    number: NDArray[np.float64]
    text_start: Ints
    text_stop: Ints
    tail: Ints
    stop: Ints

    @cached_property
    def _by_code(self) -> tuple[Ints, Ints]:
        """Element order by name, and the bounds of every name in it."""
        order = np.argsort(self.code, kind="stable")
        return order, np.searchsorted(self.code[order], np.arange(len(self.names) + 1))

    @cached_property
    def code_of(self) -> dict[str, int]:
        """Name -> code."""
        return {name: code for code, name in enumerate(self.names)}

    @cached_property
    def numeric(self) -> NDArray[np.bool_]:
        """Whether an element has a number (which may be NaN)."""
        return (self.kind >= g.FLOAT) & (self.kind <= g.UINT64)

    def elements(self, name: str) -> Ints:
        """Return the indices of a metric's elements, ascending by launch."""
        code = self.code_of.get(name)
        if code is None:
            return np.empty(0, dtype=np.int64)
        order, bounds = self._by_code
        return order[bounds[code] : bounds[code + 1]]

    def numbers(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return a metric over all results: values, and where there is one."""
        dense = self._dense
        if dense is not None and name in self.code_of:
            code = self.code_of[name]
            return dense[0][code], dense[1][code]
        chosen = self.elements(name)
        chosen = chosen[self.numeric[chosen]]
        out = np.full(self.rows, np.nan)
        present = np.zeros(self.rows, dtype=np.bool_)
        out[self.launch[chosen]] = self.number[chosen]
        present[self.launch[chosen]] = True
        return out, present

    @cached_property
    def _dense(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]] | None:
        """All numbers as a matrix of names x launches; None when that would be large."""
        if len(self.names) * self.rows > _DENSE:
            return None
        values = np.full((len(self.names), self.rows), np.nan)
        present = np.zeros(values.shape, dtype=np.bool_)
        chosen = np.flatnonzero(self.numeric)
        values[self.code[chosen], self.launch[chosen]] = self.number[chosen]
        present[self.code[chosen], self.launch[chosen]] = True
        return values, present

    def texts(self, name: str) -> dict[int, str]:
        """Return a text metric: launch -> text."""
        chosen = self.elements(name)
        chosen = chosen[self.kind[chosen] == g.TEXT]
        return {int(self.launch[i]): self._text(i) for i in chosen}

    def _text(self, index: int) -> str:
        return decode_text(self.data, (int(self.text_start[index]), int(self.text_stop[index])))

    def table(self, wanted: Collection[str] | None) -> pa.Table:
        """Return the long `metrics` table, in file order."""
        from profrx_parsers import schema

        keep = np.ones(len(self.names), dtype=np.bool_)
        if wanted is not None:
            keep[:] = [name in wanted or plain_name(name) in wanted for name in self.names]
        chosen = np.flatnonzero(keep[self.code]) if len(self.code) else np.empty(0, dtype=np.int64)
        names = pa.array(self.names, pa.string())
        unit = pa.array([unit_of(name) for name in self.names], pa.string())
        code = pa.array(self.code[chosen])
        texts: list[str | None] = [None] * len(chosen)
        for at in np.flatnonzero(self.kind[chosen] == g.TEXT):
            texts[at] = self._text(int(chosen[at]))
        columns = {
            "launch_id": self.launch[chosen],
            "metric": names.take(code),
            "value": pa.array(self.number[chosen], mask=~self.numeric[chosen]),
            "unit": unit.take(code),
            "text": pa.array(texts, pa.string()),
        }
        return schema.conform("metrics", columns, len(chosen))


class NumberColumns(Mapping[str, pa.Array]):
    """Lazy wide columns: metric -> array over launches, built on first use."""

    def __init__(self, store: MetricStore, text: bool) -> None:
        self._store = store
        self._text = text
        self._built: dict[str, pa.Array] = {}
        is_text = store.kind == g.TEXT
        mine = is_text if text else store.numeric
        codes = np.unique(store.code[mine])
        self._names = [store.names[code] for code in codes]
        self._known = frozenset(self._names)

    def __getitem__(self, name: str) -> pa.Array:
        if name not in self._known:
            raise KeyError(name)
        if name not in self._built:
            if self._text:
                found = self._store.texts(name)
                self._built[name] = pa.array([found.get(i) for i in range(self._store.rows)], pa.string())
            else:
                values, present = self._store.numbers(name)
                self._built[name] = pa.array(values, mask=~present)
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def decode(data: memoryview, entries: MetricEntries, names: Names, problems: ProblemLog) -> MetricStore:
    """Decode the values of all located entries whose name is wanted."""
    raw = np.frombuffer(data, dtype=np.uint8)
    launch, start, stop = _located(entries)
    rows = len(entries.bounds) - 1
    ident, at, unusual = _idents(data, raw, start, stop)
    if unusual.any():
        launch, start, stop = _split(data, launch, start, stop, np.flatnonzero(unusual), problems)
        ident, at, _ = _idents(data, raw, start, stop)
    whole = (at >= 0) & (stop > start)
    if not whole.all():
        _bad(start[~whole], "has no name", problems)
    known = whole & (ident < names.total)
    dangling = np.flatnonzero(whole & ~known)
    if len(dangling):
        problems.add(
            "data-loss", "ncu-unresolved-names",
            f"{len(dangling):,} metric values name strings that the file does not hold",
            where=f"byte {int(start[dangling[0]])}", count=len(dangling),
            advice="the end of the file, with late names, is missing: copy or collect it again",
        )  # fmt: skip
    code = np.full(len(start), -1, dtype=np.int64)
    code[known] = names.code_of_id[ident[known].astype(np.int64)]
    kept = _last_of_each(launch, code, len(names.names), problems)
    launch, code, start, at, stop = launch[kept], code[kept], start[kept], at[kept], stop[kept]
    values = _Values(len(kept))
    for part in slices(data, start):
        values.fill(part, data, raw, start[part], at[part], stop[part])
    if values.bad.any():
        _bad(start[values.bad], "does not decode", problems)
    good = ~values.bad
    return MetricStore(
        data, rows, names.names, launch[good], code[good], values.kind[good], values.number[good],
        values.text_start[good], values.text_stop[good], values.tail[good], stop[good],
    )  # fmt: skip


def _idents(
    data: memoryview, raw: NDArray[np.uint8], start: Ints, stop: Ints
) -> tuple[NDArray[np.uint64], Ints, NDArray[np.bool_]]:
    """Return the name id of every entry, the offset behind it, and whether its shape is unusual."""
    ident = np.empty(len(start), dtype=np.uint64)
    at = np.empty(len(start), dtype=np.int64)
    unusual = np.empty(len(start), dtype=np.bool_)
    for part in slices(data, start):
        ident[part], at[part] = g.varints(raw, start[part] + 1, stop[part])
        unusual[part] = _unusual(raw, at[part], stop[part])
    return ident, at, unusual


def _located(entries: MetricEntries) -> tuple[Ints, Ints, Ints]:
    """Return launch, start and stop of every entry as arrays."""
    if not len(entries.starts):
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    bounds = np.frombuffer(entries.bounds, dtype=np.int64)
    counts = bounds[1:] - bounds[:-1]
    launch = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    return launch, np.frombuffer(entries.starts, dtype=np.int64), np.frombuffer(entries.stops, dtype=np.int64)


def _unusual(raw: NDArray[np.uint8], at: Ints, stop: Ints) -> NDArray[np.bool_]:
    """Mark entries that hold more than a value, instances and a category: they may have swallowed others."""
    last = len(raw) - 1
    has_value = raw[np.clip(at, 0, last)] == 0x12
    length = raw[np.clip(at + 1, 0, last)]
    tail = np.where(has_value, at + 2 + length, at)
    behind = raw[np.clip(tail, 0, last)]
    usual = (tail == stop) | (behind == 0x1A) | ((behind == 0x20) & (tail + 2 == stop))
    unusual: NDArray[np.bool_] = ~usual & ~(has_value & (length >= 0x80)) & (at >= 0)
    return unusual


def _split(
    data: memoryview, launch: Ints, start: Ints, stop: Ints, suspects: Ints, problems: ProblemLog
) -> tuple[Ints, Ints, Ints]:
    """Give back the entries that others swallowed because their length is damaged."""
    stop = stop.copy()
    extra: list[tuple[int, int, int]] = []
    for i in suspects.tolist():
        found = list(_fields_until_damage(data, start[i], stop[i]))
        inner = [v for n, _, v in found if n in _ENTRY_FIELDS and isinstance(v, tuple)]
        if inner:
            stop[i] = inner[0][0] - 2
            extra += [(int(launch[i]), *span) for span in inner]
        for number in {n for n, _, _ in found if n > 4 and n not in _ENTRY_FIELDS}:
            problems.add(
                "warning", "ncu-unknown-field", f"metric entries hold an unknown field {number}",
                where=f"byte {int(start[i])}",
            )  # fmt: skip
    if extra:
        problems.add(
            "warning", "ncu-damaged-length", "the length of a metric entry is damaged; those it covered were found",
            where=f"byte {extra[0][1]}", count=len(extra), advice="copy or collect the report again",
        )  # fmt: skip
        more = np.array(extra, dtype=np.int64)
        launch, start, stop = (
            np.concatenate([old, new]) for old, new in zip((launch, start, stop), more.T, strict=True)
        )
        order = np.lexsort((start, launch))
        launch, start, stop = launch[order], start[order], stop[order]
    return launch, start, stop


def _fields_until_damage(
    data: memoryview, start: int, stop: int
) -> Iterator[tuple[int, int, int | tuple[int, int]]]:
    try:
        yield from fields(data, int(start), int(stop))
    except WireError:
        return


def _last_of_each(launch: Ints, code: Ints, distinct: int, problems: ProblemLog) -> Ints:
    """Return the indices of wanted entries, only the last of the same launch and name, in file order."""
    chosen = np.flatnonzero(code >= 0)
    key = launch[chosen] * max(distinct, 1) + code[chosen]
    _, first = np.unique(key[::-1], return_index=True)
    if len(first) == len(chosen):
        return chosen
    problems.add(
        "info", "ncu-repeated-metric",
        "metrics were stored more than once for one result; the last value counts",
        count=len(chosen) - len(first),
    )  # fmt: skip
    return np.sort(chosen[len(chosen) - 1 - first])


class _Values:
    """The decoded columns of all kept entries, filled slice by slice."""

    def __init__(self, count: int) -> None:
        self.kind = np.empty(count, dtype=np.uint8)
        self.number = np.empty(count, dtype=np.float64)
        self.text_start = np.empty(count, dtype=np.int64)
        self.text_stop = np.empty(count, dtype=np.int64)
        self.tail = np.empty(count, dtype=np.int64)
        self.bad = np.zeros(count, dtype=np.bool_)

    def fill(
        self, part: slice, data: memoryview, raw: NDArray[np.uint8], start: Ints, at: Ints, stop: Ints
    ) -> None:
        """Decode one slice: all usual entries at once, the others field by field."""
        last = len(raw) - 1
        has_value = (at < stop) & (raw[np.minimum(at, last)] == 0x12)
        length, body = g.varints(raw, np.where(has_value, at + 1, at), stop)
        inner_stop = body + length.astype(np.int64)
        fits = has_value & (body >= 0) & (inner_stop <= stop) & (inner_stop >= body)
        kind, number, text_start, text_stop = g.values(
            raw, np.where(fits, body, 0), np.where(fits, inner_stop, 0)
        )
        tail = np.where(fits, inner_stop, at)
        behind = raw[np.minimum(tail, last)]
        usual = (tail == stop) | (behind == 0x1A) | ((behind == 0x20) & (tail + 2 == stop))
        for i in np.flatnonzero((has_value & ~fits) | (kind == g.ODD) | ~usual):
            kind[i], number[i], text_start[i], text_stop[i] = g.ABSENT, np.nan, 0, 0
            try:
                value, tail[i] = _slow(data, int(start[i]), int(stop[i]))
            except WireError:
                self.bad[part.start + i] = True
                continue
            if value is not None:
                kind[i], number[i], (text_start[i], text_stop[i]) = value
        self.kind[part], self.number[part], self.tail[part] = kind, number, tail
        self.text_start[part], self.text_stop[part] = text_start, text_stop


def _slow(data: memoryview, start: int, stop: int) -> tuple[tuple[int, float, tuple[int, int]] | None, int]:
    """Decode an entry of unusual shape field by field; also return where its first instance may begin."""
    import struct

    value = None
    tail = stop
    previous = start
    for number, _wire, found in fields(data, start, stop):
        if number == 3 and tail == stop:
            tail = previous
        previous = found[1] if isinstance(found, tuple) else previous
        if number != 2 or not isinstance(found, tuple):
            continue
        message = Message(data, found)
        if message.error:
            raise message.error
        whole = [message.integer(n) for n in range(6)]
        if message.spans(1):
            value = (g.TEXT, float("nan"), message.spans(1)[-1])
        elif whole[2] is not None:
            value = (g.FLOAT, struct.unpack("<f", whole[2].to_bytes(8, "little")[:4])[0], (0, 0))
        elif whole[3] is not None:
            value = (g.DOUBLE, struct.unpack("<d", whole[3].to_bytes(8, "little"))[0], (0, 0))
        elif whole[4] is not None or whole[5] is not None:
            value = (g.UINT64, float(whole[4] if whole[4] is not None else whole[5] or 0), (0, 0))
    return value, tail


def _bad(starts: Ints, what: str, problems: ProblemLog) -> None:
    problems.add(
        "data-loss", "ncu-damaged-metric", f"a metric entry {what}; its value is missing",
        where=f"byte {int(starts[0])}", count=len(starts), advice="copy or collect the report again",
    )  # fmt: skip
