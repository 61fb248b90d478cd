"""Metric values of all results, decoded in one numpy pass over the located entries.

An entry is {1 name id, 2 value, 3 repeated instance, 4 category}. Of a name that occurs twice in one result
the last entry counts, as in the vendor's own module. Names resolve through the cumulative string table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from profrx_parsers.ncu import _gather as g
from profrx_parsers.ncu._pages import slices
from profrx_parsers.wire import decode_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profrx_parsers.ncu._lookup import Labels

    Ints = NDArray[np.int64]

_DENSE = 1 << 20
"""Largest matrix of metrics x launches that is filled at once; beyond it, columns are built one by one."""


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
        labels: the metrics that `code` stands for; not all of them need have elements.
        launch, code: of every element.
        kind: see `_gather`; ABSENT = the metric has no value of its own.
        number: float64; NaN where the value is text or absent, and where it is stored as NaN.
        text_start, text_stop: span of a text value.
        tail, stop: span of the entry behind its value: where instances begin, if there are any.
    """

    data: memoryview
    rows: int
    labels: Labels
    launch: Ints
    code: Ints
    kind: NDArray[np.uint8]
    number: NDArray[np.float64]
    text_start: Ints
    text_stop: Ints
    tail: Ints
    stop: Ints

    def only(self, mask: NDArray[np.bool_]) -> MetricStore:
        """Return a store of the marked elements."""
        columns = ("launch", "code", "kind", "number", "text_start", "text_stop", "tail", "stop")
        return replace(self, **{name: getattr(self, name)[mask] for name in columns})

    @cached_property
    def _by_code(self) -> tuple[Ints, Ints]:
        """Element order by name, and the bounds of every name in it."""
        order = np.argsort(self.code, kind="stable")
        return order, np.searchsorted(self.code[order], np.arange(len(self.labels.names) + 1))

    @cached_property
    def numeric(self) -> NDArray[np.bool_]:
        """Whether an element has a number (which may be NaN)."""
        return (self.kind >= g.FLOAT) & (self.kind <= g.UINT64)

    def elements(self, name: str) -> Ints:
        """Return the indices of a metric's elements, ascending by launch."""
        code = self.labels.code_of.get(name)
        if code is None:
            return np.empty(0, dtype=np.int64)
        order, bounds = self._by_code
        return order[bounds[code] : bounds[code + 1]]

    def numbers(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return a metric over all results: values, and where there is one."""
        dense = self._dense
        if dense is not None and name in self.labels.code_of:
            code = self.labels.code_of[name]
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
        if len(self.labels.names) * self.rows > _DENSE:
            return None
        values = np.full((len(self.labels.names), self.rows), np.nan)
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

    def table(self) -> pa.Table:
        """Return the long `metrics` table in file order, in compact form: names and units dictionary-encoded."""
        launch, code, number, numeric, kind = self.launch, self.code, self.number, self.numeric, self.kind
        chosen = self.labels.asked[code]
        if not chosen.all():
            launch, code, number = launch[chosen], code[chosen], number[chosen]
            numeric, kind = numeric[chosen], kind[chosen]
        of_code, units = self.labels.units
        unit = of_code[code]
        columns = {
            "launch_id": g.arrow(launch),
            "metric": self.named(code),
            "value": g.arrow(number, numeric),
            "unit": pa.DictionaryArray.from_arrays(g.arrow(unit, unit >= 0), units),
            "text": self._texts(kind == g.TEXT, np.flatnonzero(chosen & (self.kind == g.TEXT))),
        }
        return pa.table(columns)

    def _texts(self, where: NDArray[np.bool_], elements: Ints) -> pa.Array:
        """Return the texts of some elements at the marked places, null elsewhere."""
        if not len(elements):
            return pa.nulls(len(where), pa.string())
        try:
            texts = g.strings(self._decoded(elements))
        except OverflowError:
            chunked = pa.array(self._decoded(elements), pa.string())
            return chunked.take(g.arrow(np.cumsum(where) - 1, where))
        _, offsets, letters = texts.buffers()
        bounds = np.frombuffer(offsets, np.int32)[np.append(0, np.cumsum(where))]
        valid = pa.py_buffer(np.packbits(where, bitorder="little"))
        return pa.StringArray.from_buffers(len(where), pa.py_buffer(bounds), letters, valid)

    def _decoded(self, elements: Ints) -> Iterator[str]:
        for part in slices(self.data, self.text_start[elements]):
            yield from map(self._text, elements[part].tolist())

    def named(self, code: Ints) -> pa.DictionaryArray:
        """Return names by code without repeating them in memory."""
        small = np.int16 if len(self.labels.names) < 1 << 15 else np.int32
        return pa.DictionaryArray.from_arrays(g.arrow(code.astype(small)), self.labels.array)


class NumberColumns(Mapping[str, pa.Array]):
    """Lazy wide columns: metric -> array over launches, built on first use."""

    def __init__(self, store: MetricStore, text: bool) -> None:
        self._store = store
        self._text = text
        self._built: dict[str, pa.Array] = {}

    @cached_property
    def _known(self) -> dict[str, None]:
        store = self._store
        codes = store.code[store.kind == g.TEXT if self._text else store.numeric]
        return dict.fromkeys(store.labels.names[code] for code in np.flatnonzero(np.bincount(codes)).tolist())

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
                self._built[name] = g.arrow(values, present)
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
