"""Reports judged together give what each gives alone, whatever their neighbours."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.evaluate.support import frame_of, report_frames

from profrx.diagnose import judge, judge_many
from profrx.evaluate.join import Unlike, join
from profrx.evaluate.program import Program, wanted_metrics
from profrx.language.pack import Pack
from profrx.summary import wanted_metrics as summary_metrics
from profrx_parsers.registry import open_report
from profrx_parsers.report import Report, Wanted


def opened(paths: list[Path], pack: Pack) -> list[Report]:
    wanted = Wanted(metrics=wanted_metrics(pack) | summary_metrics()[1])
    return [open_report(path, wanted) for path in paths]


def same(paths: list[Path], pack: Pack, size: int) -> None:
    program = Program(pack)
    alone = {path: judge(program, report) for path, report in zip(paths, opened(paths, pack), strict=True)}
    random.Random(7).shuffle(paths)
    for first in range(0, len(paths), size):
        chunk = paths[first : first + size]
        for path, one in zip(chunk, judge_many(program, opened(chunk, pack)), strict=True):
            assert one.found.model_dump() == alone[path].model_dump(), path.name


def test_own_reports(fixtures: Path, default_pack: Pack) -> None:
    same(sorted((fixtures / "ncu").glob("*/report.ncu-repz"))[::6], default_pack, 7)


@pytest.mark.corpus
def test_reports_of_many_versions_and_architectures(corpus: Path, default_pack: Pack) -> None:
    small = [p for p in sorted((corpus / "ncu").glob("*.ncu-rep")) if p.stat().st_size < 2_000_000]
    same(small, default_pack, 8)


def test_several_tools_in_one_call(fixtures: Path, default_pack: Pack) -> None:
    paths = sorted((fixtures / "ncu").glob("*/report.ncu-repz"))[:2]
    paths += sorted((fixtures / "nsys").rglob("*.nsys-rep"), key=lambda p: p.stat().st_size)[:1]
    same(paths, default_pack, 3)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"raw": {"t": [1.0]}, "units": {"t": "us"}}, {"raw": {"t": [2.0]}, "units": {"t": "ns"}}),
        ({"raw": {"t": ["x"]}}, {"raw": {"t": [2.0]}}),
        ({"raw": {"t": ["x"]}}, {"raw": {"u": [2.0]}}),
    ],
    ids=["units", "types", "text that one lacks"],
)
def test_columns_that_would_read_differently_are_not_joined(
    first: dict[str, dict[str, list[object]]], second: dict[str, dict[str, list[object]]]
) -> None:
    parts = [
        report_frames(frame_of(one["raw"], units=one.get("units", {}), report=[at]))
        for at, one in enumerate((first, second))
    ]
    with pytest.raises(Unlike):
        join(parts, strict=True).scopes["launch"].raw("t")
    assert join(parts).scopes["launch"].raw("t") is not None
