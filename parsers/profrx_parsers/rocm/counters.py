"""Counters of dispatches as metric columns, the long `metrics` table and the `instances` table.

Channels (``TCC_HIT[12]``) are combined the way the vendor's own names say: ``_sum``, ``_avr``, ``_min``, ``_max``;
a combined column that the file holds is kept as it is. Counters over several dies (XCD) stay summed, as the CSV
files of all tools have them: formulas divide by `agent.num_xcc`. Facts of the dispatch and constants of the agent
that formulas need are columns too, named ``launch.…`` and ``agent.…``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from profrx_parsers import schema
from profrx_parsers.columns import MetricColumns
from profrx_parsers.rocm.agents import Agent
from profrx_parsers.rocm.dispatches import Dispatches

LAUNCH_FACTS = {
    "vgpr": ("launch.arch_vgpr", "registers"),
    "agpr": ("launch.accum_vgpr", "registers"),
    "sgpr": ("launch.sgpr", "registers"),
    "lds": ("launch.lds", "B"),
    "scratch": ("launch.scratch", "B"),
    "wave_size": ("launch.wave_size", "threads"),
    "grid": ("launch.work_items", "threads"),
    "block": ("launch.work_group_size", "threads"),
}
_UNITS = {"FETCH_SIZE": "KiB", "WRITE_SIZE": "KiB", "FetchSize": "KiB", "WriteSize": "KiB"}
"""Source: derived-metric definitions of the vendor count these two in KiB."""


def combine(rows: Dispatches) -> None:
    """Add ``_sum _avr _min _max`` of every channelled counter unless the file has the column itself."""
    for name, channels in rows.instances.items():
        if len(channels) < 2:
            continue
        block = np.stack(
            [np.asarray(c.to_numpy(zero_copy_only=False), dtype=np.float64) for c in channels.values()]
        )
        missing = np.isnan(block).any(axis=0)
        for tail, value in (
            ("_sum", block.sum(axis=0)),
            ("_avr", block.mean(axis=0)),
            ("_min", block.min(axis=0)),
            ("_max", block.max(axis=0)),
        ):
            if name + tail not in rows.counters:
                rows.counters[name + tail] = pa.array(value, mask=missing)


def columns(rows: Dispatches, agents: Sequence[Agent], device_of: np.ndarray) -> MetricColumns:
    """Return all numeric columns of the dispatches: counters, launch facts, agent constants."""
    numbers: dict[str, pa.Array] = dict(rows.counters)
    units = {name: unit for name, unit in _UNITS.items() if name in numbers}
    for fact, (name, unit) in LAUNCH_FACTS.items():
        if fact in rows.facts:
            numbers[name] = rows.facts[fact].cast(pa.float64())
            units[name] = unit
    for axis_fact, name in (("grid", "launch.work_items"), ("block", "launch.work_group_size")):
        sides = [rows.ints(f"{axis_fact}_{axis}") for axis in "xyz"]
        if name not in numbers and all(side is not None for side in sides):
            product = np.prod(np.stack([s for s in sides if s is not None]), axis=0)
            numbers[name] = pa.array(product, mask=np.isnan(product))
            units[name] = "threads"
    for name, unit, values in _constants(agents):
        column = np.array(values, dtype=np.float64)[device_of]
        if not np.isnan(column).all():
            numbers[name] = pa.array(column, mask=np.isnan(column))
            units[name] = unit
    return MetricColumns(rows.rows, numbers, {}, units)


def _constants(agents: Sequence[Agent]) -> list[tuple[str, str, list[float]]]:
    def of(values: list[float | int | None]) -> list[float]:
        return [np.nan if v is None else float(v) for v in values]

    fixed = [
        ("agent.cu_count", "", of([a.compute_units for a in agents])),
        ("agent.wave_size", "threads", of([a.wave_size for a in agents])),
        ("agent.max_waves_per_cu", "", of([a.waves_per_unit for a in agents])),
        ("agent.lds_bytes_per_cu", "B", of([a.lds_bytes for a in agents])),
        ("agent.core_clock", "Hz", of([a.core_hz for a in agents])),
        ("agent.memory_bandwidth", "B/s", of([a.bandwidth for a in agents])),
    ]
    names = dict.fromkeys(name for agent in agents for name in agent.constants)
    for name in names:
        unit = "FLOP/s" if name.startswith("roofline.") and "Bw" not in name else ""
        unit = "B/s" if name.startswith("roofline.") and "Bw" in name else unit
        full = name if name.startswith("roofline.") else f"agent.{name}"
        fixed.append((full, unit, of([a.constants.get(name) for a in agents])))
    return fixed


def long_table(wide: MetricColumns) -> pa.Table:
    """Return the long `metrics` table, launch by launch in the order of the columns; nulls are left out."""
    names = sorted(wide.numbers)
    if not names or not wide.rows:
        return schema.empty("metrics")
    block = np.stack(
        [np.asarray(wide.numbers[n].to_numpy(zero_copy_only=False), dtype=np.float64) for n in names], axis=1
    )
    there = np.stack([wide.numbers[n].is_valid().to_numpy(zero_copy_only=False) for n in names], axis=1)
    launch, metric = np.nonzero(there)
    metric = metric.astype(np.int32)
    words = pa.DictionaryArray.from_arrays(pa.array(metric), pa.array(names, pa.string()))
    units = pa.DictionaryArray.from_arrays(
        pa.array(metric), pa.array([wide.units.get(n) or None for n in names], pa.string())
    )
    return schema.conform(
        "metrics",
        {
            "launch_id": launch,
            "metric": words.cast(pa.string()),
            "value": block[launch, metric],
            "unit": units.cast(pa.string()),
        },
        len(launch),
    )


def instance_table(rows: Dispatches) -> pa.Table:
    """Return one row per (dispatch, counter, channel)."""
    parts = []
    for name, channels in rows.instances.items():
        for key, values in channels.items():
            there = np.nonzero(values.is_valid().to_numpy(zero_copy_only=False))[0]
            parts.append(
                schema.conform(
                    "instances",
                    {
                        "launch_id": there,
                        "metric": pa.repeat(pa.scalar(name), len(there)),
                        "key": pa.repeat(pa.scalar(str(key)), len(there)),
                        "key_int": np.full(len(there), key, dtype=np.int64),
                        "value": values.take(pa.array(there)),
                    },
                    len(there),
                )
            )
    return pa.concat_tables(parts).combine_chunks() if parts else schema.empty("instances")
