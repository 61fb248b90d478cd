"""Defects that were seen in a vendor's rules: here each is rejected by the checker or got right by the engine.

The right values in the tests are arithmetic on the inputs written beside them.
"""

from __future__ import annotations

import pytest

from profrx.evaluate.testing import run_tests
from profrx.language.pack import load_pack
from profrx.language.parse import read

from .conftest import Judge, assembled

HEAD = 'rule r {{ title "R" cause memory-latency fix "f" because "b" when {when} {more} }}'


def rule(when: str, *tests: str, more: str = "") -> str:
    body = " ".join(f'test "{n}" {{ {test} }}' for n, test in enumerate(tests))
    return HEAD.format(when=when, more=f"{more} {body}")


def passes(text: str) -> None:
    report = run_tests(assembled(text))
    assert report.results
    assert report.passed, [(r.test, r.expected, r.got) for r in report.failures]


def codes(judge: Judge, text: str) -> set[str]:
    return {d.code for d in judge(text) if d.severity == "error"}


def test_d1_a_percentage_in_one_minus_rate(judge: Judge) -> None:
    """Compared with 20 and used as `1 - rate`: one of the two was wrong by 100."""
    assert codes(judge, rule("branch.success < 20")) == {"unit-mismatch"}
    passes(
        rule(
            "branch.success < 20 %",
            "given branch.success = 15 %  expect fired estimate 85 %",
            "given branch.success = 25 %  expect not fired",
            more="estimate global 1 - branch.success",
        )
    )


def test_d2_nanoseconds_times_ten_to_the_minus_nine(judge: Judge) -> None:
    """A factor typed by hand was off by ten; units are converted by the engine, and a bare number is refused."""
    assert codes(judge, rule("dram.bytes / (launch.duration * 10e-9) > 900e9")) == {"unit-mismatch"}
    passes(
        rule(
            "dram.bytes / launch.duration >= 900 GB/s",
            "given dram.bytes = 1.8 GB, launch.duration = 2 ms  expect fired",
            "given dram.bytes = 1.7 GB, launch.duration = 2000 us  expect not fired",
        )
    )


@pytest.mark.parametrize(
    ("values", "label"),
    [
        ((3, 9, 9), "registers"),
        ((3, 3, 9), "registers and shared memory"),
        ((3, 3, 3), "registers, shared memory and barriers"),
    ],
)
def test_d3_tied_limiters_are_all_named(values: tuple[int, int, int], label: str) -> None:
    names = ('raw "a"', 'raw "b"', 'raw "c"')
    given = ", ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))
    choice = 'least("registers": raw "a", "shared memory": raw "b", "barriers": raw "c")'
    passes(rule(f'{choice} == "{label}"', f"given {given}  expect fired"))


def test_d3_barriers_are_in_the_catalogue() -> None:
    names = {n for m in load_pack(plugins=False).metrics.values() for s in m.sources for n in s.names}
    assert "launch__occupancy_limit_barriers" in names


def test_d4_evidence_is_computed_never_typed() -> None:
    """A focus metric carried another metric's value: evidence here is an expression, it has no place for a value."""
    assert read(rule("sm.throughput > 3 %", more="evidence sm.throughput = 5")).diagnostics
    assert not read(rule("sm.throughput > 3 %", more='evidence sm.throughput as "compute"')).diagnostics


def test_d5_evidence_names_metrics_that_exist(judge: Judge) -> None:
    text = rule("sm.throughput > 3 %", more="evidence pc_sampling_long_scoreboard")
    assert codes(judge, text) == {"unknown-name"}


def test_d6_an_optional_metric_may_be_missing() -> None:
    """A weighted sum died when one pipe was not collected: it is unknown here, or 0 where the author says so."""
    passes(rule("sm.throughput + dram.throughput > 50 %", "given sm.throughput = 80 %  expect unknown"))
    passes(
        rule("sm.throughput + (dram.throughput ?? 0 %) > 50 %", "given sm.throughput = 80 %  expect fired")
    )
    passes(rule("sm.throughput > 50 % or dram.throughput > 50 %", "given sm.throughput = 80 %  expect fired"))


def test_d7_division_by_zero_is_unknown() -> None:
    passes(
        rule(
            "1 / sm.throughput > 4",
            "given sm.throughput = 0 %  expect unknown",
            "given sm.throughput = 20 %  expect fired",
            "given sm.throughput = 50 %  expect not fired",
        )
    )


def test_d8_what_lies_below_the_ideal_is_no_excess() -> None:
    """Absolute values counted lines that did better than the ideal as excess."""
    total = "sum(value over instances instructions.by_opcode where value > 0) > 4"
    members = 'given instructions.by_opcode = { "a": 5, "b": -3 }'
    passes(rule(f"{total} and {total.replace('> 4', '< 6')}", f"{members}  expect fired"))


def test_d9_a_threshold_of_zero_is_noticed(judge: Judge) -> None:
    found = judge(rule("sm.throughput >= 0 %"))
    assert "constant-condition" in {d.code for d in found}
    minimum = load_pack(plugins=False).params["impact.minimum"]
    assert minimum.default.value > 0  # type: ignore[union-attr]


def test_d10_operation_counts_carry_units(judge: Judge) -> None:
    """Packed operations were weighted 2, 1 and 8: instructions are not operations, and a test pins the sum."""
    head = 'metric m.flop { unit FLOP  meaning "m"  source ncu = '
    assert codes(judge, f'{head} raw "fadd2" inst + raw "ffma2" inst * 4 FLOP/inst }}') == {"unit-mismatch"}
    passes(
        f'{head} raw "fadd2" inst * 2 FLOP/inst + raw "fmul2" inst * 2 FLOP/inst + raw "ffma2" inst * 4 FLOP/inst\n'
        'test "weights" { given raw "fadd2" = 3, raw "fmul2" = 5, raw "ffma2" = 7  expect value 44 FLOP } }'
    )


def test_d11_a_text_speaks_of_its_own_rule(judge: Judge) -> None:
    """The texts of one rule stood in another: texts stand beside their condition and name only what it knows."""
    text = rule("sm.throughput > 3 %").replace('because "b"', 'because "{sync_count} synchronisations"')
    assert codes(judge, text) == {"template-name"}


def test_d12_a_child_does_not_speak_while_its_parent_is_silent() -> None:
    parent = rule("sm.throughput < 30 %").replace("rule r", "rule parent")
    child = rule(
        "dram.bytes > 3 B",
        "given sm.throughput = 90 %, dram.bytes = 5  expect skipped",
        "given dram.bytes = 5  expect fired",
        more="under parent",
    )
    passes(parent + child)


def test_d12_an_estimate_says_of_what_it_is_a_share() -> None:
    assert read(rule("sm.throughput < 3 %", more="estimate 5 %")).diagnostics
    assert not read(rule("sm.throughput < 3 %", more="estimate local 5 %")).diagnostics
