"""Proofs about decision tables agree with brute force over a fine grid of exact fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from profrx.language import ast
from profrx.language.check import check
from profrx.language.check.context import Scope
from profrx.language.check.formula import Compiler
from profrx.language.check.regions import Space
from profrx.language.parse import parse
from profrx.language.printer import to_text
from profrx.language.walk import nodes

from .conftest import Judge, assembled

VARIABLES = ("sm.throughput", "memory.throughput")
STEPS = [Fraction(n, 20) for n in range(21)]
"""Thresholds below are 10, 30, 50, 70 %, so steps of 5 % hit each of them and three points between neighbours."""

thresholds = st.sampled_from([10, 30, 50, 70]).map(lambda n: ast.Quantity(float(n), "%"))
names = st.sampled_from(VARIABLES).map(ast.Name)
ops = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
affine = st.one_of(
    names,
    names.map(lambda n: ast.Binary("-", ast.Quantity(100.0, "%"), n)),
    names.map(lambda n: ast.Unary("-", ast.Unary("-", n))),
    st.builds(lambda n, t: ast.Binary("??", n, t), names, thresholds),
)
atoms = st.one_of(
    st.builds(lambda a, op, t: ast.Compare((a, t), (op,)), affine, ops, thresholds),
    st.builds(lambda op: ast.Compare((ast.Name(VARIABLES[0]), ast.Name(VARIABLES[1])), (op,)), ops),
    st.builds(lambda n, a, b: ast.In(n, (a, b), True), names, thresholds, thresholds),
    names.map(lambda n: ast.Call("known", (n,))),
)
conditions = st.recursive(
    atoms,
    lambda c: st.one_of(
        st.builds(lambda x: ast.Unary("not", x), c),
        st.builds(ast.Binary, st.sampled_from(["and", "or"]), c, c),
        st.builds(ast.If, c, c, c),
    ),
    max_leaves=5,
)


def value(expr: ast.Expr, at: dict[str, Fraction | None]) -> Fraction | None:
    """Numbers by the definition of the language, exactly."""
    match expr:
        case ast.Quantity():
            return Fraction(int(expr.value), 100)
        case ast.Name():
            return at[expr.name]
        case ast.Unary():
            inner = value(expr.operand, at)
            return None if inner is None else -inner
        case ast.Binary("??"):
            left = value(expr.left, at)
            return value(expr.right, at) if left is None else left
        case ast.Binary("-"):
            left, right = value(expr.left, at), value(expr.right, at)
            return None if left is None or right is None else left - right
    raise AssertionError(expr)


def holds(expr: ast.Expr, at: dict[str, Fraction | None]) -> bool | None:
    """Conditions by strong Kleene tables."""
    match expr:
        case ast.Unary():
            inner = holds(expr.operand, at)
            return None if inner is None else not inner
        case ast.Binary():
            sides = (holds(expr.left, at), holds(expr.right, at))
            decisive = expr.op == "or"
            if decisive in sides:
                return decisive
            return None if None in sides else not decisive
        case ast.If():
            condition, then, otherwise = (holds(e, at) for e in (expr.condition, expr.then, expr.otherwise))
            if condition is None:
                return then if then == otherwise else None
            return then if condition else otherwise
        case ast.Compare():
            left, right = (value(operand, at) for operand in expr.operands)
            if left is None or right is None:
                return None
            return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right,
                    "==": left == right, "!=": left != right}[expr.ops[0]]  # fmt: skip
        case ast.Call():
            return value(expr.arguments[0], at) is not None
        case ast.In():
            x, low, high = (value(e, at) for e in (expr.operand, *expr.items))
            return None if x is None or low is None or high is None else low <= x <= high
    raise AssertionError(expr)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(conditions, min_size=1, max_size=3))
def test_gaps_and_overlaps_equal_brute_force(rows: list[ast.Expr]) -> None:
    pack = assembled()
    scope = Scope(pack, ast.Cause("x", ""))
    compiler = Compiler()
    formulas = [compiler.condition(row, scope) for row in rows]
    space = Space(formulas)
    truths = [space.truth(formula) for formula in formulas]
    all_false = truths[0][1]
    for _, false in truths[1:]:
        all_false = all_false & false
    count = sum(space.full(true).astype(int) for true, _ in truths)

    grid = [dict(zip(VARIABLES, point, strict=True)) for point in product([*STEPS, None], repeat=2)]
    outcomes = [[holds(row, at) for row in rows] for at in grid]
    assert (space.witness(all_false) is not None) == any(all(one is False for one in row) for row in outcomes)
    assert (space.witness(count > 1) is not None) == any(sum(map(bool, row)) > 1 for row in outcomes)
    for number, formula in enumerate(formulas):
        assert space.possible(formula) == any(row[number] for row in outcomes)
    witness = space.witness(all_false)
    if witness is not None:
        at: dict[str, Any] = dict.fromkeys(VARIABLES, Fraction(1, 2)) | {
            v.text: x for v, x in witness.items()
        }
        assert not any(holds(row, at) for row in rows)


@settings(deadline=None, max_examples=40)
@given(conditions)
def test_unknown_inputs_follow_kleene(condition: ast.Expr) -> None:
    """Losing an input never decides a condition that asks nothing about what is known."""
    assume(
        not any(isinstance(part, ast.Call) or getattr(part, "op", "") == "??" for part in nodes(condition))
    )
    scope = Scope(assembled(), ast.Cause("x", ""))
    formula = Compiler().condition(condition, scope)
    space = Space([formula])
    true, false = (space.full(side) for side in space.truth(formula))
    for axis, variable in enumerate(space.variables):
        index = space.candidates[axis].index(None)
        others = [i for i in range(len(space.candidates[axis])) if i != index]
        assert not (true.take(index, axis)[None] & ~true.take(others, axis).swapaxes(0, axis)).any(), variable
        assert not (false.take(index, axis)[None] & ~false.take(others, axis).swapaxes(0, axis)).any(), (
            variable
        )


TABLE = """
verdict v {{
  title "V"
  param low = 30 % in 0 % .. 100 % "x" see guide
  param high = 70 % in 0 % .. 100 % "x" see guide
  {require}
  let s = sm.throughput
  one_of {{
    {rows}
  }}
}}
"""


def table(rows: str, require: str = "require low <= high") -> str:
    return TABLE.format(rows=rows, require=require)


def codes(found: list[object]) -> set[str]:
    return {d.code for d in found if d.code not in ("missing-test", "unused-name")}  # type: ignore[attr-defined]


def test_a_gap_at_a_single_point_is_found(judge: Judge) -> None:
    found = judge(table("a-low when s < low  b-mid when low < s <= high  c-high when s > high"))
    gap = next(d for d in found if d.code == "table-gap")
    assert gap.severity == "error"
    assert "sm.throughput = 30 %" in gap.message


def test_an_overlap_at_a_single_point_is_found(judge: Judge) -> None:
    found = judge(table("a-low when s <= low  b-mid when low <= s <= high  c-high when s > high"))
    overlap = next(d for d in found if d.code == "table-overlap")
    assert "`a-low` and `b-mid`" in overlap.message
    assert "sm.throughput = 30 %" in overlap.message


def test_a_total_table_is_proved(judge: Judge) -> None:
    assert (
        codes(judge(table("a-low when s < low  b-mid when low <= s <= high  c-high when s > high"))) == set()
    )


def test_order_of_parameters_matters(judge: Judge) -> None:
    rows = "a-low when s < low  b-mid when low <= s <= high  c-high when s > high"
    assert codes(judge(table(rows, require=""))) == {"table-needs-require"}


def test_a_table_of_dependent_inputs_is_only_doubted(judge: Judge) -> None:
    found = judge(table("a-low when s / 2 + memory.throughput < low  b-mid when s >= high", require=""))
    assert {d.severity for d in found if d.code in ("table-gap", "table-overlap")} == {"warning"}


def test_first_needs_no_disjoint_rows(judge: Judge) -> None:
    text = table("a-low when s < high  b-mid when s < low or s >= low", require="").replace("one_of", "first")
    assert codes(judge(text)) == set()


def test_shipped_flowchart_is_proved() -> None:
    from profrx.language.pack import load_pack

    pack = load_pack(plugins=False)
    found = check(pack)
    assert not [
        d for d in found if d.code in ("table-gap", "table-overlap", "table-not-proved", "unreachable-row")
    ]


@pytest.mark.parametrize("op", ["<", "<="])
def test_shifting_one_boundary_of_the_flowchart_breaks_it(op: str) -> None:
    """Mutate each threshold comparison of the shipped root table: each mutation is noticed."""
    from dataclasses import replace

    from profrx.language.pack import load_pack

    pack = load_pack(plugins=False)
    verdict = pack.verdicts["speed-of-light"]
    row = verdict.rows[0]
    flipped = to_text(row.when).replace(" < ", f" {'<=' if op == '<' else '>'} ", 1)
    when = parse(f'verdict x {{ title "t" one_of {{ r when {flipped} }} }}').declarations[0].rows[0].when  # type: ignore[union-attr]
    broken = replace(verdict, rows=(replace(row, when=when), *verdict.rows[1:]))
    verdicts = {**pack.verdicts, "speed-of-light": broken}
    found = check(replace(pack, verdicts=verdicts), only=[verdict.span.file])
    assert {d.code for d in found} & {"table-gap", "table-overlap"}
