"""The evaluated condition tree: faithful to the evaluation, and its deciding parts do decide."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.evaluate.strategies import RAWS, conditions, tables
from tests.evaluate.support import frame_of

from profrx.evaluate.compile import Evaluator
from profrx.evaluate.metrics import Metrics
from profrx.evaluate.showing import MAX_TEXT, text_of
from profrx.evaluate.trace import Step, deciding, fact, margin, trace, written
from profrx.language import ast
from profrx.language.pack import Pack
from profrx.language.parse import parse_expr

QUICK = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def evaluator(rows: list[dict[str, Any]]) -> Evaluator:
    raw = {name: [row["raw"][name] for row in rows] for name in RAWS}
    instances = [(i, key, value) for i, row in enumerate(rows) for key, value in row["m"]]
    return Evaluator(Metrics(Pack(), frame_of(raw, instances={"m": instances} if instances else {})))


def settled(step: Step, row: int, leaves: list[Step]) -> Any:
    """The value of a condition when only the deciding leaves are known (Kleene, by the documentation)."""
    if step.kind == "leaf":
        return step.values[row] if any(leaf.expr is step.expr for leaf in leaves) else None
    parts = [settled(part, row, leaves) for part in step.parts]
    match step.kind:
        case "and":
            return False if False in parts else None if None in parts else True
        case "or":
            return True if True in parts else None if None in parts else False
        case "not":
            return None if parts[0] is None else not parts[0]
        case "let":
            return parts[0]
    condition, then, otherwise = parts
    return None if condition is None else then if condition else otherwise


@QUICK
@given(conditions(total=True), tables())
def test_the_deciding_parts_alone_settle_the_outcome(expr: ast.Expr, rows: list[dict[str, Any]]) -> None:
    view = evaluator(rows)
    step = trace(view, expr)
    assert step.values == view.column(expr).to_pylist()
    for row, value in enumerate(step.values):
        leaves = deciding(step, row)
        assert leaves
        if value is None:
            assert any(leaf.values[row] is None for leaf in leaves)
        elif not any(part.kind == "if" for part in _all(step)):
            assert settled(step, row, leaves) is value
        for leaf in leaves:
            fact(view, leaf, row)
    assert written(view, step, 0)[0].startswith(str(step.values[0]).lower().replace("none", "unknown"))


def _all(step: Step) -> list[Step]:
    return [step, *(inner for part in step.parts for inner in _all(part))]


def test_long_expressions_are_cut_and_deep_ones_do_not_break() -> None:
    long = parse_expr(" + ".join(['raw "a_long_metric_name"'] * 60))
    assert len(text_of(long)) == MAX_TEXT
    deep: ast.Expr = ast.Raw("a")
    for _ in range(5000):
        deep = ast.Unary("-", deep)
    assert text_of(deep) == "…"


def test_margins_are_signed_by_the_side_that_holds() -> None:
    assert margin(">", 60.0, 50.0) == 0.2
    assert margin("<", 60.0, 50.0) == -0.2
    assert margin("<=", 40.0, 50.0) == 0.2
    assert margin(">=", -40.0, -50.0) == 0.2
    assert margin(">", 1.0, 0.0) is None
    assert margin("==", 1.0, 2.0) is None
    assert margin(">", None, 2.0) is None
    assert margin("==", "a", "b") is None


def test_a_threshold_on_the_left_is_turned_round() -> None:
    view = evaluator([{"raw": {"a": 0.3, "b": None, "c": None}, "m": []}])
    (leaf,) = deciding(trace(view, parse_expr('20 % < raw "a"')), 0)
    one = fact(view, leaf, 0)
    assert (one.op, one.value, one.threshold, one.unit) == (">", 30.0, 20.0, "%")


def test_below_a_not_the_opposite_is_asked_for() -> None:
    view = evaluator([{"raw": {"a": 0.4, "b": 0.1, "c": None}, "m": []}])
    step = trace(view, parse_expr('not (raw "a" < 30 % and raw "b" < 20 %) and not raw "b" in {1, 2}'))
    facts = [fact(view, leaf, 0) for leaf in deciding(step, 0)]
    assert [(one.op, one.value, one.threshold) for one in facts] == [
        (">=", 40.0, 30.0),
        ("not in", 0.1, "{1, 2}"),
    ]
    assert facts[0].margin == pytest.approx(1 / 3)
    assert facts[0].text == 'raw "a" = 40 %, needs >= 30 %'
