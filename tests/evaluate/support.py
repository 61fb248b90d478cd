"""Packs from text and frames from columns, for tests that need no report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from profrx.evaluate.compile import Evaluator
from profrx.evaluate.frame import SUBJECTS, Frame, Members, TableSupply
from profrx.evaluate.frames import Frames, link
from profrx.evaluate.metrics import Metrics
from profrx.evaluate.params import Parameters
from profrx.language.pack import Pack, Source, assemble
from profrx.language.parse import parse_expr


def pack_of(text: str) -> Pack:
    """Parse one rule file; a mistake in it fails the test."""
    pack = assemble([Source("test", "test.rule", text.encode())])
    errors = [str(d) for d in pack.diagnostics if d.severity == "error"]
    assert not errors, errors
    return pack


def subjects(rows: int, **columns: Sequence[Any]) -> pa.Table:
    """Subjects with defaults: one report, kernels k0, k1 … of 1000 ns each on sm_90."""
    names = [f"k{i}" for i in range(rows)]
    given: dict[str, Sequence[Any]] = {
        "report": [0] * rows,
        "subject_id": list(range(rows)),
        "subject": names,
        "kernel": names,
        "kernel_short": names,
        "kernel_id": names,
        "device_id": [0] * rows,
        "arch": [9.0] * rows,
        "tool_version": ["2025.3.0"] * rows,
        "weight_ns": [1000.0] * rows,
        **columns,
    }
    return pa.table(given, schema=SUBJECTS)


def frame_of(
    raw: Mapping[str, Sequence[Any]] | None = None,
    *,
    rows: int | None = None,
    scope: str = "launch",
    tool: str = "ncu",
    launch: Mapping[str, Sequence[Any]] | None = None,
    instances: Mapping[str, Sequence[tuple[int, str | None, float | None]]] | None = None,
    units: Mapping[str, str] | None = None,
    **columns: Sequence[Any],
) -> Frame:
    """A frame from plain lists; None is null."""
    raw, launch = raw or {}, launch or {}
    count = (
        rows if rows is not None else len(next(iter([*raw.values(), *launch.values(), *columns.values()])))
    )
    supply = TableSupply(
        numbers={name: column(values) for name, values in raw.items()},
        tables={"launch": {name: column(values) for name, values in launch.items()}},
        members={name: members_of(rows_) for name, rows_ in (instances or {}).items()},
        units=units or {},
    )
    return Frame(scope, tool, subjects(count, **columns), supply)


def column(values: Sequence[Any]) -> pa.Array:
    """A column as frames hold it: float64 or dictionary text."""
    if any(isinstance(value, str) for value in values):
        return pa.array(values, pa.string()).dictionary_encode()
    return pa.array(values, pa.float64())


def members_of(rows: Sequence[tuple[int, str | None, float | None]]) -> Members:
    """Instances from (row, key, value)."""
    ordered = sorted(rows, key=lambda r: r[0])
    keys = [key for _, key, _ in ordered]
    return Members(
        np.array([row for row, _, _ in ordered], dtype=np.int64),
        pa.array(keys, pa.string()),
        pa.array([int(k) if k and k.isdigit() else None for k in keys], pa.int64()),
        pa.array([value for _, _, value in ordered], pa.float64()),
    )


def report_frames(launch: Frame, weight: float | None = None) -> Frames:
    """Launch frame under a report frame, as `frames_of` links them."""
    total = float(np.nansum(launch.weights)) if weight is None else weight
    whole = Frame("report", launch.tool, subjects(1, subject=["a report"], weight_ns=[total]), TableSupply())
    link(whole, launch, np.zeros(launch.rows, dtype=np.int64))
    return Frames(launch.tool, {"launch": launch, "report": whole})


def evaluate(
    text: str, frame: Frame, pack: Pack | None = None, params: Parameters | None = None
) -> list[Any]:
    """Evaluate an expression over a frame."""
    return Evaluator(Metrics(pack or Pack(), frame), params).column(parse_expr(text)).to_pylist()
