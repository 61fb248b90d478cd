"""Captures of every kind through the whole of `diagnose`: none gets a confident number that it cannot bear out."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from exported import GRAPH, PID, US, Export, tid

from profrx.diagnose import diagnose
from profrx.report.model import ReportFindings

Judge = Callable[[Export], ReportFindings]
LOUD = ("medium", "high", "critical")


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    def ask(export: Export) -> ReportFindings:
        result = diagnose([export.write(tmp_path / "made.sqlite")])
        assert not result.failed
        return result.reports[0]

    return ask


def rules(found: ReportFindings) -> set[str]:
    return {finding.rule for finding in found.findings}


def loud(found: ReportFindings) -> set[str]:
    return {finding.rule for finding in found.findings if finding.severity in LOUD}


def verdict(found: ReportFindings) -> str:
    assert isinstance(found.summary.busy, dict)
    return str(found.summary.busy["verdict"])


def steady(export: Export, count: int = 400, length: int = 300, gap: int = 2, **more: object) -> Export:
    """Kernels that keep the queue full."""
    at = 1000
    for i in range(count):
        export.kernel(at, length, called=at - 200, name=f"work{i % 4}", **more)  # type: ignore[arg-type]
        at += length + gap
    return export


def test_a_program_of_the_host_is_called_that(judge: Judge) -> None:
    export = Export()
    for i in range(50):
        export.row("OSRT_API", start=i * 10_000 * US, end=(i * 10_000 + 5000) * US, eventClass=27,
                   globalTid=tid(PID, 1), nameId=export.text("poll"), returnValue=0)  # fmt: skip
    found = judge(export)
    assert rules(found) == {"no-gpu-work"}
    assert found.summary.busy == "unknown"


def test_ranges_alone_tell_nothing_of_the_gpu(judge: Judge) -> None:
    export = Export()
    for i in range(50):
        export.range("step", i * 10_000, 9000)
    assert rules(judge(export)) == {"no-gpu-work"}


def test_calls_without_work_are_no_idle_gpu(judge: Judge) -> None:
    export = Export()
    export.call("cudaGetDeviceCount_v3020", 10, 5)
    export.call("cudaMalloc_v3020", 100, 300)
    assert rules(judge(export)) == {"calls-without-work"}


def test_sampled_metrics_alone_give_their_mean(judge: Judge) -> None:
    export = Export()
    names = ("GR Active [Throughput %]", "SMs Active [Throughput %]")
    for number, name in enumerate(names):
        export.row("TARGET_INFO_GPU_METRICS", typeId=1, metricId=number, metricName=name)
        for i, value in enumerate((10, 20, 60)):
            export.row(
                "GPU_METRICS", timestamp=i * 1000, typeId=1, metricId=number, value=value + number * 10
            )
    (finding,) = judge(export).findings
    assert finding.rule == "sampled-activity"
    assert "active 30% of the time" in finding.because
    assert "40% of its multiprocessors" in finding.because


def test_copies_alone_have_a_busy_share(judge: Judge) -> None:
    export = Export()
    for i in range(100):
        export.copy(1000 + i * 1010, 1000, called=990 + i * 1010)
    found = judge(export)
    assert verdict(found).startswith("The GPU is busy 99% of the window")
    assert not loud(found)


def test_one_operation_has_no_busy_share_to_speak_of(judge: Judge) -> None:
    export = Export()
    export.kernel(100, 1, called=90)
    assert "says nothing" in verdict(judge(export))


@pytest.mark.parametrize(
    "export",
    [
        pytest.param(steady(Export(session=100_000)), id="short"),
        pytest.param(steady(Export(session=60_000_000), 15, 1_000_000, 20), id="kernels of a second"),
        pytest.param(steady(steady(Export(devices=2), 300), 300, pid=PID + 1, device=1), id="two processes"),
        pytest.param(steady(steady(Export(), 300), 300, pid=PID + 1), id="two processes, one device"),
        pytest.param(steady(steady(Export(), 300, blocks=60), 300, stream=9, blocks=60), id="two streams"),
        pytest.param(steady(Export(units=16), blocks=64), id="a slice of a device"),
    ],
)
def test_healthy_captures_are_quiet(judge: Judge, export: Export) -> None:
    found = judge(export)
    assert not loud(found)
    assert not found.blocked
    assert "the time is in the kernels" in verdict(found)


def test_graphs_as_one_item_are_work(judge: Judge) -> None:
    export = Export()
    for i in range(200):
        at = 1000 + i * 1000
        number = export.call("cudaGraphLaunch_v10000", at - 10, 8)
        export.row(GRAPH, start=at * US, end=(at + 950) * US, deviceId=0, contextId=1, streamId=7,
                   correlationId=number, globalPid=tid(PID, 0), graphId=1, graphExecId=2)  # fmt: skip
    found = judge(export)
    assert "graphs-opaque" in rules(found)
    assert not loud(found)
    assert not found.blocked


def test_a_service_that_waits_for_requests_is_not_told_to_save_it_all(judge: Judge) -> None:
    export = Export(session=20_000_000)
    for request in range(40):
        at = request * 500_000 + request * 7919 % 200_000
        export.range("request", at - 100, 9000)
        for k in range(30):
            export.kernel(at + 60 + k * 250, 245, called=at + k * 20, name=f"layer{k % 6}")
        export.call("cudaStreamSynchronize", at + 700, 6900)
    found = judge(export)
    (idle,) = [finding for finding in found.findings if finding.rule == "gpu-idle"]
    assert idle.confidence == "low"
    assert idle.severity in ("low", "medium")
    assert idle.saving is not None
    assert idle.saving.low < 0.01


def test_a_long_start_is_set_up_not_work(judge: Judge) -> None:
    export = Export(session=40_000_000)
    export.kernel(1000, 20, called=900, name="first")
    at = 30_000_000
    for i in range(3000):
        export.kernel(at, 400, called=at - 300, name=f"work{i % 8}")
        at += 402
    found = judge(export)
    assert "96% of it is set-up" in verdict(found)
    assert loud(found) == {"cold-start"}


def test_dropped_kernels_are_no_idle_time(judge: Judge) -> None:
    """A third of the launches left a call and no kernel."""
    export = Export()
    for i in range(900):
        at = 10_000 + i * 302
        if i % 3:
            export.kernel(at, 300, called=at - 200, name=f"work{i % 7}")
        else:
            export.call("cudaLaunchKernel", at - 200, 4)
    found = judge(export)
    assert {b.guard for b in found.blocked} == {"launches-without-work"}
    assert "gpu-idle" in {b.rule for b in found.blocked}
    assert not loud(found)
    assert "gaps prove nothing" in verdict(found)
    assert isinstance(found.summary.busy, dict)
    assert found.summary.busy["idle"] == []


def test_launches_into_a_stream_capture_start_nothing(judge: Judge) -> None:
    export = steady(Export())
    export.call("cudaStreamBeginCapture_v10000", 10, 2)
    for i in range(100):
        export.call("cudaLaunchKernel", 20 + i * 5, 4)
    export.call("cudaStreamEndCapture_v10000", 600, 2)
    assert not judge(export).blocked


def test_failed_launches_start_nothing(judge: Judge) -> None:
    export = steady(Export())
    for i in range(100):
        export.call("cudaLaunchKernel", 20 + i * 5, 4, result=98)
    assert not judge(export).blocked


def test_launches_that_the_end_of_the_capture_cut_off_are_no_loss(judge: Judge) -> None:
    export = steady(Export())
    for i in range(100):
        export.call("cudaLaunchKernel", 200_000 + i * 5, 4)
    assert not judge(export).blocked


def test_what_the_recorder_admits_to_have_lost_holds_advice_back(judge: Judge) -> None:
    export = steady(Export(), gap=300)
    text = "CUPTI dropped 1666 records, see /home/somebody/log"
    export.row(
        "DIAGNOSTIC_EVENT",
        timestamp=0,
        timestampType=1,
        source=1,
        severity=2,
        text=text,
        globalPid=tid(PID, 0),
    )
    found = judge(export)
    assert {b.guard for b in found.blocked} == {"events-lost"}
    assert "nsys-recorder-lost" in {p.code for p in found.problems}
    assert "somebody" not in found.model_dump_json()


def test_kernels_before_their_calls_mean_two_clocks(judge: Judge) -> None:
    export = Export()
    for i in range(300):
        at = 10_000 + i * 600
        export.kernel(at, 300, called=at + 5000, name=f"work{i % 4}")
    found = judge(export)
    assert {b.guard for b in found.blocked} == {"clocks-disagree"}
    assert "clocks of host and device" in verdict(found)
    assert not loud(found)


def test_the_profilers_own_time_is_not_blamed_on_the_program(judge: Judge) -> None:
    """Half of each gap nsys emptied its buffers: 150 of 602 us."""
    export = Export()
    for i in range(300):
        at = 10_000 + i * 602
        export.kernel(at, 300, called=at - 5, name=f"work{i % 4}")
        export.row(
            "PROFILER_OVERHEAD", start=(at + 300) * US, end=(at + 450) * US, globalTid=tid(PID, 9), nameId=0
        )
    found = judge(export)
    assert isinstance(found.summary.busy, dict)
    shares = {entry["reason"]: entry["share"] for entry in found.summary.busy["idle"]}
    assert shares["profiler"] == pytest.approx(150 / 602, rel=0.01)
    assert sum(shares.values()) == pytest.approx(1 - found.summary.busy["busy_share"])
    assert "profiler-overhead" in rules(found)


def test_uneven_stages_on_two_devices(judge: Judge) -> None:
    export = Export(devices=2)
    for i in range(100):
        at = 10_000 + i * 2110
        export.kernel(at, 2000, called=at - 500, name="stage0")
        export.copy(at + 2000, 100, called=at - 400, kind=10, source=2, target=2)
        export.kernel(at + 1000, 800, called=at - 300, name="stage1", device=1)
    (finding,) = [f for f in judge(export).findings if f.rule == "pipeline-imbalance"]
    assert "differs by 60% of the largest" in finding.because


def test_a_layer_that_takes_longer_than_its_kind(judge: Judge) -> None:
    export = Export(session=4_000_000)
    at = 10_000
    for step in range(10):
        export.range(f"step {step}", at - 500, 12 * 1100 + 4000)
        for layer in range(12):
            count = 30 if layer == 7 else 10
            export.range(f"layer_{layer}", at - 400, count * 10 + 50)
            for k in range(count):
                export.kernel(at + k * 101, 100, called=at - 390 + k * 10, name=f"work{k % 3}")
            at += count * 101
    found = judge(export)
    (finding,) = [f for f in found.findings if f.rule == "layer-outlier"]
    assert finding.severity == "low"
    assert "3.0 times longer" in finding.because
    assert "layers-uneven" in rules(found)
    assert not loud(found)


def test_a_layer_that_sends_what_all_computed(judge: Judge) -> None:
    export = Export(session=4_000_000)
    at = 10_000
    for step in range(10):
        export.range(f"step {step}", at - 500, 12 * 1010 - 10)
        for layer in range(12):
            export.range(f"layer_{layer}", at - 400, 150)
            for k in range(10):
                sends = layer == 11 or (layer == 3 and k == 0)
                name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL" if sends and k != 5 else f"work{k % 3}"
                export.kernel(at + k * 101, 100, called=at - 390 + k * 10, name=name)
            at += 1010
    (finding,) = [f for f in judge(export).findings if f.rule == "layer-communicates"]
    assert finding.because.startswith("90% of the communication starts in it and 1% of the other kernel time")
    assert finding.subject.name is not None
    assert finding.subject.name.endswith("layer_11")


def test_phases_of_little_work_are_named(judge: Judge) -> None:
    export = Export(session=4_000_000)
    at = 10_000
    for i in range(3000):
        export.kernel(at, 300, called=at - 200, name=f"work{i % 4}")
        at += 302 if i < 2000 else 1302 if i < 2300 else 302
    (finding,) = [f for f in judge(export).findings if f.rule == "idle-phase"]
    assert "busy less than half of the time" in finding.because


@pytest.mark.parametrize("case", ["launch-overhead", "optimizer-launches"])
def test_a_report_cut_among_its_events_gives_no_confident_number(
    case: str, fixtures: Path, tmp_path: Path
) -> None:
    data = (fixtures / f"nsys/{case}/report.nsys-rep").read_bytes()
    path = tmp_path / "cut.nsys-rep"
    path.write_bytes(data[: len(data) * 7 // 10])
    (found,) = diagnose([path]).reports
    assert "nsys-cut" in {problem.code for problem in found.problems}
    assert {b.guard for b in found.blocked} >= {"events-lost"}
    assert not [finding for finding in found.findings if finding.saving is not None]
    if isinstance(found.summary.busy, dict):
        assert verdict(found).startswith("Of what is there")
        assert found.summary.busy["idle"] == []


def test_a_block_damaged_in_the_middle_is_said_in_the_verdict(fixtures: Path, tmp_path: Path) -> None:
    from profrx_parsers.nsys.container import open_container
    from profrx_parsers.problems import ProblemLog

    data = bytearray((fixtures / "nsys/optimizer-launches/report.nsys-rep").read_bytes())
    box = open_container(memoryview(bytes(data)), "x", ProblemLog())
    middle = (box._first_block + box._strings_at) // 2
    data[middle : middle + 64] = b"\xff" * 64
    path = tmp_path / "middle.nsys-rep"
    path.write_bytes(data)
    (found,) = diagnose([path]).reports
    lost = {problem.code for problem in found.problems if problem.severity == "data-loss"}
    assert lost & {"nsys-damaged-block", "nsys-damaged-event", "nsys-event-count"}
    assert {b.guard for b in found.blocked} >= {"events-lost"}
    assert not [finding for finding in found.findings if finding.saving is not None]


def test_a_report_that_lost_its_index_only_is_judged_in_full(fixtures: Path, tmp_path: Path) -> None:
    """The last 20 bytes are the end of the index: every event and name is still there."""
    data = (fixtures / "nsys/host-sync/report.nsys-rep").read_bytes()
    path = tmp_path / "no-index.nsys-rep"
    path.write_bytes(data[:-20])
    (found,) = diagnose([path]).reports
    assert "nsys-no-index" in {problem.code for problem in found.problems}
    assert not found.blocked
    assert found.findings[0].rule == "host-sync"


def test_damage_is_no_defect_and_brings_no_environment_up(fixtures: Path, tmp_path: Path) -> None:
    rng = random.Random(20261129)
    data = (fixtures / "nsys/copy-overlap/report.nsys-rep").read_bytes()
    path = tmp_path / "damaged.nsys-rep"
    for _ in range(12):
        copy = bytearray(data)
        for _ in range(rng.choice((1, 8, 64))):
            copy[rng.randrange(len(copy))] ^= 1 << rng.randrange(8)
        path.write_bytes(copy[: rng.randrange(len(copy) // 2, len(copy))] if rng.random() < 0.3 else copy)
        found = diagnose([path])
        assert not [one for one in found.failed if one.code == "internal-defect"]
        assert "LD_LIBRARY_PATH=" not in found.model_dump_json()
