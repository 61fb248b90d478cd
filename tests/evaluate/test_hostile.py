"""Whatever values a report holds, the default pack judges it: no crash, no NaN, no share outside 0..1."""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa
import pytest
from tests.evaluate.test_diagnose import coherent

from profrx.diagnose import diagnose
from profrx.evaluate.explain import explain
from profrx.evaluate.program import wanted_metrics
from profrx.language.pack import Pack
from profrx_parsers import schema
from profrx_parsers.columns import EXTRA, MetricColumns
from profrx_parsers.info import ReportInfo
from profrx_parsers.problems import ProblemLog
from profrx_parsers.report import Report

CELLS = (
    None,
    float("nan"),
    float("inf"),
    -1.0,
    0.0,
    1e-308,
    1e308,
    -1e308,
    0.5,
    3.0,
    42.0,
    99.9,
    130.0,
    1e6,
    1e15,
)
WORDS = (None, "", "gemm", "\x00", "{share}", "<script>", "é" * 40, "-1", "1e999", "sm_90")


def hostile(seed: int, names: list[str]) -> Report:
    """A report whose metrics hold anything, some of them text, with broken launches, devices and instances."""
    draw = random.Random(seed)
    rows = draw.choice([1, 2, 5])
    held = [name for name in names if draw.random() < 0.8]
    texts = {name for name in held if draw.random() < 0.05}
    launches = [
        {
            "launch_id": i,
            "kernel": draw.choice(WORDS),
            "kernel_short": draw.choice(WORDS),
            "kernel_id": draw.choice(WORDS),
            "device_id": draw.choice([None, 0, 7]),
            "duration_ns": draw.choice([v for v in CELLS if v is None or abs(v) < 1e300 or math.isnan(v)]),
            "block_x": draw.choice([None, 0, -1, 1024]),
            "grid_x": draw.choice([None, 0, 2**62]),
        }
        for i in range(rows)
    ]
    devices = [
        {
            "device_id": 0,
            "arch": draw.choice([None, "sm_90", "gfx90a", "", "sm_"]),
            "compute_units": draw.choice([None, 0, 132]),
        }
    ]
    instances = [
        {
            "launch_id": draw.randrange(rows),
            "metric": draw.choice(held or ["x"]),
            "key": draw.choice(WORDS),
            "key_int": draw.choice([None, 0, 2**62]),
            "value": draw.choice(CELLS),
        }
        for _ in range(60)
    ]
    numbers: dict[str, Any] = {
        n: pa.array([draw.choice(CELLS) for _ in range(rows)], pa.float64()) for n in held if n not in texts
    }
    words: dict[str, Any] = {
        n: pa.array([draw.choice(WORDS) for _ in range(rows)], pa.string()) for n in texts
    }
    units = {
        name: draw.choice(["%", "byte", "ns", "", "nonsense", "warp"]) for name in held if draw.random() < 0.5
    }
    loaders = {
        "launches": lambda: schema.from_rows("launches", launches),
        "devices": lambda: schema.from_rows("devices", devices),
        "instances": lambda: schema.from_rows("instances", instances),
    }
    info = ReportInfo(
        source="hostile", format="ncu-rep", tool="ncu", tool_version=draw.choice([None, "", "2025.3", "x"])
    )
    return Report(info, loaders, ProblemLog(), {EXTRA: MetricColumns(rows, numbers, words, units)})


def floats(value: Any) -> list[float]:
    """Every float of a dumped model."""
    if isinstance(value, dict):
        return [f for inner in value.values() for f in floats(inner)]
    if isinstance(value, list):
        return [f for inner in value for f in floats(inner)]
    return [value] if isinstance(value, float) else []


@pytest.mark.parametrize("seed", range(100, 110))
def test_anything_is_judged(seed: int, default_pack: Pack) -> None:
    report = hostile(seed, sorted(wanted_metrics(default_pack)))
    found = diagnose([report], pack=default_pack)
    assert found.failed == []
    coherent(found.reports[0])
    judged = found.reports[0].model_dump(exclude={"summary"})
    assert all(math.isfinite(one) for one in floats([judged, [r.model_dump() for r in found.ranking]]))


@pytest.mark.parametrize("seed", range(4))
def test_anything_is_explained(seed: int, default_pack: Pack) -> None:
    told = explain(hostile(seed, sorted(wanted_metrics(default_pack))), pack=default_pack)
    for one in told.explained:
        for reason in one.subjects:
            assert reason.outcome
            if reason.outcome == "unknown":
                assert reason.missing or reason.why_missing or "unknown" in reason.reason, (one.rule, reason)
