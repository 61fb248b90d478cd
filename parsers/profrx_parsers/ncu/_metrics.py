"""Metric values of all results, decoded in one numpy pass over the located entries.

An entry is {1 name id, 2 value, 3 repeated instance, 4 category}. Of a name that occurs twice in one result
the last entry counts, as in the vendor's own module. Names resolve through the cumulative string table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from profrx_parsers.ncu import _gather as g
from profrx_parsers.ncu._units import unit_of
from profrx_parsers.wire import decode_text

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from profrx_parsers.ncu._names import NameSpans

    Ints = NDArray[np.int64]

_DENSE = 1 << 20
"""Largest matrix of metrics x launches that is filled at once; beyond it, columns are built one by one."""
NAME_BYTES = 4096
"""Longest metric name kept; real ones reach about 160 bytes."""
KEPT_NAMES = 20_000
"""Names remembered over reports for one projection."""


class Names:
    """The cumulative name table: id -> code of a distinct name, decoded once."""

    def __init__(self, data: memoryview, spans: NameSpans, wanted: frozenset[str] | None) -> None:
        codes: dict[str, int] = {}
        self.total = len(spans.starts)
        self.code_of_id = np.full(self.total, -1, dtype=np.int32)
        known = _wanted_names(wanted)
        for index, name in enumerate(map(known.__getitem__, spans.texts(data, NAME_BYTES))):
            if name is not None:
                self.code_of_id[index] = codes.setdefault(name, len(codes))
        self.names = list(codes)


class _WantedNames(dict[bytes, "str | None"]):
    """Bytes of a name -> the name, None where it is not wanted; names of a tool repeat from report to report."""

    def __init__(self, wanted: frozenset[str] | None) -> None:
        super().__init__()
        self._wanted = wanted

    def __missing__(self, text: bytes) -> str | None:
        name = text.decode("utf-8", "replace")
        wanted = self._wanted is None or name in self._wanted or plain_name(name) in self._wanted
        if len(self) >= KEPT_NAMES:
            self.clear()
        self[text] = found = name if wanted else None
        return found


@lru_cache(maxsize=4)
def _wanted_names(wanted: frozenset[str] | None) -> _WantedNames:
    return _WantedNames(wanted)


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

    @cached_property
    def _name_array(self) -> pa.Array:
        return pa.array(self.names, pa.string())

    def named(self, code: Ints) -> pa.DictionaryArray:
        """Return names by code without repeating them in memory."""
        return pa.DictionaryArray.from_arrays(pa.array(code.astype(np.int32)), self._name_array)

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
        """Return the long `metrics` table in file order, in compact form: names and units dictionary-encoded."""
        keep = np.full(len(self.names), wanted is None)
        if wanted is not None:
            keep[self.codes(wanted)] = True
        chosen = np.flatnonzero(keep[self.code]) if len(self.code) else np.empty(0, dtype=np.int64)
        code = self.code[chosen]
        units = [unit_of(name) for name in self.names]
        distinct = sorted({unit for unit in units if unit})
        place = {unit: at for at, unit in enumerate(distinct)}
        of_code = np.array([place[unit] if unit else -1 for unit in units] or [-1], dtype=np.int32)
        unit = of_code[code]
        is_text = self.kind[chosen] == g.TEXT
        texts = pa.array([self._text(int(at)) for at in chosen[is_text]], pa.string())
        columns = {
            "launch_id": pa.array(self.launch[chosen]),
            "metric": self.named(code),
            "value": pa.array(self.number[chosen], mask=~self.numeric[chosen]),
            "unit": pa.DictionaryArray.from_arrays(
                pa.array(unit, mask=unit < 0), pa.array(distinct, pa.string())
            ),
            "text": texts.take(pa.array(np.cumsum(is_text) - 1, mask=~is_text)),
        }
        return pa.table(columns)


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

    def get(self, name: str, default: Any = None) -> Any:
        """Return the column of a metric."""
        return self[name] if name in self._known else default

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
