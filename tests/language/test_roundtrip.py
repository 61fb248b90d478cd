"""The printer, the formatter and the two parsers agree on every tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from profrx.language import ast
from profrx.language.build_blocks import DeclarationBuilder
from profrx.language.diagnostics import Lines
from profrx.language.format import format_text
from profrx.language.lr import Driver, Token
from profrx.language.parse import parse, parse_expr
from profrx.language.printer import expr_text, to_text
from profrx.language.scan import split
from profrx.language.tables import STORED, dumps, generate, lark_parser
from profrx.language.text import decode, encode

from . import strategies as my

PACK = sorted((Path(__file__).parents[2] / "rules" / "profrx_rules").rglob("*.rule"))
RELAXED = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], max_examples=40
)
LARK = lark_parser()
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")


@RELAXED
@given(my.expressions)
def test_expressions_survive_printing(expr: ast.Expr) -> None:
    assert parse_expr(expr_text(expr)) == expr


@RELAXED
@given(my.declarations)
def test_declarations_survive_printing(node: ast.Declaration) -> None:
    assert parse(to_text(node)).declarations == (node,)


@given(st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\r")))
def test_strings_survive_encoding(text: str) -> None:
    if all(c in "\n\t" or c.isprintable() for c in text):
        assert decode(encode(text)) == text


@RELAXED
@given(st.lists(my.declarations, max_size=3), st.data())
def test_formatting_keeps_the_tree_and_is_idempotent(
    nodes: list[ast.Declaration], data: st.DataObject
) -> None:
    text = to_text(ast.File(tuple(nodes)))
    lines = text.split("\n")
    comment = st.sampled_from(["# why", "#  two   words", "", "   "])
    noisy = "\n".join(
        line if '"""' in line or not data.draw(st.booleans()) else f"{line}\n{data.draw(comment)}"
        for line in lines
    )
    once = format_text(noisy)
    assert format_text(once) == once
    assert parse(once).declarations == tuple(nodes)
    assert once.count("# why") == noisy.count("# why")


def test_a_unit_stands_on_the_line_of_what_it_measures() -> None:
    text = 'guard a {\n  title ""\n  scope launch\n  when raw "x"\n  blocks b\n  because ""\n}\n'
    (guard,) = parse(text).declarations
    assert isinstance(guard, ast.Guard)
    assert (guard.when, guard.blocks) == (ast.Raw("x", ""), ("b",))


@pytest.mark.parametrize("path", PACK, ids=lambda path: path.stem)
def test_shipped_files_round_trip(path: Path) -> None:
    text = path.read_text("utf-8")
    tree = parse(text, str(path))
    once = format_text(text)
    assert parse(once) == tree
    assert format_text(once) == once
    assert parse(to_text(tree)) == tree


def test_formatted_layout() -> None:
    text = (
        '# head\n\n\n\nrule  a{title   "A"   when x.y>5%   # why\n  because "b"\n\n\n   # own\n fix """one\n      two"""\n'
        'test "t"{given x.y=-5 %,a.b={"k":1}   expect fired}}\ncause c "d"\ncause e "f"  # tail\n'
    )
    assert format_text(text) == (
        "# head\n\n"
        "rule a {\n"
        '  title "A"\n'
        "  when x.y > 5 %  # why\n"
        '  because "b"\n\n'
        "  # own\n"
        '  fix """one\n'
        '    two"""\n'
        '  test "t" { given x.y = -5 %, a.b = { "k": 1 } expect fired }\n'
        "}\n\n"
        'cause c "d"\n'
        'cause e "f"  # tail\n'
    )


def test_one_line_blocks_stay_on_one_line() -> None:
    text = 'metric a.b { unit %  meaning "m" }\n'
    assert format_text(text) == 'metric a.b { unit % meaning "m" }\n'


def test_stored_tables_are_those_of_the_grammar() -> None:
    assert STORED.read_text("utf-8") == dumps(generate()), "run: python -m profrx.language.tables"


@pytest.mark.parametrize("path", PACK[::4], ids=lambda path: path.stem)
def test_lark_itself_reads_the_same(path: Path) -> None:
    """Our scanner and driver over the tables see the tokens that lark's own see."""
    text = path.read_text("utf-8")
    lines = Lines(text, "x")
    for chunk in split(lines)[0]:
        ours: list[Token] = []
        Driver(DeclarationBuilder(lines), ours).parse(text, chunk.start, chunk.end, "declaration")
        stream = LARK.parse_interactive(text[chunk.start : chunk.end], "declaration").exhaust_lexer()
        assert [(t.type, str(t)) for t in ours] == [(t.type, str(t)) for t in stream]
