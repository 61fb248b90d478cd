"""Loading for judging passes over inline tests: the same pack without them, and no file that is cut short."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profrx.language import ast
from profrx.language.diagnostics import Lines
from profrx.language.pack import load_pack
from profrx.language.parse import read
from profrx.language.printer import to_text
from profrx.language.scan import _starts

from . import strategies as my
from .test_bounds import pieces


def bare(node: Any) -> Any:
    """A declaration without its tests."""
    return replace(node, tests=()) if getattr(node, "tests", ()) else node


def test_the_shipped_pack_is_the_same_but_for_its_tests() -> None:
    whole, judging = load_pack(plugins=False), load_pack(plugins=False, tests=False)
    assert judging.digest == whole.digest
    for table in ("metrics", "params", "verdicts", "guards", "rules", "causes", "references", "rulesets"):
        ours, theirs = getattr(judging, table), getattr(whole, table)
        assert {name: bare(node) for name, node in theirs.items()} == dict(ours), table
        assert [node.span for node in ours.values()] == [node.span for node in theirs.values()], table
    assert any(rule.tests for rule in whole.rules.values())


@settings(deadline=None, max_examples=40)
@given(my.declarations)
def test_any_declaration_is_the_same_but_for_its_tests(node: ast.Declaration) -> None:
    parsed = read(to_text(node), tests=False)
    assert not parsed.diagnostics
    assert parsed.file.declarations == (bare(node),)


RULE = 'rule r {{ title "R" when a.b > 3 {} because "b" }}'


@pytest.mark.parametrize(
    "test",
    [
        'test "x" { given a.b = expect }',
        'test "x" { given a.b = { "}": 1 } expect fired }',
        'test "x" { # }\n given a.b = 1 expect fired }',
        'test "}" { given a.b = 1 expect fired }',
        'test "x" { give a.b = 1 }',
        'test "one" {} test "two" {}',
    ],
)
def test_what_stands_in_a_closed_test_does_not_matter(test: str) -> None:
    parsed = read(RULE.format(test), tests=False)
    assert not parsed.diagnostics
    assert parsed.file == read(RULE.format("")).file


@pytest.mark.parametrize(
    "test",
    [
        'test "x" { given a.b = 1 expect fired',
        'test "x" { given a.b = { "k": 1 expect fired }',
        'test "x" { given a.b = "open expect fired }',
        'test "x { given a.b = 1 expect fired }',
        'test "x" given a.b = 1 expect fired }',
        "test { given a.b = 1 expect fired }",
        'test "x" { given a.b = 1 expect fired } }',
        'test "x" { given raw """a = 1 expect fired }',
    ],
)
def test_open_brackets_and_strings_are_noticed_as_ever(test: str) -> None:
    """With the very messages of a whole reading, so that one look repairs it."""
    text = RULE.format(test)
    assert read(text, tests=False).diagnostics == read(text).diagnostics != ()


def test_a_mistake_elsewhere_is_told_with_those_in_tests() -> None:
    text = 'rule r { title "R" when a.b >> 3\n because "b"\n test "t" { given a.b = expect } }'
    assert len(read(text).diagnostics) == 2
    assert read(text, tests=False).diagnostics == read(text).diagnostics


def test_a_broken_test_stops_checks_and_tests_but_no_judging(
    tmp_path: Path, rule_text: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways of loading keep what they found for themselves, in whichever order they come."""
    from .conftest import CATALOGUE

    monkeypatch.setenv("PROFRX_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "pack"
    folder.mkdir()
    broken = rule_text("one").replace("expect fired", "expect", 1)
    (folder / "all.rule").write_text(CATALOGUE + broken, "utf-8")
    for _ in range(2):
        judging = load_pack([folder], default=False, tests=False)
        assert "one" in judging.rules
        assert not judging.diagnostics
        whole = load_pack([folder], default=False)
        assert "one" not in whole.rules
        assert [d.code for d in whole.diagnostics] == ["syntax"]


@settings(deadline=None, max_examples=300)
@given(st.lists(pieces, max_size=40))
def test_passing_a_whole_block_at_once_cuts_a_file_in_the_same_places(words: list[str]) -> None:
    lines = Lines(" ".join(words), "x")
    slow: list[Any] = []
    quick: list[Any] = []
    assert _starts(lines, 0, quick) == _starts(lines, 0, slow, leaps=False)
    assert quick == slow
