"""A `Frame`: the subjects of one scope as rows, their columns on demand.

Rows are launches, kernels, streams, ranges, ranks, devices or whole reports, of one tool but of any number
of reports. `subjects` says who they are and how much time is theirs; a `Supply` hands out the columns:

* `raw(name)`: a vendor metric, float64 (NaN as stored, null = not collected) or text;
* `source(kind, column)`: a column of the launches, devices or timeline tables;
* `instances(name)`: the members of an instanced metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx.evaluate.numbering import group_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SUBJECTS = pa.schema(
    [
        pa.field("report", pa.int32(), metadata={"doc": "position of the report in the call"}),
        pa.field(
            "subject_id", pa.int64(), metadata={"doc": "launch_id, or row key of the scope in its report"}
        ),
        pa.field("subject", pa.string(), metadata={"doc": "name to show"}),
        pa.field("kernel", pa.string()),
        pa.field("kernel_short", pa.string()),
        pa.field("kernel_id", pa.string(), metadata={"doc": "equal over tools"}),
        pa.field("device_id", pa.int32()),
        pa.field(
            "arch", pa.float64(), metadata={"doc": "9.0 for sm_90, 2370 (0x942) for gfx942; see arch.py"}
        ),
        pa.field("tool_version", pa.string()),
        pa.field(
            "weight_ns",
            pa.float64(),
            metadata={"unit": "ns", "doc": "the subject's own time; null = unknown"},
        ),
    ]
)


@dataclass(frozen=True)
class Members:
    """Instances of one metric for all rows of a frame, sorted by row.

    Attributes:
        row: int64, row of the frame.
        key: text (opcode, unit, name) or null.
        index: int64 (absolute PC, unix ns, index) or null.
        value: float64, NaN as stored.
        unit: base unit of the values, where known.
    """

    row: Any
    key: pa.Array
    index: pa.Array
    value: pa.Array
    unit: str | None = None

    @cached_property
    def keys(self) -> pa.Array:
        """The keys, dictionary-encoded."""
        return self.key.dictionary_encode()


class Supply(Protocol):
    """Where a frame's columns come from."""

    def raw(self, name: str) -> pa.Array | None:
        """Return a vendor metric's column, None when no row has it."""

    def unit(self, name: str) -> str | None:
        """Return the unit the report gives for a vendor metric."""

    def names(self) -> Iterable[str]:
        """Return the vendor metric names that `raw` knows."""

    def source(self, kind: str, column: str) -> pa.Array | None:
        """Return a column of the launches, device or timeline table, None when there is none."""

    def instances(self, name: str, rows: Any | None = None) -> Members | None:
        """Return the members of an instanced vendor metric, None when no row has any.

        Where only some `rows` (row numbers) are asked for, members of others may be left out.
        """

    def alternatives(self, name: str, arch: float | None) -> tuple[str, ...]:
        """Return the names that the report's own section options give for a metric."""


@dataclass(frozen=True)
class Link:
    """How rows of one frame belong to another: `owner[i]` is the other frame's row of row i (-1 = none)."""

    frame: Frame
    owner: Any

    @property
    def scope(self) -> str:
        """Scope of the other frame."""
        return self.frame.scope


@dataclass
class Frame:
    """The subjects of one scope.

    Attributes:
        scope: launch, kernel, stream, range, rank, device, report…
        tool: ncu, nsys, rocprofv3, … of every row.
        subjects: schema `SUBJECTS`.
        supply: columns on demand.
        members: domain (``launches``, ``kernels`` …) -> narrower frame and the owner of each of its rows here.
        wider: scope -> wider frame and, per row here, its row there.
    """

    scope: str
    tool: str
    subjects: pa.Table
    supply: Supply
    members: dict[str, Link | TakenLink] = field(default_factory=dict)
    wider: dict[str, Link] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Number of subjects."""
        return int(self.subjects.num_rows)

    def raw(self, name: str) -> pa.Array | None:
        """Return a vendor metric's column, or where it is absent what the report's own sections use instead."""
        column = self.supply.raw(name)
        if column is not None and column.null_count == 0:
            return column
        for other in self.supply.alternatives(name, self._one_arch):
            more = self.supply.raw(other)
            if more is not None and (column is None or column.type == more.type):
                column = more if column is None else pc.coalesce(column, more)
        return column

    @cached_property
    def _one_arch(self) -> float | None:
        """The architecture of all rows, None when they differ."""
        arch = pc.unique(self.subjects.column("arch")).to_pylist()
        return arch[0] if len(arch) == 1 else None

    def source(self, kind: str, column: str) -> pa.Array | None:
        """Return a column of a normalised table; see `Supply`."""
        return self.supply.source(kind, column)

    def instances(self, name: str) -> Members | None:
        """Return the members of an instanced metric; see `Supply`."""
        return self.supply.instances(name)

    def column(self, name: str) -> pa.Array:
        """Return a column of `subjects` as one array, texts decoded."""
        found = self.subjects.column(name).combine_chunks()
        return found.dictionary_decode() if pa.types.is_dictionary(found.type) else found

    @property
    def weights(self) -> Any:
        """The subjects' own times in ns as numpy float64, NaN = unknown."""
        return self.column("weight_ns").to_numpy(zero_copy_only=False)

    @cached_property
    def groups(self) -> Any:
        """The group of every row: launches of one kernel in one report, else the row itself."""
        if self.scope == "launch":
            return group_rows([self.column("report"), self.column("kernel_id")])[0]
        return np.arange(self.rows)

    def take(self, rows: Any) -> Frame:
        """Return the frame of some rows, in the given order, still lazy."""
        rows = np.asarray(rows, dtype=np.int64)
        if rows.size == self.rows and (rows == np.arange(self.rows)).all():
            return self
        indices = pa.array(rows)
        part = Frame(self.scope, self.tool, self.subjects.take(indices), _Taken(self.supply, rows, self.rows))
        part.wider = {scope: Link(link.frame, link.owner[rows]) for scope, link in self.wider.items()}
        part.members = {domain: TakenLink(link, rows, self.rows) for domain, link in self.members.items()}
        return part


class TakenLink:
    """The members of some rows of a frame, picked out when they are asked for."""

    def __init__(self, base: Link | TakenLink, rows: Any, total: int) -> None:
        self.scope: str = base.scope
        self._base = base
        self._rows = rows
        self._total = total

    @cached_property
    def _picked(self) -> tuple[Frame, Any]:
        place = np.full(self._total + 1, -1, dtype=np.int64)
        place[self._rows] = np.arange(self._rows.size)
        owner = place[self._base.owner]
        chosen = np.flatnonzero(owner >= 0)
        return self._base.frame.take(chosen), owner[chosen]

    @property
    def frame(self) -> Frame:
        """The members."""
        return self._picked[0]

    @property
    def owner(self) -> Any:
        """Row of each member's owner."""
        return self._picked[1]


class _Taken:
    """Some rows of another supply."""

    def __init__(self, base: Supply, rows: Any, total: int) -> None:
        self._base = base
        self._rows = rows
        self._indices = pa.array(rows)
        self._total = total
        self._kept: dict[str, Members | None] = {}

    def raw(self, name: str) -> pa.Array | None:
        column = self._base.raw(name)
        return None if column is None else column.take(self._indices)

    def unit(self, name: str) -> str | None:
        return self._base.unit(name)

    def names(self) -> Iterable[str]:
        return self._base.names()

    def source(self, kind: str, column: str) -> pa.Array | None:
        found = self._base.source(kind, column)
        return None if found is None else found.take(self._indices)

    def instances(self, name: str, rows: Any | None = None) -> Members | None:
        if name not in self._kept:
            self._kept[name] = self._picked(name)
        return self._kept[name]

    def _picked(self, name: str) -> Members | None:
        members = self._base.instances(name, self._rows)
        if members is None:
            return None
        place = np.full(self._total, -1, dtype=np.int64)
        place[self._rows] = np.arange(self._rows.size)
        row = place[members.row]
        chosen = np.flatnonzero(row >= 0)
        chosen = chosen[np.argsort(row[chosen], kind="stable")]
        picked = pa.array(chosen)
        return Members(
            row[chosen],
            members.key.take(picked),
            members.index.take(picked),
            members.value.take(picked),
            members.unit,
        )

    def alternatives(self, name: str, arch: float | None) -> tuple[str, ...]:
        return self._base.alternatives(name, arch)


@dataclass
class TableSupply:
    """Columns that lie in memory: tests, timeline metrics, aggregated frames.

    Attributes:
        numbers: vendor metric -> column.
        tables: kind (launch, device, timeline) -> columns by name.
        members: instanced metric -> its members.
        units: vendor metric -> unit.
        options: metric -> alternatives of the report's sections.
    """

    numbers: Mapping[str, pa.Array] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, pa.Array]] = field(default_factory=dict)
    members: Mapping[str, Members] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def raw(self, name: str) -> pa.Array | None:
        """Return a column by vendor name."""
        return self.numbers.get(name)

    def unit(self, name: str) -> str | None:
        """Return a vendor metric's unit."""
        return self.units.get(name)

    def names(self) -> Iterable[str]:
        """Return the vendor names."""
        return self.numbers.keys()

    def source(self, kind: str, column: str) -> pa.Array | None:
        """Return a column of a normalised table."""
        return self.tables.get(kind, {}).get(column)

    def instances(self, name: str, rows: Any | None = None) -> Members | None:
        """Return the members of an instanced metric, of all rows."""
        return self.members.get(name)

    def alternatives(self, name: str, arch: float | None) -> tuple[str, ...]:
        """Return alternative names, whatever the architecture."""
        return tuple(self.options.get(name, ()))
