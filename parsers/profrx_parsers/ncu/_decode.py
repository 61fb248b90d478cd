"""Decoding metric entries: from their places in the file to a `MetricStore`, in numpy, slice by slice.

An entry is {1 name id, 2 value, 3 repeated instance, 4 category}. The usual shape is decoded for all entries of a
slice at once; an entry of any other shape is decoded field by field, and one that swallowed its neighbours
(a damaged length) gives them back.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from profrx_parsers.ncu import _gather as g
from profrx_parsers.ncu._entries import CATEGORY, INSTANCE, VALUE
from profrx_parsers.ncu._metrics import MetricStore
from profrx_parsers.ncu._pages import slices
from profrx_parsers.wire import Message, WireError, fields

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profrx_parsers.ncu._entries import MetricEntries
    from profrx_parsers.ncu._lookup import Codes, Lookup
    from profrx_parsers.problems import ProblemLog

    Ints = NDArray[np.int64]

_SPARSE = 16
"""Cells per entry up to which a table of launches x metrics is made to find the last entry of each."""
_ENTRY_FIELDS = (4, 13)
"""Field numbers of metric entries in a result: what a swallowed entry looks like from inside another."""


class Places(NamedTuple):
    """Where entries lie: their launch, first byte, offset behind the name id, offset behind the value, end.

    `tail` is `at` where there is no value, and -1 where the entry must be decoded field by field.
    """

    launch: Ints
    start: Ints
    at: Ints
    tail: Ints
    stop: Ints


class Kept(NamedTuple):
    """Entries whose name is wanted, the last of each launch and name: its code, see `Places` for the rest."""

    code: Ints
    launch: Ints
    start: Ints
    at: Ints
    tail: Ints
    stop: Ints


class Values(NamedTuple):
    """Decoded values, see `MetricStore`; `bad` marks entries that do not decode."""

    kind: NDArray[np.uint8]
    number: NDArray[np.float64]
    text_start: Ints
    text_stop: Ints
    tail: Ints
    bad: NDArray[np.bool_]


def decode(data: memoryview, entries: MetricEntries, lookup: Lookup, problems: ProblemLog) -> MetricStore:
    """Decode the values of all located entries whose name is wanted."""
    raw = np.frombuffer(data, dtype=np.uint8)
    parts = [
        _wanted(places, ident, lookup, problems) for places, ident in _named(data, raw, entries, problems)
    ]
    kept = parts[0] if len(parts) == 1 else _last_of_each(Kept(*_joined(parts, 6)), problems)
    found = [
        _values(
            data, raw, kept if part.stop - part.start == len(kept.code) else Kept(*(c[part] for c in kept))
        )
        for part in slices(data, kept.start)
    ]
    values = found[0] if len(found) == 1 else Values(*_joined(found, 6))
    store = MetricStore(
        data, len(entries.bounds) - 1, lookup.labels, kept.launch, kept.code, values.kind, values.number,
        values.text_start, values.text_stop, values.tail, kept.stop,
    )  # fmt: skip
    if values.bad.any():
        _bad(kept.start[values.bad], "does not decode", problems)
        store = store.only(~values.bad)
    return store


def _joined(parts: Sequence[tuple[Any, ...]], columns: int) -> Iterator[NDArray[Any]]:
    if not parts:
        return (np.empty(0, dtype=np.int64) for _ in range(columns))
    return (np.concatenate(column) for column in zip(*parts, strict=True))


def _named(
    data: memoryview, raw: NDArray[np.uint8], entries: MetricEntries, problems: ProblemLog
) -> Iterator[tuple[Places, g.Words]]:
    """Yield places and name ids of the entries, slice by slice."""
    starts, stops, bounds = (
        np.frombuffer(column, dtype=np.int64) if len(column) else np.empty(0, np.int64)
        for column in (entries.starts, entries.stops, entries.bounds)
    )
    rows = np.arange(len(bounds) - 1)
    for part in slices(data, starts):
        within = bounds.clip(part.start, part.stop)
        launch = rows.repeat(within[1:] - within[:-1])
        places, ident, suspects = _look(raw, launch, starts[part], stops[part])
        if len(suspects):
            places, ident, _ = _look(raw, *_split(data, places, suspects, problems))
        yield places, ident


def _look(raw: NDArray[np.uint8], launch: Ints, start: Ints, stop: Ints) -> tuple[Places, g.Words, Ints]:
    """Look at the heads of entries; return places, name ids, and which may have swallowed others.

    Those are the ones that hold more than a value, instances and a category.
    """
    ident, at = g.short_varints(raw, start + 1, stop)
    has_value = raw.take(at, mode="clip") == VALUE
    has_value &= at < stop
    length = raw.take(at + 1, mode="clip")
    tail = at + (length + 2) * has_value
    behind = raw.take(tail, mode="clip")
    usual = (behind == CATEGORY) & (tail + 2 == stop)
    usual |= behind == INSTANCE
    usual &= tail < stop
    usual |= tail == stop
    long = has_value & (length >= 0x80)
    usual &= ~long & (at >= 0)
    other = (~usual).nonzero()[0]
    if len(other):
        tail[other] = -1
        other = other[~long[other] & (at[other] >= 0)]
    return Places(launch, start, at, tail, stop), ident, other


def _wanted(places: Places, ident: g.Words, lookup: Lookup, problems: ProblemLog) -> Kept:
    """Return the entries whose name is wanted."""
    if not len(ident) or (places.at.min() >= 0 and ident.max() < len(lookup.code_of_id)):
        code = lookup.code_of_id.take(ident.view(np.int64))
    else:
        code = _codes(places, ident, lookup, problems)
    chosen = (code >= 0).nonzero()[0]
    kept = code.take(chosen).astype(np.int64)
    launch = places.launch.take(chosen)
    last = _are_last(launch, kept)
    if not last.all():
        _repeated(last, problems)
        chosen, kept, launch = chosen[last], kept[last], launch[last]
    return Kept(kept, launch, *(column.take(chosen) for column in places[1:]))


def _codes(places: Places, ident: g.Words, lookup: Lookup, problems: ProblemLog) -> Codes:
    """Return the codes of entries some of which are damaged; -1 for those."""
    whole = places.at >= 0
    if not whole.all():
        _bad(places.start[~whole], "has no name", problems)
    known = whole & (ident < len(lookup.code_of_id))
    code = np.full(len(ident), -1, dtype=np.int32)
    code[known] = lookup.code_of_id[ident[known].view(np.int64)]
    dangling = np.flatnonzero(whole & ~known)
    if len(dangling):
        problems.add(
            "data-loss", "ncu-unresolved-names", "metric values name strings that the file does not hold",
            where=f"byte {int(places.start[dangling[0]])}", count=len(dangling),
            advice="the end of the file, with late names, is missing: copy or collect it again",
        )  # fmt: skip
    return code


def _split(data: memoryview, places: Places, suspects: Ints, problems: ProblemLog) -> tuple[Ints, Ints, Ints]:
    """Give back the entries that others swallowed because their length is damaged: launch, start, stop of all."""
    launch, start, stop = places.launch, places.start, places.stop.copy()
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
    last = _are_last(kept.launch, kept.code)
    if last.all():
        return kept
    _repeated(last, problems)
    return Kept(*(column[last] for column in kept))


def _repeated(last: NDArray[np.bool_], problems: ProblemLog) -> None:
    problems.add(
        "info", "ncu-repeated-metric",
        "metrics were stored more than once for one result; the last value counts",
        count=len(last) - int(np.count_nonzero(last)),
    )  # fmt: skip


def _are_last(launch: Ints, code: Ints) -> NDArray[np.bool_]:
    """Mark the entries behind which no other one of the same launch and metric comes; launches ascend."""
    if not len(code):
        return np.empty(0, np.bool_)
    place = np.arange(len(code))
    codes = int(code.max()) + 1
    cells = (int(launch[-1]) - int(launch[0]) + 1) * codes
    if cells <= len(code) * _SPARSE:
        last_in = np.empty(cells, np.int64)
        cell = (launch - launch[0]) * codes + code
        last_in[cell] = place  # of places for the same cell, the last is kept
        last: NDArray[np.bool_] = last_in[cell] == place
        return last
    key = launch << 32 | code
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    last = np.empty(len(code), np.bool_)
    last[order] = np.append(ordered[1:] != ordered[:-1], True)
    return last


def _values(data: memoryview, raw: NDArray[np.uint8], kept: Kept) -> Values:
    """Decode values: all of the usual shape at once, the others field by field."""
    kind, number, text_start, text_stop = g.values(raw, kept.at + 2, kept.tail)
    tail = kept.tail
    bad = np.zeros(len(kind), dtype=np.bool_)
    odd = ((kind == g.ODD) | (tail < 0)).nonzero()[0]
    if len(odd):
        tail = tail.copy()
    for i in odd.tolist():
        kind[i], number[i], text_start[i], text_stop[i] = g.ABSENT, np.nan, 0, 0
        try:
            value, tail[i] = _slow(data, int(kept.start[i]), int(kept.stop[i]))
        except WireError:
            bad[i] = True
            continue
        if value is not None:
            kind[i], number[i], (text_start[i], text_stop[i]) = value
    return Values(kind, number, text_start, text_stop, tail, bad)


def _slow(data: memoryview, start: int, stop: int) -> tuple[tuple[int, float, tuple[int, int]] | None, int]:
    """Decode an entry of unusual shape field by field; also return where its first instance may begin.

    Damage of the category, which nobody reads, or among the instances, which their reader will report, leaves a
    single text before it: as other values of usual shape are left.
    """
    value = None
    seen = 0
    tail = stop
    previous = start
    try:
        for number, _wire, found in fields(data, start, stop):
            if number == 3 and tail == stop:
                tail = previous
            previous = found[1] if isinstance(found, tuple) else previous
            if number == 2 and isinstance(found, tuple):
                value = _one_value(data, found) or value
                seen += 1
    except WireError:
        category = previous + 2 == stop and data[previous] == CATEGORY
        if (not category and tail == stop) or value is None or value[0] != g.TEXT or seen > 1:
            raise
    return value, tail


def _one_value(data: memoryview, span: tuple[int, int]) -> tuple[int, float, tuple[int, int]] | None:
    """Decode a value message of any shape. Raises `WireError` when it is damaged."""
    message = Message(data, span)
    if message.error:
        raise message.error
    whole = [message.integer(n) for n in range(6)]
    if message.spans(1):
        return g.TEXT, float("nan"), message.spans(1)[-1]
    if whole[2] is not None:
        return g.FLOAT, struct.unpack("<f", whole[2].to_bytes(8, "little")[:4])[0], (0, 0)
    if whole[3] is not None:
        return g.DOUBLE, struct.unpack("<d", whole[3].to_bytes(8, "little"))[0], (0, 0)
    if whole[4] is not None or whole[5] is not None:
        return g.UINT64, float(whole[4] if whole[4] is not None else whole[5] or 0), (0, 0)
    return None


def _bad(starts: Ints, what: str, problems: ProblemLog) -> None:
    problems.add(
        "data-loss", "ncu-damaged-metric", f"a metric entry {what}; its value is missing",
        where=f"byte {int(starts[0])}", count=len(starts), advice="copy or collect the report again",
    )  # fmt: skip
