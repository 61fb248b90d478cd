"""Outcomes per subject: parents, guards, order, suppression, estimates."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluate.support import frame_of, pack_of, report_frames

from profrx.evaluate.outcomes import OUTCOMES, Outcomes, run
from profrx.evaluate.program import Program
from profrx_parsers.errors import RuleError

METRICS = """
metric sm  { unit % meaning "sm"  valid 0 % .. 100 % source ncu "sm" }
metric mem { unit % meaning "mem" source ncu "mem" }
metric hit { unit % meaning "hit" source ncu "hit" }
metric time { unit ns meaning "time" source ncu "time" }
metric amd { meaning "amd" source rocm "amd" }
"""
VERDICT = """
verdict where { title "w" one_of {
  busy "Busy" when sm > 70 % "busy"
  idle "Idle" when sm <= 70 % "idle"
} }
"""


def rule(name: str, when: str, more: str = "") -> str:
    return f'rule {name} {{ title "{name}" when {when} because "b" {more} }}\n'


def outcomes(text: str, raw: dict[str, list[float | None]], **columns: list[object]) -> Outcomes:
    return run(Program(pack_of(METRICS + text)), report_frames(frame_of(raw, **columns)))


def words(found: Outcomes, name: str) -> list[str]:
    return [OUTCOMES[code] for code in found.codes[name]]


def test_fired_not_fired_unknown() -> None:
    found = outcomes(rule("r", "sm > 70 %"), {"sm": [70.0, 70.1, None, 140.0]})
    assert words(found, "r") == ["not fired", "fired", "unknown", "unknown"]


def test_children_follow_their_parents() -> None:
    raw: dict[str, list[float | None]] = {"sm": [80.0, 10.0, None], "mem": [50.0, 50.0, 50.0]}
    text = (
        VERDICT + rule("child", "mem > 1 %", "under busy") + rule("anyway", "mem > 1 %", "under busy anyway")
    )
    text += rule("grandchild", "mem > 1 %", "under child") + rule("both", "mem > 1 %", "under busy, idle")
    found = outcomes(text, raw)
    assert words(found, "child") == ["fired", "skipped", "unknown"]
    assert words(found, "anyway") == ["fired", "skipped", "fired"]
    assert words(found, "grandchild") == ["fired", "skipped", "unknown"]
    assert words(found, "both") == ["fired", "fired", "unknown"]
    assert found.held["where"].tolist() == [0, 1, -1]


def test_declared_order_does_not_matter() -> None:
    text = rule("z", "mem > 1 %", "under y") + rule("y", "mem > 1 %", "under busy") + VERDICT
    assert words(outcomes(text, {"sm": [80.0], "mem": [5.0]}), "z") == ["fired"]


def test_a_row_that_is_certain_holds_although_an_input_is_missing() -> None:
    text = """verdict v { title "v" one_of {
      both  "B" when sm > 70 % and mem > 70 % "b"
      other "O" when sm <= 70 % or mem <= 70 % "o" } }"""
    found = outcomes(text, {"sm": [10.0, 90.0], "mem": [None, None]})
    assert found.held["v"].tolist() == [1, -1]


def test_first_takes_the_first_row_and_stops_at_an_unknown_one() -> None:
    text = """verdict v { title "v" first {
      one "1" when sm > 70 % "1"
      two "2" when mem > 10 % "2" } }"""
    found = outcomes(text, {"sm": [90.0, 10.0, None, None], "mem": [50.0, 50.0, 50.0, 1.0]})
    assert found.held["v"].tolist() == [0, 1, -1, -1]
    assert found.truth["v", "two"].to_pylist() == [False, True, None, False]


def test_guards_block_rules_and_metrics() -> None:
    text = """guard short { title "short" when time < 5 us blocks g, metric hit because "too short" }"""
    text += rule("g", "sm > 1 %") + rule("h", "hit > 1 %") + rule("free", "sm > 1 %")
    found = outcomes(text, {"sm": [50.0, 50.0, 50.0], "hit": [50.0] * 3, "time": [1000.0, 9000.0, None]})
    assert words(found, "g") == ["blocked", "fired", "fired"]
    assert words(found, "h") == ["unknown", "fired", "fired"]
    assert words(found, "free") == ["fired"] * 3


def test_a_skipped_rule_is_not_called_blocked() -> None:
    text = VERDICT + 'guard short { title "s" when time < 5 us blocks r because "s" }'
    text += rule("r", "sm > 1 %", "under busy")
    assert words(outcomes(text, {"sm": [10.0], "time": [1.0]}), "r") == ["skipped"]


def test_a_blocked_parent_leaves_its_children_unknown() -> None:
    text = 'guard short { title "s" when time < 5 us blocks r because "s" }'
    text += rule("r", "sm > 1 %") + rule("c", "sm > 1 %", "under r")
    assert words(outcomes(text, {"sm": [10.0], "time": [1.0]}), "c") == ["unknown"]


def test_not_applicable_by_tool_and_by_sources() -> None:
    text = rule("tool", "sm > 1 %", "applies_to rocm") + rule("source", "amd > 1")
    text += rule("excused", "sm > 1 % or (amd ?? 0) > 1")
    found = outcomes(text, {"sm": [50.0]})
    assert words(found, "tool") == ["not applicable"]
    assert words(found, "source") == ["not applicable"]
    assert words(found, "excused") == ["fired"]


def test_not_applicable_where_no_source_is_for_the_architecture() -> None:
    text = 'metric old { meaning "o" source ncu arch 7.0 .. 9.0 "old" }' + rule("r", "old > 1")
    found = outcomes(text, {"old": [None, None, None]}, arch=[9.0, 12.0, None])
    assert words(found, "r") == ["unknown", "not applicable", "unknown"]


def test_fired_reads_another_outcome_in_three_values() -> None:
    text = rule("a", "sm > 70 %") + rule("b", "fired(a) and mem > 1 %") + rule("c", "not fired(a)")
    found = outcomes(text, {"sm": [80.0, 10.0, None], "mem": [5.0, 5.0, 5.0]})
    assert words(found, "b") == ["fired", "not fired", "unknown"]
    assert words(found, "c") == ["not fired", "fired", "unknown"]


def test_cycles_are_errors_and_deep_chains_are_not() -> None:
    with pytest.raises(RuleError, match="depend on each other"):
        outcomes(rule("a", "sm > 1 %", "under b") + rule("b", "sm > 1 %", "under a"), {"sm": [50.0]})
    chain = rule("r0", "sm > 1 %") + "".join(
        rule(f"r{i}", "sm > 1 %", f"under r{i - 1}") for i in range(1, 1200)
    )
    assert words(outcomes(chain, {"sm": [50.0]}), "r1199") == ["fired"]


def test_estimates_are_clamped_ordered_and_unknown_where_an_end_is() -> None:
    text = rule("r", "sm > 1 %", "estimate global mem - 20 % .. mem + 20 %")
    fired = outcomes(text, {"sm": [50.0] * 4, "mem": [50.0, 5.0, 95.0, None]}).fired["r"]
    assert fired.low.tolist()[:3] == pytest.approx([0.3, 0.0, 0.75])
    assert fired.high.tolist()[:3] == pytest.approx([0.7, 0.25, 1.0])
    assert math.isnan(fired.low[3])
    turned = outcomes(rule("r", "sm > 1 %", "estimate local 90 % .. 10 %"), {"sm": [50.0]}).fired["r"]
    assert (turned.low[0], turned.high[0]) == (0.1, 0.9)


def test_severity_takes_the_first_level_that_is_certain() -> None:
    text = rule("r", "sm > 1 %", "severity critical when mem > 90 %, high when mem > 50 %, low")
    fired = outcomes(text, {"sm": [50.0] * 4, "mem": [95.0, 60.0, 10.0, None]}).fired["r"]
    assert fired.severity.tolist() == [4, 3, 1, 1]


def test_suppression_on_the_subjects_where_both_fired() -> None:
    text = rule("cause", "mem > 50 %", 'suppresses symptom because "it is"') + rule("symptom", "sm > 1 %")
    found = outcomes(text, {"sm": [50.0, 50.0], "mem": [60.0, 10.0]})
    assert [found.fired["symptom"].symptom_of(i) for i in (0, 1)] == ["cause", ""]
    assert words(found, "symptom") == ["fired", "fired"]


def test_of_two_rules_that_suppress_each_other_one_stands() -> None:
    text = rule("a", "sm > 1 %", 'suppresses b because "x"') + rule(
        "b", "sm > 1 %", 'suppresses a because "y"'
    )
    found = outcomes(text, {"sm": [50.0]})
    assert [found.fired["a"].symptom_of(0), found.fired["b"].symptom_of(0)] == ["", "a"]


def test_report_scope_reads_launches_and_parents_cross_scopes() -> None:
    text = VERDICT
    text += rule("many", "count(true over launches) > 1", "scope report")
    text += rule("any-busy", "true", "scope report under busy")
    text += rule("launch-of-many", "sm > 1 %", "under many")
    found = outcomes(text, {"sm": [80.0, 10.0]})
    assert words(found, "many") == ["fired"]
    assert words(found, "any-busy") == ["fired"]
    assert words(found, "launch-of-many") == ["fired", "fired"]


def test_one_pass_equals_row_by_row() -> None:
    text = VERDICT + rule("a", "mem > 50 %", "under busy estimate global mem .. mem")
    text += (
        rule("b", "fired(a) or hit > 10 %") + 'guard g { title "g" when time < 5 us blocks b because "g" }'
    )
    raw: dict[str, list[float | None]] = {
        "sm": [80.0, 80.0, 10.0, None, 99.0],
        "mem": [60.0, 10.0, 60.0, 60.0, None],
        "hit": [None, 50.0, 5.0, 20.0, 0.0],
        "time": [9e3, 9e3, 1e3, None, 9e3],
    }
    whole = outcomes(text, raw)
    for row in range(5):
        single = outcomes(text, {name: [values[row]] for name, values in raw.items()})
        for name in ("a", "b"):
            assert single.codes[name][0] == whole.codes[name][row]


VALUES = st.sampled_from([None, 5.0, 30.0, 55.0, 70.0, 71.0, 95.0])
ROWS = st.lists(st.fixed_dictionaries({"sm": VALUES, "mem": VALUES, "hit": VALUES}), min_size=1, max_size=8)
TREE = """
verdict first-of { title "f" first {
  high  "H" when sm > 70 % "h"
  mixed "M" when mem > 50 % or hit > 50 % "m"
  rest  "R" when sm <= 70 % "r" } }
"""


@settings(max_examples=60, deadline=None)
@given(ROWS, st.sampled_from(["sm", "mem", "hit"]))
def test_less_information_never_decides_more(rows: list[dict[str, float | None]], gone: str) -> None:
    text = (
        VERDICT + TREE + rule("a", "mem > 30 %", "under busy") + rule("b", "hit > 30 %", "under mixed, rest")
    )
    text += rule("c", "fired(a) or hit <= 55 %", "under a, b") + rule("d", "not fired(c) and mem > 50 %")
    raw = {name: [row[name] for row in rows] for name in ("sm", "mem", "hit")}
    rich = outcomes(text, raw)
    poor = outcomes(text, {**raw, gone: [None] * len(rows)})
    for name in "abcd":
        for before, after in zip(words(rich, name), words(poor, name), strict=True):
            assert after in (before, "unknown"), (name, before, after)
    for name in ("where", "first-of"):
        for before, after in zip(rich.held[name].tolist(), poor.held[name].tolist(), strict=True):
            assert after in (before, -1)
