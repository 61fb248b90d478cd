"""The `devices` table of an `.ncu-rep`, from the session's device attributes and the results' own metrics.

Peaks are computed, and `peak_source` names each formula. They are for the maximum clocks that the device
reports, not for the clocks of the capture. What cannot be derived is null.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from profrx_parsers import schema

if TYPE_CHECKING:
    from profrx_parsers.ncu._metrics import MetricValues
    from profrx_parsers.ncu._session import Session, Value

_PREFIX = "device__attribute_"
_COLUMNS = {
    "compute_units": "multiprocessor_count", "wave_size": "warp_size",
    "max_threads_per_block": "max_threads_per_block",
    "registers_per_unit": "max_registers_per_multiprocessor",
    "shared_bytes_per_unit": "max_shared_memory_per_multiprocessor",
    "l2_bytes": "l2_cache_size", "memory_bytes": "total_memory",
}  # fmt: skip
_FFMA = "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained"
_DFMA = "sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained"
_HFMA = "sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained"
_TENSOR = (
    "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum.peak_sustained",
    "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32_sparsity_off.sum.peak_sustained",
    "sm__ops_path_tensor_src_fp16_dst_fp32_sparsity_off.sum.peak_sustained",
)
"""Dense matrix operations on FP16 summed in FP32, per cycle; a multiply-add counts as two operations."""
STRUCTURAL = frozenset((
    _FFMA, _DFMA, _HFMA, *_TENSOR, _PREFIX + "display_name",
    *(_PREFIX + name for name in _COLUMNS.values()),
    *(_PREFIX + name for name in (
        "device_index", "clock_rate", "memory_clock_rate", "global_memory_bus_width", "fb_bus_width",
        "compute_capability_major", "compute_capability_minor", "max_threads_per_multiprocessor",
        "max_gpu_frequency_khz", "max_mem_frequency_khz", "pci_bus_id", "pci_device_id", "pci_domain_id",
    )),
))  # fmt: skip
"""Metrics that this table needs: decoded whatever the caller wants."""

_MAX_VERSION = 1000
"""A compute capability beyond is damage."""
FP32_LANES = {
    (6, 0): 64, (6, 1): 128, (6, 2): 128, (7, 0): 64, (7, 2): 64, (7, 5): 64, (8, 0): 64, (8, 6): 128,
    (8, 7): 128, (8, 9): 128, (9, 0): 128, (10, 0): 128, (10, 3): 128, (11, 0): 128, (12, 0): 128, (12, 1): 128,
}  # fmt: skip
"""FP32 results per cycle and multiprocessor. Source: CUDA C++ Programming Guide, arithmetic throughput table."""


FP64_LANES = {
    (6, 0): 32, (6, 1): 4, (6, 2): 4, (7, 0): 32, (7, 5): 2, (8, 0): 32, (8, 6): 2, (8, 9): 2, (9, 0): 64,
}  # fmt: skip
"""FP64 results per cycle and multiprocessor, from the same table."""


def table(session: Session, store: MetricValues, driver: str | None) -> pa.Table:
    """One row per device; a report without session attributes falls back to the results' metrics."""
    devices = {ident: dict(found) for ident, (_, found) in session.devices.items()}
    names = {ident: name for ident, (name, _) in session.devices.items()}
    from_results = _from_results(store)
    for ident, attributes in from_results.items():
        known = devices.setdefault(ident, {})
        for name, value in attributes.items():
            known.setdefault(name, value)
    rows = [
        _row(ident, names.get(ident), attributes, driver) for ident, attributes in sorted(devices.items())
    ]
    return schema.from_rows("devices", rows)


def _from_results(store: MetricValues) -> dict[int, dict[str, Value]]:
    """Collect device metrics per device index: the first launch that has one counts."""
    index, has_index = store.numbers(_PREFIX + "device_index")
    found: dict[int, dict[str, Value]] = {}
    for launch in range(store.rows):
        ident = int(index[launch]) if has_index[launch] and 0 <= index[launch] < 1 << 31 else None
        if ident is None or ident in found:
            continue
        found[ident] = {}
    for name in sorted(STRUCTURAL):
        if name.startswith(_PREFIX) or name in (_FFMA, _DFMA, _HFMA, *_TENSOR):
            values, present = store.numbers(name)
            texts = store.texts(name)
            key = name.removeprefix(_PREFIX)
            for ident, attributes in found.items():
                mine = has_index & (index == ident)
                if (mine & present).any():
                    attributes[key] = float(values[mine & present][0])
                elif texts:
                    attributes[key] = next((t for i, t in texts.items() if mine[i]), None)
    return found


def _row(ident: int, name: str | None, attributes: dict[str, Value], driver: str | None) -> dict[str, Any]:
    major, minor = _version(attributes, "major"), _version(attributes, "minor")
    row: dict[str, Any] = {"device_id": ident, "vendor": "nvidia", "driver": driver}
    label = attributes.get("display_name")
    row["name"] = name or (label if isinstance(label, str) else None)
    if major is not None and minor is not None:
        row["arch"] = f"sm_{major}{minor}"
    for column, attribute in _COLUMNS.items():
        row[column] = _whole(_number(attributes, attribute), column)
    threads, wave = _number(attributes, "max_threads_per_multiprocessor"), row["wave_size"]
    if threads and wave:
        row["max_waves_per_unit"] = _whole(threads // wave, "max_waves_per_unit")
    core = _hertz(attributes, "clock_rate", "max_gpu_frequency_khz")
    memory = _hertz(attributes, "memory_clock_rate", "max_mem_frequency_khz")
    row["core_clock_hz"], row["memory_clock_hz"] = core, memory
    row["pci_bus_id"] = _pci(attributes)
    row.update(_peaks(attributes, core, memory, row["compute_units"], major, minor))
    return row


def _peaks(
    attributes: dict[str, Value], core: float | None, memory: float | None, units: int | None,
    major: int | None, minor: int | None,
) -> dict[str, Any]:  # fmt: skip
    peaks: dict[str, Any] = {}
    sources = []
    bus = _number(attributes, "global_memory_bus_width") or _number(attributes, "fb_bus_width")
    if memory and bus:
        peaks["peak_bandwidth_bytes_per_s"] = 2 * memory * bus / 8
        sources.append("bandwidth = 2 x memory clock x bus width / 8")
    for column, metric, width in (
        ("peak_fp32_flop_per_s", _FFMA, "FP32"), ("peak_fp64_flop_per_s", _DFMA, "FP64"),
        ("peak_fp16_flop_per_s", _HFMA, "FP16"),
    ):  # fmt: skip
        lanes = _number(attributes, metric)
        if lanes and core:
            per_lane = 4 if width == "FP16" else 2
            peaks[column] = per_lane * lanes * core
            sources.append(f"{width} = {per_lane} x {metric} x maximum core clock")
    dense = {name: found for name in _TENSOR if (found := _number(attributes, name))}
    if dense and core:
        best = max(dense, key=lambda name: dense[name])
        peaks["peak_tensor_flop_per_s"] = dense[best] * core
        sources.append(f"tensor (dense FP16, FP32 sums) = {best} x maximum core clock")
    if core and units and major is not None and minor is not None:
        for column, table_of, width in (
            ("peak_fp32_flop_per_s", FP32_LANES, "FP32"), ("peak_fp64_flop_per_s", FP64_LANES, "FP64"),
        ):  # fmt: skip
            lanes = table_of.get((major, minor))
            if column not in peaks and lanes:
                peaks[column] = 2 * lanes * units * core
                sources.append(
                    f"{width} = 2 x results per cycle and SM (programming guide) x SMs x maximum core clock"
                )
    ratio = _number(attributes, "single_to_double_precision_perf_ratio")
    if "peak_fp64_flop_per_s" not in peaks and ratio and peaks.get("peak_fp32_flop_per_s"):
        peaks["peak_fp64_flop_per_s"] = peaks["peak_fp32_flop_per_s"] / ratio
        sources.append("FP64 = FP32 / the device's single to double ratio")
    peaks["peak_source"] = "; ".join(sources) or None
    return peaks


def _number(attributes: dict[str, Value], name: str) -> float | None:
    value = attributes.get(name)
    return value if isinstance(value, float) and math.isfinite(value) else None


def _hertz(attributes: dict[str, Value], *names: str) -> float | None:
    for name in names:
        value = _number(attributes, name)
        if value and value > 0:
            return value * 1000
    return None


def _version(attributes: dict[str, Value], part: str) -> int | None:
    value = _number(attributes, "compute_capability_" + part)
    return int(value) if value is not None and 0 <= value < _MAX_VERSION else None


def _whole(value: float | None, column: str) -> int | None:
    limit = 1 << (31 if schema.TABLES["devices"].field(column).type == pa.int32() else 62)
    return int(value) if value is not None and 0 <= value < limit else None


def _pci(attributes: dict[str, Value]) -> str | None:
    parts = [_number(attributes, f"pci_{part}_id") for part in ("domain", "bus", "device")]
    if any(part is None for part in parts):
        return None
    domain, bus, device = (int(part or 0) for part in parts)
    return f"{domain:04x}:{bus:02x}:{device:02x}.0"
