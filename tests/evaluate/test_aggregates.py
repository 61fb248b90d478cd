"""Aggregates against numpy and the standard library, over random groups."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluate.support import column, evaluate, frame_of, pack_of, subjects

from profrx.evaluate.aggregates import PERCENTILES, aggregate, group
from profrx.evaluate.frame import Frame, TableSupply
from profrx.evaluate.frames import link
from profrx.evaluate.metrics import Metrics
from profrx.language.pack import Pack

GROUPS = st.lists(st.lists(st.integers(-50, 50).map(float), max_size=7), min_size=1, max_size=5)


def flat(groups: list[list[float]]) -> tuple[Any, pa.Array]:
    owner = np.array([i for i, values in enumerate(groups) for _ in values], dtype=np.int64)
    return owner, pa.array([v for values in groups for v in values], pa.float64())


def expected(function: str, values: list[float]) -> float | None:
    if not values:
        return None
    if function in PERCENTILES:
        return float(np.percentile(values, PERCENTILES[function] * 100))
    return {
        "sum": math.fsum,
        "mean": statistics.fmean,
        "min": min,
        "max": max,
        "count": lambda v: float(len(v)),
        "topshare": lambda v: max(v) / math.fsum(v) if math.fsum(v) else None,
    }[function](values)  # type: ignore[operator]


@settings(max_examples=60, deadline=None)
@given(GROUPS)
def test_every_function_equals_numpy(groups: list[list[float]]) -> None:
    owner, values = flat(groups)
    for function in ("sum", "mean", "min", "max", "count", "topshare", *PERCENTILES):
        got = aggregate(function, group(len(groups), owner, None), values).to_pylist()
        for mine, members in zip(got, groups, strict=True):
            want = expected(function, members)
            assert (mine is None) == (want is None), function
            assert mine is None or mine == pytest.approx(want, rel=1e-9, abs=1e-9), function


def test_percentiles_do_not_mix_groups() -> None:
    owner, values = flat([[4.0, 1.0, 2.0, 3.0], [100.0], [10.0, 20.0]])
    got = aggregate("p75", group(3, owner, None), values).to_pylist()
    assert got == [3.25, 100.0, 17.5]


def test_filtered_share_and_key_of_the_largest() -> None:
    rows = [(0, "FADD", 100.0), (0, "FFMA", 300.0), (1, "FADD", 5.0), (2, "BAR", 0.0)]
    frame = frame_of({"p": [0.0] * 4}, instances={"ops": rows})
    share = 'share(value over instances "ops" where key matches "^F(ADD|MUL)$")'
    assert evaluate(share, frame) == [0.25, 1.0, None, None]
    assert evaluate('key_of_max(value over instances "ops")', frame) == ["FFMA", "FADD", "BAR", None]
    count = 'count(value over instances "ops" where value > 50)'
    assert evaluate(count, frame) == [2.0, 0.0, 0.0, None]


def test_a_member_without_value_makes_the_sum_unknown_unless_it_is_filtered_out() -> None:
    rows = [(0, "a", 1.0), (0, "b", None), (1, "a", 1.0), (1, "b", 2.0)]
    frame = frame_of({"p": [0.0, 0.0]}, instances={"m": rows})
    assert evaluate('sum(value over instances "m")', frame) == [None, 3.0]
    assert evaluate('sum(value over instances "m" where key == "a")', frame) == [1.0, 1.0]


def test_outer_values_are_seen_inside() -> None:
    frame = frame_of({"limit": [2.0, 5.0]}, instances={"m": [(0, "a", 3.0), (0, "b", 1.0), (1, "a", 3.0)]})
    assert evaluate('count(value over instances "m" where value > raw "limit")', frame) == [1.0, 0.0]


def test_launches_of_a_report() -> None:
    pack = pack_of('metric launch.duration { unit ns meaning "time" source launch "duration_ns" }')
    launch = frame_of(launch={"duration_ns": [1000.0, 3000.0, None]})
    whole = Frame("report", "ncu", subjects(1), TableSupply())
    link(whole, launch, np.zeros(3, dtype=np.int64))
    known = "sum(launch.duration over launches where known(launch.duration))"
    assert evaluate(known, whole, pack) == [4000.0]
    assert evaluate("sum(launch.duration over launches)", whole, pack) == [None]
    assert evaluate(
        "count(launch.duration >= 2 us over launches where known(launch.duration))", whole, pack
    ) == [1]


def test_a_domain_that_is_not_there_is_unknown() -> None:
    assert evaluate("count(1 over ranks)", frame_of({"p": [1.0]})) == [None]
    assert evaluate("any(true over ranks)", frame_of({"p": [1.0]})) == [None]


def test_members_of_a_taken_frame_follow_their_rows() -> None:
    rows = [(0, "a", 1.0), (1, "a", 2.0), (2, "a", 3.0), (2, "b", 4.0)]
    frame = frame_of({"p": [0.0] * 3}, instances={"m": rows}).take([2, 0])
    metrics = Metrics(Pack(), frame)
    members, _ = metrics.members("m")
    assert members is not None
    assert members.row.tolist() == [0, 0, 1]
    assert evaluate('sum(value over instances "m")', frame) == [7.0, 1.0]


def test_text_columns_compare_by_value_after_take() -> None:
    frame = frame_of({"n": ["a", "b", None]}).take([2, 1])
    assert frame.raw("n").to_pylist() == [None, "b"]
    assert column(["x"]).to_pylist() == ["x"]
