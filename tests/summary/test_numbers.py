"""The one-page numbers against the values that the vendor's module gives for the same reports."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import profrx
from profrx.report.model import ReportFindings

ROOT = Path(__file__).resolve().parents[2] / "fixtures" / "ncu"
CASES = ["strided-load", "dram-stream", "fp16-peak", "fp64-chain", "tensor-peak", "shared-conflict32"]


@cache
def judged(case: str) -> ReportFindings:
    return profrx.diagnose([ROOT / case / "report.ncu-repz"]).reports[0]


@cache
def reference(case: str) -> dict[str, Any]:
    """Metric values of the first result in the full-precision dump of the vendor's module."""
    with pa.CompressedInputStream(pa.OSFile(str(ROOT / case / "reference.json.zst")), "zstd") as stream:
        first = json.loads(stream.read())["ranges"][0]
    columns = first[0]["metrics"]
    cells = zip(columns["name"], columns["value"], columns["has_value"], strict=True)
    return {name: value for name, value, held in cells if held}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("metric", "counter"),
    [
        ("sm.throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed"),
        ("memory.throughput", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"),
        ("dram.throughput", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
        ("occupancy.achieved", "sm__warps_active.avg.pct_of_peak_sustained_active"),
    ],
)
def test_speed_of_light(case: str, metric: str, counter: str) -> None:
    (ours,) = [n.value for n in judged(case).summary.sol if n.metric == metric]
    assert ours == pytest.approx(reference(case)[counter], rel=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_top_stalls(case: str) -> None:
    """Shares are reason / (cycles between two instructions); ``selected`` is issuing and no stall."""
    values = reference(case)
    latency = values["smsp__average_warp_latency_per_inst_issued.ratio"]
    prefix, suffix = "smsp__average_warps_issue_stalled_", "_per_issue_active.ratio"
    reasons = {
        name.removeprefix(prefix).removesuffix(suffix): value / latency
        for name, value in values.items()
        if name.startswith(prefix) and name.endswith(suffix) and "not_issued" not in name
    }
    reasons.pop("selected")
    expected = sorted(reasons.items(), key=lambda item: -item[1])[:3]
    ours = judged(case).summary.stalls
    assert [s.reason for s in ours] == [reason for reason, share in expected if share >= 0.005]
    for stall, (_, share) in zip(ours, expected, strict=False):
        assert stall.share == pytest.approx(share, rel=1e-9)
        assert stall.cycles == pytest.approx(share * latency, rel=1e-9)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("precision", "letter"), [("fp32", "f"), ("fp64", "d")])
def test_roofline_is_two_per_multiply_add(case: str, precision: str, letter: str) -> None:
    values = reference(case)

    def per_cycle(op: str) -> float:
        return values[f"smsp__sass_thread_inst_executed_op_{letter}{op}_pred_on.sum.per_cycle_elapsed"]

    clock = values["smsp__cycles_elapsed.avg.per_second"]
    rate = (per_cycle("add") + per_cycle("mul") + 2 * per_cycle("fma")) * clock
    peak = 2 * values[f"sm__sass_thread_inst_executed_op_{letter}fma_pred_on.sum.peak_sustained"]
    (point,) = [p for p in judged(case).summary.roofline if p.precision == precision]
    assert point.flop_per_s == pytest.approx(rate, rel=1e-9)
    # Clocks were not locked and the counters of one report come from several passes: two percent apart at most.
    assert point.roofs[0].value == pytest.approx(peak * values["sm__cycles_elapsed.avg.per_second"], rel=2e-2)
    bandwidth = values["dram__bytes.sum.per_second"]
    assert point.bytes_per_s == pytest.approx(bandwidth, rel=1e-9)
    assert point.intensity == pytest.approx(rate / bandwidth, rel=1e-9)


def test_half_precision_counts_both_halves() -> None:
    """The kernel does nothing but packed half-precision multiply-adds: four operations per thread instruction."""
    values = reference("fp16-peak")
    fma = values["smsp__sass_thread_inst_executed_op_hfma_pred_on.sum.per_cycle_elapsed"]
    rate = 4 * fma * values["smsp__cycles_elapsed.avg.per_second"]
    (point,) = [p for p in judged("fp16-peak").summary.roofline if p.precision == "fp16"]
    assert point.flop_per_s == pytest.approx(rate, rel=1e-6)
    assert point.compute_share is not None
    assert 0.8 < point.compute_share <= 1.0


def test_tensor_roof_is_the_dense_one() -> None:
    """H200 data sheet: 1,979 TFLOP/s FP16 with sparsity, so 989.5 dense, at 1.83 GHz boost clock of the sheet."""
    (point,) = [p for p in judged("tensor-peak").summary.roofline if p.precision == "tensor"]
    values = reference("tensor-peak")
    assert point.flop_per_s == pytest.approx(values["sm__ops_path_tensor_src_fp16.sum.per_second"], rel=1e-12)
    dense = values["sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum.peak_sustained_elapsed.per_second"]
    assert point.roofs[0].value == pytest.approx(dense, rel=1e-12)
    assert point.roofs[0].value == pytest.approx(989.5e12, rel=0.05)
    lower = [roof for roof in point.roofs if roof.name.endswith("mma")]
    assert [roof.value for roof in lower] == [
        pytest.approx(
            values[
                "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32_sparsity_off.sum.peak_sustained_elapsed.per_second"
            ]
        )
    ]


def test_what_was_not_collected_is_null_and_not_zero() -> None:
    found = judged("style-section").summary
    assert found.stalls == []
    assert found.roofline == []
    assert {n.label for n in found.sol} >= {"SM", "Memory"}


def test_the_first_question_is_the_timelines() -> None:
    found = judged("strided-load").summary
    assert found.busy == "unknown"
    step = found.path[0]
    assert "busy" in step.question
    assert "nsys profile" in step.answer
    assert found.path[-1].question == "Occupancy?"
