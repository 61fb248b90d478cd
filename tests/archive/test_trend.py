"""Change points against series whose change is known, and Pettitt's statistic against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profrx.archive.trend import MIN_POINTS, change_points, pettitt


@given(st.lists(st.integers(0, 30), min_size=4, max_size=25))
def test_statistic_equals_its_definition(values: list[int]) -> None:
    x = np.array(values, dtype=float)
    count = len(x)
    # Pettitt 1979: U_t = sum over i <= t < j of sign(x_i - x_j)
    by_definition = [
        sum(np.sign(x[i] - x[j]) for i in range(t) for j in range(t, count)) for t in range(1, count)
    ]
    strongest = max(abs(u) for u in by_definition)
    place, p = pettitt(x)
    assert abs(by_definition[place - 1]) == strongest
    assert p == pytest.approx(min(1.0, 2 * np.exp(-6 * strongest**2 / (count**3 + count**2))))


def test_two_steps_are_found_where_they_are() -> None:
    noise = np.random.default_rng(7)
    series = np.r_[noise.normal(100, 1, 20), noise.normal(80, 1, 20), noise.normal(95, 1, 20)]
    assert [i for i, *_ in change_points(series)] == [20, 40]


def test_short_series_and_small_steps_show_nothing() -> None:
    assert change_points(np.r_[np.full(5, 1.0), np.full(MIN_POINTS - 6, 9.0)]) == []
    assert change_points(np.r_[np.full(20, 100.0), np.full(20, 101.0)]) == []  # 1 %: under the limit


def test_noise_alone_is_rarely_a_change() -> None:
    noise = np.random.default_rng(3)
    found = sum(bool(change_points(noise.normal(100, 5, 40))) for _ in range(300))
    assert found <= 0.08 * 300
