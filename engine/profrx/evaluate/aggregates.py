"""Aggregates over members (instances, launches, kernels …) of each row, three-valued, in whole columns.

A row without any member is unknown: nothing was collected for it. A member whose filter is unknown, or that
is counted in but has no value, makes the row unknown (for ``any`` / ``all`` as far as it could matter).
Over members that are all filtered out, ``sum``, ``count`` and ``share`` are 0 and the rest is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from profrx.evaluate.operators import (
    Value,
    as_floats,
    from_tristate,
    is_bool,
    is_text,
    of_numbers,
    plain,
    spread,
    tristate,
)

PERCENTILES = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99}
FUNCTIONS = frozenset(
    {"sum", "mean", "min", "max", "count", "share", "topshare", "any", "all", "key_of_max", *PERCENTILES}
)


@dataclass(frozen=True)
class Group:
    """Members to aggregate.

    Attributes:
        rows: number of rows of the outer frame.
        owner: int64, outer row of each member; negative = none.
        included: members that the filter certainly keeps.
        unsure: members whose filter is unknown.
    """

    rows: int
    owner: Any
    included: Any
    unsure: Any

    @property
    def present(self) -> Any:
        """Outer rows that have any member."""
        return self._rows(self.owner >= 0)

    def _rows(self, members: Any) -> Any:
        return np.bincount(self.owner[members & (self.owner >= 0)], minlength=self.rows) > 0


def group(rows: int, owner: Any, where: Value | None) -> Group:
    """Split members by a filter."""
    count = owner.size
    if where is None:
        return Group(rows, owner, owner >= 0, np.zeros(count, dtype=bool))
    true, unknown = tristate(where, count)
    return Group(rows, owner, true & (owner >= 0), unknown & (owner >= 0))


def aggregate(function: str, members: Group, value: Value, keys: Value | None = None) -> pa.Array:
    """Aggregate `value` (one per member) to one value per outer row; `keys` names members for ``key_of_max``."""
    if function in ("any", "all"):
        return _quantified(function, members, value)
    count = members.owner.size
    included = members.included
    if function == "count":
        unknown = members._rows(members.unsure)
        if is_bool(value):
            true, unsettled = tristate(value, count)
            unknown |= members._rows(included & unsettled)
            included = included & true
        return _number(members, _tally(members, included).astype(np.float64), unknown)
    if is_text(value):
        return pa.nulls(members.rows, pa.float64())
    numbers = as_floats(value, count)
    missing = np.isnan(numbers)
    unknown = members._rows(members.unsure | (included & missing))
    if function == "key_of_max":
        return _key_of_max(members, numbers, keys, unknown)
    if function in ("share", "topshare"):
        return _shares(function, members, numbers, missing, unknown)
    chosen = np.flatnonzero(included & ~missing)
    owner, numbers = members.owner[chosen], numbers[chosen]
    tally = np.bincount(owner, minlength=members.rows)
    if function in ("sum", "mean"):
        total = np.bincount(owner, weights=numbers, minlength=members.rows)
        if function == "sum":
            return _number(members, total, unknown)
        return _number(members, total / np.maximum(tally, 1), unknown | (tally == 0))
    if function in ("min", "max"):
        start = np.inf if function == "min" else -np.inf
        out = np.full(members.rows, start)
        (np.minimum if function == "min" else np.maximum).at(out, owner, numbers)
        return _number(members, out, unknown | (tally == 0))
    return _number(members, _percentile(PERCENTILES[function], owner, numbers, tally), unknown | (tally == 0))


def _tally(members: Group, chosen: Any) -> Any:
    return np.bincount(members.owner[chosen], minlength=members.rows)


def _number(members: Group, values: Any, unknown: Any) -> pa.Array:
    bad = unknown | ~members.present | ~np.isfinite(values)
    return of_numbers(values, ~bad)


def _percentile(share: float, owner: Any, numbers: Any, tally: Any) -> Any:
    """Percentiles per group, interpolated linearly between the two neighbours."""
    ordered = numbers[np.lexsort((numbers, owner))]
    if not ordered.size:
        return np.zeros(tally.size)
    start = np.cumsum(tally) - tally
    place = start + np.maximum(tally - 1, 0) * share
    last = ordered.size - 1
    low = np.minimum(np.floor(place).astype(np.int64), last)
    high = np.minimum(np.ceil(place).astype(np.int64), last)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - np.floor(place))


def _quantified(function: str, members: Group, value: Value) -> pa.Array:
    """Kleene ``any`` (of filter and value) or ``all`` (of not filter or value)."""
    true, unsettled = tristate(value, members.owner.size)
    inside, unsure = members.included, members.unsure
    wanted = true if function == "any" else ~(true | unsettled)
    certain = members._rows(inside & wanted)
    possible = members._rows((inside | unsure) & (wanted | unsettled))
    unknown = (possible & ~certain) | ~members.present
    return from_tristate(certain if function == "any" else ~certain, unknown)


def _shares(function: str, members: Group, numbers: Any, missing: Any, unknown: Any) -> pa.Array:
    owned = members.owner >= 0
    inside = members.included & ~missing
    if function == "topshare":
        total = np.bincount(members.owner[inside], weights=numbers[inside], minlength=members.rows)
        part = np.full(members.rows, -np.inf)
        np.maximum.at(part, members.owner[inside], numbers[inside])
    else:
        unknown = unknown | members._rows(owned & missing)
        every = owned & ~missing
        total = np.bincount(members.owner[every], weights=numbers[every], minlength=members.rows)
        part = np.bincount(members.owner[inside], weights=numbers[inside], minlength=members.rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        return _number(members, part / total, unknown | (total == 0))


def _key_of_max(members: Group, numbers: Any, keys: Value | None, unknown: Any) -> pa.Array:
    if keys is None:
        return pa.nulls(members.rows, pa.string())
    chosen = np.flatnonzero(members.included & ~np.isnan(numbers))
    # stable by first appearance among equals: the last of each group after sorting by descending position
    order = chosen[np.lexsort((-chosen, numbers[chosen], members.owner[chosen]))]
    last = np.flatnonzero(np.diff(members.owner[order], append=-1) != 0)
    take = np.full(members.rows, -1, dtype=np.int64)
    take[members.owner[order[last]]] = order[last]
    take[unknown] = -1
    texts = plain(spread(keys, members.owner.size))
    return texts.take(pa.array(take, mask=take < 0)).dictionary_encode()
