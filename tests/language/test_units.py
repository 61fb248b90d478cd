"""Unit algebra: conversions agree with published definitions, and dimensions form a group."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profrx.language.lr import unit_end
from profrx.language.tables import GRAMMAR
from profrx.language.units import NONE, UNITS, Dimension, UnitError, convert, is_unit, unit

names = st.sampled_from([*UNITS, "B/s", "inst/cycle", "sectors/request", "GFLOP/s", "FLOP/B"])
numbers = st.floats(-1e12, 1e12, allow_nan=False)


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (1, "KiB", "B", 1024),  # IEC 80000-13
        (1, "KB", "B", 1000),
        (1, "GiB", "MB", 1073.741824),
        (1, "min", "s", 60),
        (1, "J", "W", None),
        (50, "%", "ratio", 0.5),
        (3, "pp", "%", 3),
        (1, "GHz", "cycle/ns", 1),
        (936, "GB/s", "B/ns", 936),
        (19.5, "TFLOP/s", "GFLOP/s", 19500),
        (2, "ms", "us", 2000),
    ],
)
def test_conversions(value: float, source: str, target: str, expected: float | None) -> None:
    if expected is None:
        with pytest.raises(ValueError, match="cannot become"):
            convert(value, source, target)
    else:
        assert convert(float(value), source, target) == expected


def test_energy_is_power_times_time() -> None:
    assert unit("J").dimension == unit("W").dimension * unit("s").dimension
    assert unit("W").to_base(1.0) * unit("s").to_base(1.0) == unit("J").to_base(1.0)


def test_bytes_per_nanosecond_compare_with_gigabytes_per_second() -> None:
    assert unit("B").dimension / unit("ns").dimension == unit("GB/s").dimension
    assert unit("GB/s").to_base(1.0) == 1.0


@given(names, names, names)
def test_dimensions_form_a_commutative_group(a: str, b: str, c: str) -> None:
    x, y, z = (unit(name).dimension for name in (a, b, c))
    assert (x * y) * z == x * (y * z)
    assert x * y == y * x
    assert x * NONE == x
    assert x / x == NONE
    assert (x / y) * y == x
    assert (x * x).root() == x


def test_no_root_of_an_odd_power() -> None:
    assert Dimension((("B", 1),)).root() is None


@given(numbers, names)
def test_there_and_back(value: float, name: str) -> None:
    assert math.isclose(unit(name).from_base(unit(name).to_base(value)), value, rel_tol=1e-12, abs_tol=1e-300)


@given(st.integers(0, 10**6))
def test_thresholds_in_percent_are_the_nearest_float(n: int) -> None:
    assert unit("%").to_base(float(n)) == n / 100


@pytest.mark.parametrize("name", ["procent", "kb", "B/procent", "m/s", "", "%/s2"])
def test_unknown_units(name: str) -> None:
    assert not is_unit(name)


def test_unknown_units_suggest_a_near_one() -> None:
    with pytest.raises(UnitError) as caught:
        unit("cycels")
    assert "cycles" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "length"),
    [("%", 1), (" ms)", 3), ("B/s", 3), ("B/n", 1), ("warps-bound", 0), ("ms.x", 0), ("\nms", 0)],
)
def test_where_a_unit_ends(text: str, length: int) -> None:
    assert unit_end(text, 0, len(text)) == length


def test_grammar_and_table_name_the_same_units() -> None:
    line = next(line for line in GRAMMAR.read_text("utf-8").split("\n") if line.startswith("UNIT.2"))
    listed = line[line.index("(?:") + 3 : line.index(")")].split("|")
    assert set(listed) | {"%"} == set(UNITS)
