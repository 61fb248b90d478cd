"""Random syntax trees. They are built like the parser builds them: a minus before a number is part of it."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from profrx.language import ast
from profrx.language.units import UNITS

texts = st.sampled_from(
    [
        "",
        "one line",
        'a "quoted" word',
        "back\\slash \\d",
        "two\n\nparagraphs of a text that is long enough to be a block",
        'ends with a quote, and is longer than sixty characters, you see"',
        "{x:.0%} ünï → ☃",
        "# no comment",
        "tab\there",
    ]
) | st.text('ab \\"#{}\n', max_size=8)
filled = st.text("abc xyz./:", min_size=1, max_size=20)
units = st.sampled_from(["", *UNITS, "B/s", "inst/cycle", "sectors/request", "FLOP/B"])
locals_ = st.sampled_from(["a", "b_c", "x1", "unit", "title", "when", "_", "count", "lines", "blocks"])
metrics = st.builds("{}.{}".format, locals_, locals_)
ids = st.sampled_from(["a", "b-c", "tail-effect-2", "gap", "unknown", "x1-y2-z3"])
positive = st.floats(0, 1e20, allow_nan=False) | st.integers(0, 10**6).map(float)
quantities = st.builds(ast.Quantity, positive, units)
signed = st.builds(ast.Quantity, st.floats(-1e20, 1e20, allow_nan=False), units)


def _unary(operand: ast.Expr, op: Any) -> ast.Expr:
    if op == "-" and isinstance(operand, ast.Quantity):
        return ast.Quantity(-abs(operand.value) or 0.0, operand.unit)
    return ast.Unary(op, operand)


def _chain(pairs: list[tuple[ast.Expr, Any]], last: ast.Expr) -> ast.Expr:
    return ast.Compare((*(expr for expr, _ in pairs), last), tuple(op for _, op in pairs))


def compound(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    ops = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
    domain = st.sampled_from(["launches", "kernels", "ranks"])
    return st.one_of(
        st.builds(_unary, inner, st.sampled_from(["not", "-"])),
        st.builds(ast.Binary, st.sampled_from(["+", "-", "*", "/", "and", "or", "??"]), inner, inner),
        st.builds(_chain, st.lists(st.tuples(inner, ops), min_size=1, max_size=3), inner),
        st.builds(lambda x, i: ast.In(x, tuple(i), False), inner, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda x, lo, hi: ast.In(x, (lo, hi), True), inner, inner, inner),
        st.builds(ast.Matches, inner, texts, st.booleans()),
        st.builds(ast.If, inner, inner, inner),
        st.builds(lambda f, a: ast.Call(f, tuple(a)), locals_, st.lists(inner, max_size=3)),
        st.builds(
            lambda f, pairs: ast.Choice(f, tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)),
            st.sampled_from(["least", "greatest"]),
            st.lists(st.tuples(texts, inner), min_size=1, max_size=3),
        ),
        st.builds(
            lambda f, e, d, w: ast.Aggregate(f, e, d, "", w), locals_, inner, domain, st.none() | inner
        ),
        st.builds(lambda f, e, m: ast.Aggregate(f, e, "instances", m), locals_, inner, metrics),
        st.builds(
            lambda f, e, m, w: ast.Aggregate(f, e, "instances", m, w, True), locals_, inner, texts, inner
        ),
    )


leaves = st.one_of(
    signed,
    st.builds(ast.Text, texts),
    st.builds(ast.Bool, st.booleans()),
    st.builds(ast.Name, locals_ | metrics),
    st.builds(ast.Raw, texts, units),
    st.builds(ast.Fired, ids),
)
expressions = st.recursive(leaves, compound, max_leaves=12)
shallow = leaves | compound(leaves)
"""For declarations, which hold many expressions."""
closed = st.builds(ast.Range, signed, signed)
ranges = closed | signed.map(lambda q: ast.Range(q, ast.Quantity(math.inf, q.unit)))
id_lists = st.lists(ids, max_size=3).map(tuple)
params = st.builds(ast.Param, locals_, signed, st.none() | closed, texts, id_lists, st.booleans())
file_params = st.builds(ast.Param, metrics, signed, st.none() | closed, texts, id_lists, st.booleans())
lets = st.builds(ast.Let, locals_, shallow)
collects = st.builds(ast.Collect, ids, ids, texts)
values = st.one_of(signed, st.builds(ast.Text, texts), st.builds(ast.Bool, st.booleans()), st.none())
givens = st.one_of(
    st.builds(ast.Given, metrics, values),
    st.builds(ast.Given, texts, values, st.just(True)),
    st.builds(ast.Given, metrics, st.just(ast.Quantity(math.nan))),
    st.builds(
        lambda n, i: ast.Given(n, None, False, tuple(i)),
        metrics,
        st.lists(st.tuples(texts, signed), max_size=3),
    ),
)
levels = st.builds(ast.Level, ids, st.none() | shallow)
expects = st.builds(
    ast.Expect,
    st.sampled_from(["fired", "not fired", "unknown", "not applicable"]) | ids,
    st.sampled_from(["", "high"]),
    st.sampled_from(["", "low"]),
    st.none() | st.builds(ast.Range, signed, signed),
).filter(lambda e: e.outcome != "value")
tests = st.builds(
    lambda name, g, e, c, n: ast.Test(name, tuple(g), e, tuple(c), count=n),
    texts,
    st.lists(givens, max_size=3),
    expects,
    st.lists(st.tuples(st.sampled_from(["arch", "tool"]), st.builds(ast.Text, texts)), max_size=2),
    st.none() | st.integers(0, 99),
)


def some(of: st.SearchStrategy[Any], most: int = 2) -> st.SearchStrategy[Any]:
    return st.lists(of, max_size=most).map(tuple)


metric_sources = st.builds(
    ast.MetricSource,
    ids,
    st.lists(texts, min_size=1, max_size=2).map(tuple),
    st.none(),
    st.none()
    | st.just(("9.0", ""))
    | st.just(("", "8.9"))
    | st.just(("7.0", "7.5"))
    | st.just(("9.0", "9.0")),
    st.none() | st.just(("2024.1", "2025.4.1")),
    units,
) | st.builds(lambda t, f: ast.MetricSource(t, formula=f), ids, shallow)
metric_nodes = st.builds(
    lambda name, unit, meaning, valid, scope, kind, sources, collect, see, family, tests: ast.Metric(
        name, unit, meaning, valid, scope, kind, sources, collect, see, family, tests
    ),
    metrics,
    units,
    texts,
    st.none() | ranges,
    ids,
    st.sampled_from(["number", "text", "instances"]),
    some(metric_sources),
    some(collects),
    id_lists,
    st.just("") | ids,
    some(tests, 1),
)
common = {
    "name": ids,
    "title": texts,
    "scope": ids,
    "params": some(params),
    "lets": some(lets),
    "collect": some(collects, 1),
    "see": id_lists,
    "tests": some(tests),
    "version": st.integers(1, 99),
    "requires": some(shallow, 1),
    "override": st.booleans(),
}
rules = st.builds(
    ast.Rule,
    when=shallow,
    because=texts,
    cause=st.just("") | ids,
    under=id_lists,
    severity=some(levels),
    confidence=some(levels),
    estimate=st.none()
    | st.builds(ast.Estimate, st.sampled_from(["global", "local"]), shallow, st.none() | shallow),
    fix=some(texts),
    exceptions=some(texts, 1),
    evidence=some(st.builds(ast.Evidence, shallow, texts), 1),
    lines=some(st.builds(ast.Lines, metrics, st.integers(1, 50)), 1),
    suppresses=some(st.builds(ast.Suppresses, ids, texts, st.none() | shallow), 1),
    since=texts,
    status=st.sampled_from(["preview", "stable", "deprecated"]),
    replaced_by=st.just("") | ids,
    applies_to=id_lists,
    **common,
)
rows = st.builds(ast.Row, ids, shallow, texts, texts)
verdicts = st.builds(
    ast.Verdict, rows=some(rows, 3), hit=st.sampled_from(["one_of", "first", "all"]), under=id_lists, **common
)
guards = st.builds(
    ast.Guard,
    when=shallow,
    blocks=st.lists(ids | metrics, min_size=1, max_size=3).map(tuple),
    because=texts,
    severity=st.sampled_from(["info", "warning", "error"]),
    fix=some(texts, 1),
    **common,
)
declarations = st.one_of(
    metric_nodes,
    rules,
    verdicts,
    guards,
    file_params,
    st.builds(ast.Cause, ids, texts),
    st.builds(ast.Reference, ids, filled, filled),
    st.builds(
        ast.Ruleset, texts, st.lists(st.tuples(ids, st.integers(1, 9)), max_size=3).map(tuple), st.booleans()
    ),
    st.builds(ast.Pack, texts, texts, texts, some(texts), texts),
)
