"""The metrics of one stretch of timeline: a device, a process, a stream. Names and formulas: docs/timeline-metrics.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from profrx.timeline.between import launch_pause_ns, small_collectives
from profrx.timeline.calls import CallGroups
from profrx.timeline.capture import COPY, DIRECTIONS, GRAPH, KERNEL, MEMORY_KINDS, SET, STREAMS, Work
from profrx.timeline.gaps import REASONS, Gaps, find_gaps
from profrx.timeline.intervals import Bools, Ints, Union, intersection, overlapping, union
from profrx.timeline.ranks import Values as Values
from profrx.timeline.ranks import is_pairwise, is_sharded, ratio
from profrx.timeline.spans import OPTIMIZER, Ranges
from profrx.timeline.texts import NONE

SHORT_KERNEL_NS = 10_000
"""A kernel shorter than this costs about as much to launch as to run."""
PAUSE_NS = 5_000_000
"""A pause of the host between two ranges that is this long may be a wait for something outside: the next request."""
OUTSIDE_MOST = 0.5
"""Share of the kernel time outside every range from which ranges do not describe the program."""
FILLED = 0.9
"""Blocks per compute unit from which a kernel fills a device: clusters of a persistent kernel leave some units over
(H200: 128 of 132, 116 of 132 with clusters of four)."""
LARGE_FACTOR = 5
"""A kernel is large beside small operations when it runs at least this many times longer than each of them."""


@dataclass(frozen=True)
class Context:
    """What a stretch needs besides its operations.

    Attributes:
        groups: process -> its API calls by purpose; empty when no calls were traced.
        ranges: user ranges and framework operations.
        has_ranges, has_calls: whether the capture has any.
        compute_units: of the device, None when unknown.
        kernel_class, kernel_library: by code of `Work.name`.
    """

    groups: Mapping[int, CallGroups]
    ranges: Ranges
    has_ranges: bool
    has_calls: bool
    compute_units: int | None
    kernel_class: list[str]
    kernel_library: list[str]
    lacks: frozenset[str] = frozenset()


_PAGEABLE = (
    "pageable_copy_share", "pageable_copy_count", "pageable_copy_bytes", "pageable_bandwidth_bytes_per_s",
    "pinned_bandwidth_bytes_per_s",
)  # fmt: skip
_NEEDS = {
    DIRECTIONS: (
        "host_copy_share", "copy_exposed_share", "copy_overlap_share", "copy_saving_share", "migration_count",
        "migration_share", "migration_bytes", *_PAGEABLE,
    ),
    MEMORY_KINDS: (*_PAGEABLE, "blocking_set_share", "blocking_set_count"),
    STREAMS: ("stream_count", "small_between_share", "small_between_count", "fusable_elementwise_share"),
}  # fmt: skip
"""What a capture may lack as a whole -> metrics that are unknown without it."""


def measure(work: Work, context: Context) -> Values:
    """Return every metric of a stretch; `work` must not be empty."""
    busy = union(work.start, work.end)
    window = busy.span
    is_kernel = (work.kind == KERNEL) | (work.kind == GRAPH)
    kernels = work.take(is_kernel)
    kernel_time = union(kernels.start, kernels.end)
    gaps = find_gaps(work, dict(context.groups))
    values = {
        **_busy(work, kernels, busy, kernel_time, gaps, context),
        **_kernels(kernels, kernel_time, window, context),
        **_copies(work, kernel_time, window),
        **_host(work, kernels, gaps, busy, context),
        **_ranges(work, kernels, gaps, window, context),
        **_small(work, window),
        **_cold(kernels, busy, context),
    }
    return values | dict.fromkeys((name for what in context.lacks for name in _NEEDS[what]), None)


def _busy(work: Work, kernels: Work, busy: Union, kernel_time: Union, gaps: Gaps, context: Context) -> Values:
    window, lengths = busy.span, gaps.lengths
    out: Values = {
        "window_ns": window,
        "busy_ns": busy.total,
        "busy_share": ratio(busy.total, window),
        "busy_settled_share": ratio(busy.total, window - gaps.total("first")),
        "kernel_share": ratio(kernel_time.total, window),
        "gap_share": ratio(window - busy.total, window),
        "gap_count": len(lengths),
        "gap_longest_share": ratio(float(lengths.max()), window) if len(lengths) else 0.0,
        "gap_longest_ns": float(lengths.max()) if len(lengths) else 0.0,
        "gap_median_ns": float(np.median(lengths)) if len(lengths) else None,
        "operation_count": len(work),
        "concurrency_mean": ratio(float((work.end - work.start).sum()), busy.total),
        "overlap_share": ratio(overlapping(work.start, work.end).total, busy.total),
        "stream_count": len(np.unique(work.process << 32 | work.stream & 0xFFFF_FFFF)),
    }
    for reason in REASONS:
        name = f"idle_{reason}_share"
        out[name] = ratio(gaps.total(reason), window) if context.has_calls or reason == "unknown" else None
    return out


def _kernels(kernels: Work, kernel_time: Union, window: int, context: Context) -> Values:
    duration = kernels.end - kernels.start
    total = float(duration.sum())
    short = duration < SHORT_KERNEL_NS
    single = kernels.kind == KERNEL
    out: Values = {
        "kernel_count": int(single.sum()),
        "graph_launch_count": int((kernels.kind == GRAPH).sum()),
        "graph_share": ratio(float(duration[kernels.kind == GRAPH].sum()), total),
        "kernel_mean_ns": float(duration.mean()) if len(duration) else None,
        "kernel_median_ns": float(np.median(duration)) if len(duration) else None,
        "short_kernel_count_share": ratio(float((short & single).sum()), float(single.sum())),
        "kernel_top_share": _top(kernels, duration),
        **_classes(kernels, duration, window, context),
        **_underfilled(kernels, window, context),
    }
    return out


def _top(kernels: Work, duration: Ints) -> float | None:
    known = kernels.name.codes >= 0
    if not known.any():
        return None
    sums = np.bincount(kernels.name.codes[known], weights=duration[known])
    return ratio(float(sums.max()), float(duration.sum()))


def _classes(kernels: Work, duration: Ints, window: int, context: Context) -> Values:
    total = float(duration.sum())
    codes = kernels.name.codes
    kinds = np.array([*context.kernel_class, "other"])
    libraries = np.array([*context.kernel_library, "own"])
    spent = np.bincount(np.where(codes < 0, len(kinds) - 1, codes), weights=duration, minlength=len(kinds))
    out: Values = {}
    for kind in ("matmul", "attention", "convolution", "elementwise", "communication"):
        out[f"{kind}_share"] = ratio(float(spent[kinds == kind].sum()), total)
    tuned = np.isin(libraries, ("cublas", "cudnn", "attention", "cufft", "cusparse"))
    out["library_share"] = ratio(float(spent[tuned].sum()), total)
    single = (kinds == "elementwise")[codes]
    out["fusable_elementwise_share"] = ratio(_fusable(kernels, duration, single), window)
    talk = (kinds == "communication")[codes]
    if talk.any():
        comm = union(kernels.start[talk], kernels.end[talk])
        other = union(kernels.start[~talk], kernels.end[~talk])
        out["comm_exposed_share"] = ratio(comm.total - comm.shared(other), window)
        out["comm_overlap_share"] = ratio(comm.shared(other), comm.total)
        for name, is_one in (("pairwise", is_pairwise), ("sharded", is_sharded)):
            mine = np.array([*map(is_one, kernels.name.texts), False], bool)[codes] & talk
            part = union(kernels.start[mine], kernels.end[mine])
            out[f"comm_{name}_share"] = ratio(part.total - part.shared(other), window)
    else:
        out |= dict.fromkeys(("comm_exposed_share", "comm_pairwise_share", "comm_sharded_share"), 0.0)
        out["comm_overlap_share"] = None
    pause = launch_pause_ns(kernels, context.groups) if talk.any() else 0
    return out | small_collectives(kernels, talk, window, pause)


def _fusable(kernels: Work, duration: Ints, wanted: Bools) -> float:
    """Time that runs of neighbouring elementwise kernels on one stream would save as one kernel each.

    A run of n kernels moves its data n times; fused, once: (n - 1) / n of its time.
    """
    if not wanted.any():
        return 0.0
    lane = kernels.process << 32 | kernels.stream & 0xFFFF_FFFF
    order = slice(None) if (lane == lane[0]).all() else np.argsort(lane, kind="stable")
    lane, wanted, length = lane[order], wanted[order], duration[order].astype(np.float64)
    fresh = wanted & ~(np.concatenate([[False], wanted[:-1]]) & np.concatenate([[False], np.diff(lane) == 0]))
    run = np.cumsum(fresh)[wanted] - 1
    count = np.bincount(run)
    time = np.bincount(run, weights=length[wanted])
    return float((time * (count - 1) / count).sum())


def _underfilled(kernels: Work, window: int, context: Context) -> Values:
    """Time in which one kernel runs alone that has too few blocks for the compute units of the device.

    A persistent kernel has a block per unit, or a few less where clusters do not fit: it fills the device. Communication
    uses few units on purpose, and its time is that of the link and of waiting.
    """
    units = context.compute_units
    if not units or not (kernels.blocks > 0).any():
        return {"underfilled_share": None, "underfilled_fill_share": None, "underfilled_count": None}
    talk = np.array([*(k == "communication" for k in context.kernel_class), False], bool)[kernels.name.codes]
    thin = (kernels.blocks > 0) & (kernels.blocks < FILLED * units) & ~talk
    shared = overlapping(kernels.start, kernels.end)
    alone = (kernels.end - kernels.start - shared.within(kernels.start, kernels.end))[thin].astype(np.float64)
    fill = ratio(float((alone * kernels.blocks[thin]).sum()), float(alone.sum()) * units)
    return {
        "underfilled_share": ratio(float(alone.sum()), window),
        "underfilled_fill_share": fill,
        "underfilled_count": _bulk(alone),
    }


def _bulk(times: np.ndarray) -> float:
    """Return how many of them, the longest first, make up half of their sum."""
    order = np.sort(times)[::-1]
    total = float(order.sum())
    return float(np.searchsorted(np.cumsum(order), total / 2) + 1) if total else 0.0


def _copies(work: Work, kernel_time: Union, window: int) -> Values:
    host = work.take(work.is_host_copy)
    copy_time = union(host.start, host.end)
    hidden = copy_time.shared(kernel_time)
    pageable = union(work.start[work.is_pageable], work.end[work.is_pageable])
    both_ways = work.take((work.kind == COPY) & ~work.is_migration)
    all_copies = union(both_ways.start, both_ways.end)
    migrations = work.take(work.is_migration)
    sets = work.take(work.kind == SET)
    waited = sets.take(sets.is_blocking_set)
    exposed = copy_time.total - hidden
    return {
        "copy_count": len(both_ways),
        "copy_share": ratio(all_copies.total, window),
        "copy_bytes": _bytes(both_ways.bytes),
        "host_copy_share": ratio(copy_time.total, window),
        "copy_exposed_share": ratio(exposed, window),
        "copy_overlap_share": ratio(hidden, copy_time.total),
        "copy_saving_share": ratio(min(exposed, kernel_time.total - hidden), window),
        "pageable_copy_share": ratio(pageable.total, window),
        "pageable_copy_count": int(work.is_pageable.sum()),
        "pageable_copy_bytes": _bytes(work.bytes[work.is_pageable]),
        "pageable_bandwidth_bytes_per_s": _bandwidth(work, work.is_pageable),
        "pinned_bandwidth_bytes_per_s": _bandwidth(work, work.is_pinned),
        "set_share": ratio(union(sets.start, sets.end).total, window),
        "set_count": len(sets),
        "blocking_set_share": ratio(union(waited.call_start, waited.call_end).total, window),
        "blocking_set_count": len(waited),
        "migration_count": len(migrations),
        "migration_share": ratio(union(migrations.start, migrations.end).total, window),
        "migration_bytes": _bytes(migrations.bytes),
    }


def _bandwidth(work: Work, rows: Bools) -> float | None:
    time = float((work.end[rows] - work.start[rows]).sum())
    moved = _bytes(work.bytes[rows])
    return moved / time * 1e9 if time and moved is not None else None


def _bytes(sizes: Ints) -> float | None:
    """Return the sum, None where a size is unknown."""
    return None if (sizes == NONE).any() else float(sizes.sum())


def _host(work: Work, kernels: Work, gaps: Gaps, busy: Union, context: Context) -> Values:
    names = ("sync", "allocation", "copy", "launch")
    out: Values = {}
    span = Union(busy.starts[:1], busy.ends[-1:])
    window = busy.span
    groups = [context.groups[p] for p in np.unique(work.process).tolist() if p in context.groups]
    if not context.has_calls or not groups:
        keys = [f"{n}_call_{k}" for n in names for k in ("share", "count")]
        return dict.fromkeys([*keys, *_HOST_REST], None)
    for name in names:
        inside = sum(intersection(g.time[name], span).total for g in groups) / len(groups)
        rows = sum(
            int((g.rows[name] & (g.calls.start >= span.starts[0]) & (g.calls.start < span.ends[0])).sum())
            for g in groups
        )
        out[f"{name}_call_share"] = ratio(inside, window)
        out[f"{name}_call_count"] = rows
    out["syncs_per_kernel"] = ratio(out["sync_call_count"] or 0.0, float(len(kernels)))
    known = kernels.call_end != NONE
    known = slice(None) if known.all() else known
    start, began, returned = kernels.start[known], kernels.call_start[known], kernels.call_end[known]
    cost = returned - began
    out["launch_latency_median_ns"] = float(np.median(start - began)) if len(start) else None
    out["launch_call_median_ns"] = float(np.median(cost)) if len(cost) else None
    out["launch_bound_share"] = ratio(gaps.total("launch"), window)
    longer = int((kernels.end[known] - start < cost).sum())
    out["launch_longer_count_share"] = ratio(float(longer), float(len(cost)))
    out["kernels_without_call_count"] = len(kernels) - len(start)
    return out


_HOST_REST = (
    "syncs_per_kernel", "launch_latency_median_ns", "launch_call_median_ns", "launch_bound_share",
    "launch_longer_count_share", "kernels_without_call_count",
)  # fmt: skip


def _ranges(work: Work, kernels: Work, gaps: Gaps, window: int, context: Context) -> Values:
    ranges = context.ranges
    out: Values = {"range_count": float(ranges.count)}
    keys = (
        "outside_ranges_share", "idle_dataloader_share", "optimizer_kernel_count_share", "optimizer_window_share",
        "optimizer_kernel_mean_ns", "optimizer_busy_share", "idle_outside_ranges_share",
    )  # fmt: skip
    out |= dict.fromkeys(keys, None)
    if not context.has_ranges:
        return out
    duration = kernels.end - kernels.start
    called = kernels.call_start != NONE
    if called.any():
        outside = called & (kernels.path.codes < 0)
        out["outside_ranges_share"] = ratio(float(duration[outside].sum()), float(duration[called].sum()))
    processes = np.unique(work.process)
    inside = out["outside_ranges_share"]
    if ranges.outermost is not None and inside is not None and inside < OUTSIDE_MOST:
        spare = gaps.uncovered(ranges.outermost.union(processes), PAUSE_NS)
        out["idle_outside_ranges_share"] = ratio(spare, window)
    out["idle_dataloader_share"] = ratio(gaps.union().shared(ranges.loading.union(processes)), window)
    time = ranges.optimizing.union(processes)
    if len(time.starts) and called.any():
        inside = called & (kernels.path.hits(OPTIMIZER) | time.covers(kernels.call_start))
        span = union(kernels.start[inside], kernels.end[inside])
        out["optimizer_kernel_count_share"] = ratio(float(inside.sum()), float(len(kernels)))
        first, last = int(work.start.min()), int(work.end.max())
        out["optimizer_window_share"] = ratio(time.shared(Union(np.array([first]), np.array([last]))), window)
        out["optimizer_kernel_mean_ns"] = float(duration[inside].mean()) if inside.any() else None
        out["optimizer_busy_share"] = ratio(span.total, window)
    else:
        out["optimizer_kernel_count_share"] = 0.0 if called.any() else None
        out["optimizer_window_share"] = 0.0
    return out


def _small(work: Work, window: int) -> Values:
    """Runs of small kernels and sets between large kernels on one stream, with the gaps among them."""
    lane = work.process << 32 | work.stream & 0xFFFF_FFFF
    order = slice(None) if (lane == lane[0]).all() else np.argsort(lane, kind="stable")
    start, end, lane = work.start[order], work.end[order], lane[order]
    eligible = (work.kind == KERNEL) | (work.kind == SET)
    duration = end - start
    small = eligible[order] & (duration < SHORT_KERNEL_NS)
    edges = np.diff(np.concatenate([[0], small.astype(np.int8), [0]]))
    firsts, lasts = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    inner = (firsts > 0) & (lasts < len(small) - 1)
    firsts, lasts = firsts[inner], lasts[inner]
    same = (
        (lane[np.maximum(firsts - 1, 0)] == lane[np.minimum(lasts + 1, len(lane) - 1)])
        if len(firsts)
        else np.zeros(0, bool)
    )
    firsts, lasts = firsts[same], lasts[same]
    if not len(firsts):
        return {"small_between_share": 0.0, "small_between_count": 0.0}
    longest = np.maximum.reduceat(duration, np.ravel(np.column_stack([firsts, lasts + 1])))[::2]
    beside = np.minimum(duration[firsts - 1], duration[lasts + 1])
    large = beside >= LARGE_FACTOR * np.maximum(longest, 1)
    pause = start[lasts + 1] - end[firsts - 1]
    spent = np.add.reduceat(duration, np.ravel(np.column_stack([firsts, lasts + 1])))[::2]
    large &= pause - spent <= (lasts - firsts + 2) * SHORT_KERNEL_NS
    return {
        "small_between_share": ratio(float(np.maximum(pause[large], 0).sum()), window),
        "small_between_count": float((lasts - firsts + 1)[large].sum()),
    }


def _cold(kernels: Work, busy: Union, context: Context) -> Values:
    """What being the first costs: module loading on the host, and the first of repeated steps."""
    keys = ("module_load_share", "first_step_ratio", "first_step_excess_share")
    if not context.has_calls or not len(busy.starts):
        return dict.fromkeys(keys, None)
    out: Values = dict.fromkeys(keys, None)
    window = busy.span
    span = Union(busy.starts[:1], busy.ends[-1:])
    groups = [context.groups[p] for p in np.unique(kernels.process).tolist() if p in context.groups]
    if groups:
        out["module_load_share"] = ratio(
            sum(intersection(g.time["load"], span).total for g in groups) / len(groups), window
        )
    if context.ranges.first_step is not None:
        start, end = context.ranges.first_step
        usual = context.ranges.usual_step_ns
        inside = max(0, min(end, int(busy.ends[-1])) - max(start, int(busy.starts[0])))
        out["first_step_ratio"] = (end - start) / usual if usual else None
        out["first_step_excess_share"] = ratio(max(inside - usual, 0.0), window)
    return out
