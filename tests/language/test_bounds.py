"""No input makes the parser, the checker or the formatter loop, recurse without bound, or fail otherwise than by diagnostics.

How long each takes is measured by benchmarks/rules_load.py.
"""

from __future__ import annotations

import gc
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profrx.language import check as checks
from profrx.language import scan
from profrx.language.check import check, reachable, regions, without_broken
from profrx.language.format import format_text
from profrx.language.pack import Source, assemble
from profrx.language.parse import RuleSyntaxError, parse_expr, read
from profrx.language.show import to_json, to_sarif, to_text

from .conftest import CATALOGUE
from .hostile import INPUTS

HARMLESS = {"empty", "comments", "comment lines", "newlines", "blanks", "chain of rules"}
HARMLESS |= {"lets that square", "lets that square a metric", "nested min", "many tests in many rules"}
HARMLESS |= {"long names", "lets that double", "conditions that double", "tests", "many inputs", "templates"}


@pytest.mark.parametrize("name", INPUTS)
def test_hostile_input_becomes_diagnostics(name: str) -> None:
    text = INPUTS[name]
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    pack = assemble([Source("base", "catalogue.rule", CATALOGUE.encode()), Source("user", "h.rule", data)])
    found = check(pack)
    assert name in HARMLESS or found
    assert len(to_text(found, pack.files)) < 40 * 2**20
    assert to_json(found)
    assert to_sarif(found)


@pytest.mark.parametrize("name", ["nots", "many parentheses", "tests", "sets", "comparisons"])
def test_the_formatter_is_bounded_too(name: str) -> None:
    text = INPUTS[name]
    assert isinstance(text, str)
    if read(text).diagnostics:
        with pytest.raises(RuleSyntaxError):
            format_text(text)
    else:
        assert format_text(text)


def test_recursion_stays_far_from_the_limit() -> None:
    """The deepest expression that is accepted is judged with a small stack."""
    deep = "not " * (scan.MAX_DEPTH - 1) + "sm.throughput > 3 %"
    before = sys.getrecursionlimit()
    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1  # type: ignore[assignment]
    rule = f'rule r {{ title "R" because "b" when {deep} }}'
    pack = assemble(
        [Source("base", "catalogue.rule", CATALOGUE.encode()), Source("user", "h.rule", rule.encode())]
    )
    sys.setrecursionlimit(depth + 600)
    try:
        assert not [d for d in check(pack) if d.severity == "error"]
    finally:
        sys.setrecursionlimit(before)


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    read(text)


pieces = st.sampled_from(
    ["rule r {", "}", "when", "title", '"x"', '"""', "(", ")", "sm.throughput", "<", "3 %", "and", "test", "given", "expect fired", "{", ",", "=", "param", "in", "..", "\n", "#", "if", "then", "let", "one_of {", "fix", "@", "metric a.b {", "source ncu", "-", "??", "not"]
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(st.lists(pieces, max_size=40))
def test_any_sequence_of_tokens_is_judged(words: list[str]) -> None:
    text = " ".join(words)
    pack = assemble(
        [Source("base", "catalogue.rule", CATALOGUE.encode()), Source("user", "h.rule", text.encode())]
    )
    found = check(pack)
    assert to_text(found, pack.files)
    if not any(d.severity == "error" for d in read(text).diagnostics):
        assert format_text(format_text(text)) == format_text(text)


@pytest.mark.parametrize(
    "text",
    ["__import__('os').system('x')", 'open("/etc/passwd")', "lambda: 0", "a.__class__", "1 if 2 else 3"],
)
def test_an_expression_calls_nothing(text: str) -> None:
    """Code is at most a name or a function that does not exist."""
    try:
        expr = parse_expr(text)
    except RuleSyntaxError:
        return
    rule = f'rule r {{ title "R" because "b" when {text} }}'
    found = check(assemble([Source("user", "h.rule", rule.encode())]))
    assert {d.code for d in found} & {"unknown-function", "unknown-metric", "unknown-name"}, expr


def test_limits_are_documented(fixtures: object) -> None:
    from pathlib import Path

    docs = (Path(__file__).parents[2] / "docs" / "language.md").read_text("utf-8")
    for value in (
        scan.MAX_FILE,
        scan.MAX_DECLARATIONS,
        scan.MAX_DECLARATION,
        scan.MAX_DEPTH,
        scan.MAX_CHAIN,
        scan.MAX_TOKENS,
        scan.MAX_PATTERN,
    ):
        assert f"{value:,}" in docs, value


def test_a_byte_order_mark_is_no_mistake() -> None:
    text = 'rule r { title "R" because "b" when sm.throughput > 3 % }'
    base = Source("base", "catalogue.rule", CATALOGUE.encode())
    pack = assemble([base, Source("user", "h.rule", text.encode("utf-8-sig"))])
    assert not [d for d in check(pack) if d.severity == "error"]
    assert "r" in pack.rules


def test_a_chain_of_broken_declarations_ends_after_a_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each metric reads the one before it and the first reads nothing that is: one round a link would take hours."""
    links = 40
    chain = "".join(
        f'metric a.m{i} {{ unit % meaning "m" source ncu = a.m{i - 1} * 2 }}\n' for i in range(1, links)
    )
    rounds = []
    passes = (rounds.append, *checks.ESSENTIAL)
    monkeypatch.setattr(checks, "ESSENTIAL", passes)
    base = Source("base", "catalogue.rule", CATALOGUE.encode())
    sound = 'metric b.sound { unit % meaning "m" source ncu "x" }'
    pack = without_broken(
        assemble([base, Source("user", "h.rule", chain.encode()), Source("user", "s.rule", sound.encode())])
    )
    assert len(rounds) <= checks.ROUNDS + 2
    assert not [name for name in pack.metrics if name.startswith("a.")]
    assert "b.sound" in pack.metrics
    assert "sm.throughput" in pack.metrics


def _wide(above: int, count: int = 400) -> str:
    """Rules that each hang under the `above` before them."""
    rules = []
    for i in range(count):
        under = ", ".join(f"u{j}" for j in range(max(0, i - above), i))
        rules.append(
            f'rule u{i} {{ title "t" {"under " + under if i else ""} when sm.throughput > 5 % because "x" }}'
        )
    return "\n".join(rules)


def test_parents_of_parents_are_looked_at_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule under 40 rules under 40 rules each: looking at all conditions for each of them took minutes."""
    looked = []
    monkeypatch.setattr(
        reachable, "parts", lambda formula: looked.append(regions.parts(formula)) or looked[-1]
    )
    base = Source("base", "catalogue.rule", CATALOGUE.encode())
    pack = assemble([base, Source("user", "u.rule", _wide(40).encode())])
    assert not [d for d in check(pack) if d.severity == "error"]
    assert looked
    assert sum(looked) <= reachable.MAX_WORK + max(looked)


def test_the_collector_is_on_again_after_a_check() -> None:
    check(assemble([Source("base", "catalogue.rule", CATALOGUE.encode())]))
    assert gc.isenabled()


def test_a_number_of_many_digits_is_not_repeated_in_full() -> None:
    found = read(f'rule r {{ title "R" because "b" when sm.throughput > {"9" * 60_000} % }}').diagnostics
    assert [d.code for d in found] == ["number-too-large"]
    assert len(found[0].message) < 100
