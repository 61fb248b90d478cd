"""What ranks and devices lose by each other, on timelines small enough to add up by hand."""

from __future__ import annotations

from typing import Any

import pytest

from profrx.timeline import timeline_metrics

from .made import copy, kernel, report

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096>)"
SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096>)"


def row(**tables: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = timeline_metrics(report(**tables))["report"].to_pylist()[0]
    return found


def rank(process: int, *operations: tuple[str, int, int]) -> list[dict[str, Any]]:
    return [kernel(start, length, name=name, process_id=process, device_id=process, stream_id=9 if name == ALL_REDUCE else 7)
            for name, start, length in operations]  # fmt: skip


@pytest.mark.parametrize(
    "second",
    [
        rank(1, ("k", 0, 90)),
        rank(1, (ALL_REDUCE, 0, 10), (ALL_REDUCE, 20, 10)),
        rank(1, ("ncclDevKernel_AllGather", 0, 10)),
    ],
    ids=["no collective", "another number", "another collective"],
)
def test_nothing_is_known_without_a_common_collective(second: list[dict[str, Any]]) -> None:
    found = row(launches=rank(0, ("k", 0, 40), (ALL_REDUCE, 40, 60)) + second)
    assert found["rank_wait_share"] is None
    assert found["rank_late_share"] is None


def test_sends_and_receives_are_not_paired() -> None:
    launches = [kernel(0, 10, name=SEND_RECV), kernel(0, 90, name=SEND_RECV, process_id=2, device_id=1)]
    assert row(launches=launches)["rank_wait_share"] is None


def test_small_collectives_cost_their_time_and_the_pause_before() -> None:
    """Kernel 100, pause 10, collective 20, pause 10, collective 20, pause 5, kernel 100."""
    found = row(
        launches=[
            kernel(0, 100),
            kernel(110, 20, name=ALL_REDUCE),
            kernel(140, 20, name=ALL_REDUCE),
            kernel(165, 100),
        ]
    )
    assert found["comm_small_count"] == 2
    assert found["comm_small_share"] == pytest.approx(60 / 265)
    large = row(launches=[kernel(0, 100), kernel(110, 80, name=ALL_REDUCE)])
    assert (large["comm_small_share"], large["comm_small_count"]) == (0, 0)


def test_small_collectives_beside_kernels_cost_nothing() -> None:
    found = row(launches=[kernel(0, 100), kernel(20, 20, name=ALL_REDUCE, stream_id=9)])
    assert found["comm_small_share"] == 0


def test_waiting_makes_no_collective_long() -> None:
    """Rank 1 needs 30 between collectives of 10; rank 0 is there at once and waits, for 60 at first."""
    early = rank(0, (ALL_REDUCE, 0, 70), *((ALL_REDUCE, 70 + 40 * i, 40) for i in range(5)))
    late = rank(1, *((ALL_REDUCE, 60 + 40 * i, 10) for i in range(6)))
    found = row(launches=early + late)
    assert found["comm_small_count"] == 12
    assert found["comm_small_share"] == pytest.approx((6 * 10 + 5 * 30) / 270)


def test_devices_that_take_turns() -> None:
    """100 us on one device, then 60 on the other, with a copy of 10 between: side by side, 110 would do."""
    found = row(
        launches=[kernel(0, 100), kernel(110, 60, device_id=1)],
        copies=[copy(100, 10, direction="PtoP")],
    )
    assert found["device_turns_share"] == pytest.approx(60 / 170)


def test_devices_side_by_side_lose_nothing() -> None:
    assert row(launches=[kernel(0, 100), kernel(0, 100, device_id=1)])["device_turns_share"] == 0


def test_device_turns_need_one_process_with_two_devices() -> None:
    assert row(launches=[kernel(0, 100)])["device_turns_share"] is None
    apart = [kernel(0, 100), kernel(110, 60, device_id=1, process_id=2)]
    assert row(launches=apart)["device_turns_share"] is None
