"""Decoding metric entries: from their places in the file to a `MetricStore`, in numpy, slice by slice.

An entry is {1 name id, 2 value, 3 repeated instance, 4 category}. The usual shape is decoded for all entries of a
slice at once; an entry of any other shape is decoded field by field, and one that swallowed its neighbours
(a damaged length) gives them back.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from profrx_parsers.ncu import _gather as g
from profrx_parsers.ncu._metrics import MetricStore
from profrx_parsers.ncu._pages import slices
from profrx_parsers.wire import Message, WireError, fields

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profrx_parsers.ncu._entries import MetricEntries
    from profrx_parsers.ncu._lookup import Lookup
    from profrx_parsers.problems import ProblemLog

    Ints = NDArray[np.int64]

_ENTRY_FIELDS = (4, 13)
"""Field numbers of metric entries in a result: what a swallowed entry looks like from inside another."""


class Kept(NamedTuple):
    """Entries whose name is wanted: launch, code, start, offset behind the name, stop."""

    launch: Ints
    code: Ints
    start: Ints
    at: Ints
    stop: Ints


def decode(data: memoryview, entries: MetricEntries, lookup: Lookup, problems: ProblemLog) -> MetricStore:
    """Decode the values of all located entries whose name is wanted."""
    raw = np.frombuffer(data, dtype=np.uint8)
    parts = [
        _last_of_each(_wanted(raw, launch, start, stop, ident, at, lookup, problems), problems)
        for launch, start, stop, ident, at in _named(data, raw, entries, problems)
    ]
    launch, code, start, at, stop = parts[0] if len(parts) == 1 else _last_of_each(_joined(parts), problems)
    values = _Values(len(code))
    for part in slices(data, start):
        values.fill(part, data, raw, start[part], at[part], stop[part])
    store = MetricStore(
        data, len(entries.bounds) - 1, lookup.labels, launch, code, values.kind, values.number,
        values.text_start, values.text_stop, values.tail, stop,
    )  # fmt: skip
    if values.bad.any():
        _bad(start[values.bad], "does not decode", problems)
        store = store.only(~values.bad)
    return store


def _named(
    data: memoryview, raw: NDArray[np.uint8], entries: MetricEntries, problems: ProblemLog
) -> Iterator[tuple[Ints, Ints, Ints, NDArray[np.uint64], Ints]]:
    """Yield launch, start, stop, name id and the offset behind it of the entries, slice by slice."""
    starts, stops, bounds = (
        np.frombuffer(column, dtype=np.int64) if len(column) else np.empty(0, np.int64)
        for column in (entries.starts, entries.stops, entries.bounds)
    )
    rows = np.arange(len(bounds) - 1)
    for part in slices(data, starts):
        start, stop = starts[part], stops[part]
        launch = np.repeat(rows, np.diff(bounds.clip(part.start, part.stop)))
        ident, at = g.short_varints(raw, start + 1, stop)
        unusual = _unusual(raw, at, stop)
        if unusual.any():
            launch, start, stop = _split(data, launch, start, stop, np.flatnonzero(unusual), problems)
            ident, at = g.short_varints(raw, start + 1, stop)
        yield launch, start, stop, ident, at


def _wanted(
    raw: NDArray[np.uint8], launch: Ints, start: Ints, stop: Ints, ident: NDArray[np.uint64], at: Ints,
    lookup: Lookup, problems: ProblemLog,
) -> Kept:  # fmt: skip
    """Return the entries whose name is wanted."""
    whole = (at >= 0) & (stop > start)
    if not whole.all():
        _bad(start[~whole], "has no name", problems)
    known = whole & (ident < len(lookup.code_of_id))
    if known.all():
        code = lookup.code_of_id.take(ident.view(np.int64))
    else:
        code = np.full(len(start), -1, dtype=np.int32)
        code[known] = lookup.code_of_id[ident[known].astype(np.int64)]
        dangling = np.flatnonzero(whole & ~known)
        if len(dangling):
            problems.add(
                "data-loss", "ncu-unresolved-names", "metric values name strings that the file does not hold",
                where=f"byte {int(start[dangling[0]])}", count=len(dangling),
                advice="the end of the file, with late names, is missing: copy or collect it again",
            )  # fmt: skip
    chosen = np.flatnonzero(code >= 0)
    return Kept(launch[chosen], code[chosen].astype(np.int64), start[chosen], at[chosen], stop[chosen])


def _joined(parts: list[Kept]) -> Kept:
    if not parts:
        return Kept(*(np.empty(0, dtype=np.int64),) * 5)
    return Kept(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _unusual(raw: NDArray[np.uint8], at: Ints, stop: Ints) -> NDArray[np.bool_]:
    """Mark entries that hold more than a value, instances and a category: they may have swallowed others."""
    has_value = raw.take(at, mode="clip") == 0x12
    length = raw.take(at + 1, mode="clip")
    tail = at + has_value * (2 + length.astype(np.int64))
    behind = raw.take(tail, mode="clip")
    usual = (tail == stop) | (behind == 0x1A) | ((behind == 0x20) & (tail + 2 == stop))
    usual |= has_value & (length >= 0x80)
    usual |= at < 0
    unusual: NDArray[np.bool_] = ~usual
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


def _last_of_each(kept: Kept, problems: ProblemLog) -> Kept:
    """Return the last entry of every launch and metric, in file order."""
    key = kept.launch << 32 | kept.code
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    last = np.append(ordered[1:] != ordered[:-1], True)
    if not len(key) or last.all():
        return kept
    problems.add(
        "info", "ncu-repeated-metric",
        "metrics were stored more than once for one result; the last value counts",
        count=int(np.count_nonzero(~last)),
    )  # fmt: skip
    chosen = np.sort(order[last])
    return Kept(*(column[chosen] for column in kept))


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
        has_value = (at < stop) & (raw.take(at, mode="clip") == 0x12)
        length, body = g.varints(raw, np.where(has_value, at + 1, at), stop)
        inner_stop = body + length.astype(np.int64)
        fits = has_value & (body >= 0) & (inner_stop <= stop) & (inner_stop >= body)
        kind, number, text_start, text_stop = g.values(
            raw, np.where(fits, body, 0), np.where(fits, inner_stop, 0)
        )
        tail = np.where(fits, inner_stop, at)
        behind = raw.take(tail, mode="clip")
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
