"""The `instances` table: per PC, opcode, unit or time bucket, decoded on demand in one numpy pass.

An instance is {1 correlation id, 2 value}, both value messages; decoding is a gather over thousands at once.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from profrx_parsers import schema
from profrx_parsers.ncu import _gather as g
from profrx_parsers.ncu._locate import Found, locate
from profrx_parsers.problems import ProblemLog
from profrx_parsers.wire import Message

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from numpy.typing import NDArray

    from profrx_parsers.ncu._metrics import MetricStore

    Ints = NDArray[np.int64]

MAX_ODD = 2_000
"""Instances of unusual shape decoded field by field; real reports hold one or two per kernel."""
KEPT_BYTES = 1 << 20
"""Instances of reports with no more bytes of them are decoded once; those of larger ones for every question."""

_KEY, _VALUE = 0x0A, 0x12
"""Tags inside an instance."""
_TEXT, _DOUBLE, _WHOLE_32, _WHOLE = 0x0A, 0x19, 0x20, 0x28
"""Tags inside a key or value."""


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

        In compact form: metric names are dictionary-encoded, text keys that do not occur are of type null.
        """
        kept = self._whole
        if kept is None:
            return _joined(self._decoded(wanted, self._problems))
        if wanted is None:
            return kept
        return kept.filter(g.arrow(self._mask(wanted)[self._codes])) if kept.num_rows else kept

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
        return map(_with_keys, self._decoded(wanted, self._problems))

    def _decoded(self, wanted: Collection[str] | None, problems: ProblemLog) -> Iterator[pa.Table]:
        store = self._store
        chosen = np.flatnonzero(store.tail < store.stop)
        if wanted is not None:
            chosen = chosen[self._mask(wanted)[store.code[chosen]]]
        room = MAX_ODD
        for found in locate(store, chosen, problems):
            part, odd = _part(store, found, room, problems)
            room = max(0, room - odd)
            yield part

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
        whole = _joined(self._decoded(None, said))
        return None if len(said) else whole.combine_chunks()

    @cached_property
    def _by_metric(self) -> tuple[pa.Table, list[int]]:
        """The rows of `_whole`, metric after metric, in the types of the schema; where each metric begins, and the end."""
        assert self._whole is not None
        count = len(self._store.labels.names)
        if not self._whole.num_rows:
            return schema.empty("instances"), [0] * (count + 1)
        order = np.argsort(self._codes, kind="stable")
        rows = self._whole.take(g.arrow(order)).cast(schema.TABLES["instances"]).combine_chunks()
        return rows, np.searchsorted(self._codes[order], np.arange(count + 1)).tolist()

    @cached_property
    def _codes(self) -> NDArray[np.int16 | np.int32]:
        """Name of every row of `_whole`, as its code."""
        assert self._whole is not None
        codes: NDArray[np.int16 | np.int32] = self._whole.column("metric").chunk(0).indices.to_numpy()
        return codes


def _with_keys(part: pa.Table) -> pa.Table:
    """Return a part with text keys even where it has none, so that all parts have the same types."""
    at = part.column_names.index("key")
    return part.set_column(at, "key", part.column(at).cast(pa.string()))


def _joined(parts: Iterable[pa.Table]) -> pa.Table:
    tables = list(parts)
    return pa.concat_tables(tables, promote_options="default") if tables else schema.empty("instances")


def _part(store: MetricStore, found: Found, room: int, problems: ProblemLog) -> tuple[pa.Table, int]:
    """Decode located instances: the usual shape all at once, at most `room` others field by field.

    Also returns how many of unusual shape there are.
    """
    owner, start, stop = found
    raw = np.frombuffer(store.data, dtype=np.uint8)
    text_at, whole, is_whole, behind = _keys(raw, start, stop)
    is_text = text_at > 0
    kind, number = _values(raw, behind, stop, is_whole | is_text)
    key = _placed(g.texts(store.data, raw, text_at[is_text], behind[is_text]), is_text)
    odd = np.flatnonzero(kind == g.ODD)
    if len(odd) > room:
        problems.add(
            "data-loss", "ncu-damaged-instances", "too many instances of unusual shape; the rest were left out",
            where=f"byte {int(start[odd[room]])}", count=len(odd) - room,
            advice="copy or collect the report again",
        )  # fmt: skip
    slow: dict[int, str] = {}
    for one in odd[:room].tolist():
        text, whole[one], is_whole[one], number[one], kind[one] = _slow(
            store, int(start[one]), int(stop[one]), problems
        )
        if text is not None:
            slow[one] = text
    if slow:
        key = pa.array([slow.get(at, known) for at, known in enumerate(key.to_pylist())], pa.string())
    numeric = (kind >= g.FLOAT) & (kind <= g.UINT64)
    columns = {
        "launch_id": g.arrow(store.launch[owner].astype(np.int32)),
        "metric": store.named(store.code[owner]),
        "key": key,
        "key_int": g.arrow(whole.view(np.int64), is_whole),
        "value": g.arrow(number, numeric),
    }
    table = pa.table(columns)
    if len(odd) > room:
        table = table.filter(g.arrow(kind != g.ODD))
    return table, len(odd)


def _keys(
    raw: NDArray[np.uint8], start: Ints, stop: Ints
) -> tuple[Ints, NDArray[np.uint64], NDArray[np.bool_], Ints]:
    """Decode the keys: tag, one length byte, a value message of one field.

    Returns where a text begins (0 = none), the whole number and whether there is one, and the offset behind the key.
    """
    head = g.words(raw, start).view(np.uint8).reshape(-1, 8)
    size, tag = head[:, 1], head[:, 2]
    behind = start + 2 + size
    usual = (head[:, 0] == _KEY) & (size < 0x80) & (behind <= stop)
    whole, length = g.unpacked(g.words(raw, start + 3))
    is_whole = usual & ((tag == _WHOLE) | (tag == _WHOLE_32))
    long = is_whole & (length == 0)
    if long.any():  # times in ns have nine bytes
        last = raw.take(start + 11, mode="clip")
        nine = long & (last < 0x80)
        whole |= (last * nine).astype(np.uint64) << np.uint64(56)
        length[nine] = 9
        ten = np.flatnonzero(long & ~nine)
        if len(ten):
            whole[ten], after = g.varints(raw, start[ten] + 3, behind[ten])
            length[ten] = after - start[ten] - 3
    is_whole &= length + 1 == size
    is_text = usual & (tag == _TEXT) & (size >= 2) & (head[:, 3] + 2 == size)
    return np.where(is_text, start + 4, 0), whole, is_whole, behind


def _values(
    raw: NDArray[np.uint8], at: Ints, stop: Ints, keyed: NDArray[np.bool_]
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Decode the values: tag, one length byte, a value message; it ends the instance. Of others the kind is ODD."""
    head = g.words(raw, at).view(np.uint8).reshape(-1, 8)
    size, tag = head[:, 1], head[:, 2]
    fits = keyed & (head[:, 0] == _VALUE) & (size < 0x80) & (at + 2 + size == stop)
    payload = g.words(raw, at + 3)
    number = payload.view(np.float64)
    double = fits & (tag == _DOUBLE) & (size == 9)
    kind = np.where(double, np.uint8(g.DOUBLE), np.uint8(g.ODD))
    if double.all():
        return kind, number
    value, length = g.unpacked(payload)
    whole = fits & ((tag == _WHOLE) | (tag == _WHOLE_32)) & (length + 1 == size)
    number = np.where(double, number, value)
    kind[whole] = g.UINT64
    rest = np.flatnonzero(fits & (kind == g.ODD))
    if len(rest):
        kind[rest], number[rest], _, _ = g.values(raw, at[rest] + 2, stop[rest])
    return kind, number


def _placed(texts: pa.Array, where: NDArray[np.bool_]) -> pa.Array:
    """Return texts at the places that are marked, null elsewhere."""
    if not len(texts):
        return pa.nulls(len(where))
    return texts if where.all() else texts.take(g.arrow(np.cumsum(where) - 1, where))


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
