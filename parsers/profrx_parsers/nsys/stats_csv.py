"""Reads the CSV of `nsys stats`: summaries of kernels, copies, API calls and ranges, and the GPU trace.

A report is known by its header, never by its name: names changed (`gpukernsum` became `cuda_gpu_kern_sum`), and so
did headers (`Average` became `Avg (ns)`). Standard output of several reports in one file is read block by
block. Sums are `summaries`; the GPU trace has one row per launch and copy and fills those tables.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from profrx_parsers import schema
from profrx_parsers.errors import InputError
from profrx_parsers.info import ReportInfo
from profrx_parsers.names import kernel_id, short_name
from profrx_parsers.nsys.headers import COUNTS, NAMES, kind_of, split_cell
from profrx_parsers.problems import ProblemLog
from profrx_parsers.report import EVERYTHING, Report, Wanted
from profrx_parsers.source import Source

MAX_ROWS = 5_000_000
MAX_FIELD = 1 << 20
_STATISTICS = {
    "time": "share", "total time": "sum", "total": "sum", "avg": "mean", "average": "mean", "med": "median",
    "median": "median", "min": "min", "minimum": "min", "max": "max", "maximum": "max", "stddev": "stddev",
}  # fmt: skip
_SCALE = {
    "ns": (1.0, "ns"), "us": (1e3, "ns"), "ms": (1e6, "ns"), "s": (1e9, "ns"), "%": (0.01, "ratio"), "B": (1.0, "B"),
    "KB": (1e3, "B"), "MB": (1e6, "B"), "GB": (1e9, "B"), "KiB": (1024.0, "B"), "MiB": (1048576.0, "B"),
}  # fmt: skip
_DIRECTIONS = {
    "host-to-device": "HtoD", "device-to-host": "DtoH", "device-to-device": "DtoD", "host-to-host": "HtoH",
    "peer-to-peer": "PtoP", "htod": "HtoD", "dtoh": "DtoH", "dtod": "DtoD", "htoh": "HtoH", "ptop": "PtoP",
    "unified host-to-device": "UM HtoD", "unified device-to-host": "UM DtoH",
}  # fmt: skip
_OPERATION = re.compile(
    r"^\[CUDA (?P<what>memcpy|memset|Unified Memory memcpy)\s*(?P<way>[^\]]*)\]$", re.IGNORECASE
)
_DEVICE = re.compile(r"\((\d{1,4})\)\s*$")


@dataclass
class _Rows:
    summaries: list[dict[str, Any]] = field(default_factory=list)
    launches: list[dict[str, Any]] = field(default_factory=list)
    copies: list[dict[str, Any]] = field(default_factory=list)
    devices: dict[int, str] = field(default_factory=dict)


def read(source: Source, wanted: Wanted = EVERYTHING) -> Report:
    """Read every report in the file. Raises `InputError` when there is none."""
    log, rows = ProblemLog(), _Rows()
    csv.field_size_limit(MAX_FIELD)
    blocks = 0
    header: list[str] | None = None
    for number, cells in _lines(source):
        kind = kind_of(cells)
        if kind is not None:
            header, blocks = list(cells), blocks + 1
            trace = kind == "gpu-trace"
        elif not any(cells):
            header = None
        elif header is not None:
            if len(cells) != len(header):
                log.add(
                    "data-loss",
                    "nsys-csv-row",
                    "a row has another number of cells than its header",
                    where=f"line {number}",
                )
                continue
            (_trace_row if trace else _sum_row)(header, cells, rows)
        if len(rows.summaries) + len(rows.launches) + len(rows.copies) > MAX_ROWS:
            log.add(
                "data-loss", "nsys-csv-too-long", f"stopped after {MAX_ROWS:,} rows", where=f"line {number}"
            )
            break
    if not blocks:
        raise InputError(
            "nsys-csv-unknown",
            "no header of a known nsys stats report is in this file",
            where=source.name,
            next_step="write one with: nsys stats --format csv --report cuda_gpu_kern_sum REPORT",
        )
    return _report(source, rows, log)


def _lines(source: Source) -> Iterator[tuple[int, list[str]]]:
    def text() -> Iterator[str]:
        rest = b""
        for piece in source.chunks():
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                yield line.decode("utf-8", "replace")
            if len(rest) > MAX_FIELD:
                rest = b""
        yield rest.decode("utf-8", "replace")

    reader = csv.reader((line.replace("\0", "").lstrip("\ufeff") for line in text()), skipinitialspace=True)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            continue
        yield reader.line_num, [cell.strip() for cell in cells]


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _sum_row(header: Sequence[str], cells: Sequence[str], rows: _Rows) -> None:
    plain = [split_cell(cell) for cell in header]
    by_name = dict(zip((name for name, _ in plain), cells, strict=True))
    name = next((by_name[n] for n in NAMES if by_name.get(n)), None)
    count = next((_number(by_name[n]) for n in COUNTS if n in by_name), None)
    what = _what(header, name)
    is_kernel = what == "kernel"
    extra = " ".join(
        f"{n} {' '.join(by_name[n].split())}" for n in ("gridxyz", "blockxyz", "style") if by_name.get(n)
    )
    for (label, unit), cell in zip(plain, cells, strict=True):
        statistic, value = _STATISTICS.get(label), _number(cell)
        if statistic is None or value is None:
            continue
        scale, base = _SCALE.get(unit, (1.0, unit or "ns"))
        rows.summaries.append(
            {
                "source": f"nsys stats: {what}",
                "kernel": name if is_kernel else None,
                "kernel_short": short_name(name) if is_kernel and name else None,
                "metric": f"{what}.bytes" if base == "B" else f"{what}.duration",
                "statistic": statistic,
                "value": value * scale,
                "unit": base,
                "count": None if count is None else int(count),
                "text": extra or None if is_kernel else name,
            }
        )


def _what(header: Sequence[str], name: str | None) -> str:
    plain = {split_cell(cell)[0] for cell in header}
    if "num calls" in plain or "calls" in plain:
        return "api"
    if "range" in plain or "style" in plain:
        return "range"
    if "operation" in plain or _OPERATION.match(name or ""):
        return "copy"
    return "kernel"


def _trace_row(header: Sequence[str], cells: Sequence[str], rows: _Rows) -> None:
    row = {n: (c, u) for (n, u), c in zip(map(split_cell, header), cells, strict=True)}

    def value(name: str) -> float | None:
        cell, unit = row.get(name, ("", ""))
        number = _number(cell)
        return None if number is None else number * _SCALE.get(unit, (1.0, ""))[0]

    def whole(name: str) -> int | None:
        number = value(name)
        if number == 0 and "." in row[name][0]:
            return None  # 0.000 MB: rounded away, not known to be zero
        return None if number is None else round(number)

    start, duration = value("start"), value("duration")
    device = _DEVICE.search(row.get("device", ("", ""))[0])
    number = int(device[1]) if device else None
    if device and number is not None:
        rows.devices.setdefault(number, row["device"][0][: device.start()].strip())
    name = row.get("name", ("", ""))[0]
    shared: dict[str, Any] = {
        "device_id": number,
        "context_id": whole("ctx"),
        "stream_id": whole("strm"),
        "start_ns": None if start is None else round(start),
        "end_ns": None if start is None or duration is None else round(start + duration),
        "correlation_id": whole("corrid"),
    }
    operation = _OPERATION.match(name)
    if operation:
        is_set = operation["what"].lower() == "memset"
        way = operation["way"].strip().lower()
        kinds = [row.get(k, ("", ""))[0].lower() or None for k in ("srcmemkd", "dstmemkd")]
        rows.copies.append(
            shared
            | {
                "copy_id": len(rows.copies),
                "operation": "set" if is_set else "copy",
                "direction": None if is_set else _DIRECTIONS.get(way),
                "source_kind": None if is_set else kinds[0],
                "target_kind": kinds[0] if is_set else kinds[1],
                "bytes": whole("bytes"),
            }
        )
        return
    rows.launches.append(
        shared
        | {
            "launch_id": len(rows.launches),
            "kernel": name or None,
            "kernel_short": short_name(name) if name else None,
            "kernel_id": kernel_id(name) if name else None,
            "workload": "kernel",
            "grid_x": whole("grdx"), "grid_y": whole("grdy"), "grid_z": whole("grdz"),
            "block_x": whole("blkx"), "block_y": whole("blky"), "block_z": whole("blkz"),
            "registers_per_thread": whole("reg/trd"),
            "shared_static_bytes": whole("stcsmem"), "shared_dynamic_bytes": whole("dymsmem"),
            "duration_ns": duration,
        }
    )  # fmt: skip


def _report(source: Source, rows: _Rows, log: ProblemLog) -> Report:
    log.add("info", "nsys-summary-only", "nsys stats CSV holds sums: gaps, overlap and calls cannot be told from it",
            advice="give the .nsys-rep itself")  # fmt: skip
    tables: Mapping[str, list[dict[str, Any]]] = {
        "summaries": rows.summaries,
        "launches": rows.launches,
        "copies": rows.copies,
        "devices": [{"device_id": d, "vendor": "nvidia", "name": n} for d, n in sorted(rows.devices.items())],
    }
    loaders = {
        name: (lambda n=name, r=found: schema.from_rows(n, r)) for name, found in tables.items() if found
    }
    info = ReportInfo(source=source.name, format="nsys-stats-csv", tool="nsys", base_time="profiled GPU time")
    return Report(info, loaders, log)
