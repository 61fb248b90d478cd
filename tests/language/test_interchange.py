"""The JSON form, the walk over words, documentation pages, costs."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from profrx.language import ast
from profrx.language.cost import cost
from profrx.language.docs import HEADINGS, rules_docs
from profrx.language.interchange import InterchangeError, from_json, to_json
from profrx.language.pack import load_pack
from profrx.language.parse import parse, parse_expr
from profrx.language.words import in_words

from . import strategies as my

RELAXED = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")


@RELAXED
@given(st.lists(my.declarations, max_size=3))
def test_json_and_back(nodes: list[ast.Declaration]) -> None:
    file = ast.File(tuple(nodes))
    text = to_json(file)
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert from_json(text) == file


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"schema": "other", "declarations": []}',
        '{"schema": "profrx.rules/1", "declarations": {}}',
        '{"schema": "profrx.rules/1", "declarations": [{"node": "Node"}]}',
        '{"schema": "profrx.rules/1", "declarations": [{"node": "os.system"}]}',
        '{"schema": "profrx.rules/1", "declarations": [{"node": "Cause", "name": "a", "meaning": "b", "span": 1}]}',
        '{"schema": "profrx.rules/1", "declarations": [{"node": "Cause"}]}',
        "[" * 100_000,
    ],
)
def test_foreign_json_is_refused(text: str) -> None:
    with pytest.raises(InterchangeError):
        from_json(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a < 3 % or b >= 2 ms", "`a` is below 3 % or `b` is at least 2 ms"),
        ("30 % <= a < 60 %", "`a` is at least 30 % and below 60 %"),
        ("a in 1 .. 2 and not fired(x)", "`a` is between 1 and 2 and not (the rule `x` fired)"),
        (
            'a matches glob "*x*" and (b > 1 or c == 2)',
            "`a` looks like `*x*` and (`b` is above 1 or `c` is 2)",
        ),
        ("known(a) and b in {1, 2}", "`a` is known and `b` is one of 1, 2"),
        ("a < limit", "`a` is below `limit` (30 %)"),
    ],
)
def test_conditions_in_words(text: str, words: str) -> None:
    limit = ast.Param("limit", ast.Quantity(30.0, "%"))
    assert in_words(parse_expr(text), {"limit": limit}) == words


def test_pages_have_the_same_headings() -> None:
    pages = rules_docs(load_pack(plugins=False))
    assert len(pages) > 50
    for name, page in pages.items():
        if name != "index.md":
            assert [line[3:] for line in page.split("\n") if line.startswith("## ")] == list(HEADINGS), name


def test_index_names_every_page_and_draws_the_tree() -> None:
    pack = load_pack(plugins=False)
    index = rules_docs(pack)["index.md"]
    assert all(f"[{name}]({name}.md)" in index for name in (*pack.rules, *pack.verdicts, *pack.guards))
    assert "memory_bound --> uncoalesced_global_access" in index


def test_only_some_pages() -> None:
    assert set(rules_docs(load_pack(plugins=False), ["tail-effect"])) == {"index.md", "tail-effect.md"}


def test_costs_count_members() -> None:
    head = 'rule r { title "R" because "b" when '
    cheap = parse(f"{head} a.b > 3 }}").declarations[0]
    dear = parse(f"{head} sum(value over instances a.b where value > 3) > 3 }}").declarations[0]
    assert cost(cheap) == 2  # type: ignore[arg-type]
    assert cost(dear) == 1 + 1 + 64 * 3  # type: ignore[arg-type]


def test_a_pack_crosses_processes() -> None:
    pack = load_pack(plugins=False)
    again = pickle.loads(pickle.dumps(pack))
    rule, other = pack.rules["tail-effect"], again.rules["tail-effect"]
    assert other == rule
    assert other.span.line == rule.span.line
