"""GPU agents in the output of `rocminfo`, as rocprof v1 keeps it: `results.sysinfo.txt` and `otherData` of its JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from profrx_parsers.rocm.agents import Agent, positive, whole

MAX_BYTES = 4 << 20
_AGENT = re.compile(r"^Agent (\d+)\s*$")
_FIELD = re.compile(r"^\s{2}(\S[^:]*):\s+(.*?)\s*$")
_FIRST = re.compile(r"\d+")
_ARCH = re.compile(r"gfx[0-9a-f]{3,5}")


def from_text(text: str) -> list[Agent]:
    """Return the GPUs of a `rocminfo` listing."""
    found: dict[int, dict[str, str]] = {}
    fields: dict[str, str] | None = None
    for line in text[:MAX_BYTES].splitlines():
        if start := _AGENT.match(line):
            fields = found.setdefault(int(start[1]), {})
        elif fields is not None and (field := _FIELD.match(line)):
            fields.setdefault(field[1].replace(" ", ""), field[2])
    return _agents(found)


def from_other_data(data: Mapping[str, Any]) -> list[Agent]:
    """Return the GPUs of the flattened listing in a v1 JSON file (keys like ``Agent3.ComputeUnit``)."""
    found: dict[int, dict[str, str]] = {}
    for key, value in data.items():
        agent, _, field = str(key).partition(".")
        if (agent.startswith("Agent") and agent[5:].isdigit() and "." not in field.rstrip(".")) or (
            agent.startswith("Agent") and agent[5:].isdigit() and field == "MaxClockFreq.(MHz)"
        ):
            found.setdefault(int(agent[5:]), {})[field] = str(value)
    return _agents(found)


def _agents(found: Mapping[int, Mapping[str, str]]) -> list[Agent]:
    """Number the GPUs by node id (what newer v1 calls gpu-id) and by order among GPUs (older v1)."""
    gpus: list[Agent] = []
    for number in sorted(found):
        fields = found[number]
        arch = _ARCH.match(fields.get("Name", ""))
        if not arch or fields.get("DeviceType", "GPU") != "GPU":
            continue

        def first(*names: str, fields: Mapping[str, str] = fields) -> str | None:
            for name in names:
                if number_found := _FIRST.search(fields.get(name, "")):
                    return number_found[0]
            return None

        agent = Agent(
            numbers=(int(first("InternalNodeID", "Node") or number - 1), len(gpus)),
            name=fields.get("MarketingName") or None,
            arch=arch[0],
            compute_units=whole(first("ComputeUnit")),
            wave_size=whole(first("WavefrontSize")),
            waves_per_unit=whole(first("MaxWavesPerCU", "MaxWavesPerCU:")),
            block_max=whole(first("WorkgroupMaxSize")),
            core_hz=positive(first("MaxClockFreq.(MHz)"), 1e6),
        )
        for key, name in (
            ("SIMDsperCU", "simd_per_cu"),
            ("ShaderEngines", "num_shader_banks"),
            ("NumXCC", "num_xcc"),
        ):
            if (value := positive(first(key))) is not None:
                agent.constants[name] = value
        if "num_xcc" not in agent.constants and agent.arch in ("gfx900", "gfx906", "gfx908", "gfx90a"):
            agent.constants["num_xcc"] = 1.0
        gpus.append(agent)
    return gpus
