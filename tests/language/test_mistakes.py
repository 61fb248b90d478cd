"""Every mistake an author can make is found at its place, with a sentence that says how to repair it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from profrx.language.check import check
from profrx.language.diagnostics import Diagnostic
from profrx.language.pack import Source, assemble
from profrx.language.parse import read

from .conftest import Judge, assembled

HEAD = 'rule r { title "R" cause memory-latency fix "f" because "b" '
TESTS = ' test "a" { given x = 1 expect fired } '


def whole(when: str, more: str = "") -> str:
    return f"{HEAD} when {when} {more} }}"


SYNTAX = [
    ("rule r {", "unexpected-end", "never closed", ""),
    (whole("sm.throughput < 30 procent"), "unknown-unit", "`procent` is not a unit", ""),
    (whole("launch.duration < 5 cycels"), "unknown-unit", "`cycels`", "cycles"),
    (whole("sm.throughput = 30 %"), "syntax", "`=`", "`==` compares"),
    (whole("sm.throughput < 3 % && true"), "syntax", "`&`", "write `and`"),
    (whole("sm.throughput < 3 % || true"), "syntax", "`|`", "write `or`"),
    (whole("!fired(r)"), "syntax", "`!`", "write `not`"),
    (whole("sm.throughput < 3 %;"), "syntax", "`;`", "no semicolon"),
    (whole("launch.kernel == 'x'"), "syntax", "`'`", "double quotes"),
    (whole("sm.throughput < %"), "syntax", "`%`", "follows a number"),
    (whole("sm.throughput <\n  estimate global 5 %"), "syntax", "before `estimate` is not complete", ""),
    (whole("sm.throughput < 3 %", "serverity high"), "syntax", "`serverity`", "severity"),
    (whole("sm.throughput < 3 %", 'titel "x"'), "syntax", "`titel`", "title"),
    (whole("sm.throughput < 3 %", 'fix "open'), "unclosed-string", "not closed", 'close it with "'),
    (whole("sm.throughput => 3 %"), "syntax", "`=`", ">="),
    (whole("sm.throughput < 3 %", "let x := 4"), "syntax", "`:`", "write ="),
    (whole("sm.throughput is missing"), "syntax", "`is`", "known(x)"),
    (whole("sm.throughput < 3 %", "estimate 5 %"), "syntax", "`5`", "`global`"),
    ("rule r { title Abc }", "syntax", "`Abc`", "double quotes"),
    (whole("sm.throughput < 3 %", "under a b"), "syntax", "`b`", "comma"),
    (whole("sm.throughput < 3 percent"), "unknown-unit", "`percent`", "did you mean %?"),
    (whole("launch.duration < 3 msec"), "unknown-unit", "`msec`", "did you mean ms?"),
    (whole("dram.bytes < 3 gb"), "unknown-unit", "`gb`", "did you mean GB?"),
    (whole("sm.throughput > least\n", 'param least = 5 % "m"'), "syntax", "`least` is a word", "another"),
    (whole("sm.throughput > raw\n", 'param raw = 5 % "m"'), "syntax", "wants a string", "another"),
    ("rulle r { }", "syntax", "`rulle`", "rule"),
    (whole("1e999 > 2"), "number-too-large", "1e999", ""),
    (whole("sm.throughput < 3 %", "version 1.5"), "whole-number", "whole number", ""),
    ('metric m.x { unit "%" meaning "m" }', "unknown-unit", "not a unit", "without quotes"),
    (whole("sm.throughput < 3 %", "unit %"), "misplaced-statement", "belongs in a metric", ""),
    (whole("sm.throughput < 3 %", 'title "again"'), "duplicate-statement", "two `title`", ""),
    ('rule r { title "R" because "b" }', "missing-statement", "no `when`", ""),
    ('metric m.x { unit % source ncu "a" }', "missing-statement", "no `meaning`", ""),
    (
        whole("sm.throughput < 3 %", 'test "t" { given sm.throughput = 1 % }'),
        "test-expectation",
        "no `expect`",
        "",
    ),
    ('reference x { title "t" }', "missing-statement", "no `url`", ""),
    ("extend rule r { }", "misplaced-statement", "only a metric", ""),
    ('extend metric dram.bytes { unit % source ncu "x" }', "misplaced-statement", "`unit` stays", ""),
    ('rule "my rule" { }', "syntax", '`"my rule"`', "without quotes: my-rule"),
    ("rule { }", "syntax", "`{`", "rule my-id {"),
    ('rule r { title: "R" }', "syntax", "`:`", "without a colon"),
    (whole("true", 'if sm.throughput > 3 % because "x"'), "syntax", "`if`", "written: when"),
    (whole("true", 'param low in 0 % .. 9 % "m"'), "syntax", "`in`", "param low = 30 % in"),
    (whole("true", 'param low: 30 % "m"'), "syntax", "`:`", "write ="),
    (whole("true", "param min-hits = 30 %"), "syntax", "`-hits`", "min_hits"),
    (whole("true", "param low = 30 % in 0 % - 100 %"), "syntax", "", "lo .. hi"),
    (whole("true", "param low = 30 % in 0 % to 100 %"), "syntax", "`to`", "lo .. hi"),
    (whole("true", "param low = 30 % in [0 %, 100 %]"), "syntax", "`[`", "lo .. hi"),
    (whole("true", 'param low = 30 % see guide "m"'), "syntax", '`"m"`', "meaning of a param stands before"),
    (whole("true", "test { given sm.throughput = 5 % expect fired }"), "syntax", "`{`", "a test has a name"),
    (whole("true", 'test "t" given sm.throughput = 5 %'), "syntax", "`given`", "stands in braces"),
    (whole("true", 'test "t" { given sm.throughput == 5 % expect fired }'), "syntax", "`==`", "write ="),
    ('verdict v { title "V" low "Low" when true }', "syntax", "`low`", "one_of {"),
    (
        'verdict v { title "V" one_of { low "L" sm.throughput < 3 % } }',
        "syntax",
        "`sm.throughput`",
        "a row is written",
    ),
    ('verdict v { title "V" one_of { low "L" else "y" } }', "syntax", "`else`", "each row has its condition"),
    ("guard g { blocks cache.l2_hit_rate }", "syntax", "`.l2_hit_rate`", "blocks metric cache.l2_hit_rate"),
    (whole("true", "under sm.throughput"), "syntax", "`.throughput`", "a row of a verdict or a rule"),
    ("metric my-metric { unit % }", "syntax", "`-metric`", "dotted and have no dash"),
    ("metric a.b { source ncu sm__x.avg }", "syntax", "`sm__x.avg`", 'source ncu "sm__x.avg"'),
    ('metric a.b { source "sm__x.avg" }', "syntax", '`"sm__x.avg"`', 'source ncu "sm__x.avg"'),
    ('metric a.b { source ncu raw "a" + raw "b" }', "syntax", "`raw`", "stands behind ="),
    ('metric a.b { test "t" { given raw "a" = 3 expect 3 } }', "syntax", "`3`", "expect value 3"),
    (whole("true", 'see "https://example.org"'), "syntax", "", "id of a reference"),
    (whole("true", 'severity "high"'), "syntax", '`"high"`', "without quotes: high"),
    (whole("true", 'version "1.0"'), "syntax", '`"1.0"`', "whole number"),
    (whole("true", 'evidence sm.throughput "label"'), "syntax", '`"label"`', 'write as "label"'),
    (whole('launch.kernel in ["a"]'), "syntax", "`[`", "{ a, b }"),
    (whole('launch.kernel matches glob("*a*")'), "syntax", "`(`", 'matches glob "*gemm*"'),
    (whole('launch.kernel like "a"'), "syntax", "`like`", "matches"),
    (whole("sm.throughput between 3 % and 5 %"), "syntax", "`between`", "lo <= x <= hi"),
    (whole("true", "let a = true ? 1 : 2"), "syntax", "`?`", "if c then a else b"),
    (whole("true", 'let a = if true then 1\n title "x"'), "syntax", "", "three parts"),
    (whole("sm.throughput ** 2 > 3"), "syntax", "`*`", "products"),
    (whole("launch.duration % 32 == 0"), "syntax", "`%`", "no remainder"),
    (whole("sm.throughput <> 3 %"), "syntax", "`>`", "write !="),
    (whole("sm.throughput ≥ 3 %"), "syntax", "`≥`", "write >="),
    (whole("sm.throughput\N{NO-BREAK SPACE}> 3 %"), "syntax", "", "no-break space"),
    (whole("sm.throughput > .5"), "syntax", "`.5`", "write 0.5"),
    (whole("dram.bytes > 1,000 B"), "syntax", "`,`", "1_000"),
    (whole("dram.bytes > 0x10"), "unknown-unit", "`x10`", "decimal"),
    (whole("launch.duration > 5 µs"), "unknown-unit", "`µs`", "did you mean us?"),
    ("rule r { title “R” }", "syntax", "`“`", "straight double quotes"),
    ("// a remark", "syntax", "`/`", "comments begin with #"),
    ('cause a "b" }', "syntax", "`}`", "closes nothing"),
    ('cause a "b",\ncause c "d"', "syntax", "`,`", "nothing stands between"),
    ('import "x.rule"', "syntax", "`import`", "nothing is imported"),
    ('pack "a" requires ">=0.1"', "syntax", "", "requires engine"),
    (whole("true", "when true"), "duplicate-statement", "two `when`", "join them"),
    (
        'rule r { title "R" severity high when true because "b" }',
        "missing-statement",
        "no `when`",
        "line of `severity`",
    ),
    (
        'rule r { title "R" when true suppresses a because "b" }',
        "missing-statement",
        "no `because`",
        "behind `suppresses`",
    ),
    ('guard g { title "G" when true because "b" }', "missing-statement", "no `blocks`", "add: blocks"),
    (whole("not " * 150 + "true"), "too-deep", "nests", "let"),
    (whole("(" * 500 + "true" + ")" * 500), "too-deep", "nested too deeply", "let"),
]


@pytest.mark.parametrize(("text", "code", "message", "hint"), SYNTAX)
def test_syntax(text: str, code: str, message: str, hint: str) -> None:
    found = [d for d in read(text, "r.rule").diagnostics if d.code == code]
    assert found, read(text, "r.rule").diagnostics
    assert message in found[0].message
    assert hint in found[0].hint
    assert found[0].span.file == "r.rule"
    assert found[0].span.line >= 1


MEANING = [
    ('rule when { title "R" when sm.throughput < 3 % because "b" }', "bad-name", "word of the language", "when-"),
    ('metric foo { unit % meaning "m" source ncu "x" }', "bad-name", "dotted", ".foo"),
    ('param foo = 3 % in 0 % .. 9 % "m" heuristic', "bad-name", "dotted", ".foo"),
    ('metric a.b { unit % meaning "m" valid 0 .. 100 source ncu "x" }', "unit-mismatch", "in %", "100 %"),
    ('metric a.b { unit % meaning "m" source ncu = raw "x" % test "t" { given raw "x" = 1 % expect value 50 } }', "unit-mismatch", "in %", "50 %"),
    (whole("sm.throughput < 3 %", 'test "t" { given sm.throughput = null expect unknown }'), "unknown-name", "`null`", "sm.throughput missing"),
    (whole("low < 3 %", 'let low = sm.throughput test "t" { given low = 1 % expect fired }'), "unknown-name", "is a let", "give sm.throughput"),
    (whole("mean(launch.duration, launches) > 3 ns"), "unknown-name", "`launches` is no value", "over launches"),
    (whole("contains(launch.kernel, \"a\")"), "unknown-function", "`contains`", "matches glob"),
    (whole("avg(sm.throughput) > 3 %"), "unknown-function", "`avg`", "mean("),
    (whole("isnull(sm.throughput)"), "unknown-function", "`isnull`", "known(x)"),
    (whole("true").replace("rule r", "rule low-compute") + whole("true").replace("rule r", "override rule low-computer"), "override-nothing", "no rule low-computer", "low-compute"),
    ('verdict w { title "W" one_of { a-row "A" when sm.throughput < 3 %  b-row "B" when sm.throughput >= 3 % } }' + whole("true", "under w"), "unknown-parent", "`w`", "a-row, b-row"),
    ('pack "a" version "1" pack "b" version "1"', "duplicate-id", "has its header", "keep one"),
    (whole("sm.troughput < 3 %"), "unknown-metric", "`sm.troughput`", "sm.throughput"),
    (whole("sm.throughput < limt", "param limit = 3 % \"m\" see guide"), "unknown-name", "`limt`", "limit"),
    (whole("smsp__average_warps_active.avg < 3 %"), "unknown-metric", "no report holds", "occupancy.achieved"),
    (whole('raw "dram__throughput.avg.pct_of_peak_sustained_elapsed" % > 3 %'), "unknown-raw-name", "", "dram.throughput"),
    (whole("sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed > 3 %"), "unknown-metric", "active cycles", "pipe.tensor"),
    (whole("sm__throughput.avg.pct_of_peak_sustained_elapsed > 3 %"), "unknown-metric", "vendor's name", "sm.throughput"),
    (whole("some__counter.sum > 3"), "unknown-metric", "no metric", 'raw "some__counter.sum"'),
    (whole("sm.throughput < 3 %", "under memory-bond"), "unknown-parent", "`memory-bond`", ""),
    (whole("fired(lo-compute)"), "unknown-rule", "`lo-compute`", ""),
    (whole("sm.throughput < 3 %", "see giude"), "unknown-reference", "`giude`", "guide"),
    (HEAD.replace("memory-latency", "memory-latncy") + "when sm.throughput < 3 % }", "unknown-cause", "", "memory-latency"),
    (whole("sm.throughput < 3 %", "severity hihg"), "unknown-level", "`hihg`", "high"),
    (whole("sm.throughput < 3 %", "scope lunch"), "unknown-scope", "`lunch`", "launch"),
    (whole("sm.throughput < 3 %", "applies_to ncuu"), "unknown-tool", "`ncuu`", "ncu"),
    (whole("sm.throughput < 3 %", "status stabel"), "unknown-status", "", "stable"),
    (whole("sum(value over instances launch.durations) > 3 ns"), "unknown-metric", "", "launch.duration"),
    (whole("sum(launch.duration over lunches) > 3 ns"), "unknown-domain", "", "launches"),
    (whole("value > 3"), "unknown-name", "inside `F(", ""),
    (whole("late < 3 %", "let early = late let late = sm.throughput"), "unknown-name", "above its `let`", "move"),
    (whole("sm.throughput < 3 %", 'test "t" { given sm.throughput = 1 % expect fierd }'), "unknown-outcome", "", "fired"),
    ('rule Bad_Name { title "R" when true because "b" }', "bad-name", "kebab-case", "bad-name"),
    (whole("sm.throughput < 3 %", "let Late = 3"), "bad-name", "snake_case", "late"),
    (whole("sm.throughput < 3 %", "let least = 3"), "bad-name", "`least` is a word", "another"),
    (whole("launch.duration < 5"), "unit-mismatch", "without a unit", "ns or us"),
    (whole("launch.duration < 5 B"), "unit-mismatch", "cannot compare", ""),
    (whole("launch.duration + dram.bytes < 5 B"), "unit-mismatch", "cannot add", "combine units"),
    (whole("sm.throughput < 20"), "unit-mismatch", "2000 %", "write 20 %"),
    (whole("sm.throughput > low", 'param low = 30 in 0 .. 100 "m" heuristic'), "unit-mismatch", "`low`, whose 30 is 3000 %", "`low = 30 % in 0 % .. 100 %`"),
    (whole("low < sm.throughput", 'param low = 30 "m" heuristic'), "unit-mismatch", "3000 %", "`low = 30 %`"),
    (whole("sm.throughput > low", "let low = 30"), "unit-mismatch", "3000 %", "`low = 30 %`"),
    (whole("sm.throughput in 0 % .. top", 'param top = 30 in 0 .. 100 "m" heuristic'), "unit-mismatch", "3000 %", "`top = 30 %"),
    (whole("sm.throughput - memory.throughput > d", 'param d = 5 in 0 .. 9 "m" heuristic'), "unit-mismatch", "500 %", "5 pp in 0 pp .. 9 pp"),
    (whole("(sm.throughput ?? 30) > 3 %"), "unit-mismatch", "combined with 30, which is 3000 %", "write 30 %"),
    (whole("max(sm.throughput, 30) > 3 %"), "unit-mismatch", "combined", "write 30 %"),
    (whole("100 - sm.throughput > 3 %"), "unit-mismatch", "10000 %", "write 100 %"),
    (whole("sm.throughput + 5 > 3 %"), "unit-mismatch", "500 %", "write 5 %"),
    (whole("(if true then sm.throughput else 30) > 3 %"), "unit-mismatch", "3000 %", "write 30 %"),
    (whole("sm.throughput > 3 pp"), "percentage-points", "for differences", "write 3 %"),
    (whole("sm.throughput - memory.throughput > 3 %"), "percentage-points", "percentage points", "3 pp"),
    (whole("launch.kernel > 3"), "type-mismatch", "text", ""),
    (whole('launch.kernel < "x"'), "type-mismatch", "no meaning for text", "matches"),
    (whole("sm.throughput"), "not-a-condition", "not a condition", "threshold"),
    (whole("sm.throughput and true"), "not-a-condition", "", ""),
    (whole("sum(launch.duration) > 3 ns"), "unknown-function", "aggregates", "over launches"),
    (whole("maxx(sm.throughput, 3 %) > 5 %"), "unknown-function", "`maxx`", "max"),
    (whole("clamp(sm.throughput, 3 %) > 5 %"), "argument-count", "takes 3 arguments, not 2", ""),
    (whole("sqrt(dram.bytes) > 5"), "unit-mismatch", "no square root", ""),
    (whole("sm.throughput < 3 %", "estimate global launch.duration"), "unit-mismatch", "share of the run time", "divide"),
    (whole("sm.throughput < 3 %", "estimate global 10 % .. 5 %"), "estimate-reversed", "ends at", "smaller end first"),
    (whole("sm.throughput < 3 %", "estimate global 30"), "unit-mismatch", "3000 %", "30 %"),
    (whole("sm.throughput < x", 'param x = 5 us in 0 % .. 3 % "m" see guide'), "unit-mismatch", "range of `x`", ""),
    (whole("sm.throughput < x", 'param x = 5 % in 10 % .. 30 % "m" see guide'), "default-outside-range", "", ""),
    (whole("sm.throughput < x", 'param x = 5 % in 30 % .. 10 % "m" see guide'), "empty-range", "", ""),
    (whole("sm.throughput < 3 %", 'test "t" { given launch.duration = 3 B expect fired }'), "unit-mismatch", "`launch.duration`", ""),
    (whole("sm.throughput < 3 %", 'test "t" { given sm.throughput = 3 expect fired }'), "unit-mismatch", "no unit", "write 3 % or 0.03 ratio"),
    (whole("sm.throughput < x", 'param x = 5 % in 0 % .. 9 % "m" see guide require sm.throughput < x'), "require", "is about parameters", ""),
    (whole("sm.throughput < x", 'param x = 5 % in 0 % .. 9 % "m" see guide require x > 7 %'), "require", "do not satisfy", ""),
    (whole("sm.throughput < x", 'param x = 30 in 0 % .. 100 % "m" see guide'), "unit-mismatch", "no unit", "write 30 % or 0.3 ratio"),
    (whole("sm.throughput < x", 'param x = 0.3 in 0 % .. 100 % "m" see guide'), "unit-mismatch", "no unit", "30 % or 0.3 ratio, or 0.3 %"),
    (whole("sm.throughput < x", 'param x = 30 % in 0 .. 1 "m" see guide'), "unit-mismatch", "no unit", "100 % or 1 ratio"),
    (whole("sm.throughput / 0 < 1"), "division-by-zero", "`sm.throughput / 0`", "differ from 0"),
    (whole("sm.throughput / z < 1", "let z = 3 - 3"), "division-by-zero", "always unknown", ""),
    ('metric m.x { unit % meaning "m" source ncu = sm.throughput / 0 }', "division-by-zero", "", ""),
    (whole("sm.throughput < 3 %", 'collect foo section "X"'), "unknown-tool", "`foo`", "known: ncu"),
    (whole('launch.kernel matches glob ""'), "bad-pattern", "matches no name", "gemm"),
    (whole('launch.kernel matches ""'), "bad-pattern", "matches every text", "gemm"),
    (whole('launch.kernel matches "(a"'), "bad-pattern", "not a pattern", "RE2"),
    (whole('launch.kernel matches "(a)\\1"'), "bad-pattern", "", "backreferences"),
    (whole(f'launch.kernel matches "{"a" * 300}"'), "pattern-too-long", "300", "or"),
    (whole("sm.throughput > 120 %"), "constant-condition", "never true", ""),
    (whole("sm.throughput >= 0 %"), "constant-condition", "always true", ""),
    (whole("sm.throughput < 3 % and sm.throughput > 30 %"), "impossible-condition", "never hold", ""),
    (whole("sm.throughput < 3 %", "estimate global sm.throughput - 50 % .. sm.throughput * 3"), "estimate-out-of-range", "-50 %", "clamp"),
    (whole("sm.throughput < 3 %", "let spare = 3 %"), "unused-name", "`spare`", "drop"),
    (whole("x < 3 %", "let x = sm.throughput let x = dram.throughput"), "shadowed-name", "hides", "rename"),
    (whole("sm.throughput < 3 %", 'because "twice"'), "duplicate-statement", "", ""),
    (HEAD.replace('"b"', '"{nope} {sm.throughput:.1f us} {sm.throughput:zz}"') + "when sm.throughput < 3 % }", "template-name", "`nope`", ""),
    (HEAD.replace('"b"', '"{sm.throughput:.1f us}"') + "when sm.throughput < 3 % }", "template", "cannot be shown in us", ""),
    (HEAD.replace('"b"', '"a { b"') + "when sm.throughput < 3 % }", "template", "`{{`", ""),
    (HEAD.replace('"b"', '"{launch.duration:.0%}"') + "when launch.duration < 3 ns }", "template", "no percentage", ""),
    (whole("torch.only > 3 ns and sm.throughput > 3 %"), "source-missing", "no single tool", "source"),
    (whole("torch.only > 3 ns", "applies_to rocm"), "source-missing", "no source for rocm", "add `source rocm"),
    (whole("sm.throughput > 3 %", "scope report"), "scope-mismatch", "each launch", "mean(sm.throughput over launches)"),
    (whole("sm.throughput > x", 'param x = 5 % in 0 % .. 9 % "m"'), "uncited-threshold", "no source", "heuristic"),
    (whole("sm.throughput > 3 %"), "missing-test", "fired, not fired, unknown", "test"),
    ('rule r { title "R" when sm.throughput > 3 % because "b" }', "no-fix", "", "fix"),
    ('rule r { title "R" when sm.throughput > 3 % because "b" }', "no-cause", "", ""),
    (HEAD.replace('"R"', '"Ends with a dot."') + "when sm.throughput < 3 % }", "title", "full stop", ""),
    ('metric m.x { unit % meaning "m" }', "no-source", "never known", "source ncu"),
    ('metric m.x { unit % meaning "m" source ncu = m.x }', "cycle", "m.x -> m.x", ""),
    ('metric m.x { unit % meaning "m" source ncu = dram.bytes }', "unit-mismatch", "this formula", ""),
    ('metric m.x { unit % meaning "m" kind texxt source ncu "a" }', "unknown-kind", "", "text"),
    ('metric m.x { unit us meaning "m" source ncu "a" B }', "unit-mismatch", "this source", ""),
    (whole("sm.throughput < 3 %", "status deprecated"), "no-successor", "", "replaced_by"),
    (whole("sm.throughput < 3 %", 'suppresses r because "x"'), "cycle", "itself", ""),
    ("param a.b = 3 % \"m\" see guide", "unused-name", "no rule reads", ""),
    ("param a.b = 3 % see guide", "no-meaning", "", ""),
    ('ruleset "1" { nope version 1 }', "unknown-rule", "`nope`", ""),
    (whole("sm.throughput < 3 %") + 'ruleset "1" { r version 7 }', "ruleset-version", "at version 1, not 7", "r version 1"),
    ('override rule nope { title "R" when true because "b" }', "override-nothing", "", "drop `override`"),
    ('extend metric nope.x { source ncu "a" }', "extend-nothing", "", ""),
    ('metric dram.bytes { unit B meaning "again" source ncu "a" }', "duplicate-id", "already declared", "override"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "message", "hint"), MEANING)
def test_meaning(judge: Judge, text: str, code: str, message: str, hint: str) -> None:
    found = [d for d in judge(text) if d.code == code]
    assert found, [str(d) for d in judge(text)]
    assert any(message in d.message and hint in d.hint for d in found), [str(d) for d in found]
    assert all(d.subject for d in found)
    assert found[0].span.file == "a.rule"


def of(found: list[Diagnostic], code: str) -> list[Diagnostic]:
    return [d for d in found if d.code == code]


def test_a_good_rule_is_silent(judge: Judge, rule_text: Callable[..., str]) -> None:
    assert judge(rule_text()) == []


def test_cycles_over_under_and_fired(judge: Judge) -> None:
    found = judge(whole("fired(q)") + HEAD.replace("rule r", "rule q") + "when sm.throughput < 3 % under r }")
    assert "r -> q -> r" in of(found, "cycle")[0].message


def test_cycles_of_suppression(judge: Judge) -> None:
    first = whole("sm.throughput < 3 %", 'suppresses q because "x"')
    found = judge(first + first.replace("rule r", "rule q").replace("suppresses q", "suppresses r"))
    assert len(of(found, "cycle")) == 1


def test_unreachable_under_its_row(judge: Judge) -> None:
    verdict = """verdict v { title "V" one_of { idle when sm.throughput < 30 %  busy when sm.throughput >= 30 % } }"""
    found = judge(verdict, whole("sm.throughput > 50 % and dram.bytes > 3 B", "under idle"))
    assert of(found, "unreachable-rule")[0].severity == "error"
    found = judge(verdict, whole("sm.throughput > 50 %", "under idle, busy"))
    assert of(found, "unreachable-rule")[0].severity == "warning"
    assert not of(judge(verdict, whole("sm.throughput > 50 %", "under busy")), "unreachable-rule")


def test_unreachable_under_a_rule(judge: Judge) -> None:
    parent = whole("sm.throughput < 30 %").replace("rule r", "rule p")
    found = judge(parent, whole("sm.throughput >= 30 %", "under p"))
    assert of(found, "unreachable-rule")


def test_removed_and_deprecated(judge: Judge) -> None:
    old = whole("sm.throughput < 30 %", "status removed replaced_by new").replace("rule r", "rule old")
    new = whole("sm.throughput < 30 %").replace("rule r", "rule new")
    found = judge(old, new, whole("fired(old)"))
    assert of(found, "removed-rule")[0].hint == "use new"
    found = judge(old.replace("removed", "deprecated"), new, whole("fired(old)"))
    assert of(found, "deprecated-use")[0].severity == "warning"


def test_deprecated_metric(judge: Judge) -> None:
    metric = 'metric m.x { unit % meaning "m" source ncu "a" deprecated "use sm.throughput" }'
    assert of(judge(metric, whole("m.x < 3 %")), "deprecated-use")[0].hint == "use sm.throughput"


def test_ids_of_rows_and_rules_share_one_space(judge: Judge) -> None:
    verdict = (
        """verdict v { title "V" one_of { r when sm.throughput < 30 %  busy when sm.throughput >= 30 % } }"""
    )
    assert of(judge(verdict, whole("dram.bytes > 3 B")), "duplicate-id")


def test_several_mistakes_in_one_run() -> None:
    text = (
        whole("sm.throughput < < 3 %", '\n severity high when\n fix 3\n title "x"')
        + "\nrule q { titel }\ncause c 3\n"
    )
    found = read(text).diagnostics
    assert len(found) >= 5
    assert [d.span.line for d in found] == sorted(d.span.line for d in found)


def test_a_mistake_costs_only_its_declaration() -> None:
    good = 'cause a-b "fine"'
    parsed = read(
        f'{good}\nrule r {{ title 3 when \ncause c-d "fine"\nrule s {{ title }} \n{good.replace("a-b", "e-f")}'
    )
    assert {node.name for node in parsed.file.declarations} >= {"a-b", "e-f"}


def test_a_forgotten_brace_costs_only_its_rule() -> None:
    text = 'rule r {\n title "R"\n when true\n because "b"\n\nrule s {\n title "S"\n when true\n because "b"\n}\n'
    parsed = read(text)
    assert [node.name for node in parsed.file.declarations] == ["s"]
    assert parsed.diagnostics[0].code == "unexpected-end"
    assert parsed.diagnostics[0].span.line == 1


def test_not_utf8() -> None:
    pack = assemble([Source("p", "bad.rule", b'cause a "\xff"'), Source("p", "good.rule", b'cause b-c "x"')])
    assert [d.code for d in pack.diagnostics] == ["not-utf8"]
    assert list(pack.causes) == ["b-c"]


@pytest.mark.parametrize(
    ("when", "estimate"),
    [
        ("sm.throughput > limit", "sm.throughput - limit"),
        ("limit < sm.throughput and true", "gap"),
        ("sm.throughput < limit", "limit - sm.throughput"),
        ("sm.throughput >= 40 %", "sm.throughput - 40 % .. sm.throughput"),
        ("sm.throughput < limit", "clamp(sm.throughput * 9 - 3, 0 %, 100 %)"),
        ("sm.throughput < limit", "sm.throughput - 15 pp .. sm.throughput + 15 pp"),
        ("sm.throughput < limit", "1 - sm.throughput"),
        ("sm.throughput < limit", "amdahl(sm.throughput, 3)"),
    ],
)
def test_estimates_that_the_condition_keeps_in_range(judge: Judge, when: str, estimate: str) -> None:
    more = f'param limit = 30 % in 0 % .. 100 % "m" see guide let gap = sm.throughput - limit estimate global {estimate}'
    assert not of(judge(whole(when, more)), "estimate-out-of-range")


@pytest.mark.parametrize("estimate", ["sm.throughput - limit", "sm.throughput * 2", "1 - 2 * sm.throughput"])
def test_estimates_that_it_does_not(judge: Judge, estimate: str) -> None:
    more = f'param limit = 30 % in 0 % .. 100 % "m" see guide estimate global {estimate}'
    assert of(judge(whole("dram.throughput > limit", more)), "estimate-out-of-range")


def test_every_message_says_how_to_repair_it() -> None:
    found = [d for text, *_ in SYNTAX for d in read(text, "r").diagnostics]
    found += [d for text, *_ in MEANING for d in check(assembled(text))]
    silent = {(d.code, d.message) for d in found if not d.help and not d.expected}
    assert not silent


OPEN = 'rule o {\n  title "O"\n  when true\n  because "b"\n  fix """never closed\n}\n'
CLOSED = 'rule c {\n  title "C"\n  when true\n  because """closed"""\n}\n'
HURT = 'rule h {\n  title "H" oops\n  when true\n  because "b"\n}\n'


@pytest.mark.parametrize("after", ["", CLOSED, CLOSED * 2, 'cause a-b "c"\n' + CLOSED])
def test_an_unclosed_block_is_reported_where_it_opens(after: str) -> None:
    """Not where the next one seems to end."""
    (found,) = read('cause x-y "z"\n' + OPEN + after, "o.rule").diagnostics
    assert (found.code, found.span.line, found.span.column) == ("unclosed-string", 6, 7)
    assert '"""' in found.hint


def test_reading_goes_on_behind_an_unclosed_block() -> None:
    parsed = read(CLOSED + OPEN + HURT + CLOSED.replace("rule c", "rule d"))
    assert [d.code for d in parsed.diagnostics] == ["unclosed-string", "syntax"]
    assert [node.name for node in parsed.file.declarations] == ["c", "d"]


def test_many_unclosed_blocks_end() -> None:
    assert read(OPEN * 301).diagnostics


def test_an_unclosed_string_is_one_mistake() -> None:
    (found,) = read(whole("sm.throughput < 3 %", 'fix "open')).diagnostics
    assert found.subject == "rule r"


@pytest.mark.parametrize(
    "when", ["sm.throughput < limt", "dram.bytes < limit", "sm.troughput < limit or limit > 3"]
)
def test_a_name_that_another_mistake_leaves_unread_is_not_reported(judge: Judge, when: str) -> None:
    more = 'param limit = 3 % in 0 % .. 9 % "m" see guide let spare = limit'
    found = judge(whole(when, more))
    assert any(d.severity == "error" for d in found)
    assert not of(found, "unused-name")


def test_the_brace_that_is_never_closed_is_the_one_named(judge: Judge) -> None:
    """Not that of a test above it, which is closed."""
    text = whole("sm.throughput < 3 %", 'test "t" { given sm.throughput = 1 % expect fired }')
    (found,) = of(judge(text.rstrip()[:-1]), "unexpected-end")
    before = text[: text.index("{")].splitlines()
    assert (found.span.line, found.span.column) == (len(before), len(before[-1]) + 1)


@pytest.mark.parametrize(
    "pattern",
    [
        "gemm",
        "^(a|b)+.*$",
        "(?i)tile",
        "a\\.b\\d",
        "[a-z_]+",
        "a++",
        "(?P<x>a)",
        "a{1,3}",
        "(?=a)",
        "(a)\\1",
        "[",
        "**",
        "\\p{L}",
        "(?>a)",
        "a*+b",
    ],
)
def test_patterns_are_judged_as_re2_does(pattern: str) -> None:
    """Plain patterns are not given to RE2; the answer is the same."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from profrx.language.check.patterns import re2_problem

    try:
        pc.match_substring_regex(pa.array([""]), pattern)
        taken = True
    except pa.ArrowInvalid:
        taken = False
    assert (re2_problem(pattern) == "") == taken


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('rule a/b { title "T" when sm.throughput > 5 % because "b" }', "names have no slash: a-b"),
        (
            'rule r { title "T" when sm.thr\u043eughput > 5 % because "b" }',
            "cyrillic small letter o: names are plain letters",
        ),
    ],
)
def test_names_of_other_signs(text: str, hint: str) -> None:
    (found,) = [d for d in read(text, "r.rule").diagnostics if d.code == "syntax"]
    assert hint in found.hint


def test_an_unknown_parent_says_where_to_look(judge: Judge) -> None:
    (found,) = of(judge(whole("sm.throughput > 5 %", "under zzzzzzzz")), "unknown-parent")
    assert "profrx rules list" in found.hint
