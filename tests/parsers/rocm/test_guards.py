"""Values that cannot be true become unknown, with the reason in the log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from profrx_parsers import open_report
from profrx_parsers.columns import EXTRA
from profrx_parsers.problems import ProblemLog
from profrx_parsers.rocm.agents import Agent, agent_number, from_record, from_sysinfo, pick
from profrx_parsers.rocm.dispatches import Dispatches
from profrx_parsers.rocm.guards import guard


def dispatches(**columns: list[float | None]) -> Dispatches:
    count = len(next(iter(columns.values())))
    facts = {"grid": pa.array([65536] * count), "duration": pa.array([10_000.0] * count)}
    counters = {name: pa.array(values, pa.float64()) for name, values in columns.items()}
    return Dispatches(count, facts, counters, where="x")


def checked(rows: Dispatches, agent: Agent) -> dict[str, int]:
    log = ProblemLog()
    guard(rows, [agent], np.zeros(rows.rows, dtype=np.int64), log)
    return {p.code: p.count for p in log}


MI300X = Agent(arch="gfx942", compute_units=304, wave_size=64, core_hz=2.1e9, constants={"num_xcc": 8.0})


def test_counters_that_cannot_be_zero() -> None:
    rows = dispatches(SQ_WAVES=[1024, 1024], SQ_WAVE_CYCLES=[0, 5], SQ_INSTS_LDS=[0, 0])
    assert checked(rows, MI300X) == {"rocm-zero-counter": 1}
    assert rows.counters["SQ_WAVE_CYCLES"].to_pylist() == [None, 5]
    assert rows.counters["SQ_INSTS_LDS"].to_pylist() == [0, 0], "no LDS instruction is possible"


def test_traffic_is_unknown_only_when_no_dispatch_has_any() -> None:
    rows = dispatches(FETCH_SIZE=[0, 0], WRITE_SIZE=[0, 12])
    checked(rows, MI300X)
    assert rows.counters["FETCH_SIZE"].to_pylist() == [None, None]
    assert rows.counters["WRITE_SIZE"].to_pylist() == [0, 12]


def test_a_dispatch_with_nothing_counted_is_unknown_throughout() -> None:
    rows = dispatches(SQ_WAVES=[8, 8], SQ_INSTS_VALU=[0, 5], SQ_INSTS_LDS=[0, 0], TCC_HIT_sum=[0, 3])
    found = checked(rows, MI300X)
    assert found["rocm-dead-counters"] == 1
    assert rows.counters["SQ_INSTS_LDS"].to_pylist() == [None, 0]
    assert rows.counters["TCC_HIT_sum"].to_pylist() == [None, 3]


def test_clock_window_counts_only_what_exceeds_the_limit() -> None:
    """8 dies x 10 us x 2.1 GHz = 168,000 cycles are possible."""
    rows = dispatches(GRBM_GUI_ACTIVE=[168_000, 200_000])
    assert checked(rows, MI300X) == {"rocm-clock-window": 1}


def test_undivided_dies_show_on_long_kernels() -> None:
    rows = dispatches(GRBM_GUI_ACTIVE=[8 * 2.0e6])
    rows.facts["duration"] = pa.array([1_000_000.0])
    wrong = Agent(arch="gfx942", compute_units=304, core_hz=2.1e9, constants={"num_xcc": 1.0})
    assert "rocm-dies-not-divided" in checked(rows, wrong)
    assert checked(rows, MI300X) == {}


def test_unknown_peaks_are_named() -> None:
    rows = dispatches(SQ_WAVES=[1])
    log = ProblemLog()
    guard(rows, [Agent(arch="gfx950")], np.zeros(1, dtype=np.int64), log)
    message = next(p.message for p in log if p.code == "rocm-peak-unknown")
    assert "core clock" in message
    assert "dies" in message


def test_wave_size_comes_from_the_agent_or_from_what_ran() -> None:
    """65,536 work-items in 1,024 waves are wave64 even on a part whose agents say 32."""
    rdna = Agent(arch="gfx1100", wave_size=32)
    rows = dispatches(SQ_WAVES=[2048, 1024, 4096])
    checked(rows, rdna)
    assert rows.facts["wave_size"].to_pylist() == [32, 64, 32]


def test_zero_clocks_and_empty_cells_are_unknown() -> None:
    agent = from_sysinfo(
        {"gpu_arch": "gfx950", "max_sclk": "0", "max_mclk": "", "cu_per_gpu": "N/A", "num_xcd": "8"}
    )
    assert (agent.core_hz, agent.memory_hz, agent.compute_units) == (None, None, None)
    assert agent.constants == {"num_xcc": 8.0}


def test_single_die_parts_need_no_column_for_it() -> None:
    assert from_sysinfo({"gpu_soc": "gfx90a", "numCU": "104"}).constants["num_xcc"] == 1.0
    assert "num_xcc" not in from_sysinfo({"gpu_arch": "gfx942"}).constants


def test_agents_are_found_by_whatever_number_the_tool_used() -> None:
    first, second = Agent(numbers=(4, 1, 0), name="a"), Agent(numbers=(5, 2, 1), name="b")
    assert agent_number("Agent 5") == 5
    assert pick(5, [first, second]) is second
    assert pick(2, [first, second]) is second
    assert pick(0, [first, second]) is first
    assert pick(9, [first]) is first, "the only GPU is meant"
    assert pick(9, [first, second]) == Agent()


def test_cpus_are_no_devices() -> None:
    assert from_record({"Agent_Type": "CPU", "Name": "gfx942"}) is None
    assert from_record({"type": 2, "name": "Some CPU"}) is None


def test_power_state_fixture(fixtures: Path) -> None:
    report = open_report(fixtures / "rocm" / "zeros")
    numbers = report.extras[EXTRA].numbers
    for name in ("SQ_INSTS_VALU", "FETCH_SIZE", "SQ_WAVE_CYCLES"):
        assert numbers[name].null_count == 2, name
    assert numbers["SQ_WAVES"].to_pylist() == [8192, 8192]
    assert {p.code for p in report.problems} >= {"rocm-zero-counter"}
