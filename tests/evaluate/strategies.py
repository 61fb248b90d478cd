"""Random expressions and rows: numbers, truth values, instances, with unknowns everywhere."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from profrx.language import ast

RAWS = ("a", "b", "c")
KEYS = ("FADD", "FFMA", "BAR", "7")
NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.5, 3.0, 10.0, 0.3])
CELLS = st.one_of(st.none(), st.just(float("nan")), NUMBERS)
UNITS = st.sampled_from(["", "%"])
COMPARISONS = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
FUNCTIONS = (
    "sum", "mean", "median", "min", "max", "count", "share", "topshare", "p5", "p75", "p99",
)  # fmt: skip


def quantities() -> Any:
    return st.builds(lambda v, u: ast.Quantity(v, u), NUMBERS.filter(lambda v: v >= 0), UNITS)


def members() -> Any:
    return st.one_of(st.just(ast.Name("value")), quantities())


def member_tests() -> Any:
    by_key = st.builds(lambda k: ast.Compare((ast.Name("key"), ast.Text(k)), ("==",)), st.sampled_from(KEYS))
    by_value = st.builds(lambda op, q: ast.Compare((ast.Name("value"), q), (op,)), COMPARISONS, quantities())
    by_outer = st.builds(
        lambda op, n: ast.Compare((ast.Name("value"), ast.Raw(n)), (op,)), COMPARISONS, st.sampled_from(RAWS)
    )
    return st.one_of(by_key, by_value, by_outer)


def aggregates() -> Any:
    return st.builds(
        lambda f, e, w: ast.Aggregate(f, e, "instances", "m", w),
        st.sampled_from(FUNCTIONS),
        members(),
        st.one_of(st.none(), member_tests()),
    )


def quantified() -> Any:
    return st.builds(
        lambda f, e, w: ast.Aggregate(f, e, "instances", "m", w),
        st.sampled_from(["any", "all"]),
        member_tests(),
        st.one_of(st.none(), member_tests()),
    )


def numbers(total: bool = False) -> Any:
    """Numeric expressions; `total` allows ``??``, which looks at unknown."""
    leaves = st.one_of(quantities(), st.sampled_from(RAWS).map(ast.Raw), aggregates())

    def more(inner: Any) -> Any:
        ops = ["+", "-", "*", "/"] + (["??"] if total else [])
        return st.one_of(
            st.builds(ast.Binary, st.sampled_from(ops), inner, inner),
            st.builds(lambda x: ast.Unary("-", x), inner),
            st.builds(
                lambda f, x: ast.Call(f, (x,)),
                st.sampled_from(["abs", "ceil", "floor", "sqrt", "log2"]),
                inner,
            ),
            st.builds(
                lambda f, x, y: ast.Call(f, (x, y)), st.sampled_from(["min", "max", "amdahl"]), inner, inner
            ),
            st.builds(lambda x, y, z: ast.Call("clamp", (x, y, z)), inner, inner, inner),
            st.builds(ast.If, comparisons(inner), inner, inner),
        )

    return st.recursive(leaves, more, max_leaves=6)


def comparisons(inner: Any) -> Any:
    return st.builds(lambda op, x, y: ast.Compare((x, y), (op,)), COMPARISONS, inner, inner)


def conditions(total: bool = False) -> Any:
    """Truth-valued expressions; `total` allows ``??`` and ``known``."""
    inner = numbers(total)
    leaves = [
        comparisons(inner),
        st.builds(lambda x, y, z: ast.Compare((x, y, z), ("<=", "<")), inner, inner, inner),
        st.builds(lambda x, lo, hi: ast.In(x, (lo, hi), True), inner, inner, inner),
        st.builds(
            lambda x, items: ast.In(x, tuple(items), False), inner, st.lists(inner, min_size=1, max_size=3)
        ),
        st.booleans().map(ast.Bool),
        quantified(),
    ]
    if total:
        leaves.append(st.builds(lambda x: ast.Call("known", (x,)), inner))

    def more(part: Any) -> Any:
        return st.one_of(
            st.builds(ast.Binary, st.sampled_from(["and", "or"]), part, part),
            st.builds(lambda x: ast.Unary("not", x), part),
            st.builds(ast.If, part, part, part),
        )

    return st.recursive(st.one_of(leaves), more, max_leaves=5)


def tables() -> Any:
    """Rows of cells: raw columns a, b, c and members of the instanced metric m."""
    row = st.fixed_dictionaries(
        {
            "raw": st.fixed_dictionaries({name: CELLS for name in RAWS}),
            "m": st.lists(st.tuples(st.sampled_from(KEYS), CELLS), max_size=4),
        }
    )
    return st.lists(row, min_size=1, max_size=6)
