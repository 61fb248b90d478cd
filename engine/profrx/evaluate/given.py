"""Inline tests as frames: one row per test, the values that `given` states, everything else missing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from profrx.evaluate.arch import arch_number
from profrx.evaluate.frame import SUBJECTS, Frame, Members, TableSupply
from profrx.evaluate.frames import DOMAINS, Frames, link
from profrx.evaluate.metrics import COMMON_SOURCES, Metrics
from profrx.evaluate.params import constant
from profrx.evaluate.quantity import from_base, to_base
from profrx.language import ast
from profrx.language.units import NONE, unit

Catalogue = Mapping[str, ast.Metric]


@dataclass(frozen=True)
class Batch:
    """Tests of one declaration that share a tool, ready to run.

    Attributes:
        tests: row i of the frame is test i.
        frames: the frame of the declaration's scope and of the members that tests give.
        family: metrics of those frames with the given values.
    """

    tests: tuple[ast.Test, ...]
    frames: Frames
    family: dict[int, Metrics]


def batches(pack: Any, scope: str, tests: Sequence[ast.Test], default_tool: str) -> list[Batch]:
    """Return the inline tests of a declaration by tool; tests on report files are left out."""
    by_tool: dict[str, list[ast.Test]] = {}
    for test in tests:
        if not test.report:
            by_tool.setdefault(_context(test, "tool") or default_tool, []).append(test)
    return [_batch(pack, scope, tool, tuple(members)) for tool, members in by_tool.items()]


def default_tool(catalogue: Catalogue, names: Sequence[str], applies_to: Sequence[str] = ()) -> str:
    """Return the tool that a test without ``tool = …`` is about: the one that supplies most of the metrics."""
    if applies_to:
        return applies_to[0]
    tally: dict[str, int] = {"ncu": 0}
    for name in names:
        sources = catalogue[name].sources if name in catalogue else ()
        for tool in {source.tool for source in sources} - COMMON_SOURCES:
            tally[tool] = tally.get(tool, 0) + 1
    return max(tally, key=lambda tool: tally[tool])


def _context(test: ast.Test, name: str) -> str:
    value = dict(test.context).get(name)
    if isinstance(value, ast.Text):
        return value.value
    return f"{value.value:g}" if isinstance(value, ast.Quantity) else ""


def _batch(pack: Any, scope: str, tool: str, tests: tuple[ast.Test, ...]) -> Batch:
    raw, units = _raw_columns(tests)
    members = _members(pack.metrics, tests)
    frame = Frame(scope, tool, _subjects(tests), TableSupply(raw, {}, members, units))
    frames = Frames(tool, {scope: frame})
    family: dict[int, Metrics] = {}
    Metrics(pack, frame, given=_given(pack.metrics, tests), family=family)
    for inner, given in _narrower(pack.metrics, scope, tool, tests):
        link(frame, inner, inner.column("subject_id").to_numpy())
        frames.scopes[inner.scope] = inner
        Metrics(pack, inner, given=given, family=family)
    return Batch(tests, frames, family)


def _subjects(tests: tuple[ast.Test, ...]) -> pa.Table:
    rows = len(tests)
    names = [test.name for test in tests]
    return pa.table(
        {
            "report": [0] * rows,
            "subject_id": list(range(rows)),
            "subject": names,
            "kernel": names,
            "kernel_short": names,
            "kernel_id": names,
            "device_id": pa.nulls(rows, pa.int32()),
            "arch": pa.array([arch_number(_context(t, "arch")) for t in tests], pa.float64()),
            "tool_version": pa.array([_context(t, "tool_version") or None for t in tests], pa.string()),
            "weight_ns": pa.array([1.0] * rows, pa.float64()),
        },
        schema=SUBJECTS,
    )


def _raw_columns(tests: tuple[ast.Test, ...]) -> tuple[dict[str, pa.Array], dict[str, str]]:
    """Columns of vendor metrics as a report would hold them, and their units.

    Values of one column share the first unit that is written; a bare number is as the report stores it.
    """
    given = [
        (at, one)
        for at, test in enumerate(tests)
        for one in test.given
        if one.raw and one.instances is None and one.value is not None
    ]
    units: dict[str, str] = {}
    for _, one in given:
        if one.value is not None and (written := _unit_of(one.value)):
            units.setdefault(one.name, written)
    columns: dict[str, list[float | str | None]] = {one.name: [None] * len(tests) for _, one in given}
    for at, one in given:
        value = one.value
        if isinstance(value, ast.Text):
            columns[one.name][at] = value.value
        elif value is not None:
            written = _unit_of(value)
            base = _number(value)
            same = written and unit(written).dimension == unit(units[one.name]).dimension
            shown = units[one.name] if same else written
            columns[one.name][at] = base if base is None else from_base(base, shown)
    return {name: _stored(column) for name, column in columns.items()}, units


def _stored(column: list[float | str | None]) -> pa.Array:
    if any(isinstance(value, str) for value in column):
        texts = [value if isinstance(value, str) else None for value in column]
        return pa.array(texts, pa.string()).dictionary_encode()
    return pa.array(column, pa.float64())


def _unit_of(expr: ast.Expr) -> str:
    if isinstance(expr, ast.Quantity):
        return expr.unit
    return _unit_of(expr.operand) if isinstance(expr, ast.Unary) else ""


def _number(expr: ast.Expr) -> float | None:
    """A constant in base units; NaN stays NaN."""
    if isinstance(expr, ast.Quantity) and math.isnan(expr.value):
        return math.nan
    return constant(expr)


def _in_metric(metric: ast.Metric, expr: ast.Expr) -> float | None:
    """A given value in base units; a bare number counts in the metric's own unit when that has a dimension."""
    value = _number(expr)
    if value is None or math.isnan(value):
        return None
    bare = not _unit_of(expr) and not isinstance(expr, ast.Binary)
    if bare and unit(metric.unit).dimension != NONE:
        return to_base(value, metric.unit)
    return value


def _given(catalogue: Catalogue, tests: tuple[ast.Test, ...]) -> dict[str, tuple[Any, Any]]:
    rows = len(tests)
    values: dict[str, list[Any]] = {}
    masks: dict[str, Any] = {}
    for at, test in enumerate(tests):
        for given in test.given:
            metric = catalogue.get(given.name)
            if given.raw or metric is None or given.instances is not None:
                continue
            column = values.setdefault(given.name, [None] * rows)
            mask = masks.setdefault(given.name, np.zeros(rows, dtype=bool))
            mask[at] = True
            column[at] = _stated(metric, given.value)
    return {
        name: (pa.array(column, _kind(catalogue[name])), pa.array(masks[name]))
        for name, column in values.items()
    }


def _stated(metric: ast.Metric, value: ast.Expr | None) -> Any:
    if value is None:
        return None
    if isinstance(value, ast.Text):
        return value.value if metric.kind == "text" else None
    if isinstance(value, ast.Bool):
        return float(value.value)
    return None if metric.kind == "text" else _in_metric(metric, value)


def _kind(metric: ast.Metric) -> Any:
    return pa.string() if metric.kind == "text" else pa.float64()


def _members(catalogue: Catalogue, tests: tuple[ast.Test, ...]) -> dict[str, Members]:
    """Instances that tests give, under every vendor name of the metric."""
    collected: dict[str, list[tuple[int, str, float]]] = {}
    for at, test in enumerate(tests):
        for given in test.given:
            if given.instances is None:
                continue
            metric = catalogue.get(given.name)
            names = [given.name]
            if metric is not None and not given.raw:
                names += [name for source in metric.sources for name in source.names]
            pairs = []
            for key, expr in given.instances:
                value = _in_metric(metric, expr) if metric is not None else _number(expr)
                pairs.append((at, key, math.nan if value is None else value))
            for name in names:
                collected.setdefault(name, []).extend(pairs)
    return {name: _as_members(rows) for name, rows in collected.items()}


def _as_members(rows: list[tuple[int, str, float]]) -> Members:
    keys = [key for _, key, _ in rows]
    indices = [int(key) if key.lstrip("-").isdigit() and len(key) < 19 else None for key in keys]
    return Members(
        np.array([at for at, _, _ in rows], dtype=np.int64),
        pa.array(keys, pa.string()),
        pa.array(indices, pa.int64()),
        pa.array([value for _, _, value in rows], pa.float64()),
        "",
    )


def _narrower(
    catalogue: Catalogue, scope: str, tool: str, tests: tuple[ast.Test, ...]
) -> list[tuple[Frame, dict[str, tuple[Any, Any]]]]:
    """Member frames for metrics of a narrower scope given as ``{ "name": value, … }``."""
    found = []
    for inner in dict.fromkeys(DOMAINS.values()):
        if inner == scope:
            continue
        stated = [
            (at, given)
            for at, test in enumerate(tests)
            for given in test.given
            if given.instances is not None
            and not given.raw
            and given.name in catalogue
            and catalogue[given.name].scope == inner
            and catalogue[given.name].kind != "instances"
        ]
        if not stated:
            continue
        rows = list(dict.fromkeys((at, key) for at, given in stated for key, _ in given.instances or ()))
        place = {row: i for i, row in enumerate(rows)}
        subjects = _subjects(tests).take([at for at, _ in rows])
        for column in ("subject", "kernel", "kernel_short", "kernel_id"):
            index = subjects.column_names.index(column)
            subjects = subjects.set_column(index, SUBJECTS.field(column), pa.array([key for _, key in rows]))
        columns: dict[str, list[Any]] = {}
        for at, given in stated:
            cells = columns.setdefault(given.name, [None] * len(rows))
            for key, expr in given.instances or ():
                cells[place[at, key]] = _stated(catalogue[given.name], expr)
        everywhere = pa.array(np.ones(len(rows), dtype=bool))
        given_columns = {
            name: (pa.array(cells, _kind(catalogue[name])), everywhere) for name, cells in columns.items()
        }
        found.append((Frame(inner, tool, subjects, TableSupply()), given_columns))
    return found
