"""Unit algebra survives evaluation: values in any unit behave as the quantities they stand for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluate.support import evaluate, frame_of, pack_of

from profrx.evaluate.compile import Evaluator
from profrx.evaluate.metrics import Metrics
from profrx.evaluate.quantity import scale_from
from profrx.language import ast
from profrx.language.pack import Pack
from profrx.language.units import UNITS, convert, unit

VALUES = st.floats(0.001, 1e6).map(lambda v: round(v, 6))
NAMES = st.sampled_from(sorted(UNITS))


def value_of(expr: ast.Expr) -> float:
    (value,) = Evaluator(Metrics(Pack(), frame_of({"p": [1.0]}))).column(expr).to_pylist()
    assert isinstance(value, float)
    return value


@settings(deadline=None)
@given(VALUES, NAMES, NAMES)
def test_a_quantity_equals_itself_in_another_unit(value: float, one: str, other: str) -> None:
    if unit(one).dimension != unit(other).dimension:
        return
    converted = convert(value, one, other)
    assert value_of(ast.Quantity(value, one)) == pytest.approx(value_of(ast.Quantity(converted, other)))


@settings(deadline=None)
@given(VALUES, VALUES, NAMES, NAMES)
def test_quotients_and_products_have_the_derived_unit(x: float, y: float, top: str, bottom: str) -> None:
    over = ast.Binary("/", ast.Quantity(x, top), ast.Quantity(y, bottom))
    assert value_of(over) == pytest.approx(value_of(ast.Quantity(x / y, f"{top}/{bottom}")))
    back = ast.Binary("*", ast.Quantity(x, f"{top}/{bottom}"), ast.Quantity(y, bottom))
    assert value_of(back) == pytest.approx(value_of(ast.Quantity(x * y, top)))


@pytest.mark.parametrize(
    ("expr", "holds"),
    [
        ("50 % == 0.5 ratio", True),
        ("50 % == 0.5", True),
        ("2 GB / 1 s == 2 GB/s", True),
        ("1 GiB > 1 GB", True),
        ("1000 us == 1 ms", True),
        ("64 B / 2 sectors == 32 B/sector", True),
        ("1.5 GHz * 2 us == 3000 cycles", True),
        ("30 % * 2 > 60 %", False),
    ],
)
def test_written_units(expr: str, holds: bool) -> None:
    assert evaluate(expr, frame_of({"p": [1.0]})) == [holds]


def test_a_threshold_and_a_stored_percentage_are_the_same_float() -> None:
    pack = pack_of('metric m { unit % meaning "m" source ncu "m" }')
    stored = [float(i) for i in range(0, 101)]
    frame = frame_of({"m": stored}, units={"m": "%"})
    for percent in (7, 14, 29, 55, 57, 58, 70):
        assert evaluate(f"m == {percent} %", frame, pack) == [s == percent for s in stored]


def test_spellings_of_vendors() -> None:
    assert scale_from("byte/s", "GB/s") == unit("B/s").scale
    assert scale_from("hz", "GHz") == unit("Hz").scale
    assert scale_from("nsecond", "us") == unit("ns").scale
    assert scale_from("%", "ratio") == unit("%").scale
    assert scale_from("furlong", "us") == unit("us").scale
    assert scale_from(None, "%") == unit("%").scale
