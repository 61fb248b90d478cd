"""What all text exports end in: launches, metrics and wide columns built from (launch, metric, value) rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from profrx_parsers import columns, schema
from profrx_parsers.errors import InputError
from profrx_parsers.info import ReportInfo
from profrx_parsers.names import kernel_id, short_name
from profrx_parsers.ncu import _devices, _launches
from profrx_parsers.ncu._lookup import plain_name
from profrx_parsers.ncu._session import Session
from profrx_parsers.ncu._units import unit_of
from profrx_parsers.report import Report, Wanted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from profrx_parsers.problems import ProblemLog
    from profrx_parsers.source import Source

_AMD = re.compile(
    r"^(?:SQ_|SQC_|TCC_|TCP_|TA_|TD_|GRBM_|CPC_|CPF_|SPI_|GL2C_|GL1C_|TCPF?_)|"
    r"^(?:FetchSize|WriteSize|FETCH_SIZE|WRITE_SIZE|VALUBusy|VALUUtilization|SALUBusy|MemUnitBusy|L2CacheHit|"
    r"Wavefronts|VFetchInsts|LDSBankConflict)$"
)
_TRIPLE = re.compile(r"^\(?\s*(\d+)\s*[,;x]\s*(\d+)\s*[,;x]\s*(\d+)\s*\)?$")
_IDENTITY = {
    "process_id": "Process ID", "context_id": "Context", "stream_id": "Stream", "device_id": "Device",
}  # fmt: skip


@dataclass
class Collected:
    """Rows gathered from an export.

    Attributes:
        launches: identity cells of every launch: column name -> cell.
        launch, metric, value, unit, text: one element per metric value, equally long.
    """

    launches: list[dict[str, str]] = field(default_factory=list)
    launch: list[int] = field(default_factory=list)
    metric: list[str] = field(default_factory=list)
    value: list[float | None] = field(default_factory=list)
    unit: list[str | None] = field(default_factory=list)
    text: list[str | None] = field(default_factory=list)

    def add(self, launch: int, metric: str, value: float | None, unit: str | None, text: str | None) -> None:
        """Append a metric value."""
        self.launch.append(launch)
        self.metric.append(metric)
        self.value.append(value)
        self.unit.append(unit)
        self.text.append(text)

    @property
    def rows(self) -> int:
        """Number of launches."""
        return len(self.launches)

    def _of(self, name: str) -> list[int]:
        if not hasattr(self, "_index"):
            index: dict[str, list[int]] = {}
            for at, metric in enumerate(self.metric):
                index.setdefault(metric, []).append(at)
            self._index = index
        return self._index.get(name, [])

    def numbers(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return a metric over all launches: values, and where there is one."""
        out = np.full(self.rows, np.nan)
        present = np.zeros(self.rows, dtype=np.bool_)
        for at in self._of(name):
            value = self.value[at]
            if value is not None:
                out[self.launch[at]], present[self.launch[at]] = value, True
        return out, present

    def texts(self, name: str) -> dict[int, str]:
        """Return a text metric: launch -> text."""
        return {self.launch[at]: text for at in self._of(name) if (text := self.text[at]) is not None}


def whole(cell: str | None) -> int | None:
    """Read a whole number of an identity column; None when it is none."""
    text = (cell or "").strip()
    return int(text) if text.isdigit() and len(text) < 19 else None


def arch_of(cell: str | None) -> int | None:
    """Read a compute capability ``9.0`` as 90."""
    match = re.match(r"^(\d{1,2})\.(\d)$", (cell or "").strip())
    return int(match[1]) * 10 + int(match[2]) if match else None


def check_vendor(names: set[str], source: Source, problems: ProblemLog) -> None:
    """Refuse AMD counters in this layout. Raises `InputError` when they are the majority."""
    foreign = {name for name in names if _AMD.match(name)}
    if len(foreign) * 2 > len(names):
        raise InputError(
            "ncu-csv-amd-counters",
            f"the layout is Nsight Compute's, the counters are AMD's ({sorted(foreign)[0][:60]})",
            where=source.name,
            next_step="give the output of rocprof itself: its units and meaning are lost in this table",
        )
    if foreign:
        problems.add(
            "warning", "ncu-csv-amd-counters", "some counters in this table are AMD's, not Nsight Compute's",
            where=sorted(foreign)[0][:60], count=len(foreign), advice="they are kept but no rule reads them",
        )  # fmt: skip


def launches_table(found: Collected) -> pa.Table:
    """Build the `launches` table from identity cells and metrics."""
    kernels = [one.get("Kernel Name") or None for one in found.launches]
    rows = found.rows
    built: dict[str, Any] = {
        "launch_id": np.arange(rows, dtype=np.int64),
        "kernel": kernels,
        "kernel_short": [short_name(name) if name else None for name in kernels],
        "kernel_id": [kernel_id(name) if name else None for name in kernels],
        "workload": ["kernel"] * rows,
        "range_path": [one.get("range_path") for one in found.launches],
        "duration_ns": _launches.durations(found),
    }
    for column, name in _IDENTITY.items():
        limit = 1 << (31 if schema.TABLES["launches"].field(column).type == pa.int32() else 62)
        cells = [whole(one.get(name)) for one in found.launches]
        built[column] = [v if v is not None and v < limit else None for v in cells]
    for prefix, name in (("grid", "Grid Size"), ("block", "Block Size")):
        triples = [_TRIPLE.match(one.get(name, "")) for one in found.launches]
        for axis, letter in enumerate("xyz", 1):
            column = f"{prefix}_{letter}"
            kind = schema.TABLES["launches"].field(column).type
            given = pa.array([whole(m[axis]) if m else None for m in triples], kind)
            built[column] = _launches.filled(given, found, _launches.GEOMETRY[column])
    for column, name in _launches.FROM_METRICS.items():
        empty = pa.nulls(rows, schema.TABLES["launches"].field(column).type)
        built[column] = _launches.filled(empty, found, name)
    return schema.conform("launches", built, rows)


def devices_table(found: Collected) -> pa.Table:
    """Build the `devices` table: from device metrics where exported, else index and architecture only."""
    session = Session()
    for one in found.launches:
        ident, arch = whole(one.get("Device")), arch_of(one.get("CC"))
        if (
            ident is not None
            and ident < 1 << 31
            and ident not in session.devices
            and len(session.devices) < 4096
        ):
            known: dict[str, Any] = {}
            if arch is not None:
                known = {
                    "compute_capability_major": float(arch // 10),
                    "compute_capability_minor": float(arch % 10),
                }
            session.devices[ident] = (None, known)
    return _devices.table(session, found, None)


def metrics_table(found: Collected, wanted: Wanted) -> pa.Table:
    """Build the long `metrics` table."""
    table = schema.conform(
        "metrics",
        {
            "launch_id": pa.array(found.launch, pa.int64()), "metric": found.metric,
            "value": pa.array(found.value, pa.float64()), "unit": found.unit, "text": found.text,
        },
        len(found.launch),
    )  # fmt: skip
    if wanted.metrics is None:
        return table
    keep = [name in wanted.metrics or plain_name(name) in wanted.metrics for name in found.metric]
    return table.filter(pa.array(keep, pa.bool_()))


def report(
    source: Source, wanted: Wanted, found: Collected, problems: ProblemLog, *, form: str, options: Mapping[str, Any],
    tables: Mapping[str, Any], private: Mapping[str, Any],
) -> Report:  # fmt: skip
    """Assemble the report of an export."""
    long = metrics_table(found, Wanted())
    wide = columns.MetricColumns.from_long(long, found.rows)
    info = ReportInfo(
        source=source.name,
        format=form,
        tool="ncu" if form != "nvprof-csv" else "nvprof",
        base_time="profiled kernel time" if found.rows else None,
        options=dict(options),
        private=dict(private) if wanted.private else {},
    )
    loaders = {
        "launches": partial(launches_table, found),
        "metrics": partial(metrics_table, found, wanted),
        "devices": partial(devices_table, found),
        **tables,
    }
    return Report(info, loaders, problems, {columns.EXTRA: wide})


def base_unit(metric: str, printed: str | None) -> str | None:
    """Return the unit of a metric's base value: by its name where that says it, else as printed."""
    return unit_of(metric) or printed
