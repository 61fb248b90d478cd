"""Text templates: formats, units, plurals, unknown values, hostile input."""

from __future__ import annotations

import pytest

from profrx.language.template import MAX_RENDERED, fields, render

VALUES: dict[str, tuple[float | str | bool | None, str]] = {
    "share": (0.876, "%"),
    "time": (3250.0, "ns"),
    "rate": (1555.0, "GB/s"),
    "blocks": (1.0, "blocks"),
    "many": (2048.0, "blocks"),
    "name": ("void f<T>(int)", ""),
    "gone": (None, "%"),
    "dram.throughput": (0.5, "%"),
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{share:.0%} and {share:.1%}", "88% and 87.6%"),
        ("{share}", "87.6%"),
        ("{time:.1f us}", "3.2 us"),
        ("{time:.2f us} or {time:.0f ns}", "3.25 us or 3250 ns"),
        ("{rate:.0f GB/s}", "1555 GB/s"),
        ("{many:,.0f}", "2,048"),
        ("{blocks:plural block blocks}", "1 block"),
        ("{many:plural block blocks}", "2,048 blocks"),
        ("{name}", "void f<T>(int)"),
        ("{gone:.0%} of it", "n/a of it"),
        ("{dram.throughput:.0%}", "50%"),
        ("{{share}}", "{share}"),
        ("no field", "no field"),
        ("{time:.1f nonsense}", "3,250 ns"),
    ],
)
def test_rendering(template: str, text: str) -> None:
    assert render(template, lambda name: VALUES[name]) == text


@pytest.mark.parametrize("template", ["{0}", "{a.__class__}", "{a[0]}", "{a!r}", "{", "}", "{a:{b}}"])
def test_nothing_but_names_is_looked_up(template: str) -> None:
    asked: list[str] = []

    def lookup(name: str) -> tuple[str, str]:
        asked.append(name)
        return "v", ""

    render(template, lookup)
    assert set(asked) <= {"a.__class__", "b"}


def test_a_value_is_not_a_template() -> None:
    assert render("{name}", lambda _: ("{share}", "")) == "{share}"


def test_size_is_bounded() -> None:
    assert len(render("{n}" * 1000, lambda _: ("x" * 1000, ""))) == MAX_RENDERED


def test_names_in_order() -> None:
    assert [field.name for field in fields("{b:.0%} {{c}} {a.d}")] == ["b", "a.d"]
