"""roctx ranges around launches: which push-pop ranges were open on the thread when the host launched a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

SEPARATOR = " / "
MAX_DEPTH = 64
"""Deeper nesting is cut: a damaged file may open ranges without end."""


def with_paths(launches: pa.Table, ranges: pa.Table) -> pa.Table:
    """Fill `range_path` of launches whose host call and thread are known; a path that a tool gave stays."""
    ranges = ranges.filter(pc.equal(ranges.column("kind"), "push-pop")) if len(ranges) else ranges
    if not len(ranges) or launches.column("launch_api_start_ns").null_count == len(launches):
        return launches
    threads = np.asarray(pc.fill_null(launches.column("thread_id"), -1).to_numpy())
    times = np.asarray(pc.fill_null(launches.column("launch_api_start_ns"), -1).to_numpy())
    owner = np.asarray(pc.fill_null(ranges.column("thread_id"), -2).to_numpy())
    starts = np.asarray(pc.fill_null(ranges.column("start_ns"), -1).to_numpy())
    ends = np.asarray(pc.fill_null(ranges.column("end_ns"), -1).to_numpy())
    names = ranges.column("name").to_pylist()
    found = np.full(len(launches), None, dtype=object)
    for thread in np.unique(owner):
        mine = np.nonzero((owner == thread) & (ends > starts))[0]
        here = np.nonzero((threads == thread) & (times >= 0))[0]
        if len(mine) and len(here):
            marks, paths = open_paths(starts[mine], ends[mine], [names[i] or "" for i in mine])
            slot = np.searchsorted(marks, times[here], side="right")
            found[here] = np.array(paths, dtype=object)[slot]
    at = launches.schema.get_field_index("range_path")
    path = pc.coalesce(launches.column("range_path"), pa.chunked_array([pa.array(found, pa.string())]))
    return launches.set_column(at, launches.schema.field(at), path)


def open_paths(
    starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], names: list[str]
) -> tuple[npt.NDArray[Any], list[str | None]]:
    """Return sorted times at which the open ranges change, and the path before the first and after each of them."""
    order = np.lexsort((-ends, starts))
    events = [(int(starts[i]), 1, int(i)) for i in order] + [(int(ends[i]), 0, int(i)) for i in order]
    events.sort(key=lambda e: (e[0], e[1]))
    open_now: dict[int, str] = {}
    times: list[int] = []
    paths: list[str | None] = [None]
    for time, opens, index in events:
        if opens:
            open_now[index] = names[index]
        else:
            open_now.pop(index, None)
        times.append(time)
        paths.append(SEPARATOR.join(list(open_now.values())[:MAX_DEPTH]) or None)
    return np.array(times, dtype=np.int64), paths
