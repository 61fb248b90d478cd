"""Kernel dispatches of one file: facts, counters and counter instances as columns, one row per dispatch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx_parsers.rocm import headers
from profrx_parsers.rocm.csvread import Csv, read_csv
from profrx_parsers.rocm.names import NAME, clean
from profrx_parsers.rocm.times import add_times

if TYPE_CHECKING:
    from profrx_parsers.problems import ProblemLog


@dataclass
class Dispatches:
    """Columns of equal length, one row per dispatch.

    Attributes:
        rows: number of dispatches.
        facts: fact (see `headers.FACTS`) -> array; `start` and `end` int64 ns, `duration` float64 ns.
        counters: counter as the tool names it -> float64 array, null where it was not collected.
        instances: counter -> channel or unit -> float64 array.
        where: file the rows came from.
    """

    rows: int
    facts: dict[str, pa.Array] = field(default_factory=dict)
    counters: dict[str, pa.Array] = field(default_factory=dict)
    instances: dict[str, dict[int, pa.Array]] = field(default_factory=dict)
    where: str = ""

    def ints(self, fact: str) -> np.ndarray | None:
        """Return an integer fact as float64 with NaN for null; None when the file lacks it."""
        found = self.facts.get(fact)
        return (
            None if found is None else np.asarray(pc.cast(found, pa.float64()).to_numpy(zero_copy_only=False))
        )


def is_wanted(counter: str, wanted: frozenset[str] | None) -> bool:
    """Whether a counter column must be decoded for the wanted metrics (`X[3]` serves `X`, `X_sum`, `X_max`…)."""
    if wanted is None or counter in wanted:
        return True
    part = headers.instance_of(counter)
    if not part:
        return False
    return part[0] in wanted or any(part[0] + tail in wanted for tail in ("_sum", "_max", "_min", "_avr"))


def read_dispatches(file: Csv, log: ProblemLog, wanted: frozenset[str] | None = None) -> Dispatches:
    """Read a dispatch table, wide or long, of any generation. Long counters are pivoted."""
    left = headers.leftovers(file.header)
    sums = headers.accumulators(file.header)
    facts: dict[str, str] = {}
    for name in file.header:
        fact = headers.fact_of(name)
        if fact and fact not in facts.values() and name not in left:
            facts[name] = fact
    long = {"counter", "value"} <= set(facts.values())

    def column(name: str) -> pa.DataType | None:
        fact = facts.get(name)
        if fact in ("kernel", "counter"):
            return NAME
        if fact:
            return pa.string() if fact in headers.TEXT_FACTS | headers.TIME_FACTS else pa.float64()
        if name in left and name not in sums:
            return None
        if name.startswith("SQ_ACCUM_PREV_HIRES") and name not in sums:
            return None
        if headers.fact_of(name) or long or not is_wanted(sums.get(name, name), wanted):
            return None
        return pa.float64()

    table = read_csv(file, log, column)
    found = Dispatches(table.num_rows, where=file.where)
    for name in table.column_names:
        values = table.column(name).combine_chunks()
        if name in facts:
            fact = facts[name]
            typed = fact in headers.TEXT_FACTS | headers.TIME_FACTS or fact == "value"
            found.facts[fact] = values if typed else to_int(values)
        elif part := headers.instance_of(name):
            found.instances.setdefault(part[0], {})[part[1]] = values
        else:
            found.counters[sums.get(name, name)] = values
    if "kernel" in found.facts:
        found.facts["kernel"] = clean(found.facts["kernel"])
    add_times(found, log)
    return pivot(found, log, wanted) if long else found


def to_int(values: pa.Array) -> pa.Array:
    """Cast float64 to int64; what does not fit becomes null."""
    fits = pc.and_(pc.is_finite(values), pc.less(pc.abs(values), 9e15))
    return pc.cast(pc.if_else(fits, values, None), pa.int64(), safe=False)


def pivot(rows: Dispatches, log: ProblemLog, wanted: frozenset[str] | None = None) -> Dispatches:
    """Turn one row per (dispatch, counter) into one row per dispatch; equal keys are one dispatch.

    A dispatch that appears with several time spans was collected in several runs of the program: its duration is
    the mean over the runs, as in the wide files of the same tool, it has no one start, and the spread is logged.
    """
    group, first = group_rows(rows, ("guid", "pid", "agent", "dispatch", "kernel"))
    count = len(first)
    names = pc.dictionary_encode(rows.facts["counter"])
    codes = np.asarray(names.indices.to_numpy(zero_copy_only=False))
    values = np.asarray(rows.facts["value"].to_numpy(zero_copy_only=False), dtype=np.float64)
    pivoted = Dispatches(count, where=rows.where)
    for fact, column in rows.facts.items():
        if fact not in ("counter", "value"):
            pivoted.facts[fact] = column.take(pa.array(first))
    repeated = 0
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(names.dictionary) + 1))
    for code, name in enumerate(names.dictionary.to_pylist()):
        if not name or not is_wanted(name, wanted):
            continue
        chosen = order[bounds[code] : bounds[code + 1]][::-1]
        column = np.full(count, np.nan)
        column[group[chosen]] = values[chosen]
        seen = np.zeros(count, dtype=bool)
        seen[group[chosen]] = True
        repeated += len(chosen) - int(seen.sum())
        array = pa.array(column, mask=~seen | np.isnan(column))
        if part := headers.instance_of(name):
            pivoted.instances.setdefault(part[0], {})[part[1]] = array
        else:
            pivoted.counters[name] = array
    if repeated:
        log.add(
            "warning",
            "rocm-repeated-counter",
            "a counter occurs more than once for one dispatch; the first value is used",
            where=rows.where,
            count=repeated,
        )
    average_passes(pivoted, rows, group, log)
    return pivoted


def average_passes(pivoted: Dispatches, rows: Dispatches, group: np.ndarray, log: ProblemLog) -> None:
    """Replace durations by their mean over the distinct runs of each dispatch; log the largest spread."""
    spans = rows.facts.get("duration")
    starts = rows.facts.get("start")
    if spans is None or starts is None or not pivoted.rows:
        return
    keys = np.stack([group, np.asarray(pc.fill_null(starts, -1).to_numpy(zero_copy_only=False))], axis=1)
    _, one = np.unique(keys, axis=0, return_index=True)
    if len(one) == pivoted.rows:
        return
    times = np.asarray(spans.to_numpy(zero_copy_only=False), dtype=np.float64)[one]
    owner = group[one]
    good = np.isfinite(times)
    total = np.bincount(owner[good], times[good], pivoted.rows)
    runs = np.bincount(owner[good], minlength=pivoted.rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / runs
    pivoted.facts["duration"] = pa.array(mean, mask=runs == 0)
    pivoted.facts.pop("start"), pivoted.facts.pop("end", None)
    low, high = np.full(pivoted.rows, np.inf), np.zeros(pivoted.rows)
    np.minimum.at(low, owner[good], times[good])
    np.maximum.at(high, owner[good], times[good])
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(runs > 0, (high - low) / low, np.nan)
    pivoted.counters[PASS_SPREAD] = pa.array(spread, mask=np.isnan(spread))
    log.add(
        "info",
        "rocm-passes-differ",
        f"each dispatch was run {int(runs.max())} times to collect all counters; its duration is the mean"
        f" (largest difference between runs: {100 * float(np.nanmax(spread, initial=0.0)):.0f} %)",
        where=rows.where,
    )


PASS_SPREAD = "profrx.pass_spread"
"""(longest - shortest) / shortest duration of one dispatch over the collection passes."""


def group_rows(rows: Dispatches, keys: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the group number of each row (in order of first appearance) and the first row of each group."""
    code = np.zeros(rows.rows, dtype=np.int64)
    for key in keys:
        column = rows.facts.get(key)
        if column is None:
            continue
        part = pc.fill_null(pc.dictionary_encode(column).indices, -1)
        code = code * (len(column.unique()) + 1) + np.asarray(part.to_numpy(zero_copy_only=False)) + 1
        _, code = np.unique(code, return_inverse=True)
    _, first, group = np.unique(code, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return rank[group], np.sort(first)


def concat(parts: Sequence[Dispatches]) -> Dispatches:
    """Stack dispatches of several files; what a file lacks is null there."""
    if len(parts) == 1:
        return parts[0]
    whole = Dispatches(sum(p.rows for p in parts), where=parts[0].where if parts else "")

    def stack(columns: Sequence[pa.Array | None]) -> pa.Array:
        kind = next(c.type for c in columns if c is not None)
        return pa.concat_arrays(
            [
                pa.nulls(p.rows, kind) if c is None else (c if c.type == kind else c.cast(kind))
                for c, p in zip(columns, parts, strict=True)
            ]
        )

    for fact in dict.fromkeys(f for p in parts for f in p.facts):
        whole.facts[fact] = stack([p.facts.get(fact) for p in parts])
    for name in dict.fromkeys(n for p in parts for n in p.counters):
        whole.counters[name] = stack([p.counters.get(name) for p in parts])
    for name in dict.fromkeys(n for p in parts for n in p.instances):
        keys = dict.fromkeys(k for p in parts for k in p.instances.get(name, {}))
        whole.instances[name] = {k: stack([p.instances.get(name, {}).get(k) for p in parts]) for k in keys}
    return whole
