"""Untrusted names: whatever they hold, they are shown literally, on one line."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from profrx import escape

PARSER = MarkdownIt("commonmark", {"html": True}).enable("table")
NASTY = st.text(
    alphabet=st.sampled_from(list("`|\\*_<>[]()#!&~$^{}@:-+=.1 a\n\t\x1b‮")), max_size=25
) | st.text(max_size=25)


def text_of(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", html)).strip()


@given(NASTY)
def test_clean_text_is_one_harmless_line(text: str) -> None:
    line = escape.clean(text)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", line)
    assert escape.clean(line) == line


@given(NASTY)
def test_markdown_shows_the_text_itself(text: str) -> None:
    shown = PARSER.render(f"x {escape.markdown(text)} y")
    assert re.sub(r"\s+", " ", text_of(shown)) == re.sub(r"\s+", " ", f"x {escape.clean(text)} y").strip()
    assert set(re.findall(r"<(\w+)", shown)) <= {"p"}


@given(NASTY)
def test_markdown_is_literal_at_the_start_of_a_line(text: str) -> None:
    shown = PARSER.render(escape.markdown(text))
    assert set(re.findall(r"<(\w+)", shown)) <= {"p"}


@given(NASTY)
def test_code_shows_the_text_itself(text: str) -> None:
    shown = PARSER.render(f"x {escape.code(text)} y")
    assert shown.count("<code>") == 1
    inner = unescape(re.search(r"<code>(.*)</code>", shown, re.DOTALL)[1])  # type: ignore[index]
    assert inner.strip() == escape.clean(text).strip()


@given(NASTY, NASTY)
def test_code_in_a_table_keeps_its_cell(left: str, right: str) -> None:
    table = f"| a | b |\n| - | - |\n| {escape.code(left, cell=True)} | {escape.markdown(right)} |\n"
    shown = PARSER.render(table)
    cells = re.findall(r"<td>(.*?)</td>", shown, re.DOTALL)
    assert len(cells) == 2
    assert text_of(cells[0]) == escape.clean(left).strip()


@given(NASTY)
def test_prose_keeps_code_and_nothing_else(text: str) -> None:
    shown = PARSER.render(f"x {escape.prose(text)} y")
    assert set(re.findall(r"<(\w+)", shown)) <= {"p", "code"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("smsp__inst_executed.avg", "smsp__inst_executed.avg"),
        ("a_b_", "a_b\\_"),
        ("- item", "\\- item"),
        ("1. item", "1\\. item"),
        ("# head", "\\# head"),
        ("x > y", "x > y"),
        ("> quote", "\\> quote"),
    ],
)
def test_markdown_stays_readable(text: str, expected: str) -> None:
    assert escape.markdown(text) == expected


def test_long_names_keep_both_ends() -> None:
    cut = escape.middle_cut("a" * 50 + "b" * 50, 21)
    assert len(cut) == 21
    assert cut.startswith("aaaa")
    assert cut.endswith("bbbb")
