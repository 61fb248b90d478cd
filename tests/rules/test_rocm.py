"""The AMD half of the default pack on real captures: worked numbers and the findings that matter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from profrx.diagnose import diagnose
from profrx.evaluate.frames import frames_of
from profrx.evaluate.metrics import Metrics
from profrx.language.pack import Pack, load_pack
from profrx.report.model import ReportFindings
from profrx_parsers import open_report

GEMM = "batched_matrix_multiplication_matrix_core_64x64x4"


@pytest.fixture(scope="module")
def pack() -> Pack:
    return load_pack(plugins=False)


class Means:
    """Mean of a logical metric over the dispatches of one kernel."""

    def __init__(self, pack: Pack, folder: Path, kernel: str) -> None:
        frame = frames_of(open_report(folder)).get("launch")
        assert frame is not None
        self.metrics = Metrics(pack, frame)
        self.rows = pc.equal(frame.column("kernel_short"), kernel)

    def __getitem__(self, name: str) -> float:
        column = self.metrics.column(name).filter(pc.cast(self.rows, pa.bool_()))
        assert column.null_count == 0, self.metrics.reason(name, 0)
        return float(np.mean(column.to_numpy(zero_copy_only=False)))


@pytest.fixture(scope="module")
def gemm(pack: Pack, corpus: Path) -> Means:
    return Means(pack, corpus / "rocm" / "compute_bmm1_MI300X", GEMM)


@pytest.mark.parametrize(
    ("metric", "form", "scale", "expected"),
    [
        ("launch.duration", ",.0f", 1, "29,054"),
        ("mfma.bf16", ".2f", 1e-3, "73.98"),
        ("mfma.peak_share", ".2f", 100, "5.66"),
        ("mfma.busy", ".2f", 100, "4.67"),
        ("lds.conflicts_per_access", ".2f", 1, "1.00"),
        ("stall.dependency", ".1f", 100, "59.2"),
        ("stall.issue_wait", ".1f", 100, "34.2"),
        ("wave.active", ".1f", 100, "6.6"),
        ("occupancy.achieved", ".1f", 100, "46.2"),
        ("l2.hit_rate", ".1f", 100, "75.6"),
        ("access.coalescing", ".1f", 100, "66.7"),
        ("gpu.window_clock", ".2f", 1, "2.54"),
    ],
)
def test_worked_numbers_through_the_catalogue(
    gemm: Means, metric: str, form: str, scale: float, expected: str
) -> None:
    assert format(gemm[metric] * scale, form) == expected


def test_the_matrix_peak_is_the_published_one(gemm: Means) -> None:
    """2048 FLOP per cycle and unit x 304 units x 2.1 GHz = 1307.4 TFLOP/s."""
    assert f"{gemm['amd.matrix_bf16'] * gemm['device.matrix_clock'] / 1e3:.1f}" == "1307.4"


def test_vcopy_on_mi210(pack: Pack, corpus: Path) -> None:
    copy = Means(pack, corpus / "rocm" / "compute_vcopy_MI200", "vecCopy")
    assert f"{100 * copy['l2.hit_rate']:.1f}" == "35.1"
    seconds = copy["launch.duration"]
    assert 480 < copy["dram.read_bytes"] / seconds < 495, "488 GB/s, mean of the ratios"
    assert 375 < copy["dram.write_bytes"] / seconds < 387, "381 GB/s, mean of the ratios"


def report_of(path: Path, pack: Pack) -> ReportFindings:
    return diagnose([path], pack=pack).reports[0]


def test_gemm_is_told_about_latency_before_bank_conflicts(pack: Pack, corpus: Path) -> None:
    """Half of its LDS cycles are conflicts, but the LDS idles four fifths of the time while waves wait 59 %."""
    report = report_of(corpus / "rocm" / "compute_bmm1_MI300X", pack)
    mine = sorted((f for f in report.findings if f.subject.short == GEMM), key=lambda f: f.rank)
    assert mine[0].rule in ("rocm-memory-latency", "rocm-mfma-starved")
    assert report.findings[0] == mine[0], "and that is the first finding of the whole report"
    conflicts = [f for f in mine if f.cause == "shared-bank-conflicts"]
    assert all((f.score or 0) < (mine[0].score or 0) / 3 for f in conflicts)


def test_damaged_times_give_no_rate_and_no_ranking(pack: Pack, corpus: Path) -> None:
    report = report_of(corpus / "rocm" / "compute_vcopy_MI300X_A1", pack)
    assert all(v.verdict in ("unknown", None) for v in report.verdicts if v.verdict != "stalls-first")
    assert not [f for f in report.findings if f.score]
    missing = {m for u in report.unknown for m in u.missing}
    assert missing & {"dram.throughput", "dram.bandwidth", "launch.duration", "memory.throughput"}


def test_missing_counters_are_unknown_not_fine(pack: Pack, corpus: Path) -> None:
    """A trace without counters: nothing may be said about conflicts, coalescing or caches."""
    report = report_of(corpus / "rocm" / "v3_rocpd_bmm" / "results.db", pack)
    judged = {f.rule for f in report.findings}
    needs_counters = {"rocm-lds-bank-conflicts", "rocm-uncoalesced", "rocm-memory-latency", "rocm-divergence"}
    assert not judged & needs_counters
    collect = " ".join(c.option for u in report.unknown for c in u.collect)
    assert "--section" not in collect, "another vendor's tool is no help here"


def test_every_amd_rule_is_reached_by_its_own_tests(pack: Pack) -> None:
    for name, rule in pack.rules.items():
        if name.startswith("rocm-"):
            outcomes = {t.expect.outcome for t in rule.tests}
            assert {"fired", "not fired", "unknown"} <= outcomes, name
            assert rule.applies_to == ("rocm",), name


def test_the_matrix_roof_is_the_measured_one_of_the_folder(pack: Pack, corpus: Path) -> None:
    """BF16: the median of the eight rows of roofline.csv, not the published 1307 TFLOP/s."""
    points = report_of(corpus / "rocm" / "compute_bmm1_MI300X", pack).summary.roofline
    point = next(p for p in points if p.precision == "tensor" and p.short == GEMM)
    roof = next(r for r in point.roofs if r.kind == "compute")
    assert roof.name == "Tensor BF16"
    assert 496e12 < roof.value < 528e12
    assert roof.source.startswith("roofline.csv")
    assert point.compute_share is not None
    assert 0.05 < point.compute_share < 0.25
