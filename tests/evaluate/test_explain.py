"""`explain`: outcome and reason for every launch."""

from __future__ import annotations

from typing import Any

import pytest
from tests.evaluate.support import column, frame_of, pack_of, report_frames

from profrx.evaluate.explain import SubjectReason, explain, explained
from profrx.evaluate.outcomes import run
from profrx.evaluate.program import Program
from profrx_parsers import schema
from profrx_parsers.columns import EXTRA, MetricColumns
from profrx_parsers.errors import UsageError
from profrx_parsers.info import ReportInfo
from profrx_parsers.problems import ProblemLog
from profrx_parsers.report import Report

TEXT = """
metric sm   { unit % meaning "sm" valid 0 % .. 100 % source ncu "sm" collect ncu section "SpeedOfLight" }
metric mem  { unit % meaning "mem" source ncu "mem" collect ncu section "Memory" }
metric time { unit ns meaning "time" source ncu "time" }
verdict v { title "v" one_of { low "L" when mem < 50 % "l"  high "H" when mem >= 50 % "h" } }
guard g { title "g" when time < 5 us blocks r because \"\"\"{time:.0f ns} is too short\"\"\" }
rule r { title "r" under low when sm > 70 % and mem > 5 % because "b" suppresses s because "x" }
rule s { title "s" when sm > 1 % because "b" }
"""
RAW: dict[str, list[float | None]] = {
    "sm": [80.0, 60.0, None, 80.0, 80.0, 140.0, 80.0],
    "mem": [10.0, 10.0, 10.0, 90.0, 10.0, 10.0, None],
    "time": [9e3, 9e3, 9e3, 9e3, 1e3, 9e3, 9e3],
}


def reasons(name: str, each: bool = True, **columns: list[object]) -> list[SubjectReason]:
    program = Program(pack_of(TEXT))
    outcomes = run(program, report_frames(frame_of(RAW, **columns)))
    return explained(outcomes, program.owners[name], {}, each).subjects


def test_every_outcome_has_its_reason() -> None:
    fired, short, gone, skipped, blocked, invalid, parent = reasons("r")
    assert [r.outcome for r in reasons("r")] == [
        "fired", "not fired", "unknown", "skipped", "blocked", "unknown", "unknown",
    ]  # fmt: skip
    assert fired.reason == "sm = 80 %, needs > 70 %; mem = 10 %, needs > 5 %"
    assert short.reason == "sm = 60 %, needs > 70 %"
    assert short.deciding[0].margin == pytest.approx(-1 / 7)
    assert (gone.missing, [c.option for c in gone.collect]) == (["sm"], ["--section SpeedOfLight"])
    assert skipped.reason == "low does not hold (v is high)"
    assert blocked.reason == "guard g: 1000 ns is too short"
    assert "outside its possible range" in invalid.why_missing[0]
    assert invalid.collect == []
    assert (parent.missing, parent.reason) == (["mem"], "v is unknown (missing: mem)")
    assert [c.option for c in parent.collect] == ["--section Memory"]


def test_symptoms_name_their_cause() -> None:
    assert [r.symptom_of for r in reasons("s")][:2] == ["r", ""]


def test_verdicts_say_which_row_and_why() -> None:
    rows = reasons("v")
    assert (rows[0].outcome, rows[0].reason) == ("low", "mem = 10 %, needs < 50 %")
    assert (rows[3].outcome, rows[3].reason) == ("high", "mem = 90 %, needs >= 50 %")
    assert (rows[6].outcome, rows[6].missing) == ("unknown", ["mem"])


def test_launches_alike_are_told_together_when_everything_is_asked_for() -> None:
    rows = reasons("s", each=False, kernel_id=["a"] * 7)
    assert [(r.outcome, r.launches) for r in rows] == [
        ("fired", [0, 1, 3, 4, 6]),
        ("unknown", [2, 5]),
    ]


def test_what_a_tool_does_not_supply_is_only_counted_when_everything_is_asked_for() -> None:
    pack = pack_of(TEXT + 'rule amd { title "a" when sm > 1 % because "b" applies_to rocm }')
    everything = {e.rule: e for e in explain(a_report(), pack=pack).explained}
    assert (everything["amd"].counts, everything["amd"].subjects) == ({"not applicable": 7}, [])
    (asked,) = explain(a_report(), "amd", pack=pack).explained
    assert {r.outcome for r in asked.subjects} == {"not applicable"}


def test_the_tree_shows_every_part() -> None:
    assert reasons("r")[1].tree == [
        "false   sm > 70 % and mem > 5 %",
        "  false   sm > 70 %   [sm = 60 %, needs > 70 %]",
        "  true    mem > 5 %   [mem = 10 %, needs > 5 %]",
    ]


def a_report() -> Report:
    rows = len(RAW["sm"])
    launches = schema.from_rows(
        "launches",
        [{"launch_id": i, "kernel": f"k{i % 2}", "kernel_short": f"k{i % 2}"} for i in range(rows)],
    )
    numbers: dict[str, Any] = {name: column(values) for name, values in RAW.items()}
    info = ReportInfo(source="x", format="ncu-rep", tool="ncu")
    return Report(info, {"launches": lambda: launches}, ProblemLog(), {EXTRA: MetricColumns(rows, numbers)})


def test_explain_a_report() -> None:
    pack = pack_of(TEXT)
    whole = explain(a_report(), pack=pack)
    assert [(e.kind, e.rule) for e in whole.explained] == [
        ("guard", "g"), ("verdict", "v"), ("rule", "r"), ("rule", "s"),
    ]  # fmt: skip
    assert whole.model_dump(by_alias=True)["schema"] == "profrx.explain/1"
    (one,) = explain(a_report(), "r", pack=pack, kernel="k1", limit=2).explained
    assert one.counts == {"not fired": 1, "skipped": 1, "unknown": 1}
    assert [r.launches for r in one.subjects] == [[1], [3]]
    assert explain(a_report(), "low", pack=pack).explained[0].rule == "v"


def test_an_unknown_id_has_a_suggestion() -> None:
    with pytest.raises(UsageError) as caught:
        explain(a_report(), "rr", pack=pack_of(TEXT))
    assert caught.value.code == "unknown-rule"
    assert caught.value.next_step
