"""Columns of one report's launches, decoded on demand: vendor metrics, table columns, instances."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx.evaluate.frame import Members
from profrx_parsers import columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from profrx_parsers.report import Report

_DOMAIN_PREFIX = re.compile(r"^(?:[A-Za-z_]+\.)?Triage[A-Za-z]*\.")
"""Counter-domain prefix of a vendor metric. Source: names observed in reports of six architectures."""


class LaunchSupply:
    """Columns of the launches of one report."""

    def __init__(self, report: Report, launches: pa.Table) -> None:
        self._report = report
        self._launches = launches
        self._kept: dict[str, Members | None] = {}

    @cached_property
    def _metrics(self) -> columns.MetricColumns:
        found = self._report.extras.get(columns.EXTRA)
        if isinstance(found, columns.MetricColumns):
            return found
        return columns.MetricColumns.from_long(self._report.table("metrics"), self._launches.num_rows)

    @cached_property
    def _prefixed(self) -> dict[str, list[str]]:
        """Metric name without its counter domain -> stored names with one."""
        found: dict[str, list[str]] = {}
        for name in self._metrics.numbers:
            if "Triage" in name and (match := _DOMAIN_PREFIX.match(name)):
                found.setdefault(name[match.end() :], []).append(name)
        return found

    def raw(self, name: str) -> pa.Array | None:
        """Return a metric by its name, with or without counter domain."""
        column = self._metrics.column(name)
        for other in self._prefixed.get(name, ()):
            more = self._metrics.column(other)
            column = more if column is None else pc.coalesce(column, more)
        if column is not None and pa.types.is_string(column.type):
            return column.dictionary_encode()
        return column

    def unit(self, name: str) -> str | None:
        """Return the unit the reader gives for a metric."""
        return self._metrics.units.get(name)

    def names(self) -> Iterable[str]:
        """Return every metric of the report."""
        return [*self._metrics.numbers, *self._metrics.texts]

    def source(self, kind: str, column: str) -> pa.Array | None:
        """Return a column of the launches, of each launch's device, or of how each was taken."""
        if kind == "launch":
            return self._libraries if column == "library" else table_column(self._launches, column)
        if kind == "capture":
            return self._capture_column(column)
        if kind == "device":
            return self._device_column(column)
        return None

    @cached_property
    def _libraries(self) -> pa.Array | None:
        """The library that the kernel of each launch comes with, null where it is one's own; each name is looked up once."""
        from profrx.timeline.classes import library

        names = table_column(self._launches, "kernel")
        if names is None:
            return None
        found = pa.array(library(names.dictionary.to_pylist()), pa.string())
        return found.take(names.indices).dictionary_encode()

    def _capture_column(self, column: str) -> pa.Array | None:
        """A fact that the reader gives per launch (``clock_locked``) as numbers, false 0 and true 1."""
        facts = self._report.extras.get(column)
        if not isinstance(facts, list) or len(facts) != self._launches.num_rows:
            return None
        return pa.array([None if fact is None else float(fact) for fact in facts], pa.float64())

    def _device_column(self, column: str) -> pa.Array | None:
        devices = self._report.table("devices")
        found = table_column(devices, column)
        if found is None or not len(found):
            return None
        where = pc.index_in(self._launches.column("device_id"), devices.column("device_id"))
        return found.take(where.combine_chunks())

    def instances(self, name: str, rows: Any | None = None) -> Members | None:
        """Return the members of an instanced metric, decoded for this metric only; of all rows."""
        if name not in self._kept:
            self._kept[name] = self._read_instances(name)
        return self._kept[name]

    def _read_instances(self, name: str) -> Members | None:
        decode = self._report.extras.get("instances")
        table = decode({name}) if callable(decode) else self._report.table("instances")
        stored = [name, *self._prefixed.get(name, ())]
        table = table.filter(pc.is_in(table.column("metric"), pa.array(stored)))
        return members_of(table, self.unit(name)) if table.num_rows else None

    def alternatives(self, name: str, arch: float | None) -> tuple[str, ...]:
        """Return the names that the report's own sections use instead of a metric on an architecture.

        `extras["section_options"]` maps a metric to entries whose `resolve(arch)` gives the collected name,
        with 90 for compute capability 9.0.
        """
        options = self._report.extras.get("section_options")
        if arch is None or not isinstance(options, Mapping):
            return ()
        resolved = (entry.resolve(round(arch * 10)) for entry in options.get(name, ()))
        return tuple(dict.fromkeys(other for other in resolved if other and other != name))


def members_of(table: pa.Table, unit: str | None = None) -> Members:
    """Return rows of an `instances` table (one metric) as members, sorted by launch."""
    row = table.column("launch_id").to_numpy()
    order = np.argsort(row, kind="stable")
    table = table.take(pa.array(order))
    return Members(
        row[order].astype(np.int64),
        table.column("key").combine_chunks(),
        table.column("key_int").combine_chunks(),
        table.column("value").combine_chunks(),
        unit,
    )


def table_column(table: pa.Table, name: str) -> pa.Array | None:
    """Return a column of a normalised table as the engine wants it: float64, bool or dictionary text."""
    if name not in table.column_names:
        return None
    whole = table.column(name)
    if pa.types.is_dictionary(whole.type) and whole.num_chunks != 1:
        whole = whole.cast(pa.string())  # dictionaries of chunks may not fit one index type together
    column = whole.combine_chunks()
    if pa.types.is_boolean(column.type):
        return column
    if pa.types.is_string(column.type):
        return column.dictionary_encode()
    if pa.types.is_dictionary(column.type):
        return column
    return column.cast(pa.float64(), safe=False)


class TableColumns(Mapping[str, Any]):
    """Columns of a normalised table as the engine wants them, each converted when it is first asked for.

    Args:
        table: None = no columns.
        where: row of the table for every subject; None = the subjects are the table's rows.
    """

    def __init__(self, table: pa.Table | None, where: pa.Array | None = None) -> None:
        self._table = table
        self._where = where
        self._kept: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._kept:
            column = None if self._table is None else table_column(self._table, name)
            if column is None:
                raise KeyError(name)
            self._kept[name] = column if self._where is None else column.take(self._where)
        return self._kept[name]

    def __iter__(self) -> Iterator[str]:
        return iter([] if self._table is None else self._table.column_names)

    def __len__(self) -> int:
        return 0 if self._table is None else int(self._table.num_columns)
