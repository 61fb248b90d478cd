"""Collection actions that their tool would refuse are told, with what was perhaps meant; what is free text passes."""

from __future__ import annotations

import pytest

from profrx.language.check.collects import OPTIONS, SECTIONS, SETS, TRACES

from .conftest import Judge

RULE = 'rule r {{ title "R" cause memory-latency fix "f" because "b" when sm.throughput > 3 % collect {} }}'
WRONG = [
    ('ncu section "Nope"', "section of Nsight Compute", 'option "--section Nope"'),
    ('ncu section "speedoflight"', "`speedoflight`", "did you mean SpeedOfLight?"),
    ('ncu section "SourceCounter"', "`SourceCounter`", "SourceCounters"),
    ('ncu set "ful"', "section set", "full"),
    ('ncu set "everything"', "`everything`", "known: basic"),
    ('ncu sectoin "Occupancy"', "option of ncu", "section"),
    ('ncu metrics "a__b.sum,dram__throughput.avg"', "no report holds", "dram.throughput"),
    ('ncu option "nvtx"', "with its dashes", 'option "--nvtx"'),
    ('ncu option "--nvtxx"', "`nvtxx`", "nvtx"),
    ('ncu section ""', "says nothing", ""),
    ('nsys trace "cuda,nvtxx"', "`nvtxx`", "nvtx"),
    ('nsys cuda-memory-usag "true"', "option of nsys", "cuda-memory-usage"),
    ('rocprofv3 pmc "sq_waves TCC_HIT_sum"', "told apart by case", "SQ_WAVES"),
    ('rocprofv3 option "--kernl-trace --hip-trace"', "`kernl-trace`", "kernel-trace"),
    ('ncuu section "Occupancy"', "no profiler", "ncu"),
]


@pytest.mark.parametrize(("action", "message", "hint"), WRONG)
def test_what_a_tool_would_refuse_is_a_warning(judge: Judge, action: str, message: str, hint: str) -> None:
    counter = 'metric my.waves { unit waves meaning "w" source rocm "SQ_WAVES" }'
    found = [d for d in judge(RULE.format(action), counter) if message in d.message]
    assert [d.severity for d in found] == ["warning"]
    assert hint in found[0].hint
    assert found[0].span.column == RULE.format(action).index("collect") + 1


@pytest.mark.parametrize(
    "action",
    [
        'ncu section "SpeedOfLight"',
        'ncu option "--section Mine"',
        'ncu replay-mode "application"',
        'ncu replay_mode "application"',
        'ncu metrics "sm__warps_active.avg.pct_of_peak_sustained_active"',
        'nsys trace "cuda,nvtx,osrt"',
        'rocprofv3 pmc "SQ_WAVES of every engine"',
        'rocprofv3 option "--kernel-trace --output-format csv"',
        'torch with_stack "true"',
    ],
)
def test_what_it_takes_is_not(judge: Judge, action: str) -> None:
    assert not [d for d in judge(RULE.format(action)) if d.code in ("unknown-collection", "unknown-tool")]


def test_metrics_and_guards_are_looked_at_too(judge: Judge) -> None:
    metric = 'metric a.b { unit % meaning "m" source ncu "x" collect ncu section "Nope" }'
    guard = 'guard g { title "G" when sm.throughput > 3 % blocks r because "b" collect ncu set "ful" }'
    found = judge(metric, guard, RULE.format('ncu set "full"'))
    assert {d.subject for d in found if d.code == "unknown-collection"} == {"metric a.b", "guard g"}


def test_tables_hold_names_only() -> None:
    for names in (SECTIONS, SETS, TRACES, *OPTIONS.values()):
        assert names
        assert all(name.replace("-", "").replace("_", "").isalnum() for name in names)
