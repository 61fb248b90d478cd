"""Facts about a capture from the metadata tables of an export."""

from __future__ import annotations

from typing import Any

from profrx_parsers.nsys.capture import Facts
from profrx_parsers.nsys.job import rank_options
from profrx_parsers.nsys.raw import Frame, RawTables

_SAFE_OPTIONS = {
    "CAPTURE_EVENT_TYPE": "trace",
    "PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE": "cuda_graph_trace",
    "PROCESS_0:COLLECT_GPU_MEMORY_USAGE": "cuda_memory_usage",
    "PROCESS_0:COLLECT_UVM_GPU_PAGE_FAULTS": "cuda_um_gpu_page_faults",
    "RATE_HZ": "sampling_hz",
}
_PRIVATE = {
    "PROCESS_0:COMMAND": "program",
    "PROCESS_0:ARGUMENT": "arguments",
    "PROCESS_0:WORKING_DIR": "folder",
    "PROCESS_0:ENVIRONMENT_VARIABLE": "environment",
    "DEVICE_DISPLAY_NAME": "host",
    "EXPORT_HOST": "export_host",
    "EXPORT_USER": "export_user",
}


def facts_of(raw: RawTables, form: str, private: bool) -> Facts:
    """Read version, times and system properties; whatever is missing stays None."""
    export = _pairs(raw, "META_DATA_EXPORT") or _pairs(raw, "EXPORT_META_DATA")
    capture = _pairs(raw, "META_DATA_CAPTURE")
    system = _environment(raw)
    details = Frame(raw.table("ANALYSIS_DETAILS", ("duration",)))
    clock = Frame(raw.table("TARGET_INFO_SESSION_START_TIME", ("utcEpochNs",)))
    options: dict[str, Any] = {}
    for key, name in _SAFE_OPTIONS.items():
        if capture.get(key):
            options[name] = sorted(capture[key]) if key == "CAPTURE_EVENT_TYPE" else capture[key][-1]
    options |= rank_options(capture.get("PROCESS_0:ENVIRONMENT_VARIABLE", []))
    return Facts(
        format=form,
        tool_version=next(iter(export.get("EXPORT_PRODUCT_VERSION", ())), None),
        utc_ns=int(clock.ints("utcEpochNs")[0]) if clock.has("utcEpochNs") else None,
        duration_ns=int(details.ints("duration").max()) if details.has("duration") else None,
        driver=system.get("NvDriverVersion"),
        cuda_version=system.get("CudaDriverVersion"),
        system=system.get("OsDescription"),
        machine=system.get("CpuArchitecture"),
        options=options,
        private=_private(capture, export, system) if private else {},
    )


def _pairs(raw: RawTables, name: str) -> dict[str, list[str]]:
    table = raw.table(name, ("name", "value"))
    found: dict[str, list[str]] = {}
    if table is not None and {"name", "value"} <= set(table.column_names):
        for key, value in zip(
            table.column("name").to_pylist(), table.column("value").to_pylist(), strict=True
        ):
            if key is not None and value is not None:
                found.setdefault(str(key), []).append(str(value))
    return found


def _environment(raw: RawTables) -> dict[str, str]:
    return {key: values[0] for key, values in _pairs(raw, "TARGET_INFO_SYSTEM_ENV").items()}


def _private(
    capture: dict[str, list[str]], export: dict[str, list[str]], system: dict[str, str]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, values in {**export, **capture}.items():
        for prefix, name in _PRIVATE.items():
            if key == prefix or (prefix.endswith("ARGUMENT") and key.startswith(prefix)):
                found.setdefault(name, []).extend(values)
    if "Hostname" in system:
        found["host"] = [system["Hostname"]]
    return {key: values[0] if len(values) == 1 else values for key, values in found.items() if values}
