"""rocmProfileData `*.rpd`: SQLite with `rocpd_op` and `rocpd_api`, another schema than rocprofv3's rocpd."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from profrx_parsers import schema
from profrx_parsers.problems import ProblemLog
from profrx_parsers.rocm import build, rows
from profrx_parsers.rocm.dispatches import concat
from profrx_parsers.rocm.sqlitefile import Database
from profrx_parsers.rocm.tables import numbered

if TYPE_CHECKING:
    from profrx_parsers.report import Report, Wanted
    from profrx_parsers.source import Source


def read(source: Source, wanted: Wanted) -> Report:
    """Read operations and API calls; clock samples become `samples`."""
    log = ProblemLog()
    base = Database(source, log)
    table = base.read("rocpd_string", ["id", "string"])
    strings: dict[Any, str] = dict(zip(table["id"], table["string"], strict=True))
    api = base.read("rocpd_api", ["id", "pid", "tid", "start", "end", "apiName_id"])
    links = base.read("rocpd_api_ops", ["api_id", "op_id"])
    api_of = dict(zip(links["op_id"], links["api_id"], strict=True))
    op = base.read("rocpd_op", ["id", "gpuId", "queueId", "start", "end", "description_id", "opType_id"])
    kernel = base.read(
        "rocpd_kernelapi",
        ["api_ptr_id", "gridX", "gridY", "gridZ", "workgroupX", "workgroupY", "workgroupZ", "groupSegmentSize",
         "privateSegmentSize", "kernelName_id"],
    )  # fmt: skip
    kernel_row = {key: i for i, key in enumerate(kernel["api_ptr_id"])}
    copy = base.read("rocpd_copyapi", ["api_ptr_id", "size", "kind"])
    copy_row = {key: i for i, key in enumerate(copy["api_ptr_id"])}
    owner = dict(zip(api["id"], zip(api["pid"], api["tid"], strict=True), strict=True))

    types = [str(strings.get(t, "")) for t in op["opType_id"]]
    ran = [i for i, t in enumerate(types) if t == "KernelExecution"]
    moved = [i for i, t in enumerate(types) if t.startswith(("Copy", "Fill"))]

    def place(i: int) -> tuple[Any, Any]:
        found: tuple[Any, Any] = owner.get(api_of.get(op["id"][i]), (None, None))
        return found

    parts = build.Parts(build.info(source, "rpd", tool="rocmProfileData"), log, wanted)
    if ran:
        source_row = [kernel_row.get(api_of.get(op["id"][i])) for i in ran]

        def of(name: str) -> list[Any]:
            return [None if r is None else kernel[name][r] for r in source_row]

        names = [
            strings.get(op["description_id"][i])
            or (None if r is None else strings.get(kernel["kernelName_id"][r]))
            for i, r in zip(ran, source_row, strict=True)
        ]
        grids = {f"Grid_Size_{a}": of(f"grid{a}") for a in "XYZ"}
        blocks = {f"Workgroup_Size_{a}": of(f"workgroup{a}") for a in "XYZ"}
        for axis in "XYZ":
            grids[f"Grid_Size_{axis}"] = [
                g * b if isinstance(g, int) and isinstance(b, int) else None
                for g, b in zip(grids[f"Grid_Size_{axis}"], blocks[f"Workgroup_Size_{axis}"], strict=True)
            ]
        columns: dict[str, list[Any]] = {
            "Kernel_Name": names,
            "Agent_Id": [op["gpuId"][i] for i in ran],
            "Queue_Id": [op["queueId"][i] for i in ran],
            "Start_Timestamp": [op["start"][i] for i in ran],
            "End_Timestamp": [op["end"][i] for i in ran],
            "Process_Id": [place(i)[0] for i in ran],
            "Thread_Id": [place(i)[1] for i in ran],
            "Correlation_Id": [api_of.get(op["id"][i]) for i in ran],
            "LDS_Block_Size": of("groupSegmentSize"),
            "Scratch_Size": of("privateSegmentSize"),
            **grids,
            **blocks,
        }
        parts.dispatches.append(rows.dispatches(columns, "rocpd_op", log))
    keys = build.device_rows(concat(parts.dispatches))[0] if parts.dispatches else []
    calls = {
        "Name": [strings.get(n) for n in api["apiName_id"]],
        "BeginNs": api["start"],
        "EndNs": api["end"],
        "pid": api["pid"],
        "tid": api["tid"],
        "correlation": api["id"],
    }
    parts.loaders["api_calls"] = lambda: numbered([rows.api_calls(calls, "hip")], "api_calls", "call_id")
    sizes = [copy_row.get(api_of.get(op["id"][i])) for i in moved]
    traffic = {
        "Name": [types[i] for i in moved],
        "BeginNs": [op["start"][i] for i in moved],
        "EndNs": [op["end"][i] for i in moved],
        "pid": [place(i)[0] for i in moved],
        "Data": [None if r is None else copy["size"][r] for r in sizes],
        "correlation": [api_of.get(op["id"][i]) for i in moved],
    }
    device = [keys.index(n) if (n := op["gpuId"][i]) in keys else None for i in moved]
    parts.loaders["copies"] = lambda: numbered([rows.copies(traffic, device)], "copies", "copy_id")
    clocks = base.read("rocpd_monitor", ["deviceType", "deviceId", "monitorType", "start", "value"])
    parts.loaders["samples"] = lambda: _samples(clocks, keys)
    return build.build(parts)


def _samples(clocks: dict[str, list[Any]], keys: list[int | None]) -> Any:
    """Return `samples`; clock readings are in MHz."""
    mine = [i for i, t in enumerate(clocks["deviceType"]) if t == "gpu"]
    values: list[float | None] = []
    for i in mine:
        try:
            values.append(float(clocks["value"][i]))
        except (TypeError, ValueError):
            values.append(None)
    return schema.conform(
        "samples",
        {
            "device_id": [
                keys.index(clocks["deviceId"][i]) if clocks["deviceId"][i] in keys else None for i in mine
            ],
            "time_ns": [clocks["start"][i] for i in mine],
            "metric": [str(clocks["monitorType"][i]) for i in mine],
            "value": values,
            "unit": ["MHz" if clocks["monitorType"][i] in ("sclk", "mclk") else None for i in mine],
        },
        len(mine),
    )
