"""Joining collection passes: every pass is another run of the program, rows are matched by order and kernel.

Dispatch ids start at 0 in one file and at 1 in its sibling, kernel names differ by a suffix, programs may launch in
another order: two passes match when the n-th dispatches of both have the same kernel and the same sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx_parsers.rocm.dispatches import Dispatches, group_rows

if TYPE_CHECKING:
    from profrx_parsers.problems import ProblemLog


def align(rows: Dispatches, other: Dispatches) -> pa.Array | None:
    """Return for each dispatch of `rows` the row of `other` that is the same dispatch, or None when they differ.

    Both are taken in order of their dispatch ids; all kernels and sizes must agree.
    """
    if rows.rows != other.rows or "kernel" not in rows.facts or "kernel" not in other.facts:
        return None
    mine, theirs = _order(rows), _order(other)
    for fact in ("kernel", "grid", "block"):
        a, b = rows.facts.get(fact), other.facts.get(fact)
        if a is None or b is None:
            continue
        same = pc.equal(a.take(pa.array(mine)), b.take(pa.array(theirs)))
        if not pc.all(pc.fill_null(same, False)).as_py():
            return None
    where = np.empty(rows.rows, dtype=np.int64)
    where[mine] = theirs
    return pa.array(where)


def _order(rows: Dispatches) -> np.ndarray:
    ids = rows.ints("dispatch")
    if ids is None:
        return np.arange(rows.rows)
    return np.argsort(ids, kind="stable")


def merge(main: Dispatches, other: Dispatches, log: ProblemLog) -> bool:
    """Add counters and facts of `other` that `main` lacks; returns False (and logs) when the passes differ."""
    order = align(main, other)
    if order is None:
        log.add(
            "warning",
            "rocm-passes-do-not-match",
            "a pass lists other dispatches than the first one: its counters were left out",
            where=other.where,
            advice="the program is not deterministic over runs: collect fewer counters in one pass",
        )
        return False
    for name, column in other.counters.items():
        main.counters.setdefault(name, column.take(order))
    for name, channels in other.instances.items():
        mine = main.instances.setdefault(name, {})
        for key, column in channels.items():
            mine.setdefault(key, column.take(order))
    for fact, column in other.facts.items():
        if fact not in ("start", "end", "duration", "dispatched", "completed"):
            main.facts.setdefault(fact, column.take(order))
    return True


def same_dispatches(a: Dispatches, b: Dispatches) -> bool:
    """Whether two counter files are passes of one program: equal (dispatch, kernel, sizes) row for row."""
    order = align(a, b)
    if order is None:
        return False
    ids, others = a.facts.get("dispatch"), b.facts.get("dispatch")
    return ids is None or others is None or bool(pc.all(pc.equal(ids, others.take(order))).as_py())


def attach(trace: Dispatches, counters: Dispatches) -> bool:
    """Add counters to the dispatches of a trace of the same run (equal process, dispatch id and kernel).

    Returns False, with nothing changed, unless every counted dispatch is in the trace.
    """
    keys = [k for k in ("pid", "agent", "dispatch", "kernel") if k in trace.facts and k in counters.facts]
    if "dispatch" not in keys or not counters.rows:
        return False
    kinds = {k: trace.facts[k].type for k in keys}
    both = Dispatches(
        trace.rows + counters.rows,
        {k: pa.concat_arrays([trace.facts[k], counters.facts[k].cast(kinds[k])]) for k in keys},
    )
    group, first = group_rows(both, keys)
    if len(first) != trace.rows or len(np.unique(group[: trace.rows])) != trace.rows:
        return False
    row_of = np.full(len(first), -1, dtype=np.int64)
    row_of[group[trace.rows :]] = np.arange(counters.rows)
    source = row_of[group[: trace.rows]]
    order = pa.array(source, mask=source < 0)
    for name, column in counters.counters.items():
        trace.counters.setdefault(name, column.take(order))
    for name, channels in counters.instances.items():
        mine = trace.instances.setdefault(name, {})
        for key, column in channels.items():
            mine.setdefault(key, column.take(order))
    return True
