"""Reads Nsight Compute's CSV exports: raw, details, --metrics, per-kernel summary, source page, and the oldest form.

* raw page: one row per launch, a second header row with units;
* details page and ``--metrics``: one row per metric (ragged: rule cells only on rule rows);
* ``--print-summary per-kernel``: no launches, minimum, maximum and average over invocations;
* source page: one table per kernel, behind a row ``"Kernel Name",…``.

Tool messages and the program's own output may stand before and between. Values come out in base units.
Source: public exports of 2020 to 2025 and exports made with Nsight Compute 2024.1 and 2025.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from profrx_parsers import schema
from profrx_parsers.errors import InputError
from profrx_parsers.names import short_name
from profrx_parsers.ncu import _cells, _export, _text_table
from profrx_parsers.ncu._labels import metric_of
from profrx_parsers.ncu._text_table import Section
from profrx_parsers.problems import ProblemLog

if TYPE_CHECKING:
    from profrx_parsers.report import Report, Wanted
    from profrx_parsers.source import Source

_NVTX = ("Push/Pop_Range", "Start/Stop_Range")
_IDENTITY = frozenset({
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream",
    "Block Size", "Grid Size", "Device", "CC", "Section Name", "Invocations", "Body Item Label",
})  # fmt: skip
_RULE_KINDS = {"OPT": "optimization", "WRN": "warning", "ERR": "error", "INF": "ok", "OK": "ok"}
_STATISTICS = {"Minimum": "min", "Maximum": "max", "Average": "mean"}
_COMMAND_LINE = "Command line profiler metrics"


def is_header(cells: list[str]) -> bool:
    """Whether a row is the header of one of the layouts."""
    names = set(cells)
    if "Kernel Name" in names and ("Process ID" in names or "ID" in names) and len(cells) >= 6:
        return True
    return cells[:2] == ["Address", "Source"] or cells[:3] == ["#", "Address", "Source"]


def read(source: Source, wanted: Wanted) -> Report:
    """Read an export. Raises `InputError` when it holds no table or holds another vendor's counters."""
    problems = ProblemLog()
    text = _text_table.text_of(source)
    tables, noise = _text_table.sections(text, is_header, problems)
    if not tables:
        raise InputError(
            "ncu-csv-no-table", "no table of Nsight Compute is found in this text",
            where=source.name, next_step="export with: ncu --import report.ncu-rep --csv --page raw",
        )  # fmt: skip
    style = _cells.decide(cell for table in tables for row in table.rows for cell in _value_cells(table, row))
    _tell_style(style, problems)
    found = _export.Collected()
    rules: list[dict[str, Any]] = []
    summaries: list[dict[str, Any]] = []
    instances: list[dict[str, Any]] = []
    kinds = []
    seen: set[tuple[tuple[str, ...], ...]] = set()
    for table in tables:
        kind = _kind(table.header)
        kinds.append(kind)
        if kind == "raw":
            _raw(table, found, style, problems)
        elif kind == "long":
            _long(table, found, rules, style, problems)
        elif kind == "summary":
            _summary(table, summaries, style)
        elif (content := (tuple(table.before[-1:]), *map(tuple, table.rows))) not in seen:
            seen.add(content)
            _source_page(table, found, instances, style)
        else:
            problems.add(
                "info", "ncu-csv-repeated-table", "source tables that repeat exactly were taken once"
            )
    names = set(found.metric) | {row["metric"] for row in summaries}
    _export.check_vendor(names, source, problems)
    if not names and not instances and not rules:
        problems.add(
            "warning", "ncu-csv-no-values", "the table holds no metric",
            advice="export the raw page: ncu --import report.ncu-rep --csv --page raw",
        )  # fmt: skip
    if noise:
        problems.add(
            "info", "ncu-csv-other-lines", "lines that belong to no table were skipped", count=len(noise)
        )
    loaders: dict[str, Callable[[], Any]] = {
        "vendor_findings": partial(schema.from_rows, "vendor_findings", rules)
    }
    if summaries:
        loaders["summaries"] = partial(schema.from_rows, "summaries", summaries)
    if instances:
        loaders["instances"] = partial(schema.from_rows, "instances", instances)
    private = {
        key: sorted({one[key] for one in found.launches if one.get(key)})
        for key in ("Process Name", "Host Name")
    }
    return _export.report(
        source, wanted, found, problems, form="ncu-csv", options={"page": _page(kinds, found)}, tables=loaders,
        private=private,
    )  # fmt: skip


def _kind(header: list[str]) -> str:
    names = set(header)
    if "Address" in names and "Source" in names:
        return "source"
    if "Metric Name" not in names:
        return "raw"
    return "summary" if names & set(_STATISTICS) and "Metric Value" not in names else "long"


def _page(kinds: list[str], found: _export.Collected) -> str:
    if "long" in kinds:
        return "details" if any(one.get("details") for one in found.launches) else "metrics"
    return kinds[0]


def _tell_style(style: _cells.Style, problems: ProblemLog) -> None:
    if style.mixed:
        problems.add(
            "warning", "ncu-csv-mixed-numbers", "numbers with decimal point and with decimal comma are mixed",
            advice=f"read with {style.decimal!r} as the decimal mark; export again with --print-units base",
        )  # fmt: skip
    elif not style.certain:
        problems.add(
            "warning", "ncu-csv-ambiguous-numbers", "nothing in the file tells digit groups from decimals",
            advice="numbers such as 117.344 are read with '.' as the decimal mark; export with LC_ALL=C to be sure",
        )  # fmt: skip


def _value_cells(table: Section, row: list[str]) -> Iterator[str]:
    header = table.header
    if "Metric Name" in header:
        for name in ("Metric Value", *_STATISTICS):
            if name in header and header.index(name) < len(row):
                yield row[header.index(name)]
    else:
        yield from (cell for name, cell in zip(header, row, strict=False) if name not in _IDENTITY)


def _identity(header: list[str], row: list[str]) -> dict[str, str]:
    cells = {name: cell for name, cell in zip(header, row, strict=False) if name in _IDENTITY}
    path = [part for name, cell in zip(header, row, strict=False) for part in _ranges(name, cell)]
    if path:
        cells["range_path"] = " / ".join(path)
    return cells


def _ranges(name: str, cell: str) -> list[str]:
    """Read the NVTX columns: quoted entries ``Domain:Range:…`` with six attributes, start-stop ones with an id."""
    if not cell.strip() or not any(mark in name for mark in _NVTX):
        return []
    first = 2 if _NVTX[1] in name else 1
    entries = [part.split(":") for part in re.findall(r'"([^"]*)"', cell)]
    return [":".join(one[first : max(first + 1, len(one) - 6)]) for one in entries if len(one) > first]


def _raw(table: Section, found: _export.Collected, style: _cells.Style, problems: ProblemLog) -> None:
    header = table.header
    columns = [
        at
        for at, name in enumerate(header)
        if name not in _IDENTITY and not any(mark in name for mark in _NVTX)
    ]
    rows = list(zip(table.rows, table.lines, strict=True))
    units: list[str] = []
    if rows and not any(rows[0][0][: header.index("Kernel Name") + 1]):
        units = rows[0][0]
        rows = rows[1:]
    scales = {at: _cells.scale(units[at]) if at < len(units) else (1.0, None) for at in columns}
    for row, line in rows:
        if len(row) < len(header):
            problems.add(
                "data-loss", "ncu-csv-short-row", "a row has fewer cells than the header", where=f"line {line}",
                advice="the export was cut: the missing values are null",
            )  # fmt: skip
        launch = found.rows
        found.launches.append(_identity(header, row))
        for at in columns:
            if at >= len(row) or row[at].strip() in _cells.MISSING:
                continue
            factor, unit = scales[at]
            name = header[at]
            value = _cells.number(row[at], style)
            base = _export.base_unit(name, unit)
            if value is None:
                found.add(launch, name, None, base, row[at].strip())
            else:
                found.add(launch, name, value * factor, base, None)


def _long(
    table: Section,
    found: _export.Collected,
    rules: list[dict[str, Any]],
    style: _cells.Style,
    problems: ProblemLog,
) -> None:
    at = {name: index for index, name in enumerate(table.header)}
    launches: dict[tuple[str, ...], int] = {}
    for row, line in zip(table.rows, table.lines, strict=True):
        if len(row) <= at["Kernel Name"]:
            continue
        key = tuple(
            row[at[name]]
            for name in ("ID", "Process ID", "Kernel Name")
            if name in at and at[name] < len(row)
        )
        launch = launches.get(key)
        if launch is None:
            launch = launches[key] = found.rows
            found.launches.append(_identity(table.header, row))

        def cell(name: str, row: list[str] = row) -> str:
            return row[at[name]].strip() if name in at and at[name] < len(row) else ""

        label, section = cell("Metric Name"), cell("Section Name")
        if section != _COMMAND_LINE:
            found.launches[launch]["details"] = "yes"
        if label:
            _metric(
                found, launch, (section, label, cell("Metric Unit"), cell("Metric Value")), style, problems
            )
        elif cell("Rule Name"):
            rules.append(_rule(launch, section, cell, style))
        else:
            problems.add(
                "data-loss", "ncu-csv-short-row", "a row has neither a metric nor a rule", where=f"line {line}",
                advice="the export was cut or edited",
            )  # fmt: skip


def _metric(
    found: _export.Collected,
    launch: int,
    cells: tuple[str, str, str, str],
    style: _cells.Style,
    problems: ProblemLog,
) -> None:
    section, label, printed, cell = cells
    name = label
    if "__" not in label and section != _COMMAND_LINE:
        known = metric_of(section, label, _export.arch_of(found.launches[launch].get("CC")))
        if known is None:
            problems.add(
                "info", "ncu-csv-unknown-label", "labels without a known metric are kept under their label",
                where=f"{section}: {label}"[:120],
            )  # fmt: skip
        name = known or f"{section}: {label}"
    factor, unit = _cells.scale(printed)
    value = _cells.number(cell, style)
    base = _export.base_unit(name, unit)
    if value is not None:
        found.add(launch, name, value * factor, base, None)
    elif cell not in _cells.MISSING:
        found.add(launch, name, None, base, cell)
    else:
        found.add(launch, name, None, base, None)


def _rule(launch: int, section: str, cell: Callable[[str], str], style: _cells.Style) -> dict[str, Any]:
    kind = cell("Estimated Speedup Type")
    return {
        "launch_id": launch,
        "rule": cell("Rule Name"),
        "section": section,
        "title": cell("Rule Name"),
        "message": cell("Rule Description") or None,
        "kind": _RULE_KINDS.get(cell("Rule Type"), "none"),
        "estimate_kind": kind or None,
        "estimate_pct": _cells.number(cell("Estimated Speedup"), style),
        "focus_metrics": [],
        "markers": [],
    }


def _summary(table: Section, summaries: list[dict[str, Any]], style: _cells.Style) -> None:
    at = {name: index for index, name in enumerate(table.header)}
    for row in table.rows:
        if len(row) < len(table.header):
            continue
        section, label = row[at["Section Name"]] if "Section Name" in at else "", row[at["Metric Name"]]
        arch = _export.arch_of(row[at["CC"]]) if "CC" in at else None
        name = label if "__" in label else metric_of(section, label, arch) or f"{section}: {label}"
        factor, unit = _cells.scale(row[at["Metric Unit"]] if "Metric Unit" in at else "")
        kernel = row[at["Kernel Name"]]
        for column, statistic in _STATISTICS.items():
            if column not in at:
                continue
            value = _cells.number(row[at[column]], style)
            summaries.append({
                "source": "ncu per-kernel summary", "kernel": kernel, "kernel_short": short_name(kernel),
                "metric": name, "statistic": statistic, "value": None if value is None else value * factor,
                "unit": _export.base_unit(name, unit), "device_id": _export.whole(row[at["Device"]]) if "Device" in at else None,
                "count": _export.whole(row[at["Invocations"]]) if "Invocations" in at else None,
                "text": row[at[column]] if value is None and row[at[column]] not in _cells.MISSING else None,
            })  # fmt: skip


def _source_page(
    table: Section, found: _export.Collected, instances: list[dict[str, Any]], style: _cells.Style
) -> None:
    titles = [_text_table.cells_of(line) for line in table.before]
    kernel = next(
        (cells[1] for cells in reversed(titles) if len(cells) == 2 and cells[0] == "Kernel Name"), ""
    )
    launch = found.rows
    found.launches.append({"Kernel Name": kernel})
    at = {name: index for index, name in enumerate(table.header)}
    for row in table.rows:
        address = row[at["Address"]] if at["Address"] < len(row) else ""
        try:
            pc = int(address, 16 if address.lower().startswith("0x") else 10)
        except ValueError:
            continue
        for name, index in at.items():
            if name in ("Address", "Source", "#") or index >= len(row):
                continue
            value = _cells.number(row[index], style)
            if value is not None and 0 <= pc < 1 << 63:
                instances.append({
                    "launch_id": launch, "metric": name, "key": row[at["Source"]].strip() or None, "key_int": pc,
                    "value": value,
                })  # fmt: skip
