"""Numbers as a person reads them."""

from __future__ import annotations

import doctest
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profrx import escape
from profrx.report import grid, numbers, sarif, verdicts


@pytest.mark.parametrize("module", [numbers, escape, grid, verdicts, sarif], ids=lambda m: m.__name__)
def test_examples_of_the_docstrings(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0, "ns", "0 ns"),
        (999.0, "ns", "999 ns"),
        (999.9, "ns", "1.00 us"),
        (1_234_567.0, "ns", "1.23 ms"),
        (90e9, "ns", "1.50 min"),
        (0.5, "ns", "0.500 ns"),
        (1.5e9, "Hz", "1.50 GHz"),
        (989e12, "FLOP/s", "989 TFLOP/s"),
        (4.8, "B/ns", "4.80 GB/s"),
        (1.98, "cycle/ns", "1.98 GHz"),
        (1024.0, "B", "1.02 KB"),
        (100.0, "%", "100%"),
        (0.01, "%", "< 0.1%"),
        (0.0, "%", "0.0%"),
        (-5.0, "%", "-5.0%"),
        (12.0, "warps", "12 warps"),
        (3.25, "sectors/request", "3.25 sectors/request"),
        (math.nan, "ns", "–"),
        (math.inf, "ns", "–"),
        ("registers", "", "registers"),
        (-1500.0, "ns", "-1.50 us"),
    ],
)
def test_quantity(value: float | str, unit: str, text: str) -> None:
    assert numbers.quantity(value, unit) == text


@given(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from(["", "ns", "B", "B/s", "%", "FLOP/s", "Hz", "inst", "x/y"]),
)
def test_any_value_is_shown_shortly(value: float, unit: str) -> None:
    text = numbers.quantity(value, unit)
    assert "nan" not in text
    assert "inf" not in text.removesuffix("inst")
    assert len(text) < 40


@given(st.floats(min_value=1e-2, max_value=1e14))
def test_three_digits_are_within_half_a_percent(value: float) -> None:
    shown = float(numbers.digits(value).replace(",", ""))
    assert shown == pytest.approx(value, rel=0.0051)


@given(st.floats(min_value=0, max_value=1), st.floats(min_value=0, max_value=1))
def test_ranges_name_both_ends(a: float, b: float) -> None:
    low, high = sorted((a, b))
    text = numbers.share_range(low, high)
    assert text.endswith("%")
    assert numbers.speedup_range(low, high)


def test_a_saving_of_half_is_twice_as_fast() -> None:
    assert numbers.speedup_range(0.5, 0.75) == "2.0x to 4.0x"
    assert numbers.speedup_range(0.0, 0.5) == "up to 2.0x"


@pytest.mark.parametrize(
    ("value", "limit", "unit", "shown"),
    [
        (1.004, 1.0, "waves", ("1.004 waves", "1 waves")),
        (10.0, 0.05, "%", ("10.0%", "0.1%")),
        (10.0, 0.02, "%", ("10%", "0.02%")),
        (0.01, 5.0, "%", ("< 0.1%", "5.0%")),
        (5.0, 5.0, "%", ("5.0%", "5.0%")),
        (1_000_400.0, 1_000_000.0, "ns", ("1.0004 ms", "1 ms")),
        (None, 5.0, "%", ("–", "5.0%")),
        ("a", "b", "", ("a", "b")),
    ],
)
def test_a_value_and_its_limit_can_be_told_apart(
    value: float | str | None, limit: float | str | None, unit: str, shown: tuple[str, str]
) -> None:
    assert numbers.compared(value, limit, unit) == shown


@given(st.floats(1e-6, 1e9), st.floats(1e-4, 1e3))
def test_values_that_differ_look_different(limit: float, part: float) -> None:
    value = limit * (1 + part)
    one, other = numbers.compared(value, limit, "waves")
    assert one != other


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.12, "+12%"), (-0.5, "-50%"), (9.9, "+990%"), (685.87, "far beyond"), (-40, "far short")],
)
def test_margins_are_capped(value: float, shown: str) -> None:
    assert numbers.margin(value) == shown
