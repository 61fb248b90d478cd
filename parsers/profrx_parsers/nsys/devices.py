"""GPUs of a capture, and which of them an event's device number means.

An event's ``deviceId`` is the CUDA number inside its process; ``TARGET_INFO_GPU.id`` is another numbering (in
captures of 4-GPU nodes the two run in opposite order). So a number goes through the process' own map
(pid, cudaId) -> gpuId when there is one, else through ``cuDevice``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from profrx_parsers import schema
from profrx_parsers.nsys.raw import Ints, RawTables

_GPU_COLUMNS = (
    "id", "name", "busLocation", "uuid", "l2CacheSize", "totalMemory", "memoryBandwidth", "clockRate", "smCount",
    "cuDevice", "maxShmemPerSm", "maxRegistersPerSm", "threadsPerWarp", "maxWarpsPerSm", "maxThreadsPerBlock",
    "computeMajor", "computeMinor", "smMajor", "smMinor",
)  # fmt: skip
_OLD_COLUMNS = (
    "name", "pciBusId", "globalMemoryBandwidth", "globalMemorySize", "l2CacheSize", "numThreadsPerWarp",
    "coreClockRate", "numMultiprocessors", "maxWarpsPerMultiprocessor", "maxThreadsPerBlock", "deviceId",
    "computeCapabilityMajor", "computeCapabilityMinor", "maxSharedMemoryPerMultiprocessor",
    "maxRegistersPerMultiprocessor",
)  # fmt: skip


@dataclass(frozen=True)
class DeviceMap:
    """(process id, CUDA number) -> `devices.device_id`; numbers without an entry stay as they are.

    `uuids` tells by device_id whether two captures saw the same GPU; it is private and goes into no table.
    """

    pairs: dict[tuple[int, int], int] = field(default_factory=dict)
    uuids: dict[int, str] = field(default_factory=dict)

    @property
    def renumbers(self) -> bool:
        """Whether any number means another device."""
        return any(number != device for (_, number), device in self.pairs.items())

    def look_up(self, pids: npt.NDArray[np.integer], numbers: Ints) -> Ints:
        """Return the device ids of many events."""
        out = numbers.copy()
        for (pid, number), device in self.pairs.items():
            if number != device:
                out[(pids == pid) & (numbers == number)] = device
        return out


def read_devices(raw: RawTables, driver: str | None) -> tuple[pa.Table, DeviceMap]:
    """Return the devices table and the map of event device numbers."""
    gpus = _pylist(raw, "TARGET_INFO_GPU", _GPU_COLUMNS)
    if gpus:
        ordinals = [gpu.get("cuDevice") for gpu in gpus]
        distinct = len(set(ordinals)) == len(gpus) and None not in ordinals
        ids = {gpu.get("id"): gpu["cuDevice"] if distinct else gpu.get("id") for gpu in gpus}
        rows = [_new_row(gpu, ids[gpu.get("id")], driver) for gpu in gpus]
        pairs = {}
        for entry in _pylist(raw, "TARGET_INFO_CUDA_DEVICE", ("gpuId", "cudaId", "pid")):
            device = ids.get(entry.get("gpuId"))
            if device is not None and entry.get("pid") is not None and entry.get("cudaId") is not None:
                pairs[(entry["pid"], entry["cudaId"])] = device
        uuids = {d: gpu["uuid"] for gpu in gpus if gpu.get("uuid") and (d := ids[gpu.get("id")]) is not None}
        return schema.from_rows("devices", rows), DeviceMap(pairs, uuids)
    seen: dict[int, dict[str, Any]] = {}
    for gpu in _pylist(raw, "TARGET_INFO_CUDA_GPU", _OLD_COLUMNS):
        if gpu.get("deviceId") is not None:
            seen.setdefault(gpu["deviceId"], _old_row(gpu, driver))
    return schema.from_rows("devices", seen.values()), DeviceMap()


def _pylist(raw: RawTables, name: str, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    table = raw.table(name, columns)
    rows: list[dict[str, Any]] = [] if table is None else table.slice(0, 4096).to_pylist()
    return rows


def _new_row(gpu: dict[str, Any], device: int | None, driver: str | None) -> dict[str, Any]:
    major = gpu.get("computeMajor") if gpu.get("computeMajor") is not None else gpu.get("smMajor")
    minor = gpu.get("computeMinor") if gpu.get("computeMinor") is not None else gpu.get("smMinor")
    return {
        "device_id": device,
        "vendor": "nvidia",
        "name": gpu.get("name"),
        "arch": _arch(major, minor),
        "compute_units": gpu.get("smCount"),
        "wave_size": gpu.get("threadsPerWarp"),
        "max_waves_per_unit": gpu.get("maxWarpsPerSm"),
        "max_threads_per_block": gpu.get("maxThreadsPerBlock"),
        "registers_per_unit": gpu.get("maxRegistersPerSm"),
        "shared_bytes_per_unit": gpu.get("maxShmemPerSm"),
        "l2_bytes": gpu.get("l2CacheSize"),
        "memory_bytes": gpu.get("totalMemory"),
        "core_clock_hz": _positive(gpu.get("clockRate")),
        "peak_bandwidth_bytes_per_s": _positive(gpu.get("memoryBandwidth")),
        "peak_source": "recorded by nsys" if _positive(gpu.get("memoryBandwidth")) else None,
        "driver": driver,
        "pci_bus_id": gpu.get("busLocation"),
    }


def _old_row(gpu: dict[str, Any], driver: str | None) -> dict[str, Any]:
    bandwidth = _positive(gpu.get("globalMemoryBandwidth"))
    return {
        "device_id": gpu["deviceId"],
        "vendor": "nvidia",
        "name": gpu.get("name"),
        "arch": _arch(gpu.get("computeCapabilityMajor"), gpu.get("computeCapabilityMinor")),
        "compute_units": gpu.get("numMultiprocessors"),
        "wave_size": gpu.get("numThreadsPerWarp"),
        "max_waves_per_unit": gpu.get("maxWarpsPerMultiprocessor"),
        "max_threads_per_block": gpu.get("maxThreadsPerBlock"),
        "registers_per_unit": gpu.get("maxRegistersPerMultiprocessor"),
        "shared_bytes_per_unit": gpu.get("maxSharedMemoryPerMultiprocessor"),
        "l2_bytes": gpu.get("l2CacheSize"),
        "memory_bytes": gpu.get("globalMemorySize"),
        "core_clock_hz": _positive(gpu.get("coreClockRate")),
        "peak_bandwidth_bytes_per_s": bandwidth,
        "peak_source": "recorded by nsys" if bandwidth else None,
        "driver": driver,
        "pci_bus_id": gpu.get("pciBusId"),
    }


def _positive(value: int | None) -> float | None:
    return float(value) if value else None


def _arch(major: int | None, minor: int | None) -> str | None:
    return f"sm_{major}{minor}" if major is not None and minor is not None else None
