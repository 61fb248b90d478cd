"""How mistakes are shown: text with carets, JSON, SARIF; every code is documented."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

from profrx.language.diagnostics import Diagnostic, Lines, did_you_mean
from profrx.language.parse import read
from profrx.language.show import to_json, to_sarif, to_text

ROOT = Path(__file__).parents[2]
TEXT = 'rule r {\n  title "R"\n  when sm.throughput < 30 procent\n  because "b"\n}\n'


def test_text_shows_place_line_caret_and_repair() -> None:
    shown = to_text(read(TEXT, "my.rule").diagnostics, {"my.rule": TEXT})
    assert shown == (
        "my.rule:3:27: error[unknown-unit]: `procent` is not a unit\n"
        "  3 |   when sm.throughput < 30 procent\n"
        "    |                           ^^^^^^^\n"
        "  help: docs/language.md lists the units\n"
        "  in: rule r\n"
        "  see: docs/errors.md#unknown-unit\n"
        "\n"
        "1 error\n"
    )


def test_nothing_found() -> None:
    assert to_text([], {}) == "no mistakes found\n"


def test_long_lines_are_cut_around_the_place() -> None:
    text = f'cause a "{"x" * 300}" oops "{"y" * 300}"'
    shown = to_text(read(text, "f").diagnostics, {"f": text})
    line, carets = shown.split("\n")[1:3]
    assert len(line) < 140
    assert line[carets.index("^") :].startswith("oops")


def test_control_characters_do_not_reach_the_terminal() -> None:
    text = "cause \x1b[31m a"
    assert "\x1b" not in to_text(read(text, "f").diagnostics, {"f": text}).split("\n")[1]


def test_a_nul_is_visible_in_the_line_and_in_the_message() -> None:
    text = 'rule r {\n  title "a\0b" \0\n}\n'
    shown = to_text(read(text, "f").diagnostics, {"f": text})
    assert "\0" not in shown
    assert "a�b" in shown
    assert "unexpected `�`" in shown


def test_json_and_sarif_name_the_same_places() -> None:
    found = read(TEXT, "my.rule").diagnostics
    (row,) = json.loads(to_json(found))["diagnostics"]
    assert (row["file"], row["line"], row["column"], row["end_column"]) == ("my.rule", 3, 27, 34)
    assert row["docs"] == "docs/errors.md#unknown-unit"
    run = json.loads(to_sarif(found))["runs"][0]
    (result,) = run["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 3, "startColumn": 27, "endLine": 3, "endColumn": 34}
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "unknown-unit"
    (rule,) = run["tool"]["driver"]["rules"]
    assert "helpUri" not in rule, "SARIF 2.1.0, 3.49.12: an absolute URI, which a file of the sources has not"
    assert rule["help"]["text"].endswith("docs/errors.md#unknown-unit")


def test_places_compare_and_hash_like_spans() -> None:
    lines = Lines("ab\ncd\n", "f")
    assert lines.span(3, 5) == lines.span(3, 5)
    assert hash(lines.span(3, 5)) == hash(lines.span(3, 5))
    assert (lines.span(3, 5).line, lines.span(3, 5).column, lines.span(3, 5).end_column) == (2, 1, 3)
    assert lines.line(2) == "cd"


def test_did_you_mean() -> None:
    assert did_you_mean("sm.troughput", ["sm.throughput", "dram.bytes"]) == "did you mean sm.throughput?"
    assert did_you_mean("x" * 500, ["x" * 499]) == ""
    assert did_you_mean("zzz", ["abc"]) == ""


def codes() -> set[str]:
    """Every literal code that a diagnostic of the language is made with."""
    found: set[str] = set()
    places = {"Diagnostic": 0, "_known": 2, "_report": 2, "wrong": 0, "warn": 0, "report": 0, "UsageError": 0}
    for path in (ROOT / "engine" / "profrx" / "language").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                for at in (places.get(name), 1 if name == "report" else None):
                    if at is not None and len(node.args) > at and isinstance(node.args[at], ast.Constant):
                        value = node.args[at].value  # type: ignore[attr-defined]
                        if isinstance(value, str) and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", value):
                            found.add(value)
    return found


def test_every_code_is_documented() -> None:
    headings = set(
        re.findall(r"^### ([a-z0-9-]+)$", (ROOT / "docs" / "errors.md").read_text("utf-8"), re.MULTILINE)
    )
    assert len(codes()) > 60
    assert codes() <= headings


def test_str_is_one_line() -> None:
    assert str(Diagnostic("syntax", "m", hint="h")) == "error[syntax]: m (h)"
