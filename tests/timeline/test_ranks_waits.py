"""What ranks lose by waiting for each other: timelines small enough to add up by hand, and laws over any of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profrx.timeline import timeline_metrics

from .made import call, kernel, report

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096>)"
TRANSFER = 10
"""Time (us) of a collective once all ranks are there."""


def job(
    steps: list[list[tuple[int, int]]], *, begun: tuple[int, ...] = (), calls: bool = False
) -> dict[str, Any]:
    """Return the report's metrics of a job: by step and rank (idle before, time of the kernel), in us.

    `begun` is when each rank begins; with `calls`, every launch call is made just before its kernel, and the host is elsewhere
    before.
    """
    launches: list[dict[str, Any]] = []
    hosts: list[dict[str, Any]] = []
    at = list(begun or [0] * len(steps[0]))
    for step in steps:
        ready = []
        for rank, (idle, time) in enumerate(step):
            start = at[rank] + idle
            more = {"process_id": rank + 1, "device_id": rank}
            if calls:
                more["called"] = start - 1
                hosts.append(call("cudaLaunchKernel", start - 1, 1, process_id=rank + 1))
            launches.append(kernel(start, time, **more))
            ready.append(start + time)
        end = max(ready) + TRANSFER
        for rank, start in enumerate(ready):
            where = {"process_id": rank + 1, "device_id": rank, "stream_id": 9}
            launches.append(
                kernel(start, end - start, name=ALL_REDUCE, called=start - 2 if calls else None, **where)
            )
        at = [end] * len(step)
    tables = {"launches": launches} | ({"api_calls": hosts} if calls else {})
    found: dict[str, Any] = timeline_metrics(report(**tables))["report"].to_pylist()[0]
    return found


def test_waits_for_the_rank_that_computes_longest() -> None:
    """Steps of 100 us: rank 0 computes 40 and waits 50."""
    found = job([[(0, 40), (0, 90)]] * 6)
    assert found["collective_count"] == 6
    assert found["rank_wait_share"] == pytest.approx(0.5)
    assert found["rank_wait_compute_share"] == pytest.approx(0.5)
    assert found["rank_wait_host_share"] == 0
    assert (found["rank_late_share"], found["rank_late_device_id"]) == (1, 1)
    assert found["rank_spread_share"] == pytest.approx(50 / 90)
    assert found["rank_excess_share"] == pytest.approx(25 / 90)
    assert found["comm_wait_share"] == pytest.approx(0.25)
    assert found["busy_share"] == 1
    assert found["busy_useful_share"] == pytest.approx(0.75)


def test_waits_for_a_late_host() -> None:
    found = job([[(0, 40), (50, 40)]] * 6)
    assert found["rank_wait_host_share"] == pytest.approx(found["rank_wait_share"]) == pytest.approx(0.5)
    assert found["rank_late_idle_share"] == pytest.approx(250 / 550, rel=0.01)
    assert found["rank_spread_share"] == 0


def test_a_late_rank_may_both_compute_and_idle_longer() -> None:
    found = job([[(0, 40), (20, 70)]] * 6)
    assert found["rank_wait_compute_share"] == pytest.approx(0.3)
    assert found["rank_wait_host_share"] == pytest.approx(0.2)


def test_waits_at_the_pace_of_launches_are_not_the_host_busy_elsewhere() -> None:
    found = job([[(0, 40), (30, 40)]] * 8, calls=True, begun=(100, 100))
    assert found["rank_wait_launch_share"] == pytest.approx(30 / 80)
    assert found["rank_wait_host_share"] == pytest.approx(0)
    assert job([[(0, 40), (300, 40)]] * 8, calls=True, begun=(100, 100))["rank_wait_host_share"] > 0.8


def test_waiting_beside_other_kernels_costs_nothing() -> None:
    """The collective begins beside a kernel of 50: 10 of the 60 that rank 0 is in it are uncovered and half waiting."""
    launches = []
    for step in range(5):
        at = 60 * step
        launches += [kernel(at, 50), kernel(at, 60, name=ALL_REDUCE, stream_id=9)]
        other = {"process_id": 2, "device_id": 1}
        launches += [kernel(at, 50, **other), kernel(at + 50, 10, name=ALL_REDUCE, stream_id=9, **other)]
    found = timeline_metrics(report(launches=launches))["report"].to_pylist()[0]
    assert found["rank_wait_share"] == pytest.approx(10 / 60)


def test_ranks_that_take_turns_in_being_late_have_no_culprit() -> None:
    found = job([[(0, 90), (0, 40)], [(0, 40), (0, 90)]] * 4 + [[(0, 90), (0, 40)]])
    assert found["rank_late_share"] == pytest.approx(0.5)
    assert found["rank_wait_compute_share"] == pytest.approx(0.5)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_few_collectives_tell_nothing_that_recurs(count: int) -> None:
    found = job([[(0, 40), (0, 90)]] * count)
    assert found["rank_wait_share"] is None
    assert found["comm_wait_share"] is not None


def collectives(process: int, ends: list[int], lengths: list[int]) -> list[dict[str, Any]]:
    where = {"process_id": process, "device_id": process, "stream_id": 9}
    return [kernel(end - n, n, name=ALL_REDUCE, **where) for end, n in zip(ends, lengths, strict=True)]


def row(launches: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = timeline_metrics(report(launches=launches))["report"].to_pylist()[0]
    return found


def test_groups_of_ranks_with_partners_of_their_own_are_not_compared() -> None:
    """Ranks 0 and 1 reduce every 1,000 us, ranks 2 and 3 every 700: the n-th of all four is no collective."""
    one = [1000 * i for i in range(1, 9)]
    two = [700 * i for i in range(1, 9)]
    launches = [
        op
        for rank, ends in enumerate((one, one, two, two))
        for op in collectives(rank, ends, [100 + 50 * (rank % 2)] * 8)
    ]
    found = row(launches)
    assert found["collective_count"] == 0
    assert found["rank_wait_share"] is None
    assert found["comm_wait_share"] is None


@given(st.integers(-(10**6), 10**6), st.integers(-300, 300))
@settings(max_examples=20, deadline=None)
def test_clocks_may_differ_and_drift(shift: int, drift: int) -> None:
    """Rank 1 waits for 50 us of every 1,000, by a clock that is off by `shift` us and runs wrong by up to 0.03 %."""
    ends = [1000 * i for i in range(1, 41)]
    other = [end + shift + end * drift // 1_000_000 for end in ends]
    found = row(collectives(0, ends, [10] * 40) + collectives(1, other, [60] * 40))
    assert found["collective_count"] == 40
    assert found["rank_wait_share"] == pytest.approx(0.05, rel=0.01)
    assert (found["rank_late_share"], found["rank_late_device_id"]) == (1, 0)


def test_a_pair_that_is_none_is_left_out() -> None:
    ends = [1000 * i for i in range(1, 11)]
    apart = [end + (400 if i == 4 else 0) for i, end in enumerate(ends)]
    found = row(collectives(0, ends, [10] * 10) + collectives(1, apart, [10] * 10))
    assert found["collective_count"] == 9


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 500), st.integers(1, 500)), min_size=3, max_size=3),
        min_size=1,
        max_size=15,
    )
)
@settings(max_examples=40, deadline=None)
def test_shares_are_shares_and_causes_add_up(steps: list[list[tuple[int, int]]]) -> None:
    found = job(steps)
    assert 0 <= found["comm_wait_share"] <= found["busy_share"] + 1e-9
    if found["rank_wait_share"] is not None:
        causes = [found[f"rank_wait_{cause}_share"] for cause in ("compute", "host", "launch")]
        assert sum(causes) == pytest.approx(found["rank_wait_share"])
        assert 0 <= found["rank_wait_share"] <= 1
        assert all(share >= 0 for share in causes)


shapes = st.tuples(st.integers(2, 5), st.integers(5, 12), st.integers(20, 200))


@given(shapes, st.integers(0, 100_000), st.integers(0, 4))
@settings(max_examples=25, deadline=None)
def test_a_rank_that_begins_later_is_no_straggler(
    shape: tuple[int, int, int], offset: int, late: int
) -> None:
    ranks, steps, time = shape
    begun = tuple(offset if rank == late % ranks else 0 for rank in range(ranks))
    found = job([[(0, time)] * ranks] * steps, begun=begun)
    assert found["rank_wait_share"] == 0
    assert found["rank_wait_compute_share"] == found["rank_wait_host_share"] == 0


@given(shapes, st.integers(0, 100_000), st.integers(0, 100_000), st.data())
@settings(max_examples=25, deadline=None)
def test_one_or_two_long_waits_do_not_recur(
    shape: tuple[int, int, int], one: int, two: int, data: st.DataObject
) -> None:
    ranks, steps, time = shape
    work = [[(0, time)] * ranks for _ in range(steps)]
    for extra in (one, two):
        step, rank = data.draw(st.integers(0, steps - 1)), data.draw(st.integers(0, ranks - 1))
        work[step][rank] = (extra, time)
    found = job(work)
    assert found["rank_wait_share"] == 0


@given(shapes, st.integers(1, 300), st.booleans(), st.integers(0, 100_000), st.integers(0, 4))
@settings(max_examples=25, deadline=None)
def test_a_rank_that_is_late_in_every_step_is_found(
    shape: tuple[int, int, int], extra: int, is_host: bool, offset: int, late: int
) -> None:
    """Whatever the offset at the start: the share is exactly that of a step."""
    ranks, steps, time = shape
    who = late % ranks
    slow = (extra, time) if is_host else (0, time + extra)
    work = [[slow if rank == who else (0, time) for rank in range(ranks)]] * steps
    found = job(work, begun=tuple(offset if rank == who else 0 for rank in range(ranks)))
    share = extra / (time + extra + TRANSFER)
    assert found["rank_wait_share"] == pytest.approx(share)
    assert found["rank_wait_host_share" if is_host else "rank_wait_compute_share"] == pytest.approx(share)
    assert (found["rank_late_share"], found["rank_late_device_id"]) == (1, who)
