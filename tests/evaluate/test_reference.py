"""The column engine equals a scalar interpreter written independently, and it respects the order of information."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.evaluate.reference import Reference
from tests.evaluate.strategies import RAWS, conditions, numbers, tables
from tests.evaluate.support import frame_of

from profrx.evaluate.compile import Evaluator
from profrx.evaluate.metrics import Metrics
from profrx.language import ast
from profrx.language.pack import Pack

QUICK = settings(max_examples=70, deadline=None, suppress_health_check=list(HealthCheck))
LABELS = ("x", "y", "z")


def columns(expr: ast.Expr, rows: list[dict[str, Any]]) -> list[Any]:
    """Evaluate with the engine."""
    raw = {name: [row["raw"][name] for row in rows] for name in RAWS}
    instances = [(i, key, value) for i, row in enumerate(rows) for key, value in row["m"]]
    frame = frame_of(raw, instances={"m": instances} if instances else {})
    return Evaluator(Metrics(Pack(), frame)).column(expr).to_pylist()


def scalars(expr: ast.Expr, rows: list[dict[str, Any]]) -> list[Any]:
    """Evaluate with the reference."""
    return [Reference(raws=row["raw"], members={"m": row["m"]}).value(expr) for row in rows]


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)
    return left is right or left == right


@QUICK
@given(numbers(total=True), tables())
def test_numbers_equal_the_reference(expr: ast.Expr, rows: list[dict[str, Any]]) -> None:
    for mine, theirs in zip(columns(expr, rows), scalars(expr, rows), strict=True):
        assert same(mine, theirs)


@QUICK
@given(conditions(total=True), tables())
def test_conditions_equal_the_reference(expr: ast.Expr, rows: list[dict[str, Any]]) -> None:
    assert columns(expr, rows) == scalars(expr, rows)


@QUICK
@given(st.sampled_from(["least", "greatest"]), st.lists(numbers(), min_size=3, max_size=3), tables())
def test_choices_equal_the_reference(
    function: Any, values: list[ast.Expr], rows: list[dict[str, Any]]
) -> None:
    expr = ast.Choice(function, LABELS, tuple(values))
    assert columns(expr, rows) == scalars(expr, rows)


@QUICK
@given(conditions(), tables(), st.sampled_from(RAWS))
def test_removing_a_metric_only_removes_information(
    expr: ast.Expr, rows: list[dict[str, Any]], name: str
) -> None:
    poorer = [{**row, "raw": {**row["raw"], name: None}} for row in rows]
    for rich, poor in zip(columns(expr, rows), columns(expr, poorer), strict=True):
        assert poor is None or poor == rich


@QUICK
@given(conditions(), tables())
def test_removing_instances_only_removes_information(expr: ast.Expr, rows: list[dict[str, Any]]) -> None:
    poorer = [{**row, "m": []} for row in rows]
    for rich, poor in zip(columns(expr, rows), columns(expr, poorer), strict=True):
        assert poor is None or poor == rich
