"""Every value of every fixture against what the vendor's own module said about the same report.

The expected values are `reference.json.zst` (a dump of `ncu_report`) and `raw.csv.zst` (the tool's own export),
made on the machine of the capture; see `fixtures/cuda/dump_reference.py`.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from profrx_parsers.names import short_name
from profrx_parsers.ncu._units import unit_of
from profrx_parsers.registry import open_report
from profrx_parsers.report import Report, Wanted

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "ncu"
CASES = sorted(path.parent.name for path in FIXTURES.glob("*/reference.json.zst"))
RELATIVE = 1e-12
TEXT, NOTHING = 2, 0
WORKLOADS = {0: "kernel", 1: "range", 2: "cmdlist", 3: "graph"}
ESTIMATES = {1: "local", 2: "global"}
KINDS = {0: "none", 1: "ok", 2: "optimization", 3: "warning", 4: "error"}
"""Message types as the vendor's module numbers them."""
UNITS_THAT_VERSIONS_DISPUTE = {
    re.compile(r"^derived__sms?p?__sass_thread_inst_executed_op_\w+_pred_on_x[24]$"): {"inst", "thread"},
    re.compile(r"^derived__memory_l2_theoretical_sectors_global_excessive$"): {"byte", "sector"},
    re.compile(r"^idc__requests\.sum$"): {"", "request"},
    re.compile(r"^smsp__imc_requests\.sum$"): {"cycle", "request"},
}
"""Modules of different versions, or one module for different reports, name these differently."""

pytestmark = pytest.mark.parametrize("case", CASES)


def unpacked(path: Path) -> bytes:
    with pa.CompressedInputStream(pa.OSFile(str(path)), "zstd") as stream:
        return bytes(stream.read())


@cache
def report(case: str) -> Report:
    return open_report(next(FIXTURES.glob(f"{case}/report.ncu-rep*")), Wanted(private=True))


@cache
def actions(case: str) -> list[dict[str, Any]]:
    dump = json.loads(unpacked(FIXTURES / case / "reference.json.zst"))
    return [action for part in dump["ranges"] for action in part]


def number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else None


def same(ours: float | None, theirs: object) -> bool:
    expected = number(theirs)
    if ours is None or expected is None:
        return ours is None and expected is None
    if math.isnan(expected):
        return math.isnan(ours)
    return math.isclose(ours, expected, rel_tol=RELATIVE, abs_tol=0.0)


def disputed(name: str, theirs: str) -> bool:
    return any(
        pattern.match(name) and {unit_of(name), theirs} <= units
        for pattern, units in UNITS_THAT_VERSIONS_DISPUTE.items()
    )


def grouped(case: str, table: str) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in report(case).table(table).to_pylist():
        found[row["launch_id"]].append(row)
    return found


def test_launches_and_names(case: str) -> None:
    launches = report(case).table("launches").to_pylist()
    expected = actions(case)
    assert [row["workload"] for row in launches] == [WORKLOADS[one["workload_type"]] for one in expected]
    assert [row["kernel"] for row in launches] == [
        one["names"]["demangled"] or one["names"]["function"] for one in expected
    ]
    assert [row["kernel_short"] for row in launches] == [one["names"]["function"] for one in expected]


def test_every_metric_value(case: str) -> None:
    rows = grouped(case, "metrics")
    compared = 0
    for launch, action in enumerate(actions(case)):
        ours = {row["metric"]: row for row in rows[launch]}
        theirs = action["metrics"]
        assert set(ours) == set(theirs["name"])
        assert len(rows[launch]) == len(ours)
        columns = (theirs["name"], theirs["kind"], theirs["value"], theirs["instances"])
        for name, kind, value, count in zip(*columns, strict=True):
            row = ours[name]
            if kind == NOTHING or value is None or (count and row["value"] is None and row["text"] is None):
                assert (row["value"], row["text"]) == (None, None), name
            elif kind == TEXT:
                assert row["text"] == value, name
            else:
                assert row["text"] is None, name
                assert same(row["value"], value), (name, row["value"], value)
                compared += 1
    assert compared > 50


def test_units(case: str) -> None:
    for action in actions(case):
        theirs = action["metrics"]
        expected = {
            name: unit
            for name, unit, kind in zip(theirs["name"], theirs["unit"], theirs["kind"], strict=True)
            if kind not in (TEXT, NOTHING)
        }
        wrong = {name: unit_of(name) for name, unit in expected.items() if (unit_of(name) or "") != unit}
        assert {name for name in wrong if not disputed(name, expected[name])} == set()


def test_instances(case: str) -> None:
    rows = grouped(case, "instances")
    for launch, action in enumerate(actions(case)):
        ours: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in rows[launch]:
            ours[row["metric"]].append(row)
        theirs = action["metrics"]
        counts = {n: c for n, c in zip(theirs["name"], theirs["instances"], strict=True) if c}
        assert {name: len(found) for name, found in ours.items()} == counts
        for name, sample in action.get("instances", {}).items():
            for place, at in enumerate(sample["at"]):
                row, value = ours[name][at], sample["values"][place]
                if sample["ids"] is not None:
                    key = row["key_int"] if row["key"] is None else row["key"]
                    assert key == sample["ids"][place], (name, at)
                if value is not None and (not isinstance(value, str) or value in ("nan", "inf", "-inf")):
                    assert same(row["value"], value), (name, at)


def test_source_lines(case: str) -> None:
    lines = {
        (row["launch_id"], row["pc"]): (row["file"], row["line"])
        for row in report(case).table("source_lines").to_pylist()
    }
    for launch, action in enumerate(actions(case)):
        for address, file, line in action.get("source_lines", ()):
            if file:
                assert lines[launch, address] == (file, line)


def test_source_files(case: str) -> None:
    expected = {name for action in actions(case) for name in action["source_files"] or ()}
    assert expected <= set(report(case).extras["source_files"]())


def test_vendor_findings(case: str) -> None:
    rows = grouped(case, "vendor_findings")
    for launch, action in enumerate(actions(case)):
        ours, theirs = rows[launch], action["rules"]
        assert [row["rule"] for row in ours] == [one["rule_identifier"] for one in theirs]
        for row, one in zip(ours, theirs, strict=True):
            message = one.get("rule_message")
            assert (row["message"] or "") == (message["message"] if message else "")
            assert row["section"] == one["section_identifier"]
            if message:
                assert row["kind"] == KINDS[message["type"]]
                assert row["title"] == (message["title"] or one["name"])
            speedup = one.get("speedup_estimation")
            assert row["estimate_kind"] == (ESTIMATES[speedup["type"]] if speedup else None)
            assert same(row["estimate_pct"], speedup["speedup"] if speedup else None)
            focus = one.get("focus_metrics") or []
            assert [(f["metric"], f["info"]) for f in row["focus_metrics"]] == [
                (f["name"], f["info"]) for f in focus
            ]
            assert all(same(f["value"], g["value"]) for f, g in zip(row["focus_metrics"], focus, strict=True))


def test_open_nvtx_ranges(case: str) -> None:
    paths = report(case).table("launches").column("range_path").to_pylist()
    for path, action in zip(paths, actions(case), strict=True):
        names = [
            name
            for domain in action["nvtx_domains"] or ()
            for name in (*domain["start_end"], *domain["push_pop"])
        ]
        assert sorted(path.split(" / ") if path else []) == sorted(names)


def printed(cell: str) -> tuple[float, float]:
    """Return a cell's number and half a unit of its last printed digit."""
    plain = cell.replace(",", "")
    mantissa, _, exponent = plain.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(plain), 0.5 * 10.0 ** (int(exponent or 0) - decimals)


def test_every_cell_of_the_raw_export(case: str) -> None:
    path = FIXTURES / case / "raw.csv.zst"
    lines = unpacked(path).decode().splitlines(keepends=True)
    head = next(at for at, line in enumerate(lines) if line.startswith('"ID"'))
    table = list(csv.reader(io.StringIO("".join(lines[head:]))))
    names, _units, *rows = table
    metrics = grouped(case, "metrics")
    launches = report(case).table("launches").to_pylist()
    first = names.index("CC") + 1
    compared = 0
    assert len(rows) == len(launches)
    of_process = defaultdict(list)
    for row in launches:
        of_process[row["process_id"]].append(row["launch_id"])
    for cells in rows:
        # The export is sorted by process; the order within one is that of the file.
        launch = of_process[int(cells[names.index("Process ID")])].pop(0)
        ours = {row["metric"]: row for row in metrics[launch]}
        assert launches[launch]["kernel_short"] == short_name(cells[names.index("Kernel Name")])
        for name, cell in zip(names[first:], cells[first:], strict=True):
            row = ours.get(name)
            if cell == "" or row is None:
                assert cell == "" or row is not None, name
                continue
            if row["text"] is not None:
                assert row["text"].strip() == re.sub(r"\s+$", "", cell.strip()), name
                continue
            if row["value"] is None:
                continue
            value, tolerance = printed(cell.partition(" ")[0])
            compared += 1
            near = abs(row["value"] - value) <= tolerance * (1 + 1e-9) + abs(value) * 1e-15
            assert near or (math.isnan(row["value"]) and math.isnan(value)), (name, cell, row["value"])
    assert compared > 50
