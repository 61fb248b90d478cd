"""Numbers worked out by hand from public captures, reproduced to the printed digits from the tables alone.

Source of the expected values: the capture's own counters with the formulas of the vendor's analysis
configurations (mean over the dispatches of one kernel, never over different kernels).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest

from profrx_parsers import open_report
from profrx_parsers.columns import EXTRA, MetricColumns


class Kernel:
    """Columns of the dispatches of one kernel."""

    def __init__(self, folder: Path, name: str | None = None) -> None:
        report = open_report(folder)
        self.launches = report.table("launches")
        self.device = report.table("devices").to_pylist()[0]
        self.columns: MetricColumns = report.extras[EXTRA]
        short = self.launches.column("kernel_short")
        chosen = pc.equal(short, name) if name else pc.is_valid(short)
        self.rows = np.asarray(chosen.to_numpy())
        self.duration = self.launches.column("duration_ns").to_numpy()[self.rows]

    def __getitem__(self, metric: str) -> np.ndarray:
        return np.asarray(self.columns.numbers[metric].to_numpy(zero_copy_only=False))[self.rows]

    @property
    def cycles(self) -> np.ndarray:
        """Active cycles of one die."""
        return self["GRBM_GUI_ACTIVE"] / self["agent.num_xcc"]


def mean(values: np.ndarray) -> float:
    return float(np.mean(values))


GEMM = "batched_matrix_multiplication_matrix_core_64x64x4"


@pytest.fixture(scope="module")
def gemm(corpus: Path) -> Kernel:
    return Kernel(corpus / "rocm" / "compute_bmm1_MI300X", GEMM)


def test_gemm_is_150_dispatches_of_29_us(gemm: Kernel) -> None:
    assert len(gemm.duration) == 150
    assert f"{mean(gemm.duration):,.0f}" == "29,054"
    assert len(gemm.rows) == 301


def test_gemm_matrix_rate(gemm: Kernel) -> None:
    rate = 512 * gemm["SQ_INSTS_VALU_MFMA_MOPS_BF16"] / gemm.duration / 1000
    peak = 2048 * gemm.device["compute_units"] * gemm.device["core_clock_hz"] / 1e12
    assert f"{mean(rate):.2f}" == "73.98"
    assert f"{peak:.1f}" == "1307.4"
    assert f"{100 * mean(rate) / peak:.2f}" == "5.66"


def test_gemm_matrix_units_busy(gemm: Kernel) -> None:
    busy = 100 * gemm["SQ_VALU_MFMA_BUSY_CYCLES"] / (gemm.cycles * gemm.device["compute_units"] * 4)
    assert f"{mean(busy):.2f}" == "4.67"


def test_gemm_lds_conflicts_per_access(gemm: Kernel) -> None:
    conflicts = gemm["SQ_LDS_BANK_CONFLICT"]
    assert f"{mean(conflicts / (gemm['SQ_LDS_IDX_ACTIVE'] - conflicts)):.2f}" == "1.00"


def test_gemm_waits(gemm: Kernel) -> None:
    shares = [
        100 * mean(gemm[c] / gemm["SQ_WAVE_CYCLES"])
        for c in ("SQ_WAIT_ANY", "SQ_WAIT_INST_ANY", "SQ_ACTIVE_INST_ANY")
    ]
    assert [f"{s:.1f}" for s in shares] == ["59.2", "34.2", "6.6"]


def test_gemm_occupancy(gemm: Kernel) -> None:
    occupancy = 400 * gemm["SQ_WAVE_CYCLES"] / gemm.cycles / gemm.device["compute_units"] / 32
    assert f"{mean(occupancy):.1f}" == "46.2"


def test_gemm_caches(gemm: Kernel) -> None:
    hit = 100 * gemm["TCC_HIT_sum"] / (gemm["TCC_HIT_sum"] + gemm["TCC_MISS_sum"])
    coalescing = 100 * 64 * gemm["TA_TOTAL_WAVEFRONTS_sum"] / (4 * gemm["TCP_TOTAL_ACCESSES_sum"])
    assert f"{mean(hit):.1f}" == "75.6"
    assert f"{mean(coalescing):.1f}" == "66.7"


def test_gemm_clock_window(gemm: Kernel) -> None:
    assert f"{mean(gemm.cycles / gemm.duration):.2f}" == "2.54"


def test_mixing_kernels_gives_the_wrong_numbers(corpus: Path) -> None:
    """Averaging the matrix kernel with the fills, as run-wise tools do, shows other values."""
    both = Kernel(corpus / "rocm" / "compute_bmm1_MI300X")
    rate = mean(512 * both["SQ_INSTS_VALU_MFMA_MOPS_BF16"] / both.duration / 1000)
    peak = 2048 * both.device["compute_units"] * both.device["core_clock_hz"] / 1e12
    assert f"{100 * rate / peak:.2f}" == "2.82"
    hit = 100 * mean(both["TCC_HIT_sum"] / (both["TCC_HIT_sum"] + both["TCC_MISS_sum"]))
    assert f"{hit:.2f}" == "63.17"
    busy = mean(100 * both["SQ_VALU_MFMA_BUSY_CYCLES"] / (both.cycles * both.device["compute_units"] * 4))
    assert f"{busy:.2f}" == "2.33"


def test_vcopy_mi210(corpus: Path) -> None:
    copy = Kernel(corpus / "rocm" / "compute_vcopy_MI200", "vecCopy")
    assert mean(copy["SQ_WAVES"]) == 16384
    hit = 100 * copy["TCC_HIT_sum"] / (copy["TCC_HIT_sum"] + copy["TCC_MISS_sum"])
    assert f"{mean(hit):.1f}" == "35.1"
    waves = copy["SQ_LEVEL_WAVES_ACCUM"] / copy.cycles
    assert f"{mean(waves):,.0f}" == "1,766"
    assert copy.device["max_waves_per_unit"] * copy.device["compute_units"] == 3328
    small = copy["TCC_EA_RDREQ_32B_sum"]
    read = (32 * small + 64 * (copy["TCC_EA_RDREQ_sum"] - small)) / copy.duration
    full = copy["TCC_EA_WRREQ_64B_sum"]
    written = (64 * full + 32 * (copy["TCC_EA_WRREQ_sum"] - full)) / copy.duration
    assert f"{mean(read):.0f}" == "488"
    assert f"{mean(written):.0f}" == "381"


def test_vcopy_mi300x_long_layout(corpus: Path) -> None:
    copy = Kernel(corpus / "rocm" / "compute_vcopy_MI300X_A1_rocpd", "vecCopy")
    hit = 100 * copy["TCC_HIT_sum"] / (copy["TCC_HIT_sum"] + copy["TCC_MISS_sum"])
    assert f"{mean(hit):.1f}" == "34.3"
    assert f"{mean(copy['SQ_LEVEL_WAVES_ACCUM'] / copy.cycles):,.0f}" == "1,954"
    assert copy.device["max_waves_per_unit"] * copy.device["compute_units"] == 9728
