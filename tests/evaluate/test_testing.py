"""The test runner: givens, outcomes, failures with the evaluated tree, coverage and mutants."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.evaluate.support import pack_of

from profrx.evaluate.coverage import coverage
from profrx.evaluate.mutate import mutants
from profrx.evaluate.testing import TestResult, run_tests
from profrx.language.pack import Pack, Source, assemble

METRICS = """
metric sm   { unit % meaning "sm" valid 0 % .. 100 % source ncu arch 9.0 .. "new_sm" source ncu "sm" }
metric mem  { unit % meaning "mem" source ncu "mem" }
metric hits { unit sectors meaning "hits" source ncu "hits" }
metric time { unit ns meaning "time" source ncu "time" }
metric name { kind text meaning "kernel" source launch "kernel" }
metric ops  { unit inst kind instances meaning "opcodes" source ncu "per_opcode" }
metric ratio { unit % meaning "ratio" source ncu = sm / mem
  test "half"    { given sm = 20 %, mem = 40 %  expect value 50 % }
  test "range"   { given sm = 20 %, mem = 40 %  expect value 49 % .. 51 % }
  test "wrong"   { given sm = 20 %, mem = 40 %  expect value 60 % }
  test "by zero" { given sm = 20 %, mem = 0 %  expect unknown }
  test "raw"     { given raw "sm" = 20 %, raw "mem" = 40, arch = 8.0  expect value 50 % }
  test "absent"  { given raw "sm" = 20 %, raw "mem" = 40 %, arch = 9.0, tool_version = "2025.1"  expect value 50 % }
}
verdict v { title "v" one_of { low "L" when mem < 50 % "l"  high "H" when mem >= 50 % "h" }
  test "low" { given mem = 10 %  expect low }
  test "gone" { given mem missing  expect unknown }
  test "wrong" { given mem = 60 %  expect low }
}
guard g { title "g" when time < 5 us blocks r because "short"
  test "short" { given time = 1 us  expect fired }
  test "long"  { given time = 1 ms  expect not fired }
  test "gone"  { given time missing  expect unknown }
}
"""
RULE = """
rule r { title "r" under low when share > min_share because "b" cause barrier
  param min_share = 50 % in 0 % .. 100 %
  let share = sm
  estimate global share - 10 % .. share
  severity high when share > 80 %, low
  confidence high when known(mem), low
"""


def results(tests: str, *, rule: str = RULE) -> dict[str, TestResult]:
    report = run_tests(pack_of(METRICS + rule + tests + "}"), only=["r"])
    return {one.test: one for one in report.results}


def passed(tests: str) -> dict[str, bool]:
    return {name: one.passed for name, one in results(tests).items()}


def test_outcomes_as_if_the_parent_held() -> None:
    assert passed(
        """
        test "fires"      { given sm = 60 %  expect fired }
        test "does not"   { given sm = 50 %  expect not fired }
        test "gone"       { given sm missing  expect unknown }
        test "never said" { given mem = 1 %  expect unknown }
        test "nan"        { given sm = nan  expect unknown }
        test "wrong"      { given sm = 60 %  expect not fired }
        """
    ) == {"fires": True, "does not": True, "gone": True, "never said": True, "nan": True, "wrong": False}


def test_parents_and_guards_count_where_a_test_speaks_of_them() -> None:
    assert passed(
        """
        test "skipped"     { given sm = 60 %, mem = 90 %  expect skipped }
        test "blocked"     { given sm = 60 %, mem = 10 %, time = 1 us  expect blocked }
        test "not skipped" { given sm = 60 %, mem = 10 %  expect skipped }
        test "not blocked" { given sm = 60 %, mem = 10 %, time = 1 ms  expect blocked }
        test "by itself"   { given sm = 60 %, mem = 90 %, time = 1 us  expect fired }
        """
    ) == {"skipped": True, "blocked": True, "not skipped": False, "not blocked": False, "by itself": True}


def test_levels_and_estimates() -> None:
    got = passed(
        """
        test "high"     { given sm = 90 %, mem = 1 %  expect fired severity high confidence high estimate 80 % .. 90 % }
        test "low"      { given sm = 60 %  expect fired severity low confidence low estimate 50 % .. 60 % }
        test "severity" { given sm = 60 %  expect fired severity high }
        test "sure"     { given sm = 60 %  expect fired confidence high }
        test "range"    { given sm = 60 %  expect fired estimate 50 % .. 55 % }
        """
    )
    assert got == {"high": True, "low": True, "severity": False, "sure": False, "range": False}


def test_bare_numbers_count_in_the_metrics_unit_and_text_and_instances_can_be_given() -> None:
    rule = 'rule r { title "r" when hits > 10 sectors and name matches "gemm" and share > 20 % because "b"'
    rule += ' let share = share(value over instances ops where key == "FADD")'
    got = results(
        """
        test "all"     { given hits = 11, name = "sgemm", ops = { "FADD": 30, "FFMA": 70 }  expect fired }
        test "opcode"  { given hits = 11, name = "sgemm", ops = { "FADD": 10, "FFMA": 70 }  expect not fired }
        test "no ops"  { given hits = 11, name = "sgemm"  expect unknown }
        test "name"    { given hits = 11, name = "copy", ops = { "FADD": 30 }  expect not fired }
        """,
        rule=rule,
    )
    assert all(one.passed for one in got.values()), got


def test_members_of_a_wider_scope_can_be_given_by_name() -> None:
    rule = 'rule r { title "r" scope report when max(time over launches) > 2 us because "b"'
    got = results(
        """
        test "one is long" { given time = { "a": 1 us, "b": 3 us }  expect fired }
        test "all short"   { given time = { "a": 1 us, "b": 2 us }  expect not fired }
        test "none"        { given sm = 1 %  expect unknown }
        """,
        rule=rule,
    )
    assert all(one.passed for one in got.values()), got


def test_a_failure_prints_the_evaluated_tree_with_every_value() -> None:
    one = results('test "wrong" { given sm = 45 %  expect fired }')["wrong"]
    assert (one.expected, one.got) == ("fired", "not fired")
    tree = "\n".join(one.detail)
    assert "false   share > min_share   [share = 45 %, needs > 50 %]" in tree
    assert "metric sm = 45 %" in tree


def test_metric_verdict_and_guard_tests() -> None:
    found = {(r.declaration, r.test): r for r in run_tests(pack_of(METRICS)).results}
    failed = {key for key, one in found.items() if not one.passed}
    assert failed == {("ratio", "wrong"), ("v", "wrong")}
    assert len(found) == 12
    assert found["ratio", "wrong"].got == "value 50 %"


def test_a_rule_that_does_not_load_fails_the_run() -> None:
    pack = assemble([Source("p", "p.rule", (METRICS + "rule broken { when }").encode())])
    report = run_tests(pack, only=["g"])
    assert not report.failures
    assert report.load_errors
    assert not report.passed


def test_reports_that_are_not_there_fail_the_test(tmp_path: Path) -> None:
    text = METRICS + RULE + 'test "real" { given report "no/such.ncu-rep"  expect fired } }'
    (one,) = run_tests(pack_of(text), only=["r"], root=tmp_path).results
    assert not one.passed
    assert "no such report" in one.got


def test_tests_on_a_real_report(fixtures: Path) -> None:
    found = sorted(fixtures.glob("ncu/*/*.ncu-rep*"))
    if not found:
        pytest.skip("no captured report in fixtures/ncu yet")
    name = found[0].relative_to(fixtures.parent)
    text = (
        METRICS
        + f"""rule r {{ title "r" when known(name) because "b"
      test "all"   {{ given report "{name}" kernel "*"  expect fired }}
      test "none"  {{ given report "{name}" kernel "no such kernel"  expect fired }}
      test "count" {{ given report "{name}" kernel "*"  expect not fired count 0 }}
    }}"""
    )
    report = run_tests(pack_of(text), only=["r"], root=fixtures.parent)
    assert [one.passed for one in report.results] == [True, False, True]


# --- coverage --------------------------------------------------------------------------------------------

TIGHT = """
  test "over"  { given sm = 50.2 %  expect fired }
  test "under" { given sm = 49.8 %  expect not fired }
  test "gone"  { given sm missing  expect unknown }
}"""
LOOSE = """
  test "over"  { given sm = 90 %  expect fired }
}"""


def of_rule(pack: Pack) -> tuple[float, float, list[str]]:
    (one,) = coverage(pack, only=["r"])
    return one.outcome_share, one.mutation_share, [s.what for s in one.survivors]


def test_tight_tests_notice_every_mutant_and_reach_every_outcome() -> None:
    rule = 'rule r { title "r" when sm > min_share because "b" param min_share = 50 %'
    assert of_rule(pack_of(METRICS + rule + TIGHT)) == (1.0, 1.0, [])


def test_loose_tests_let_threshold_mutants_live() -> None:
    rule = 'rule r { title "r" when sm > min_share because "b" param min_share = 50 %'
    outcomes, mutation, survivors = of_rule(pack_of(METRICS + rule + LOOSE))
    assert outcomes == pytest.approx(1 / 3)
    assert mutation == pytest.approx(1 / 3)
    assert survivors == ["min_share 50 % -> 50.5 %", "min_share 50 % -> 49.5 %"]


def test_a_rule_without_tests_reaches_nothing() -> None:
    (one,) = coverage(pack_of(METRICS + RULE + "}"), only=["r"])
    assert (one.tests, one.outcome_share) == (0, 0.0)


def test_mutants_move_literals_params_and_turn_comparisons_also_in_lets() -> None:
    text = 'rule r { title "r" when busy and 10 % <= mem < 90 % because "b" let busy = sm * 2 > limit param limit = 40 % }'
    pack = pack_of(METRICS + text)
    made = {m.what for m in mutants(pack.rules["r"])}
    assert "limit 40 % -> 40.4 %" in made
    assert "sm * 2 > limit -> sm * 2 < limit" in made
    assert "10 % -> 9.9 % in 10 % <= mem < 90 %" in made
    assert "90 % -> 90.9 % in 10 % <= mem < 90 %" in made
    assert not any(what.startswith("2 ") for what in made)
    assert len(made) == 2 + 1 + 4 + 2
    for mutant in mutants(pack.rules["r"]):
        assert mutant.declaration != pack.rules["r"]
