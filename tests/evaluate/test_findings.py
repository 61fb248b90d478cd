"""Findings and their ranking: groups, shares, causes, evidence, words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.evaluate.support import frame_of, pack_of, report_frames, subjects

from profrx.evaluate.findings import findings
from profrx.evaluate.frame import Frame, TableSupply
from profrx.evaluate.frames import link
from profrx.evaluate.group import candidates
from profrx.evaluate.outcomes import FIRED, run
from profrx.evaluate.program import Program
from profrx.evaluate.unjudged import blocked, unknown
from profrx.evaluate.verdicts import verdicts
from profrx.report.model import Finding
from profrx_parsers import schema
from profrx_parsers.info import ReportInfo
from profrx_parsers.problems import ProblemLog
from profrx_parsers.report import Report

METRICS = """
metric sm  { unit % meaning "sm" source ncu "sm" collect ncu section "SpeedOfLight" }
metric mem { unit % meaning "mem" source ncu "mem" collect ncu section "Memory" }
metric both { unit % meaning "both" source ncu = sm + mem }
metric per_line { unit sectors kind instances meaning "per PC" source ncu "per_line" }
reference guide { title "A guide" url "https://example.org/guide" }
"""


def rule(name: str, when: str, more: str = "", because: str = "b") -> str:
    return f'rule {name} {{ title "The {name}" when {when} because """{because}""" {more} }}\n'


def a_report(options: dict[str, Any] | None = None, **tables: pa.Table) -> Report:
    info = ReportInfo(source="x.ncu-rep", format="ncu-rep", tool="ncu", options=options or {})
    loaders = {name: (lambda table=table: table) for name, table in tables.items()}
    return Report(info, loaders, ProblemLog())


def found(
    text: str,
    raw: dict[str, list[float | None]],
    *,
    base: float | None = None,
    params: dict[str, Any] | None = None,
    report: Report | None = None,
    top: int | None = None,
    instances: Any = None,
    **columns: list[object],
) -> list[Finding]:
    program = Program(pack_of(METRICS + text), params or {})
    frames = report_frames(frame_of(raw, instances=instances, **columns), base)
    outcomes = run(program, frames)
    return findings(outcomes, candidates(outcomes), report or a_report(), top)


def test_launches_of_one_kernel_are_one_finding_and_the_heaviest_speaks() -> None:
    one, other = found(
        rule("r", "sm > 10 %", "estimate global sm .. sm", "{sm:.0%} busy"),
        {"sm": [20.0, 60.0, 40.0, 5.0]},
        kernel_id=["a", "a", "b", "a"],
        kernel=["a<int>", "a<int>", "b", "a<int>"],
        weight_ns=[100.0, 300.0, 400.0, 200.0],
    )
    assert (one.subject.kernel, one.subject.launches, one.because) == ("a<int>", [0, 1], "60% busy")
    assert one.time_share == pytest.approx(0.4)
    assert one.saving is not None
    assert one.saving.low == pytest.approx((0.2 * 100 + 0.6 * 300) / 400)
    assert one.score == pytest.approx(0.5 * 0.4 * 0.7)
    assert "20 .. 60 % over 2 launches" in one.evidence[0].label
    assert (other.subject.launches, other.rank) == ([2], 2)


def test_score_weighs_saving_time_and_confidence() -> None:
    text = rule("sure", "sm > 1 %", "estimate global 20 % .. 40 % confidence high")
    text += rule("unsure", "sm > 1 %", "estimate global 20 % .. 40 % confidence low")
    sure, unsure = found(text, {"sm": [50.0]}, base=4000.0)
    assert (sure.rule, sure.score) == ("sure", pytest.approx(0.3 * 0.25 * 1.0))
    assert (unsure.rule, unsure.score) == ("unsure", pytest.approx(0.3 * 0.25 * 0.4))


def test_local_estimates_never_rank_as_run_time() -> None:
    text = rule("local", "sm > 1 %", "estimate local 90 % .. 99 % severity critical")
    text += rule("global", "sm > 1 %", "estimate global 1 % .. 2 % severity low")
    text += rule("none", "sm > 1 %", "severity high")
    assert [f.rule for f in found(text, {"sm": [50.0]})] == ["global", "local", "none"]
    assert found(text, {"sm": [50.0]})[1].score is None


def test_one_cause_counts_once_per_kernel() -> None:
    text = rule("small", "sm > 1 %", "estimate global 10 % .. 10 % cause occupancy")
    text += rule("large", "sm > 1 %", "estimate global 30 % .. 30 % cause occupancy")
    text += rule("other", "sm > 1 %", "estimate global 5 % .. 5 % cause barrier")
    ranked = found(text, {"sm": [50.0, 50.0]}, weight_ns=[3000.0, 1000.0])
    assert [(f.rule, f.subject.launches, f.same_cause_as) for f in ranked] == [
        ("large", [0], None),
        ("large", [1], None),
        ("other", [0], None),
        ("other", [1], None),
        ("small", [0], "large"),
        ("small", [1], "large"),
    ]
    assert [f.rank for f in ranked] == [1, 2, 3, 4, 5, 6]


def test_a_cause_counts_once_over_launch_and_kernel_scope() -> None:
    text = rule("each", "sm > 1 %", "estimate global 10 % .. 10 % cause occupancy")
    text += rule(
        "whole", "count(true over launches) >= 1", "scope kernel estimate global 30 % .. 30 % cause occupancy"
    )
    launch = frame_of({"sm": [50.0]}, kernel_id=["a"], kernel=["a"])
    frames = report_frames(launch)
    kernel = Frame("kernel", "ncu", subjects(1, kernel_id=["a"], kernel=["a"]), TableSupply())
    link(kernel, launch, np.zeros(1, dtype=np.int64))
    frames.scopes["kernel"] = kernel
    outcomes = run(Program(pack_of(METRICS + text)), frames)
    ranked = findings(outcomes, candidates(outcomes), a_report())
    assert [(f.rule, f.same_cause_as) for f in ranked] == [("whole", None), ("each", "whole")]


def test_a_suppressed_symptom_becomes_evidence_of_its_cause() -> None:
    text = rule("cause", "mem > 50 %", 'suppresses symptom because "the loads wait for it"')
    text += rule("symptom", "sm > 1 %")
    alone, explained = found(text, {"sm": [50.0, 50.0], "mem": [10.0, 60.0]}, weight_ns=[9e3, 1e3])
    assert {alone.rule, explained.rule} == {"symptom", "cause"}
    cause = explained if explained.rule == "cause" else alone
    symptom = alone if cause is explained else explained
    assert symptom.subject.launches == [0]
    assert cause.explains == ["symptom"]
    assert "The symptom" in cause.because
    assert "the loads wait for it" in cause.because


def test_a_symptom_of_a_symptom_belongs_to_the_last_cause() -> None:
    text = rule("a", "sm > 1 %", 'suppresses b because "1"') + rule(
        "b", "sm > 1 %", 'suppresses c because "2"'
    )
    (one,) = found(text + rule("c", "sm > 1 %"), {"sm": [50.0]})
    assert (one.rule, sorted(one.explains)) == ("a", ["b", "c"])


def test_a_circle_of_suppressions_leaves_one_standing() -> None:
    text = "".join(
        rule(name, "sm > 1 %", f'suppresses {other} because "x"') for name, other in ("ab", "bc", "ca")
    )
    (one,) = found(text, {"sm": [50.0]})
    assert (one.rule, sorted(one.explains)) == ("a", ["b", "c"])


def test_evidence_has_value_threshold_margin_source_and_params() -> None:
    text = rule(
        "r",
        "share >= min_share and both > 1 %",
        'let share = sm / both param min_share = 20 % in 0 % .. 100 % "m" see guide',
    )
    (one,) = found(text, {"sm": [30.0], "mem": [30.0]}, params={"r.min_share": "40 %"})
    by_name = {e.metric: e for e in one.evidence}
    share = by_name["share"]
    assert (share.value, share.unit, share.threshold, share.provenance) == (50.0, "%", 40.0, "derived")
    assert share.margin == pytest.approx(0.25)
    assert share.source == "sm / both"
    assert (by_name["sm"].value, by_name["sm"].provenance, by_name["sm"].source) == (30.0, "exact", "sm")
    assert (by_name["both"].provenance, by_name["both"].source) == ("derived", "sm + mem")
    assert by_name["min_share"].source == "override 40 %"
    assert [(link.title, link.url) for link in one.references] == [("A guide", "https://example.org/guide")]


def test_own_evidence_labels_what_is_there_and_adds_what_is_not() -> None:
    more = 'evidence sm as "the busy side" evidence mem as "the other" evidence sm - mem as "between"'
    (one,) = found(rule("r", "share > 10 %", "let share = sm / 1 " + more), {"sm": [40.0], "mem": [10.0]})
    assert [(e.metric, e.value, e.label) for e in one.evidence] == [
        ("share", 40.0, "> 10 %"),
        ("mem", 10.0, "the other"),
        ("sm - mem", pytest.approx(30.0), "between"),
        ("sm", 40.0, "the busy side"),
    ]


def test_evidence_of_patterns_and_sets() -> None:
    text = 'metric name { kind text meaning "n" source ncu "name" }' + rule(
        "r", 'name matches "ge+m" and not sm in {1 %, 2 %}'
    )
    (one,) = found(text, {"sm": [50.0], "name": ["sgemm"]})  # type: ignore[list-item]
    assert [(e.metric, e.value, e.threshold, e.label) for e in one.evidence] == [
        ("name", "sgemm", "ge+m", "matches ge+m"),
        ("sm", 50.0, "{1 %, 2 %}", "not in {1 %, 2 %}"),
    ]


def test_evidence_of_an_or_is_the_part_that_held() -> None:
    (one,) = found(rule("r", "sm > 90 % or mem > 10 %"), {"sm": [30.0], "mem": [30.0]})
    assert [e.metric for e in one.evidence] == ["mem"]


def test_a_narrow_margin_lowers_confidence() -> None:
    text = rule("r", "sm > 50 %")
    assert [f.confidence for f in found(text, {"sm": [54.0]})] == ["low"]
    assert [f.confidence for f in found(text, {"sm": [56.0]})] == ["medium"]


def test_severity_follows_impact_where_a_rule_writes_none() -> None:
    text = rule("r", "sm > 1 %", "estimate global sm .. sm")
    severities = {percent: found(text, {"sm": [percent]})[0].severity for percent in (50.0, 20.0, 5.0, 2.0)}
    assert severities == {50.0: "critical", 20.0: "high", 5.0: "medium", 2.0: "low"}
    assert found(text, {"sm": [40.0]}, base=1e6)[0].severity == "info"


@pytest.mark.parametrize(
    ("confidence", "severity"), [("high", "critical"), ("medium", "high"), ("low", "high")]
)
def test_what_is_less_certain_is_less_severe(confidence: str, severity: str) -> None:
    """40 % of the time counts 1.0, 0.7 and 0.4 times, as in the score: 40 %, 28 %, 16 %."""
    (one,) = found(rule("r", "sm > 1 %", f"estimate global sm .. sm confidence {confidence}"), {"sm": [40.0]})
    assert one.severity == severity


def test_a_narrow_margin_lowers_the_severity_that_no_rule_writes() -> None:
    text = rule("r", "sm > 38 %", "estimate global sm .. sm")
    assert found(text, {"sm": [60.0]})[0].severity == "critical"
    assert found(text, {"sm": [39.0]})[0].severity == "high"
    written = rule("r", "sm > 38 %", "estimate global sm .. sm severity critical")
    assert found(written, {"sm": [39.0]})[0].severity == "critical"


def test_parameter_hashes_differ_by_effective_value() -> None:
    text = rule("r", "sm > min", "param min = 10 %")
    plain = found(text, {"sm": [50.0]})[0].parameters_hash
    assert plain == found(text, {"sm": [60.0]})[0].parameters_hash
    assert plain != found(text, {"sm": [50.0]}, params={"r.min": "11 %"})[0].parameters_hash


def test_unknown_time_leaves_share_and_score_unknown() -> None:
    (one,) = found(rule("r", "sm > 1 %", "estimate global 10 % .. 20 %"), {"sm": [50.0]}, weight_ns=[None])
    assert (one.time_share, one.score) == (None, None)
    assert one.saving is not None


def test_top_cuts_after_ranking() -> None:
    text = "".join(rule(f"r{i}", "sm > 1 %", f"estimate global {i} % .. {i} %") for i in (5, 30, 20))
    assert [f.rule for f in found(text, {"sm": [50.0]}, top=2)] == ["r30", "r20"]


def test_locations_come_from_instances_and_the_line_table() -> None:
    lines = schema.from_rows(
        "source_lines",
        [
            {"launch_id": 0, "pc": 16, "file": "a.cu", "line": 10},
            {"launch_id": 0, "pc": 32, "file": "a.cu", "line": 10},
            {"launch_id": 0, "pc": 48, "file": "b.cuh", "line": 3},
            {"launch_id": 1, "pc": 16, "file": "other.cu", "line": 1},
        ],
    )
    (one,) = found(
        rule("r", "sm > 1 %", "lines per_line top 2"),
        {"sm": [50.0]},
        report=a_report(source_lines=lines),
        instances={
            "per_line": [(0, "16", 10.0), (0, "32", 20.0), (0, "48", 50.0), (0, "64", 20.0), (0, "80", None)]
        },
    )
    assert [(p.file, p.line, p.share) for p in one.locations] == [("b.cuh", 3, 0.5), ("a.cu", 10, 0.3)]


def test_unknown_rules_name_what_is_missing_and_how_to_collect_it() -> None:
    text = 'verdict v { title "v" one_of { low "L" when mem < 50 % "l" high "H" when mem >= 50 % "h" } }'
    text += rule("own", "sm > 1 % and mem > 1 %") + rule("child", "sm > 1 %", "under low")
    text += rule("zero", "sm / mem > 1", "scope launch")
    program = Program(pack_of(METRICS + text))
    outcomes = run(program, report_frames(frame_of({"sm": [50.0, 50.0], "mem": [None, 0.0]})))
    rows = {u.rule: u for u in unknown(outcomes, 0, a_report())}
    assert (rows["own"].missing, rows["own"].subjects) == (["mem"], 1)
    assert [c.option for c in rows["own"].collect] == ["--section Memory"]
    assert rows["child"].missing == ["mem"]
    assert "its parent v is unknown" in rows["child"].reasons
    assert "division by zero: mem is 0" in rows["zero"].reasons
    held = {u.rule: u for u in unknown(outcomes, 0, a_report({"sections": ["Memory"]}))}
    assert [c.option for c in held["own"].collect] == ["--metrics mem"]


def test_aggregates_name_what_their_members_lack() -> None:
    text = rule("sum", "sum(mem over launches) > 1 %", "scope report")
    text += rule("ops", "count(value over instances per_line where value / sm > 0) > 1")
    text += rule("overflow", 'sm * 1000000 * raw "huge" > 1')
    text += rule("ranks", "count(true over ranks) > 1", "scope report")
    program = Program(pack_of(METRICS + text))
    frame = frame_of({"sm": [5.0], "mem": [None], "huge": [1e308]})
    rows = {u.rule: u for u in unknown(run(program, report_frames(frame)), 0, a_report())}
    assert (rows["sum"].missing, rows["sum"].reasons) == (["mem"], ["not in the report: mem"])
    assert [c.option for c in rows["sum"].collect] == ["--section Memory"]
    assert (rows["ops"].missing, rows["ops"].reasons) == (["per_line"], ["not in the report: per_line"])
    assert rows["overflow"].reasons == ['cannot be computed from these values: sm * 1000000 * raw "huge" > 1']
    assert (rows["ranks"].missing, rows["ranks"].reasons) == (["ranks"], ["the report has no ranks"])


def test_unknown_parents_of_other_scopes_and_blocked_ones_are_named() -> None:
    text = rule("whole", "sum(mem over launches) > 1 %", "scope report") + rule(
        "part", "sm > 1 %", "under whole"
    )
    text += rule("kept", "sm > 1 %") + rule("below", "sm > 1 %", "under kept")
    text += 'guard g { title "g" when sm > 1 % blocks kept because "no" }'
    program = Program(pack_of(METRICS + text))
    outcomes = run(program, report_frames(frame_of({"sm": [5.0], "mem": [None]})))
    rows = {u.rule: u for u in unknown(outcomes, 0, a_report())}
    assert rows["part"].missing == ["mem"]
    assert "its parent whole is unknown" in rows["part"].reasons
    assert rows["below"].reasons == ["its parent kept is blocked"]


def test_collecting_is_not_advised_for_what_was_collected() -> None:
    text = rule("r", "sm > 1 %") + 'guard g { title "g" when mem > 1 % blocks metric sm because "no" }'
    program = Program(pack_of(METRICS + text))
    (one,) = unknown(run(program, report_frames(frame_of({"sm": [5.0], "mem": [50.0]}))), 0, a_report())
    assert (one.missing, one.collect) == (["sm"], [])
    assert one.reasons == ["sm is not to be trusted here: guard g"]


def test_a_derived_metric_is_collected_by_its_inputs() -> None:
    program = Program(pack_of(METRICS + rule("r", "both > 1 %")))
    (one,) = unknown(run(program, report_frames(frame_of({"x": [5.0]}))), 0, a_report())
    assert [c.option for c in one.collect] == ["--section SpeedOfLight", "--section Memory"]


def test_blocked_rules_show_the_guard_with_its_values() -> None:
    text = (
        rule("r", "sm > 1 %")
        + 'guard g { title "g" when mem > 100 % blocks r because """{mem:.0%} cannot be""" }'
    )
    outcomes = run(
        Program(pack_of(METRICS + text)),
        report_frames(frame_of({"sm": [50.0] * 3, "mem": [90.0, 130.0, 140.0]})),
    )
    (one,) = blocked(outcomes, 0)
    assert (one.rule, one.guard, one.reason, one.subjects) == ("r", "g", "130% cannot be", 2)
    assert one.kernels == ["k1", "k2"]


def test_tables_that_the_tool_cannot_supply_are_left_out() -> None:
    text = 'metric amd { meaning "amd" source rocm "amd" }'
    text += 'verdict v { title "v" one_of { a "A" when amd < 1 "a" b "B" when amd >= 1 "b" } }'
    text += 'verdict w { title "w" one_of { c "C" when mem < 1 % "c" d "D" when mem >= 1 % "d" } }'
    outcomes = run(Program(pack_of(METRICS + text)), report_frames(frame_of({"sm": [5.0]})))
    assert [(v.table, v.verdict) for v in verdicts(outcomes, 0)] == [("w", "unknown")]


def test_verdicts_group_launches_of_a_kernel_by_row() -> None:
    text = 'verdict v { title "v" one_of { low "Low" when mem < 50 % "{mem:.0%}" high "High" when mem >= 50 % "h" } }'
    frame = frame_of(
        {"mem": [10.0, 20.0, 60.0, None]},
        kernel_id=["a", "a", "a", "b"],
        kernel=["a", "a", "a", "b"],
        weight_ns=[100.0, 200.0, 500.0, 200.0],
    )
    rows = verdicts(run(Program(pack_of(METRICS + text)), report_frames(frame)), 0)
    assert [(v.kernel, v.verdict, v.launches, v.because) for v in rows] == [
        ("a", "high", [2], "h"),
        ("a", "low", [0, 1], "20%"),
        ("b", "unknown", [3], "Not known: `mem`."),
    ]
    assert [v.time_share for v in rows] == [pytest.approx(0.5), pytest.approx(0.3), pytest.approx(0.2)]


def test_a_guard_takes_the_answer_from_a_verdict_and_leaves_its_rules() -> None:
    text = 'verdict v { title "v" one_of { low "Low" when mem < 50 % "low" high "High" when mem >= 50 % "high" } }'
    text += rule("r", "sm > 1 %", "under low")
    text += """guard g { title "g" when sm < 30 % blocks v because "{sm:.0%} only" fix "Look elsewhere." }"""
    frame = frame_of({"mem": [10.0, 10.0, None], "sm": [20.0, 40.0, 20.0]}, weight_ns=[300.0, 200.0, 100.0])
    outcomes = run(Program(pack_of(METRICS + text)), report_frames(frame))
    assert [(v.short, v.verdict, v.answer, v.guard, v.doubt) for v in verdicts(outcomes, 0)] == [
        ("k0", "low", "unknown", "g", "20% only Look elsewhere."),
        ("k1", "low", "low", None, ""),
        ("k2", "unknown", "unknown", None, ""),
    ]
    assert not blocked(outcomes, 0)
    assert outcomes.codes["r"].tolist()[:2] == [FIRED, FIRED]


def test_a_fix_whose_number_is_unknown_gives_way_to_one_that_needs_none() -> None:
    text = rule("r", "sm > 1 %", 'fix """Save {mem:.0%}.""" fix """Save something."""')
    [with_number] = found(text, {"sm": [50.0], "mem": [20.0]})
    assert with_number.fix == ["Save 20%.", "Save something."]
    [without] = found(text, {"sm": [50.0], "mem": [None]})
    assert without.fix == ["Save something."]


def test_the_only_fix_stays_without_its_number() -> None:
    [only] = found(rule("r", "sm > 1 %", 'fix """Save {mem:.0%}."""'), {"sm": [50.0], "mem": [None]})
    assert only.fix == ["Save n/a."]
