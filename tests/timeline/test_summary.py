"""The first question's answer, and the kernels worth a profile with their command."""

from __future__ import annotations

from pathlib import Path

import pytest
from made import call, kernel, report

from profrx.timeline import busy_summary, kernels_worth_profiling


def idle_report() -> dict[str, object]:
    launches = [kernel(1000 * i, 80, called=1000 * i - 5) for i in range(20)]
    found = busy_summary(
        report(launches=launches, api_calls=[call("cudaLaunchKernel", 1000 * i - 5, 1) for i in range(20)])
    )
    assert found
    return found


def test_a_mostly_idle_gpu_is_said_first() -> None:
    found = idle_report()
    assert str(found["verdict"]).startswith("The GPU is busy 8% of the window: no kernel tuning will show.")
    assert found["busy_share"] == pytest.approx(1600 / 19080)
    idle = found["idle"]
    assert isinstance(idle, list)
    assert idle[0]["reason"] == "host"
    assert sum(entry["share"] for entry in idle) == pytest.approx(1 - 1600 / 19080)


def test_a_busy_gpu_points_at_the_kernels() -> None:
    found = busy_summary(
        report(
            launches=[kernel(100 * i, 100, called=0) for i in range(9)],
            api_calls=[call("cudaLaunchKernel", 0, 1)],
        )
    )
    assert found
    assert "the time is in the kernels" in found["verdict"]


def test_nothing_on_the_gpu_has_no_summary() -> None:
    assert busy_summary(report(api_calls=[call("cudaMalloc", 0, 1)])) is None
    assert kernels_worth_profiling(report()) == []


def test_the_command_picks_a_warm_typical_launch_of_that_very_kernel() -> None:
    """Two kernels of one bare name: --kernel-name sees both, so the skip counts both."""
    launches = []
    for i in range(10):
        launches.append(kernel(100 * i, 50 if i != 4 else 48, name="f<int>", kernel_short="f"))
        launches.append(kernel(100 * i + 60, 5, name="f<float>", kernel_short="f"))
    launches[0] = kernel(0, 59, name="f<int>", kernel_short="f")
    worth = kernels_worth_profiling(report(launches=launches))
    first = worth[0]
    assert first["kernel_id"] == "f<int>"
    assert first["skip"] >= 6
    assert first["skip"] % 2 == 0
    assert f"--kernel-name f --launch-skip {first['skip']} --launch-count 1 " in first["command"]


def test_hostile_names_are_quoted() -> None:
    worth = kernels_worth_profiling(
        report(launches=[kernel(0, 50, name="x; rm -rf /", kernel_short="x; rm -rf /")])
    )
    assert "--kernel-name 'regex:^x; rm -rf /$' " in worth[0]["command"]


def test_small_kernels_are_not_worth_it() -> None:
    launches = [kernel(0, 960, name="large"), kernel(960, 40, name="small")]
    assert [k["short"] for k in kernels_worth_profiling(report(launches=launches))] == ["large"]


def test_what_decides_about_a_profile_is_the_table_of_classes(tmp_path: Path) -> None:
    launches = [kernel(0, 50, name="exchange_rows"), kernel(50, 50, name="ncclDevKernel_AllReduce")]
    found = kernels_worth_profiling(report(launches=launches))
    assert [k["short"] for k in found] == ["exchange_rows"]
    mine = tmp_path / "mine.csv"
    mine.write_text("pattern,class,library\nexchange_,communication,own\n")
    found = kernels_worth_profiling(report(launches=launches), mine)
    assert [k["short"] for k in found] == ["ncclDevKernel_AllReduce"]
    summary = busy_summary(report(launches=launches), mine)
    assert summary
    assert [k["short"] for k in summary["not_profiled"]] == ["exchange_rows"]


def test_shares_of_kernels_are_of_all_devices() -> None:
    launches = [kernel(0, 100, device_id=number, process_id=number) for number in range(4)]
    (one,) = kernels_worth_profiling(report(launches=launches))
    assert one["window_share"] == 1
