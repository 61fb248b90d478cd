"""Every gap gets the reason that was built into it."""

from __future__ import annotations

import pytest
from made import call, copy, kernel, report

from profrx.timeline import timeline_metrics
from profrx.timeline.gaps import REASONS


def metrics(**tables: list[dict[str, object]]) -> dict[str, float]:
    row: dict[str, float] = timeline_metrics(report(**tables))["report"].to_pylist()[0]
    return row


WARM = [kernel(0, 10, called=-5), kernel(10, 10, called=-4)]
"""Two launches of the kernel, so that what follows is no first launch."""
QUIET = [call("cudaLaunchKernel", -5, 1), call("cudaLaunchKernel", -4, 1)]


def gap(start: int, length: int, called: int, *calls: dict[str, object]) -> dict[str, float]:
    """A gap of `length` us after 20 us of work, ended by a kernel whose launch call begins at `called`."""
    later = [kernel(start + length, 10, called=called)]
    return metrics(launches=[*WARM, *later], api_calls=[*QUIET, call("cudaLaunchKernel", called, 1), *calls])


@pytest.mark.parametrize(
    ("reason", "length", "called", "calls"),
    [
        ("queue", 5, 10, []),
        ("launch", 30, 48, []),
        ("host", 500, 518, []),
        ("allocation", 500, 518, [call("cudaMalloc", 30, 300)]),
        ("copy", 500, 518, [call("cudaMemcpy", 30, 300)]),
        ("sync", 15, 33, [call("cudaDeviceSynchronize", 0, 22)]),
        ("sync", 15, 33, [call("cuCtxSynchronize", 0, 22)]),
        ("sync", 15, 33, [call("hipStreamSynchronize", 0, 22)]),
    ],
)
def test_reasons(reason: str, length: int, called: int, calls: list[dict[str, object]]) -> None:
    found = gap(20, length, called, *calls)
    window = 20 + length + 10
    assert found["window_ns"] == window * 1000
    for one in REASONS:
        assert found[f"idle_{one}_share"] == pytest.approx(length / window if one == reason else 0), one
    assert found["gap_share"] == pytest.approx(length / window)


def test_a_stream_ordered_allocation_is_none() -> None:
    assert gap(20, 500, 518, call("cudaMallocAsync", 30, 300))["idle_host_share"] > 0.9


def test_a_wait_is_blamed_for_no_more_than_the_work_it_waited_for() -> None:
    found = gap(20, 500, 518, call("cudaDeviceSynchronize", 0, 21))
    assert found["idle_sync_share"] == pytest.approx(20 / 530)
    assert found["idle_host_share"] == pytest.approx(480 / 530)


def test_first_launches_and_set_up() -> None:
    found = metrics(
        launches=[
            kernel(300, 10, called=290),
            kernel(310, 10, called=291),
            kernel(900, 10, called=890, name="new"),
        ],
        copies=[copy(0, 10)],
        api_calls=[
            call("cudaLaunchKernel", 290, 1),
            call("cudaMalloc", 20, 250),
            call("cudaLaunchKernel", 890, 1),
        ],
    )
    assert found["idle_first_share"] == pytest.approx((290 + 580) / 910)
    assert found["idle_allocation_share"] == 0
    assert found["busy_settled_share"] == pytest.approx(1)


def test_a_program_of_two_phases_is_not_set_up_until_the_second() -> None:
    phases = [kernel(100 * i, 10, called=100 * i - 2, name="a" if i < 8 else "b") for i in range(10)]
    calls = [call("cudaLaunchKernel", 100 * i - 2, 1) for i in range(10)]
    found = metrics(launches=phases, api_calls=calls)
    assert found["idle_first_share"] == pytest.approx(90 / 910)
    assert found["idle_host_share"] == pytest.approx(8 * 90 / 910)


def test_without_calls_the_reason_is_unknown_and_the_rest_null() -> None:
    found = metrics(launches=[kernel(0, 10), kernel(100, 10)])
    assert found["idle_unknown_share"] == pytest.approx(90 / 110)
    for name in (
        "idle_host_share",
        "idle_sync_share",
        "idle_launch_share",
        "sync_call_share",
        "launch_bound_share",
    ):
        assert found[name] is None, name


def test_calls_of_another_process_explain_nothing() -> None:
    found = gap(20, 500, 518, call("cudaMalloc", 30, 400, process_id=2))
    assert found["idle_host_share"] > 0.9
    assert found["idle_allocation_share"] == 0


def slow_host(pause: int, launches: int) -> dict[str, float]:
    """Kernels of 5 us, one launch every `pause` us."""
    return metrics(
        launches=[kernel(pause * i + 3, 5, called=pause * i) for i in range(launches)],
        api_calls=[call("cudaLaunchKernel", pause * i, 2) for i in range(launches)],
    )


def test_the_pace_of_a_slow_host_is_launching_too() -> None:
    steady = slow_host(90, 300)
    assert steady["idle_launch_share"] == pytest.approx(85 / 90, abs=0.01)
    assert slow_host(90, 20)["idle_host_share"] > 0.8, "too few launches to speak of a pace"
    assert slow_host(400, 300)["idle_host_share"] > 0.9, "that is no pace of launching"
