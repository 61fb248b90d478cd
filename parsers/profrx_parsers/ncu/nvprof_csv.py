"""Reads ``nvprof --csv`` tables of metrics and events: summaries over invocations, never single launches.

Lines of the tool start with ``==PID==``. Values may have their unit glued on (``0.000000%``, ``12.5GB/s``), and
utilisation levels are printed as ``Low (1)``. Source: public exports; the tool's public documentation.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from profrx_parsers import schema
from profrx_parsers.errors import InputError
from profrx_parsers.names import short_name
from profrx_parsers.ncu import _cells, _export, _text_table
from profrx_parsers.problems import ProblemLog

if TYPE_CHECKING:
    from profrx_parsers.report import Report, Wanted
    from profrx_parsers.source import Source

_STATISTICS = {"Min": "min", "Max": "max", "Avg": "mean", "Total": "sum"}
_GLUED = re.compile(r"^([+-]?[\d.,]+(?:[eE][+-]?\d+)?)\s*([A-Za-z%/]*)$")
_LEVEL = re.compile(r"^\w+ \((\d+)\)$")
_DEVICE = re.compile(r"^(.*) \((\d+)\)$")
_UNITS = {"B/s": 1.0, "KB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12}


def is_header(cells: list[str]) -> bool:
    """Whether a row is the header of a metric or event table."""
    names = set(cells)
    return {"Device", "Kernel", "Invocations"} <= names and bool(names & {"Metric Name", "Event Name"})


def read(source: Source, wanted: Wanted) -> Report:
    """Read the summaries. Raises `InputError` when there is no table."""
    problems = ProblemLog()
    tables, noise = _text_table.sections(_text_table.text_of(source), is_header, problems)
    if not tables:
        raise InputError(
            "nvprof-csv-no-table", "no table of metrics or events is found in this text",
            where=source.name, next_step="export with: nvprof --csv --metrics … --log-file out.csv",
        )  # fmt: skip
    style = _cells.Style()
    rows: list[dict[str, Any]] = []
    short = 0
    for table in tables:
        at = {name: index for index, name in enumerate(table.header)}
        named = "Metric Name" if "Metric Name" in at else "Event Name"
        for row in table.rows:
            if len(row) != len(table.header):
                short += 1
                continue
            device = _DEVICE.match(row[at["Device"]])
            kernel = row[at["Kernel"]]
            for column, statistic in _STATISTICS.items():
                if column in at:
                    value, unit = _value(row[at[column]], style)
                    rows.append({
                        "source": f"nvprof {named.split()[0].lower()}s", "kernel": kernel,
                        "kernel_short": short_name(kernel), "metric": row[at[named]], "statistic": statistic,
                        "value": value, "unit": unit, "count": _export.whole(row[at["Invocations"]]),
                        "device_id": _export.whole(device[2]) if device else None,
                        "text": row[at["Metric Description"]] if "Metric Description" in at else None,
                    })  # fmt: skip
    if short:
        problems.add(
            "data-loss", "nvprof-csv-short-row", "rows do not have the cells of the header and were skipped",
            count=short, advice="the export was cut or edited",
        )  # fmt: skip
    problems.add(
        "info", "nvprof-summary-only", "nvprof exports hold sums over all invocations, no single launches",
        advice="collect with Nsight Compute on Volta or newer for per-launch metrics",
    )  # fmt: skip
    found = _export.Collected()
    tables_out = {"summaries": partial(schema.from_rows, "summaries", rows)}
    return _export.report(
        source, wanted, found, problems, form="nvprof-csv", options={}, tables=tables_out,
        private={"lines": noise[:100]},
    )  # fmt: skip


def _value(cell: str, style: _cells.Style) -> tuple[float | None, str | None]:
    text = cell.strip()
    level = _LEVEL.match(text)
    if level:
        return float(level[1]), None
    glued = _GLUED.match(text)
    if not glued:
        return None, None
    value, unit = _cells.number(glued[1], style), glued[2]
    if value is None:
        return None, None
    if unit in _UNITS:
        return value * _UNITS[unit], "byte/s"
    return value, unit or None
