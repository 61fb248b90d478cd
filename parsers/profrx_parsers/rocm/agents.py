"""GPUs as AMD's tools describe them: `sysinfo.csv`, `agent_info.csv`, rocpd and JSON agents, `rocminfo` text.

An `Agent` keeps what those five say in one form; `devices` turns the agents that ran something into rows. A zero
clock, an empty cell, ``N/A`` or ``NA`` is unknown. Environment, host and user facts are never read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBER = re.compile(r"-?\d+")
_ARCH = re.compile(r"gfx[0-9a-f]{3,5}")


@dataclass
class Agent:
    """One GPU. None = the input does not say.

    Attributes:
        numbers: ids by which dispatches may refer to it, the most usual first (node id, logical id, type id).
        constants: fixed counts under the rocprofv3 agent names (`num_xcc`, `cu_count`, …) that formulas need.
    """

    numbers: tuple[int, ...] = ()
    name: str | None = None
    arch: str | None = None
    compute_units: int | None = None
    wave_size: int | None = None
    waves_per_unit: int | None = None
    block_max: int | None = None
    lds_bytes: int | None = None
    l2_bytes: int | None = None
    memory_bytes: int | None = None
    core_hz: float | None = None
    memory_hz: float | None = None
    bandwidth: float | None = None
    peak_tensor: float | None = None
    peak_source: str | None = None
    partition: str | None = None
    driver: str | None = None
    constants: dict[str, float] = field(default_factory=dict)


def agent_number(text: str | None) -> int | None:
    """Return the number in ``4``, ``Agent 4`` or ``GPU 0``; None when there is none."""
    found = _NUMBER.search(text or "")
    return int(found[0]) if found else None


def positive(value: Any, scale: float = 1.0) -> float | None:
    """Return `value` times `scale`, or None when it is no positive number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number * scale if 0 < number < 1e18 else None


def whole(value: Any, scale: float = 1.0) -> int | None:
    """Like `positive`, as an integer."""
    number = positive(value, scale)
    return None if number is None else int(number)


def from_record(record: Mapping[str, Any]) -> Agent | None:
    """Read an agent of rocprofv3 JSON, of rocpd `extdata`, or a row of `agent_info.csv`; None for a CPU."""
    low = {str(key).lower(): value for key, value in record.items()}
    arch = _ARCH.search(str(low.get("name", "")))
    if str(low.get("type", low.get("agent_type"))) not in ("2", "GPU") or not arch:
        return None
    banks = low.get("mem_banks")
    bank = banks[0] if isinstance(banks, list) and banks and isinstance(banks[0], dict) else {}
    caches = low.get("caches")
    l2 = (
        [c for c in caches if isinstance(c, dict) and c.get("level") == 2] if isinstance(caches, list) else []
    )
    agent = Agent(
        numbers=tuple(
            int(n)
            for key in ("node_id", "logical_node_id", "logical_node_type_id")
            if (n := agent_number(str(low.get(key)))) is not None
        ),
        name=str(low.get("product_name") or low.get("model_name") or "") or None,
        arch=arch[0],
        compute_units=whole(low.get("cu_count")),
        wave_size=whole(low.get("wave_front_size")),
        waves_per_unit=whole(low.get("max_waves_per_cu")),
        block_max=whole(low.get("workgroup_max_size")),
        lds_bytes=whole(low.get("lds_size_in_kb"), 1024),
        l2_bytes=whole(l2[0].get("size"), 1024) if l2 else None,
        memory_bytes=whole(bank.get("size_in_bytes")),
        core_hz=positive(low.get("max_engine_clk_fcompute"), 1e6),
        memory_hz=positive(bank.get("mem_clk_max"), 1e6),
    )
    for key in ("num_xcc", "simd_per_cu", "num_shader_banks", "max_waves_per_simd", "simd_count"):
        if (value := positive(low.get(key))) is not None:
            agent.constants[key] = value
    return agent


_SYSINFO = {
    "cu_per_gpu": ("cu_per_gpu", "numCU"),
    "se_per_gpu": ("se_per_gpu", "numSE"),
    "simd_per_cu": ("simd_per_cu", "numSIMD"),
    "wave_size": ("wave_size", "waveSize"),
    "waves": ("max_waves_per_cu", "maxWavesPerCU"),
    "block": ("workgroup_max_size", "maxWorkgroupSize"),
    "l2": ("gpu_l2", "L2"),
    "sclk": ("max_sclk", "sclk"),
    "mclk": ("max_mclk", "mclk"),
    "hbm_bw": ("hbm_bw", "hbmBW"),
    "channels": ("total_l2_chan", "L2Banks"),
    "xcd": ("num_xcd",),
    "arch": ("gpu_arch", "gpu_soc"),
    "model": ("gpu_model", "name"),
}


def from_sysinfo(row: Mapping[str, str]) -> Agent:
    """Read the one row of a rocprof-compute `sysinfo.csv`; clocks in MHz, caches in KiB, bandwidth in GB/s."""
    get = {
        key: next((row[name] for name in names if row.get(name, "") not in ("", "NA", "N/A")), None)
        for key, names in _SYSINFO.items()
    }
    arch = _ARCH.search(get["arch"] or "")
    agent = Agent(
        name=get["model"],
        arch=arch[0] if arch else None,
        compute_units=whole(get["cu_per_gpu"]),
        wave_size=whole(get["wave_size"]),
        waves_per_unit=whole(get["waves"]),
        block_max=whole(get["block"]),
        l2_bytes=whole(get["l2"], 1024),
        memory_bytes=whole(row.get("gpu_memory"), 1024),
        core_hz=positive(get["sclk"], 1e6),
        memory_hz=positive(get["mclk"], 1e6),
        bandwidth=positive(get["hbm_bw"], 1e9),
        partition=_partition(row),
    )
    if agent.bandwidth:
        agent.peak_source = "sysinfo.csv: memory bandwidth"
    for key, name in (
        ("xcd", "num_xcc"),
        ("simd_per_cu", "simd_per_cu"),
        ("se_per_gpu", "num_shader_banks"),
        ("channels", "l2_channels"),
    ):
        if (value := positive(get[key])) is not None:
            agent.constants[name] = value
    if "num_xcc" not in agent.constants and (agent.arch or "") in _SINGLE_DIE:
        agent.constants["num_xcc"] = 1.0
    return agent


_SINGLE_DIE = frozenset({"gfx900", "gfx906", "gfx908", "gfx90a"})
"""Architectures of one compute die per agent; older `sysinfo.csv` has no `num_xcd` column for them."""


def _partition(row: Mapping[str, str]) -> str | None:
    parts = [row.get(key, "") for key in ("compute_partition", "memory_partition")]
    known = [part for part in parts if part not in ("", "NA", "N/A")]
    return "/".join(known) or None


def devices(
    keys: Sequence[int | None], agents: Iterable[Agent], wave_sizes: Mapping[int | None, int]
) -> pa.Table:
    """Return the `devices` table, row i for the i-th of `keys` (the numbers dispatches use)."""
    from profrx_parsers import schema

    known = list(agents)
    rows = []
    for device_id, key in enumerate(keys):
        agent = pick(key, known)
        rows.append(
            {
                "device_id": device_id,
                "vendor": "amd",
                "name": agent.name,
                "arch": agent.arch,
                "compute_units": agent.compute_units,
                "wave_size": agent.wave_size or wave_sizes.get(key),
                "max_waves_per_unit": agent.waves_per_unit,
                "max_threads_per_block": agent.block_max,
                "shared_bytes_per_unit": agent.lds_bytes,
                "l2_bytes": agent.l2_bytes,
                "memory_bytes": agent.memory_bytes,
                "core_clock_hz": agent.core_hz,
                "memory_clock_hz": agent.memory_hz,
                "peak_bandwidth_bytes_per_s": agent.bandwidth,
                "peak_tensor_flop_per_s": agent.peak_tensor,
                "peak_source": agent.peak_source,
                "driver": agent.driver,
                "partition": agent.partition,
            }
        )
    return schema.from_rows("devices", rows)


def pick(key: int | None, agents: Sequence[Agent]) -> Agent:
    """Find the agent that a dispatch's number means: by node, logical or type id; the only one fits all."""
    if len(agents) == 1:
        return agents[0]
    for place in range(3):
        for agent in agents:
            if len(agent.numbers) > place and agent.numbers[place] == key:
                return agent
    return Agent()
