"""Guards over a report's counters: values that cannot be true become unknown, and the log says why.

Each guard was seen in real files: counters that stay zero in some power states although waves ran, clock windows
longer than the kernel, counters summed over dies that nobody divides, wave sizes that the agent does not tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx_parsers.rocm.agents import Agent
from profrx_parsers.rocm.csvread import as_numpy
from profrx_parsers.rocm.dispatches import Dispatches

if TYPE_CHECKING:
    from profrx_parsers.problems import ProblemLog

NEVER_ZERO = (
    "GRBM_COUNT",
    "GRBM_GUI_ACTIVE",
    "SQ_WAVES",
    "SQ_CYCLES",
    "SQ_BUSY_CYCLES",
    "SQ_BUSY_CU_CYCLES",
    "SQ_WAVE_CYCLES",
    "SQ_INSTS",
    "SQ_INSTS_VALU",
    "SQ_ACTIVE_INST_ANY",
)
"""Counters that a dispatch with waves cannot leave at zero."""

TRAFFIC = ("FETCH_SIZE", "FetchSize", "WRITE_SIZE", "WriteSize")
"""Zero in every dispatch of a file means: not measured (14 of 14 on a gfx1201 that did read memory)."""

SHADER_BLOCKS = ("SQ_", "SQC_", "TCC_", "TCP_", "TA_", "TD_", "GL2C_", "FETCH", "WRITE", "Fetch", "Write")

MULTI_DIE = frozenset({"gfx940", "gfx941", "gfx942", "gfx950"})
CLOCK_SLACK = 1.05
LONG_NS = 100_000.0
"""A kernel longer than this has a clock window that fits: a ratio above the limit then means undivided dies."""


def guard(rows: Dispatches, agents: Sequence[Agent], device_of: np.ndarray, log: ProblemLog) -> None:
    """Apply all guards to combined dispatches; changes `rows` in place."""
    if not rows.rows:
        return
    _impossible_zeros(rows, log)
    _wave_size(rows, agents, device_of)
    _clock_window(rows, agents, device_of, log)
    _missing_peaks(rows, agents, log)


def _ran(rows: Dispatches) -> np.ndarray:
    waves = rows.counters.get("SQ_WAVES")
    grid = rows.ints("grid")
    if grid is None:
        grid = rows.ints("grid_x")
    ran = np.zeros(rows.rows, dtype=bool) if grid is None else np.nan_to_num(grid) > 0
    if waves is not None:
        ran |= np.nan_to_num(as_numpy(waves)) > 0
    return ran


def _impossible_zeros(rows: Dispatches, log: ProblemLog) -> None:
    ran = _ran(rows)
    suspect = np.zeros(rows.rows, dtype=bool)
    for name in (*NEVER_ZERO, *TRAFFIC):
        column = rows.counters.get(name)
        if column is None:
            continue
        values = as_numpy(column)
        bad = ran & (values == 0)
        if name in TRAFFIC and np.nansum(np.abs(values)) > 0:
            continue
        if bad.any():
            suspect |= bad & (name in NEVER_ZERO)
            rows.counters[name] = pa.array(values, mask=bad | np.isnan(values))
            log.add(
                "warning",
                "rocm-zero-counter",
                f"{name} is zero although work ran: read as unknown",
                where=rows.where,
                count=int(bad.sum()),
                advice="known cause: the GPU's power state stops the counter; profile with a fixed performance level"
                " (rocm-smi --setperflevel high or the profile_* levels)",
            )
    if suspect.any():
        _dead_dispatches(rows, suspect, log)


def _dead_dispatches(rows: Dispatches, suspect: np.ndarray, log: ProblemLog) -> None:
    """A suspect dispatch whose other shader and cache counters (two at least) are all zero was not counted at all."""
    names = [n for n in rows.counters if n.startswith(SHADER_BLOCKS) and n != "SQ_WAVES"]
    if len(names) < 2:
        return
    block = np.stack([as_numpy(rows.counters[n]) for n in names])
    dead = suspect & (np.nan_to_num(np.abs(block)).sum(axis=0) == 0) & ((block == 0).sum(axis=0) >= 2)
    if not dead.any():
        return
    for name, values in zip(names, block, strict=True):
        rows.counters[name] = pa.array(values, mask=dead | np.isnan(values))
    log.add(
        "warning",
        "rocm-dead-counters",
        "dispatches whose every counter is zero although waves ran: all their counters are unknown",
        where=rows.where,
        count=int(dead.sum()),
        advice="check the power state and that the counters exist on this architecture",
    )


def _wave_size(rows: Dispatches, agents: Sequence[Agent], device_of: np.ndarray) -> None:
    """Set the fact `wave_size`: the file's, else the agent's; more than 32 lanes per wave seen = wave64.

    A 32-lane architecture may run a kernel as wave64: then work-items / SQ_WAVES is above 32.
    """
    if "wave_size" in rows.facts:
        return
    given = np.array([np.nan if a.wave_size is None else a.wave_size for a in agents])[device_of]
    waves = rows.counters.get("SQ_WAVES")
    items = rows.ints("grid")
    if items is None and rows.ints("grid_x") is not None:
        sides = [rows.ints(f"grid_{axis}") for axis in "xyz"]
        items = np.prod(np.stack([s for s in sides if s is not None]), axis=0)
    if waves is not None and items is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            lanes = items / as_numpy(waves)
        wide = (lanes > 32) & (lanes <= 64)
        given = np.where(wide & ~(given >= 64), 64.0, given)
    if not np.isnan(given).all():
        rows.facts["wave_size"] = pa.array(given, mask=np.isnan(given)).cast(pa.int64())


def _clock_window(rows: Dispatches, agents: Sequence[Agent], device_of: np.ndarray, log: ProblemLog) -> None:
    busy, span = rows.counters.get("GRBM_GUI_ACTIVE"), rows.facts.get("duration")
    if busy is None or span is None:
        return
    dies = np.array([a.constants.get("num_xcc", np.nan) for a in agents])[device_of]
    limit = np.array([np.nan if a.core_hz is None else a.core_hz for a in agents])[device_of]
    duration = as_numpy(span)
    with np.errstate(divide="ignore", invalid="ignore"):
        clock = as_numpy(busy) / dies / duration * 1e9
    over = clock > limit * CLOCK_SLACK
    long = over & (duration > LONG_NS)
    if over.any():
        log.add(
            "warning",
            "rocm-clock-window",
            "the counted cycles exceed what the clock allows in the kernel's time"
            f" (up to {np.nanmax(clock[over]) / 1e9:.2f} GHz of {np.nanmax(limit[over]) / 1e9:.2f} GHz):"
            " shares of active cycles of these dispatches are understated by that ratio",
            where=rows.where,
            count=int(over.sum()),
            advice="normal for kernels of a few microseconds: judge them by time, not by counters",
        )
    if long.any() and {a.arch for a in agents} & MULTI_DIE:
        log.add(
            "warning",
            "rocm-dies-not-divided",
            "long dispatches exceed the clock limit: the number of dies (XCD) of the agent may be wrong",
            where=rows.where,
            count=int(long.sum()),
        )


def _missing_peaks(rows: Dispatches, agents: Sequence[Agent], log: ProblemLog) -> None:
    if not rows.counters:
        return
    for agent in agents:
        lacks = [
            label
            for label, value in (("core clock", agent.core_hz), ("compute unit count", agent.compute_units))
            if value is None
        ]
        if agent.arch in MULTI_DIE and "num_xcc" not in agent.constants:
            lacks.append("number of dies (XCD)")
        if lacks:
            log.add(
                "info",
                "rocm-peak-unknown",
                f"the input does not say the {', '.join(lacks)} of {agent.arch or 'the GPU'}: shares of a peak are unknown",
                advice="keep agent_info.csv (rocprofv3) or sysinfo.csv (rocprof-compute) beside the counters",
            )


def duration_spread(durations: Sequence[pa.Array]) -> float | None:
    """Return the largest (max - min) / min of equally ordered duration columns; None when none is comparable."""
    block = np.stack([np.asarray(pc.cast(d, pa.float64()).to_numpy(zero_copy_only=False)) for d in durations])
    low, high = block.min(axis=0), block.max(axis=0)
    good = np.isfinite(low) & (low > 0)
    return float(((high - low)[good] / low[good]).max()) if good.any() else None
