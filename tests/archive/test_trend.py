"""Change points against series whose change is known, and Pettitt's statistic against its definition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import profrx
from profrx.archive import Archive
from profrx.archive.trend import MIN_POINTS, _moved, change_points, pettitt, trend


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


def setup(**facts: str | None) -> dict[str, str | None]:
    return {"driver": None, "tool_version": None, "clocks": None, "runtime_version": None, **facts}


def test_a_set_up_that_is_not_recorded_is_no_change() -> None:
    """A damaged report lacks its driver; the next one that names it is compared with the last one that did."""
    assert _moved([setup(driver="580.1"), setup(), setup(driver="580.1")]) == {}
    assert _moved([setup(driver="580.1"), setup(), setup(driver="590.2")]) == {2: ("driver",)}
    assert _moved([setup(), setup(driver="580.1", clocks="locked")]) == {}


def test_a_kernel_is_chosen_by_a_part_of_its_name_or_a_glob(fixtures: Path, tmp_path: Path) -> None:
    profrx.batch([fixtures / "ncu/strided-load/report.ncu-repz"], tmp_path / "a.sqlite", workers=1)
    with Archive(tmp_path / "a.sqlite", readonly=True) as store:
        for name in ("gather", "gather_*", "*strided*", "gather_strided(const float *", None):
            assert [one.kernel_short for one in trend(store, name)] == ["gather_strided"], name
        for name in ("scatter", "strided*", "gather%"):
            assert trend(store, name) == [], name
