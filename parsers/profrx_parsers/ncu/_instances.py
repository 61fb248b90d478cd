"""The `instances` table: per PC, opcode, unit or time bucket, decoded on demand in one numpy pass.

An instance is {1 correlation id, 2 value}, both value messages. Finding where each begins is a loop over
lengths; decoding is a gather over all of them at once.
"""

from __future__ import annotations

from array import array
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from profrx_parsers import schema
from profrx_parsers.ncu import _gather as g
from profrx_parsers.ncu._pages import Passage
from profrx_parsers.problems import ProblemLog
from profrx_parsers.wire import Message, WireError, varint

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from profrx_parsers.ncu._metrics import MetricStore

    Ints = NDArray[np.int64]

MAX_INSTANCES = 20_000_000
"""Instances decoded per report; the largest real report seen holds 133,000."""
MAX_ODD = 2_000
"""Instances of unusual shape decoded field by field in one part of the report; real reports hold none."""
_REGION = 1 << 18
"""Bytes of the report that are searched for instances at once."""


KEPT_BYTES = 1 << 20
"""Instances of reports with no more bytes of them are decoded once; those of larger ones for every question."""


class Instances:
    """The instances of one report.

    Args:
        store: the entries that hold them.
        problems: is told of damage among the instances that are asked for.
    """

    def __init__(self, store: MetricStore, problems: ProblemLog) -> None:
        self._store = store
        self._problems = problems

    @property
    def metrics(self) -> frozenset[str]:
        """Names of the metrics that may have instances."""
        return frozenset(self._store.labels.names)

    def table(self, wanted: Collection[str] | None) -> pa.Table:
        """Decode the instances of the wanted metrics (None = all that the store knows), in file order.

        In compact form: metric names are dictionary-encoded.
        """
        kept = self._whole
        if kept is None:
            parts = list(self.batches(wanted))
            return pa.concat_tables(parts) if parts else schema.empty("instances")
        if wanted is None:
            return kept
        return kept.filter(pa.array(self._mask(wanted)[self._codes])) if kept.num_rows else kept

    def plain_table(self, wanted: Collection[str] | None) -> pa.Table:
        """Return the same with the types of the schema."""
        codes = self._store.labels.codes(wanted) if wanted is not None else ()
        if len(codes) == 1 and self._whole is not None:
            rows, bounds = self._by_metric
            return rows.slice(bounds[codes[0]], bounds[codes[0] + 1] - bounds[codes[0]])
        return self.table(wanted).cast(schema.TABLES["instances"])

    def batches(self, wanted: Collection[str] | None = None) -> Iterator[pa.Table]:
        """Yield the same rows piece by piece, for reports whose instances should not be in memory at once."""
        if self._whole is not None:
            return iter([self.table(wanted)])
        return self._decoded(wanted, self._problems, _REGION)

    def _decoded(
        self, wanted: Collection[str] | None, problems: ProblemLog, region: int
    ) -> Iterator[pa.Table]:
        store = self._store
        chosen = np.flatnonzero(store.tail < store.stop)
        if wanted is not None:
            chosen = chosen[self._mask(wanted)[store.code[chosen]]]
        for owner, start, stop in locate(store, chosen, problems, region):
            yield _part(store, owner, start, stop, problems)

    def _mask(self, wanted: Collection[str]) -> NDArray[np.bool_]:
        """Mark the wanted ones among the names of the store."""
        mask = np.zeros(len(self._store.labels.names), dtype=np.bool_)
        mask[self._store.labels.codes(wanted)] = True
        return mask

    @cached_property
    def _whole(self) -> pa.Table | None:
        """All instances in one piece; None for a large report, and for a damaged one: what it is told depends
        on what is asked for."""
        store = self._store
        if int((store.stop - store.tail).sum()) > KEPT_BYTES:
            return None
        said = ProblemLog()
        parts = list(self._decoded(None, said, KEPT_BYTES))
        if len(said):
            return None
        return pa.concat_tables(parts).combine_chunks() if parts else schema.empty("instances")

    @cached_property
    def _by_metric(self) -> tuple[pa.Table, list[int]]:
        """The rows of `_whole`, metric after metric, in the types of the schema; where each metric begins, and the end."""
        assert self._whole is not None
        count = len(self._store.labels.names)
        if not self._whole.num_rows:
            return schema.empty("instances"), [0] * (count + 1)
        order = np.argsort(self._codes, kind="stable")
        rows = self._whole.take(pa.array(order)).cast(schema.TABLES["instances"]).combine_chunks()
        return rows, np.searchsorted(self._codes[order], np.arange(count + 1)).tolist()

    @cached_property
    def _codes(self) -> NDArray[np.int32]:
        """Name of every row of `_whole`, as its code."""
        assert self._whole is not None
        codes: NDArray[np.int32] = self._whole.column("metric").chunk(0).indices.to_numpy()
        return codes


def locate(
    store: MetricStore, chosen: Ints, problems: ProblemLog, region: int = _REGION
) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield owner element, start and stop of the instance messages of the chosen elements, in file order.

    `region` bytes of the report are searched at once.
    """
    raw = np.frombuffer(store.data, dtype=np.uint8)
    owners = chosen[np.argsort(store.tail[chosen], kind="stable")]
    tail, stop = store.tail[owners], store.stop[owners]
    plain = (raw[tail] == 0x20) & (tail + 2 == stop)
    owners, tail, stop = owners[~plain], tail[~plain], stop[~plain]
    total = low = 0
    passage = Passage(store.data, int(tail[0]) if len(tail) else 0)
    while low < len(owners):
        passage.reached(int(tail[low]))
        if total > MAX_INSTANCES:
            problems.add(
                "data-loss", "ncu-too-many-instances",
                f"more than {MAX_INSTANCES:,} instances: the rest was left out",
                where=f"byte {int(tail[low])}", advice="ask for single metrics",
            )  # fmt: skip
            return
        high = max(low + 1, int(np.searchsorted(tail, tail[low] + region)))
        parts = _located(store, raw, owners[low:high], tail[low:high], stop[low:high], problems)
        owner, start, end = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(start, kind="stable")
        total += len(order)
        low = high
        if len(order):
            yield owner[order], start[order], end[order]


def _located(
    store: MetricStore, raw: NDArray[np.uint8], owners: Ints, tail: Ints, stop: Ints, problems: ProblemLog
) -> list[tuple[Ints, Ints, Ints]]:
    """Locate the instances of neighbouring entries: all at once where the guess holds, else one by one."""
    places, behind, entry = _guess(raw, tail, stop)
    good = _confirmed(raw, places, behind, entry, tail, stop)
    keep = good[entry]
    parts = [(owners[entry[keep]], places[keep] + 2, behind[keep])]
    for at in np.flatnonzero(~good).tolist():
        starts, stops = _follow(store.data, int(tail[at]), int(stop[at]), problems)
        parts.append((np.full(len(starts), owners[at], dtype=np.int64), starts + tail[at], stops + tail[at]))
    return parts


def _guess(raw: NDArray[np.uint8], tail: Ints, stop: Ints) -> tuple[Ints, Ints, Ints]:
    """Find what looks like instances: start, end and entry of each.

    An instance looks like 0x1A, length, 0x0A. Such bytes also occur inside values, but there nothing leads to
    them: only places where an entry's instances begin or another instance ends are kept.
    """
    low = int(tail[0])
    region = raw[low : int(stop.max())]
    places = np.flatnonzero((region[:-2] == 0x1A) & (region[2:] == 0x0A) & (region[1:-1] < 0x80)) + low
    behind = places + 2 + raw[places + 1]
    entry = np.searchsorted(tail, places, side="right") - 1
    inside = (entry >= 0) & (behind <= stop[entry])
    places, behind, entry = places[inside], behind[inside], entry[inside]
    reached = places == tail[entry]
    if len(places):
        at = np.minimum(np.searchsorted(places, behind), len(places) - 1)
        reached[at[places[at] == behind]] = True
    return places[reached], behind[reached], entry[reached]


def _confirmed(
    raw: NDArray[np.uint8], places: Ints, behind: Ints, entry: Ints, tail: Ints, stop: Ints
) -> NDArray[np.bool_]:
    """Return which entries are covered by one gapless chain of instances, up to their category field."""
    good = np.zeros(len(tail), dtype=np.bool_)
    if not len(places):
        return good
    last = np.append(entry[1:] != entry[:-1], True)
    end = behind[last]
    category = (end + 2 == stop[entry[last]]) & (raw[np.minimum(end, len(raw) - 1)] == 0x20)
    good[entry[last]] = (end == stop[entry[last]]) | category
    previous = np.append(-1, behind[:-1])
    broken = (places != tail[entry]) & (places != previous)
    good[entry[broken]] = False
    starts = np.append(True, last[:-1])
    good[entry[starts & (places != tail[entry])]] = False
    return good


def _follow(data: memoryview, base: int, stop: int, problems: ProblemLog) -> tuple[Ints, Ints]:
    """Find the instances of an entry one after the other, up to the first that does not fit."""
    starts, stops = array("q"), array("q")
    entry = bytes(data[base:stop])
    size, pos = len(entry), 0
    try:
        while pos < size:
            tag = entry[pos]
            if tag != 0x1A:
                if tag != 0x20:
                    raise WireError(f"tag {tag}", pos)
                _, pos = varint(entry, pos + 1, size)
                continue
            length = entry[pos + 1]
            pos += 2
            if length >= 0x80:
                length, pos = varint(entry, pos - 1, size)
            if length > size - pos:
                raise WireError("an instance does not fit", pos)
            starts.append(pos)
            pos += length
            stops.append(pos)
    except (WireError, IndexError):
        problems.add(
            "data-loss", "ncu-damaged-instances", "the instances of a metric are damaged from some point on",
            where=f"byte {base + pos}", advice="copy or collect the report again",
        )  # fmt: skip
    if not len(starts):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.frombuffer(starts, dtype=np.int64), np.frombuffer(stops, dtype=np.int64)


def _part(store: MetricStore, owner: Ints, start: Ints, stop: Ints, problems: ProblemLog) -> pa.Table:
    raw = np.frombuffer(store.data, dtype=np.uint8)
    last = len(raw) - 1
    # The key: tag 0x0A, one length byte, then the value message.
    key_at = start + 2
    key_stop = key_at + raw[np.minimum(start + 1, last)]
    usual = (stop - start >= 2) & (raw[np.minimum(start, last)] == 0x0A) & (key_stop <= stop)
    usual &= raw[np.minimum(start + 1, last)] < 0x80
    key_tag = raw[np.minimum(key_at, last)]
    is_text = usual & (key_tag == 0x0A)
    is_whole = usual & ((key_tag == 0x28) | (key_tag == 0x20))
    whole, after = g.varints(raw, np.where(is_whole, key_at + 1, 0), np.where(is_whole, key_stop, 0))
    is_whole &= after == key_stop
    text_at = key_at + 2
    is_text &= (text_at <= key_stop) & (key_stop - text_at == raw[np.minimum(key_at + 1, last)])
    # The value: tag 0x12, one length byte, then the value message; it ends the instance.
    value_at = key_stop + 2
    fits = (is_whole | is_text) & (value_at <= stop) & (raw[np.minimum(key_stop, last)] == 0x12)
    value_stop = np.where(fits, value_at + raw[np.minimum(key_stop + 1, last)], 0)
    fits &= value_stop == stop
    kind, number, _, _ = g.values(raw, np.where(fits, value_at, 0), np.where(fits, value_stop, 0))
    key = _placed(g.texts(store.data, raw, text_at[is_text], key_stop[is_text]), is_text)
    odd = np.flatnonzero((~fits | (kind == g.ODD)) & (stop - start > 2))
    if len(odd) > MAX_ODD:
        problems.add(
            "data-loss", "ncu-damaged-instances", "too many instances of unusual shape; the rest have no value",
            where=f"byte {int(start[odd[MAX_ODD]])}", count=len(odd) - MAX_ODD,
            advice="copy or collect the report again",
        )  # fmt: skip
    kind[~fits] = g.ABSENT
    slow: dict[int, str | None] = {}
    for at in odd[:MAX_ODD].tolist():
        slow[at], whole[at], is_whole[at], number[at], kind[at] = _slow(
            store, int(start[at]), int(stop[at]), problems
        )
    numeric = (kind >= g.FLOAT) & (kind <= g.UINT64)
    if slow:
        key = pa.array([slow.get(at, known) for at, known in enumerate(key.to_pylist())], pa.string())
    columns = {
        "launch_id": pa.array(store.launch[owner]),
        "metric": store.named(store.code[owner]),
        "key": key,
        "key_int": pa.array(whole.view(np.int64), mask=~is_whole),
        "value": pa.array(number, mask=~numeric),
    }
    return pa.table(columns)


def _placed(texts: pa.Array, where: NDArray[np.bool_]) -> pa.Array:
    """Return texts at the places that are marked, null elsewhere."""
    if not len(texts):
        return pa.nulls(len(where), pa.string())
    return texts if where.all() else texts.take(pa.array(np.cumsum(where) - 1, mask=~where))


def _slow(
    store: MetricStore, start: int, stop: int, problems: ProblemLog
) -> tuple[str | None, int, bool, float, int]:
    """Decode an instance of unusual shape field by field."""
    from profrx_parsers.ncu._session import value_of

    message = Message(store.data, (start, stop))
    key, value = message.message(1), message.message(2)
    if message.error or (key and key.error) or (value and value.error):
        problems.add(
            "data-loss", "ncu-damaged-instances", "an instance of a metric does not decode; it has no value",
            where=f"byte {start}", advice="copy or collect the report again",
        )  # fmt: skip
        return None, 0, False, float("nan"), g.ABSENT
    whole = None
    if key is not None:
        whole = key.integer(5) if key.integer(5) is not None else key.integer(4)
    found = value_of(value)
    number = found if isinstance(found, float) else float("nan")
    kind = g.DOUBLE if isinstance(found, float) else g.ABSENT
    text = key.text(1) if key is not None else None
    return text, whole or 0, whole is not None, number, kind
