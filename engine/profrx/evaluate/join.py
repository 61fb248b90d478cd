"""Frames of many reports as one, so that a pass judges them all at once.

The rows of every scope follow each other in the order of the reports; the `report` column of the subjects
tells them apart. Only reports of one tool can be joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from profrx.evaluate.frame import Frame, Link, Members
from profrx.evaluate.frames import Frames
from profrx.evaluate.operators import plain
from profrx.evaluate.quantity import rescale, scale_from
from profrx.language.units import UnitError, unit


class Unlike(ValueError):
    """Reports that give a column in several types or units."""


def join(parts: Sequence[Frames], *, strict: bool = False) -> Frames:
    """Return the frames of several reports of one tool as one. Raises `ValueError` for several tools.

    With `strict`, reading a column that the reports give in several types or units raises `Unlike`: a joined
    column could then differ from what each report has alone.
    """
    if len(parts) == 1:
        return parts[0]
    tools = {part.tool for part in parts}
    if len(tools) != 1:
        raise ValueError(f"frames of several tools cannot be joined: {', '.join(sorted(tools))}")
    joined = Frames(tools.pop())
    starts: dict[str, dict[int, int]] = {}
    for scope in dict.fromkeys(scope for part in parts for scope in part.scopes):
        members = [part.scopes[scope] for part in parts if scope in part.scopes]
        offsets = np.cumsum([0, *(frame.rows for frame in members)])
        starts[scope] = {id(frame): int(start) for frame, start in zip(members, offsets, strict=False)}
        subjects = pa.concat_tables([frame.subjects for frame in members]).combine_chunks()
        joined.scopes[scope] = Frame(scope, joined.tool, subjects, JoinedSupply(members, strict=strict))
    for scope, frame in joined.scopes.items():
        members = [part.scopes[scope] for part in parts if scope in part.scopes]
        for wider in dict.fromkeys(name for one in members for name in one.wider):
            if wider in joined.scopes:
                frame.wider[wider] = Link(joined.scopes[wider], _shifted(members, starts[wider], wider))
        for domain in dict.fromkeys(name for one in members for name in one.members):
            inner = next(one.members[domain].scope for one in members if domain in one.members)
            owner = joined.scopes[inner].wider.get(scope) or _later(parts, inner, scope, starts, joined)
            frame.members[domain] = Link(joined.scopes[inner], owner.owner)
    return joined


def _shifted(members: Sequence[Frame], starts: dict[int, int], wider: str) -> Any:
    owners = []
    for one in members:
        link = one.wider.get(wider)
        if link is None:
            owners.append(np.full(one.rows, -1, dtype=np.int64))
        else:
            owners.append(np.where(link.owner >= 0, link.owner + starts[id(link.frame)], -1))
    return np.concatenate(owners) if owners else np.zeros(0, dtype=np.int64)


def _later(
    parts: Sequence[Frames], inner: str, scope: str, starts: dict[str, dict[int, int]], joined: Frames
) -> Link:
    """The owner link of a narrower scope that has not been linked yet."""
    members = [part.scopes[inner] for part in parts if inner in part.scopes]
    return Link(joined.scopes[scope], _shifted(members, starts[scope], scope))


class JoinedSupply:
    """Columns of several frames, one after the other; what a frame lacks is null."""

    def __init__(self, parts: Sequence[Frame], *, strict: bool = False) -> None:
        self._parts = parts
        self._strict = strict
        self._raw: dict[str, pa.Array | None] = {}
        self._sources: dict[tuple[str, str], pa.Array | None] = {}
        self._members: dict[tuple[str, bytes], Members | None] = {}
        self._starts = np.cumsum([0, *(part.rows for part in parts)])

    def raw(self, name: str) -> pa.Array | None:
        """Return a vendor metric of all parts, in the unit of the first that has one."""
        if name not in self._raw:
            self._raw[name] = self._joined(name)
        return self._raw[name]

    def _joined(self, name: str) -> pa.Array | None:
        columns = [part.raw(name) for part in self._parts]
        units = [
            None if column is None else part.supply.unit(name)
            for part, column in zip(self._parts, columns, strict=True)
        ]
        if len({given for given, column in zip(units, columns, strict=True) if column is not None}) > 1:
            if self._strict:
                raise Unlike(f"{name} comes in several units")
            kept = self.unit(name)
            columns = [
                _in_unit(column, given, kept) if column is not None and given and kept else column
                for given, column in zip(units, columns, strict=True)
            ]
        return self._concat(columns)

    def _concat(self, columns: Sequence[pa.Array | None]) -> pa.Array | None:
        kinds = {column.type for column in columns if column is not None}
        if not kinds:
            return None
        if all(pa.types.is_floating(kind) for kind in kinds):
            wanted: Any = pa.float64()
        elif all(pa.types.is_boolean(kind) for kind in kinds):
            wanted = pa.bool_()
        else:
            wanted = pa.string()
        if self._strict and wanted != pa.float64() and (len(kinds) > 1 or any(c is None for c in columns)):
            raise Unlike("texts or truth values that not every report has")
        filled = [
            pa.nulls(part.rows, wanted) if column is None else _as(column, wanted)
            for part, column in zip(self._parts, columns, strict=True)
        ]
        whole = pa.concat_arrays(filled)
        return whole.dictionary_encode() if pa.types.is_string(wanted) else whole

    def unit(self, name: str) -> str | None:
        """Return the unit of the first part that gives one."""
        return next((found for part in self._parts if (found := part.supply.unit(name))), None)

    def names(self) -> Iterable[str]:
        """Return the vendor names of all parts."""
        return dict.fromkeys(name for part in self._parts for name in part.supply.names())

    def source(self, kind: str, column: str) -> pa.Array | None:
        """Return a column of a normalised table."""
        key = (kind, column)
        if key not in self._sources:
            self._sources[key] = self._concat([part.source(kind, column) for part in self._parts])
        return self._sources[key]

    def instances(self, name: str, rows: Any | None = None) -> Members | None:
        """Return the members of an instanced metric: of all parts, or of those that hold some of `rows`."""
        wanted = np.ones(len(self._parts), dtype=bool)
        if rows is not None:
            wanted[:] = False
            wanted[np.searchsorted(self._starts, rows, side="right") - 1] = True
        key = (name, wanted.tobytes())
        if key not in self._members:
            self._members[key] = self._joined_members(name, np.flatnonzero(wanted).tolist())
        return self._members[key]

    def _joined_members(self, name: str, wanted: Sequence[int]) -> Members | None:
        found: list[tuple[int, Members]] = []
        for at in wanted:
            members = self._parts[at].instances(name)
            if members is not None:
                found.append((int(self._starts[at]), members))
        if not found:
            return None
        if self._strict and len({members.unit for _, members in found}) > 1:
            raise Unlike(f"instances of {name} come in several units")
        return Members(
            np.concatenate([members.row + offset for offset, members in found]),
            pa.concat_arrays([members.key.cast(pa.string()) for _, members in found]),
            pa.concat_arrays([members.index for _, members in found]),
            pa.concat_arrays([members.value for _, members in found]),
            next((members.unit for _, members in found if members.unit), None),
        )

    def alternatives(self, name: str, arch: float | None) -> tuple[str, ...]:
        """Each part consults its own section options in `raw`."""
        return ()


def _as(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    return column if column.type == wanted else plain(column).cast(wanted)


def _in_unit(column: pa.Array, other: str, kept: str) -> pa.Array:
    """Bring a column of numbers from one unit of a report to another's; as it is when they do not compare."""
    if other == kept or not pa.types.is_floating(column.type):
        return column
    try:
        scale = scale_from(other, "") / scale_from(kept, "")
        return rescale(column, scale) if unit(other).dimension == unit(kept).dimension else column
    except UnitError:
        return column
