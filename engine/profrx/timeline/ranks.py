"""What ranks lose by waiting for each other, and what the late rank did meanwhile.

A collective ends on all its ranks at once and starts on each when that rank gets there. So the rank whose kernel is
shortest came last, and what the others' kernels take longer they waited. Durations alone say so: the clocks of
machines and reports need not agree.

A late rank is a cause only if it recurs. Nothing can be said of the first common collective, because captures do not
begin at the same moment on all ranks; and a wait that is seen once or twice (set-up, a flush of the profiler, a
checkpoint) tells nothing about the next step. So the first one is left out, and every wait for a rank counts for no
more than the third longest wait for it.

Between two collectives the late rank needs longer than one that waits for it. That difference is exactly the sum of
what it computes longer and what it is idle longer, by the reasons of `gaps`: so every wait has its causes. The part that
is set-up or the profiler's own work is no wait of the job and is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from profrx.timeline.calls import CallGroups
from profrx.timeline.capture import KERNEL, Work
from profrx.timeline.gaps import REASONS, find_gaps
from profrx.timeline.intervals import Bools, Ints, union
from profrx.timeline.texts import NONE

Values = dict[str, float | None]
Floats = npt.NDArray[np.float64]

PAIRWISE = ("sendrecv", "ncclsend", "ncclrecv")
"""Kernels between two ranks (lower case): what one sends need not be the n-th that the other receives."""
SHARDED = ("allgather", "all_gather", "reducescatter", "reduce_scatter")
RECURS = 3
"""A wait recurs when it is seen at least so often: one may be chance, two no more than two chances."""
LEAST = RECURS + 1
"""Collectives from which waits can recur: the first is left out."""
TOGETHER_NS = 50_000
"""So much the difference between the ends of a collective on two ranks may change from one collective to the next: clocks of
two GPUs are read that exactly (26 us over 12 captures of two H200). Broadcasts and reductions may end earlier on some ranks, by
no more than they take."""
MAX_RANKS = 4096
COMPUTE, HOST, LAUNCH, SET_UP = range(4)
_CAUSE = {"queue": LAUNCH, "launch": LAUNCH, "first": SET_UP, "profiler": SET_UP}
"""Reason of a gap -> what it means for those who wait; everything else is the host's doing."""
NAMES = (
    "collective_count", "rank_wait_share", "rank_wait_compute_share", "rank_wait_host_share",
    "rank_wait_launch_share", "rank_late_share", "rank_late_device_id", "rank_late_idle_share", "comm_wait_share",
)  # fmt: skip


@dataclass(frozen=True)
class Collectives:
    """Collectives that all ranks took part in, in order of time: arrays of shape (collective, rank), in ns."""

    start: Ints
    end: Ints
    exposed: Ints
    """Part of each during which its rank ran no other kernel."""
    rows: Ints
    """Row of each in the operations of its rank."""

    @property
    def length(self) -> Ints:
        """How long each kernel ran."""
        return self.end - self.start

    @property
    def transfer(self) -> Ints:
        """How long each collective took once all ranks were there; shape (collective, 1)."""
        found: Ints = self.length.min(axis=1, keepdims=True)
        return found

    @property
    def lost(self) -> Ints:
        """Wait of each rank in each collective that no other kernel covers."""
        found: Ints = np.minimum(self.length - self.transfer, self.exposed)
        return found


def rank_metrics(
    parts: Sequence[Work], kinds: Sequence[str], groups: Mapping[int, CallGroups], window: int
) -> tuple[Values, Collectives | None]:
    """Return what ranks lose by waiting for each other, and the collectives that tell it.

    Args:
        parts: operations of each rank.
        kinds: class by kernel code.
        groups: process -> its API calls.
        window: time that shares of all waits refer to, ns.

    Metrics are null where fewer than two ranks took part in the same collectives.
    """
    values: Values = dict.fromkeys(NAMES, None)
    if len(parts) > MAX_RANKS:
        return values, None
    if len(parts) < 2:
        return values | {"collective_count": 0.0}, None
    talks = communicates(parts[0], kinds)
    found = matched(parts, talks) if talks.any() else None
    if found is None:
        return values | {"collective_count": 0.0}, None
    values["collective_count"] = float(len(found.start))
    values["comm_wait_share"] = ratio(float(found.lost.sum()) / len(parts), window)
    if len(found.start) >= LEAST:
        values |= _recurring(parts, found, groups)
    return values, found


def _recurring(parts: Sequence[Work], found: Collectives, groups: Mapping[int, CallGroups]) -> Values:
    steady = float(np.mean(found.end[-1] - found.end[0]))
    last = found.length.argmin(axis=1)[1:]
    lost = found.lost[1:].astype(np.float64)
    longest = lost.max(axis=1)
    kept = _clipped(longest, last, len(parts)) / np.maximum(longest, 1.0)
    causes = _causes(parts, found, groups, last, lost.argmax(axis=1))
    time = (longest * kept)[:, None] * causes
    time[:, SET_UP] = 0.0
    by_cause = time.sum(axis=0)
    total = float(by_cause.sum())
    blame = np.bincount(last, weights=time.sum(axis=1), minlength=len(parts))
    late = int(blame.argmax())
    out: Values = {
        "rank_wait_share": ratio(total, steady),
        "rank_wait_compute_share": ratio(float(by_cause[COMPUTE]), steady),
        "rank_wait_host_share": ratio(float(by_cause[HOST]), steady),
        "rank_wait_launch_share": ratio(float(by_cause[LAUNCH]), steady),
    }
    if total:
        idle = [1 - (ratio(u.total, u.span) or 0.0) for u in (union(p.start, p.end) for p in parts)]
        others = [share for rank, share in enumerate(idle) if rank != late]
        device = int(parts[late].device[0])
        out |= {
            "rank_late_share": float(blame[late]) / total,
            "rank_late_device_id": None if device == NONE else float(device),
            "rank_late_idle_share": max(idle[late] - float(np.mean(others)), 0.0),
        }
    return out


def _clipped(longest: Floats, last: Ints, ranks: int) -> Floats:
    """Cut every wait to the third longest for the same rank: what happened once or twice does not recur."""
    cap = np.zeros(ranks)
    for rank in np.unique(last).tolist():
        mine = np.sort(longest[last == rank])
        if len(mine) >= RECURS:
            cap[rank] = mine[-RECURS]
    return np.minimum(longest, cap[last])


def _causes(
    parts: Sequence[Work], found: Collectives, groups: Mapping[int, CallGroups], last: Ints, waiting: Ints
) -> Floats:
    """Return by collective but the first (rows) how much of the wait is each cause's; rows add up to 1.

    `last` is the rank that came last, `waiting` the one that waited longest. What cannot be told is the host's.
    """
    spent = np.stack(
        [_spent(part, found.start[:, rank], found.end[:, rank], groups) for rank, part in enumerate(parts)]
    )
    at = np.arange(len(last))
    more = np.maximum(spent[last, at] - spent[waiting, at], 0.0)
    total = more.sum(axis=1, keepdims=True)
    unknown = np.zeros(4)
    unknown[HOST] = 1.0
    out: Floats = np.where(total > 0, more / np.maximum(total, 1.0), unknown)
    return out


def _spent(work: Work, start: Ints, end: Ints, groups: Mapping[int, CallGroups]) -> Floats:
    """Return how one rank spent the time between each two collectives: shape (collective - 1, cause), ns."""
    gaps = find_gaps(work, dict(groups))
    pause = np.maximum(start[1:] - end[:-1], 0)
    before = np.searchsorted(np.maximum.accumulate(start), gaps.ends, side="left") - 1
    cause = np.array([_CAUSE.get(reason, HOST) for reason in REASONS])[gaps.reason]
    out = np.zeros((len(pause), 4))
    inside = (before >= 0) & (before < len(pause))
    for kind, time in (
        (cause, gaps.lengths - gaps.profiler - gaps.beyond_wait),
        (np.full(len(cause), SET_UP), gaps.profiler),
        (np.where(gaps.is_short, LAUNCH, HOST), gaps.beyond_wait),
    ):
        np.add.at(out, (before[inside], kind[inside]), time[inside])
    out[:, COMPUTE] = np.maximum(pause - out.sum(axis=1), 0)
    return out


def communicates(work: Work, kinds: Sequence[str]) -> Bools:
    """Return by kernel code (and for no code) whether it is a collective of all ranks."""
    return np.array(
        [
            *(
                k == "communication" and not is_pairwise(t)
                for k, t in zip(kinds, work.name.texts, strict=True)
            ),
            False,
        ],
        bool,
    )


def is_pairwise(name: str) -> bool:
    """Whether a communication kernel sends or receives, so that it concerns two ranks (or many pairs at once)."""
    lower = name.lower()
    return any(part in lower for part in PAIRWISE)


def is_sharded(name: str) -> bool:
    """Whether a communication kernel gathers or scatters, as sharded weights and tensors need it."""
    lower = name.lower()
    return any(part in lower for part in SHARDED)


def matched(parts: Sequence[Work], talks: Bools) -> Collectives | None:
    """Pair the n-th collective of a name over all ranks; names that occur a different number of times are left out.

    Ranks that form several groups (tensor, data and pipeline parallel) use the same kernels for different partners. What is one
    collective ends on all ranks at once: pairs that do not are dropped, and all of them when they are most.
    """
    mine = [np.flatnonzero((part.kind == KERNEL) & talks[part.name.codes]) for part in parts]
    codes = [part.name.codes[rows] for part, rows in zip(parts, mine, strict=True)]
    groups: list[Ints] = []
    for code in np.unique(codes[0]).tolist():
        each = [rows[one == code] for rows, one in zip(mine, codes, strict=True)]
        if len({len(one) for one in each}) == 1:
            groups.append(np.stack(each, axis=1))
    if not groups:
        return None
    rows: Ints = np.concatenate(groups)
    end = np.stack([part.end[rows[:, rank]] for rank, part in enumerate(parts)], axis=1)
    order = np.argsort(end[:, 0], kind="stable")
    rows, end = rows[order], end[order]
    together = _ends_together(parts, rows, end)
    if together.mean() < 0.5:
        return None
    rows, end = rows[together], end[together]
    start = np.stack([part.start[rows[:, rank]] for rank, part in enumerate(parts)], axis=1)
    exposed = np.stack([_exposed(part, rows[:, rank], all_of) for rank, (part, all_of) in enumerate(zip(parts, mine, strict=True))], axis=1)  # fmt: skip
    return Collectives(start, end, exposed, rows)


def _ends_together(parts: Sequence[Work], rows: Ints, end: Ints) -> Bools:
    """Return which collectives end on all ranks at once, whatever the clocks: they may differ, and drift slowly."""
    if len(end) < 2:
        return np.ones(len(end), bool)
    length = np.stack([(part.end - part.start)[rows[:, rank]] for rank, part in enumerate(parts)], axis=1)
    jump = np.abs(np.diff(end - end[:, :1], axis=0)).max(axis=1)
    never = np.array([np.iinfo(np.int64).max])
    nearest = np.minimum(np.concatenate([never, jump]), np.concatenate([jump, never]))
    found: Bools = nearest <= TOGETHER_NS + length.min(axis=1)
    return found


def _exposed(work: Work, rows: Ints, collectives: Ints) -> Ints:
    """Return how long each of `rows` runs with no other kernel of that rank that is not a collective."""
    other = work.kind == KERNEL
    other[collectives] = False
    beside = union(work.start[other], work.end[other])
    exposed: Ints = work.end[rows] - work.start[rows] - beside.within(work.start[rows], work.end[rows])
    return exposed


def ratio(part: float, whole: float) -> float | None:
    """Return a share, None of nothing."""
    return part / whole if whole else None
