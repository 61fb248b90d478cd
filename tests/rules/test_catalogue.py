"""The catalogue of counters: the right raw name on each architecture and tool version.

Expected names: Source: names observed in public reports of compute capability 6.1 to 12.0.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from profrx.evaluate.frames import frames_of
from profrx.evaluate.outcomes import run
from profrx.evaluate.program import Program, wanted_metrics
from profrx.language.pack import load_pack
from profrx_parsers.registry import open_report
from profrx_parsers.report import Wanted

if TYPE_CHECKING:
    from profrx.language.pack import Pack

ELAPSED = "avg.pct_of_peak_sustained_elapsed"
SAME_NAME = {
    "v-cuda11.2_GTX-1080": {
        "memory.throughput": ("gpu__compute_memory_sol_pct", 0.01),
        "dram.throughput": ("fbpa__sol_pct", 0.01),
        "launch.duration": ("gpu__time_duration", 1),
        "occupancy.achieved": ("sm__active_warps_avg_per_active_cycle_pct", 0.01),
        "warp.threads": ("smsp__thread_inst_executed_per_inst_executed", 1),
        "dram.read_bytes": ("dram__read_bytes", 1),
        "shared.load_conflicts": ("sm__shmem_ld_bank_conflict_sum", 1),
        "device.sms": ("device__attribute_multiprocessor_count", 1),
    },
    "2020.3.0.0_A100": {
        "sm.throughput": (f"sm__throughput.{ELAPSED}", 0.01),
        "global.sectors_excess": ("derived__memory_l2_sectors_global_excessive", 1),
        "shared.wavefronts_excess": ("derived__memory_l1_sectors_shared_excessive", 1),
        "pipe.fp16": (f"sm__inst_executed_pipe_fp16.{ELAPSED}", 0.01),
        "dram.read_bytes": ("dram__bytes_read.sum", 1),
        "device.sms": ("device__attribute_multiprocessor_count", 1),
    },
    "2022.4.0.0_A100": {
        "global.sectors_excess": ("derived__memory_l2_theoretical_sectors_global_excessive", 1),
        "l2.hit_rate": ("lts__t_sector_hit_rate.pct", 0.01),
    },
    "2025.1.0.0_GH200": {
        "occupancy.limit_barriers": ("launch__occupancy_limit_barriers", 1),
        "device.sms": ("launch__sm_count", 1),
        "pipe.fp16": None,
        "l2.compression_input": ("lrc__ilc_input_sectors.sum", 1),
    },
    "2025.4.1.0_RTX-5090": {
        "dram.read_bytes": ("dram__bytes_op_read.sum", 1),
        "pipe.tensor_fp": (f"sm__pipe_tensor_subpipe_hmma_cycles_active.{ELAPSED}", 0.01),
        "sm.throughput": (f"sm__throughput.{ELAPSED}", 0.01),
    },
}
"""Start of a report's name -> logical metric -> raw name that must supply it and its scale; None = any source."""

ABSENT = {
    "2025.4.1.0_RTX-5090": ("stall.imc_miss", "stall.gmma"),
    "2020.3.0.0_A100": ("stall.gmma", "occupancy.limit_barriers"),
    "2025.1.0.0_GH200": (),
    "v-cuda11.2_GTX-1080": ("sm.throughput", "stall.lg_throttle"),
}
"""Start of a report's name -> logical metrics that cannot be known there."""


@pytest.fixture(scope="module")
def pack() -> Pack:
    return load_pack()


def _columns(pack: Pack, path: Path, names: list[str]) -> dict[str, list[float | None]]:
    report = open_report(path, Wanted(metrics=wanted_metrics(pack)))
    metrics = run(Program(pack, {}), frames_of(report)).metrics("launch")
    rows = report.table("launches").num_rows
    found = {}
    for name in names:
        column = metrics.column(name)
        found[name] = [column.as_py()] * rows if isinstance(column, pa.Scalar) else column.to_pylist()
    return found


def _stored(path: Path, name: str) -> list[float | None]:
    table = open_report(path).table("metrics")
    return table.filter(pc.equal(table.column("metric"), name)).column("value").to_pylist()


@pytest.mark.corpus
@pytest.mark.parametrize("start", sorted(SAME_NAME))
def test_each_architecture_has_its_raw_name(corpus: Path, pack: Pack, start: str) -> None:
    path = next((corpus / "ncu").glob(f"{start}*.ncu-rep"))
    found = _columns(pack, path, list(SAME_NAME[start]))
    for name, expected in SAME_NAME[start].items():
        if expected is None:
            assert all(value is not None for value in found[name]), name
            continue
        raw, scale = expected
        assert found[name] == pytest.approx(
            [value * scale for value in _stored(path, raw) if value is not None]
        ), name


@pytest.mark.corpus
@pytest.mark.parametrize("start", sorted(ABSENT))
def test_what_is_not_there_is_unknown(corpus: Path, pack: Pack, start: str) -> None:
    path = next((corpus / "ncu").glob(f"{start}*.ncu-rep"))
    for name, values in _columns(pack, path, list(ABSENT[start])).items():
        assert values == [None] * len(values), name


@pytest.mark.corpus
@pytest.mark.parametrize(
    "start", ["2020.3.0.0_A100", "2025.1.0.0_GH200", "2025.4.1.0_RTX-5090", "v-cuda11.2_GTX-1080"]
)
def test_stall_shares_add_up(corpus: Path, pack: Pack, start: str) -> None:
    """All reasons together, `selected` included, are the time between two instructions of a warp."""
    path = next((corpus / "ncu").glob(f"{start}*.ncu-rep"))
    family = [name for name, metric in pack.metrics.items() if metric.family == "stall"]
    found = _columns(pack, path, family)
    total = sum(values[0] for values in found.values() if values[0] is not None)
    assert total == pytest.approx(1.0, abs=0.03)


@pytest.mark.corpus
def test_roofline_is_the_formula(corpus: Path, pack: Pack) -> None:
    """A fused multiply-add counts two, rates are per cycle, the clock is that of the profile."""
    path = next((corpus / "ncu").glob("2025.1.0.0_GH200*.ncu-rep"))
    per_cycle = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum.per_cycle_elapsed"
    add, multiply, fused = (_stored(path, per_cycle.format(op))[0] for op in ("fadd", "fmul", "ffma"))
    clock = _stored(path, "smsp__cycles_elapsed.avg.per_second")[0]
    assert None not in (add, multiply, fused, clock)
    expected = (add + multiply + 2 * fused) * clock  # type: ignore[operator]
    flops = _columns(pack, path, ["flops.fp32"])["flops.fp32"][0]
    assert flops is not None
    assert flops * 1e9 == pytest.approx(expected)  # kept per nanosecond


@pytest.mark.corpus
@pytest.mark.parametrize("start", ["2020.3.0.0_A100", "2025.4.1.0_RTX-3090"])
def test_registers_for_one_more_block_are_those_of_the_vendors_table(
    corpus: Path, pack: Pack, start: str
) -> None:
    """The tool stores the warps that fit for every count of registers: the largest count that lets more in."""
    path = next((corpus / "ncu").glob(f"{start}*"))
    found = _columns(pack, path, ["occupancy.next_registers", "launch.registers"])
    table = open_report(path).table("instances")
    fits = table.filter(pc.equal(table.column("metric"), "launch__occupancy_per_register_count"))
    for launch, (more, now) in enumerate(zip(*found.values(), strict=True)):
        of = fits.filter(pc.equal(fits.column("launch_id"), launch))
        by_count = dict(zip(of["key_int"].to_pylist(), of["value"].to_pylist(), strict=True))
        assert more == max(count for count, warps in by_count.items() if warps > by_count[now])
