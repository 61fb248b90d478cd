"""Columns of a few rows are looked through another way than long ones: the results must not tell."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluate.support import evaluate, frame_of, pack_of

from profrx.evaluate import operators
from profrx.evaluate.metrics import Metrics

NUMBERS = st.none() | st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1e308, -1e308]) | st.floats()
OPS = ["+", "-", "*", "/"]


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=6), st.sampled_from(OPS))
def test_arithmetic_is_the_same_short_and_long(
    pairs: list[tuple[float | None, float | None]], op: str
) -> None:
    times = operators.SMALL // len(pairs) + 1
    short, long = (
        evaluate(
            f'raw "p" {op} raw "q"',
            frame_of({"p": [p for p, _ in pairs] * n, "q": [q for _, q in pairs] * n}),
        )
        for n in (1, times)
    )
    assert long == short * times
    assert all(value is None or math.isfinite(value) for value in short)


@pytest.mark.parametrize("times", [1, operators.SMALL])
def test_values_out_of_range_are_unknown_short_and_long(times: int) -> None:
    pack = pack_of('metric a { meaning "a" unit % valid 0 % .. 100 % source ncu "a" }')
    values = [0.0, -1.0, None, 100.0, 101.0, math.nan, math.inf]
    column = Metrics(pack, frame_of({"a": values * times})).column("a")
    assert column.to_pylist() == [0.0, None, None, 1.0, None, None, None] * times
