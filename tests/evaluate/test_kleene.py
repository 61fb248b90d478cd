"""Strong Kleene logic, division, NaN: the tables of the language's documentation, written out."""

from __future__ import annotations

import itertools

import pytest
from tests.evaluate.support import evaluate, frame_of

from profrx.evaluate.compile import Evaluator
from profrx.evaluate.metrics import Metrics
from profrx.language import ast
from profrx.language.pack import Pack
from profrx_parsers.errors import RuleError

T, F, U = True, False, None
WORDS = {T: 1.0, F: 0.0, U: None}
AND = {(T, T): T, (T, F): F, (T, U): U, (F, T): F, (F, F): F, (F, U): F, (U, T): U, (U, F): F, (U, U): U}
OR = {(T, T): T, (T, F): T, (T, U): T, (F, T): T, (F, F): F, (F, U): U, (U, T): T, (U, F): U, (U, U): U}
PAIRS = list(itertools.product((T, F, U), repeat=2))


@pytest.mark.parametrize(("op", "table"), [("and", AND), ("or", OR)])
def test_truth_tables(op: str, table: dict[tuple[bool | None, bool | None], bool | None]) -> None:
    frame = frame_of({"p": [WORDS[p] for p, _ in PAIRS], "q": [WORDS[q] for _, q in PAIRS]})
    got = evaluate(f'raw "p" == 1 {op} raw "q" == 1', frame)
    assert got == [table[pair] for pair in PAIRS]


def test_constants_take_part_in_the_tables() -> None:
    frame = frame_of({"p": [1.0, None]})
    assert evaluate('false and raw "p" == 1', frame) == [False, False]
    assert evaluate('raw "p" == 1 or true', frame) == [True, True]
    assert evaluate('true and raw "p" == 1', frame) == [True, None]


def test_not_keeps_unknown() -> None:
    assert evaluate('not raw "p" == 1', frame_of({"p": [1.0, 0.0, None]})) == [False, True, None]


def test_any_and_all_over_instances() -> None:
    rows = [(0, "a", 1.0), (0, "b", None), (1, "a", 0.0), (1, "b", None), (2, "a", 0.0), (3, "a", 1.0)]
    frame = frame_of({"p": [0.0] * 5}, instances={"m": rows})
    assert evaluate('any(value == 1 over instances "m")', frame) == [True, None, False, True, None]
    assert evaluate('all(value == 1 over instances "m")', frame) == [None, False, False, True, None]


def test_unknown_comes_from_missing_nan_and_zero_divisors() -> None:
    frame = frame_of({"p": [1.0, None, float("nan"), 4.0], "q": [0.0, 1.0, 1.0, 2.0]})
    assert evaluate('raw "p" / raw "q"', frame) == [None, None, None, 2.0]
    assert evaluate('raw "p" > 0', frame) == [True, None, None, True]
    assert evaluate('raw "never" > 0', frame) == [None] * 4


def test_only_default_and_known_look_at_unknown() -> None:
    frame = frame_of({"p": [1.0, None, float("nan")]})
    assert evaluate('raw "p" ?? 7', frame) == [1.0, 7.0, 7.0]
    assert evaluate('known(raw "p")', frame) == [True, False, False]


def test_infinities_and_overflow_are_unknown() -> None:
    frame = frame_of({"p": [1e308, float("inf"), -1.0]})
    assert evaluate('raw "p" * 10', frame) == [None, None, -10.0]
    assert evaluate('sqrt(raw "p") > 0', frame) == [True, None, None]


def test_an_unknown_condition_matters_only_where_the_arms_differ() -> None:
    frame = frame_of({"p": [1.0, None, None], "q": [5.0, 5.0, 6.0]})
    assert evaluate('if raw "p" == 1 then raw "q" else 5', frame) == [5.0, 5.0, None]


def test_chains_and_ranges() -> None:
    frame = frame_of({"p": [0.3, 0.29, 0.6, None]})
    assert evaluate('30 % <= raw "p" < 60 %', frame) == [True, False, False, None]
    assert evaluate('raw "p" in 30 % .. 60 %', frame) == [True, False, True, None]


def test_patterns_are_whole_for_globs_and_anywhere_for_regular_expressions() -> None:
    names = ["void gemm<float>(int)", "sgemm", "copy", None]
    frame = frame_of({"n": names})
    assert evaluate('raw "n" matches "gem+"', frame) == [True, True, False, None]
    assert evaluate('raw "n" matches glob "*gemm"', frame) == [False, True, False, None]
    assert evaluate('raw "n" matches glob "?gemm"', frame) == [False, True, False, None]
    assert evaluate('raw "n" matches glob "*gemm<[!d]*>(*"', frame) == [True, False, False, None]
    assert evaluate('raw "n" == "copy"', frame) == [False, False, True, None]


def test_ties_of_the_least_are_joined_and_unknown_is_left_out() -> None:
    frame = frame_of({"a": [2.0, 2.0, None, None], "b": [2.0, 3.0, 5.0, None], "c": [2.0, 9.0, 5.0, None]})
    expr = 'least("registers": raw "a", "shared memory": raw "b", "barriers": raw "c")'
    assert evaluate(expr, frame) == [
        "registers, shared memory and barriers",
        "registers",
        "shared memory and barriers",
        None,
    ]


def test_long_chains_are_no_deep_recursion() -> None:
    chain: ast.Expr = ast.Raw("p")
    for _ in range(5000):
        chain = ast.Binary("+", chain, ast.Raw("p"))
    assert Evaluator(Metrics(Pack(), frame_of({"p": [1.0, None]}))).column(chain).to_pylist() == [
        5001.0,
        None,
    ]


def test_too_deep_an_expression_is_an_error_not_a_crash() -> None:
    expr: ast.Expr = ast.Raw("p")
    for _ in range(5000):
        expr = ast.Unary("-", expr)
    with pytest.raises(RuleError, match="too deeply"):
        Evaluator(Metrics(Pack(), frame_of({"p": [1.0]}))).column(expr)


def test_a_report_that_stores_text_for_a_number_makes_it_unknown() -> None:
    frame = frame_of({"n": ["text", None], "m": [1.0, 2.0]})
    for expr in ('raw "n" + 1', '-raw "n"', 'sqrt(raw "n")', 'min(raw "n", 1)', 'raw "n" ?? 1'):
        assert evaluate(expr, frame) in ([None, None], [1.0, 1.0]), expr
    for expr in ('raw "n" > 3', 'raw "m" == "text"', '(raw "m" ?? "x") matches "x"', 'raw "n" in 1 .. 2'):
        assert set(evaluate(expr, frame)) <= {None, True}, expr
    assert evaluate('least("n": raw "n", "m": raw "m")', frame) == ["m", "m"]
    assert evaluate('if raw "m" > 1 then raw "n" else "b"', frame) == ["b", None]


def test_parts_that_do_not_fit_are_a_rule_error() -> None:
    with pytest.raises(RuleError, match="do not fit together"):
        evaluate("true > 3", frame_of({"n": [1.0]}))
    with pytest.raises(RuleError, match="a condition is expected"):
        evaluate(
            'count(1 over instances "m" where value)',
            frame_of({"n": [1.0]}, instances={"m": [(0, "a", 1.0)]}),
        )
