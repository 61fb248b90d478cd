"""Reports of single ranks, joined, say what one report of all ranks says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profrx.diagnose import diagnose
from profrx.timeline import timeline_metrics
from profrx.timeline.job import job_of
from profrx_parsers.errors import UsageError
from profrx_parsers.registry import open_report
from profrx_parsers.report import Report

from .made import call, kernel, report, span

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
US = 1000


def steps(late: int, *, process: int, device: int, shift: int = 0) -> dict[str, list[dict[str, Any]]]:
    """Four steps of 200 us of one rank: its kernel starts `late` us into the step, the collective ends the step."""
    launches, calls, ranges = [], [], []
    for step in range(4):
        at = step * 200 + shift
        begun = at + late
        where = {"process_id": process, "device_id": device, "range_path": "step"}
        launches.append(kernel(begun, 50, called=begun - 5, correlation_id=2 * step + 1, **where))
        launches.append(
            kernel(begun + 50, 150 - late, called=begun - 3, name=ALL_REDUCE, correlation_id=2 * step + 2, **where)
        )  # fmt: skip
        calls.append(call("cudaLaunchKernel", begun - 5, 1, process_id=process, correlation_id=2 * step + 1))
        calls.append(call("cudaLaunchKernel", begun - 3, 1, process_id=process, correlation_id=2 * step + 2))
        ranges.append(span("step", begun - 6, 10, process_id=process))
    return {"launches": launches, "api_calls": calls, "ranges": ranges}


def devices(*numbers: int) -> list[dict[str, Any]]:
    return [
        {"device_id": n, "name": f"made {n}", "compute_units": 100, "memory_bytes": 1000} for n in numbers
    ]


def row(of: Report) -> dict[str, Any]:
    found: dict[str, Any] = timeline_metrics(of)["report"].to_pylist()[0]
    return found


@given(
    shift=st.integers(-(10**6), 10**9), late=st.integers(10, 140), process=st.sampled_from([1, 2, 4194303])
)
@settings(max_examples=20, deadline=None)
def test_joined_ranks_measure_like_one_report_of_both(shift: int, late: int, process: int) -> None:
    """Whatever the clocks, and although both ranks have the same process id and device number."""
    both = {
        name: rows + steps(late, process=2, device=1)[name]
        for name, rows in steps(10, process=1, device=0).items()
    }
    together = row(report(devices=devices(0, 1), **both))
    apart = [
        report(devices=devices(0), **steps(10, process=1, device=0)),
        report(devices=devices(0), **steps(late, process=process, device=0, shift=shift)),
    ]
    joined = row(job_of(apart))
    assert joined["rank_count"] == 2
    differing = {
        name: (together[name], joined[name])
        for name in together
        if name not in ("subject", "loss_count", "recorder_doubt_count")
        and together[name] != pytest.approx(joined[name], nan_ok=True)
    }
    assert not differing


def test_joined_rows_keep_apart_what_is_equal_by_chance() -> None:
    job = job_of(
        [report(devices=devices(0, 3), **steps(10, process=7, device=3)) for _ in range(2)]
    )  # the device without work is no part of the job
    launches = job.table("launches")
    assert launches.column("launch_id").to_pylist() == list(range(16))
    assert len(set(launches.column("process_id").to_pylist())) == 2
    assert set(launches.column("device_id").to_pylist()) == {0, 1}
    assert launches.column("rank").to_pylist() == [0] * 8 + [1] * 8
    assert [d["name"] for d in job.table("devices").to_pylist()] == ["made 3", "made 3"]
    assert [r["subject"] for r in timeline_metrics(job)["rank"].to_pylist()] == ["rank 0", "rank 1"]


def test_ranks_without_a_common_collective_start_together() -> None:
    one = report(launches=[kernel(0, 100)])
    other = report(launches=[kernel(70_000, 60)])
    found = row(job_of([one, other]))
    assert found["window_ns"] == 100 * US
    assert found["rank_wait_share"] is None


def test_reports_that_say_their_rank_are_put_in_order() -> None:
    reports = [report(launches=[kernel(0, 100, name=f"k{rank}")]) for rank in (2, 0, 1)]
    for rank, one in zip((2, 0, 1), reports, strict=True):
        one.info.options["rank"] = rank
    table = job_of(reports).table("launches")
    assert table.select(["rank", "kernel"]).to_pylist() == [{"rank": r, "kernel": f"k{r}"} for r in range(3)]
    reports[0].info.options["rank"] = 0  # said twice: the order given is all there is
    assert job_of(reports).table("launches").column("kernel").to_pylist() == ["k2", "k0", "k1"]


def test_problems_name_their_rank() -> None:
    reports = [report(**steps(10, process=1, device=0)) for _ in range(2)]
    reports[1].problems.add("warning", "made", "something")
    job = job_of(reports)
    job.table("launches")
    job.table("ranges")
    assert [(p.code, p.where, p.count) for p in job.problems] == [("made", "rank 1", 1)]


def codes(job: Report) -> set[str]:
    job.table("launches")
    return {problem.code for problem in job.problems if problem.code.startswith("ranks-")}


def test_reports_of_other_jobs_are_told_apart() -> None:
    ours = steps(10, process=1, device=0)
    fewer = {**ours, "launches": ours["launches"][:-2]}
    alone = {"launches": [kernel(0, 100)]}
    twice = {**ours, "launches": [*ours["launches"], kernel(900, 20, name=ALL_REDUCE.replace("Sum", "Max"))]}
    for other, code in (
        (fewer, "no-common-collective"),
        (alone, "no-common-collective"),
        (twice, "collectives-differ"),
    ):
        job = job_of([report(devices=devices(0), **ours), report(devices=devices(0), **other)])
        assert codes(job) == {f"ranks-{code}"}
    assert not codes(job_of([report(devices=devices(0), **ours) for _ in range(3)]))


def test_reports_that_say_the_same_rank_are_told() -> None:
    reports = [report(devices=devices(0), **steps(10, process=1, device=0)) for _ in range(3)]
    for one in reports[:2]:
        one.info.options["rank"] = 1
    assert codes(job_of(reports)) == {"ranks-same-number"}


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("rank-straggler-split-rank0", "rank-straggler-split-rank1", set()),
        ("comm-overlapped-split-rank0", "comm-overlapped-split-rank1", set()),
        ("rank-straggler-split-rank0", "data-straggler-split-rank1", {"ranks-not-in-step"}),
        ("rank-straggler-split-rank0", "comm-overlapped-split-rank1", {"ranks-no-common-collective"}),
    ],
)
def test_runs_of_one_program_are_told_apart(fixtures: Path, one: str, other: str, told: set[str]) -> None:
    """Captures of two runs on the same machine, of ranks of one run in each of them."""
    assert (
        codes(job_of([open_report(fixtures / f"nsys/{name}/report.nsys-rep") for name in (one, other)]))
        == told
    )


@given(drift=st.integers(-100, 100), noise=st.lists(st.integers(-5, 5), min_size=4, max_size=4))
@settings(max_examples=20, deadline=None)
def test_clocks_that_drift_are_of_one_run(drift: int, noise: list[int]) -> None:
    """Up to 100 us a second, whatever the capture's length; ends some microseconds apart."""
    steady = [kernel(at * 10**6, 50, name=ALL_REDUCE) for at in range(4)]
    other = [kernel(at * (10**6 + drift) + more, 50, name=ALL_REDUCE) for at, more in enumerate(noise)]
    assert not codes(job_of([report(launches=steady), report(launches=other)]))


def test_one_report_is_no_job() -> None:
    with pytest.raises(UsageError):
        job_of([report(launches=[kernel(0, 1)])])


def test_diagnose_judges_ranks_as_one(fixtures: Path) -> None:
    case = fixtures / "nsys/healthy-training"
    found = diagnose([case / "report.nsys-rep", case / "export.sqlite.zst"], ranks=True)
    (judged,) = found.reports
    assert {f.severity for f in judged.findings} <= {"info", "low"}
    assert isinstance(judged.summary.busy, dict)
    assert judged.summary.busy["busy_share"] > 0.9
    assert len(judged.devices) == 1, "both ran on the same GPU, and the captures say so"


def test_ranks_on_one_gpu_share_its_number() -> None:
    reports = [report(devices=devices(0), **steps(10, process=7, device=0)) for _ in range(3)]
    for at, one in enumerate(reports):
        one.extras["device_uuids"] = lambda at=at: {0: "a" if at < 2 else "b"}
    job = job_of(reports)
    assert job.table("launches").column("device_id").to_pylist() == [0] * 16 + [1] * 8
    assert job.table("devices").column("device_id").to_pylist() == [0, 1]


def test_what_the_recorders_say_is_joined(fixtures: Path) -> None:
    paths = [fixtures / f"nsys/rank-straggler-split-rank{rank}/report.nsys-rep" for rank in range(2)]
    apart = [open_report(path) for path in paths]
    job = job_of([open_report(path) for path in paths])
    joined = job.extras["recorder"]()
    assert joined.by_program
    assert len(joined.starts) == sum(len(one.extras["recorder"]().starts) for one in apart)
    assert set(joined.process.tolist()) <= set(job.table("launches").column("process_id").to_pylist())
    assert job.extras["events_lost_share"]() == 0


def test_a_rank_that_cannot_be_read_is_told_and_left_out(fixtures: Path, tmp_path: Path) -> None:
    names = [f"rank-straggler-split-rank{rank}/report.nsys-rep" for rank in (0, 1)]
    good, other = (fixtures / "nsys" / name for name in names)
    bad = tmp_path / "rank1.nsys-rep"
    bad.write_bytes(b"nothing")
    found = diagnose([good, bad, other], ranks=True)
    assert [one.source for one in found.failed] == [str(bad)]
    assert len(found.reports) == 1
    assert found.reports[0].source == "ranks: " + ", ".join(names)
