"""Many reports in one pass give what each gives alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.evaluate.support import evaluate, frame_of, pack_of, report_frames

from profrx.evaluate.frame import Members, TableSupply
from profrx.evaluate.frames import Frames, frames_of
from profrx.evaluate.group import Candidate, candidates
from profrx.evaluate.join import join
from profrx.evaluate.outcomes import run
from profrx.evaluate.program import Program, wanted_metrics
from profrx.language.pack import Pack
from profrx_parsers.registry import open_report
from profrx_parsers.report import Wanted


def same(program: Program, parts: list[Frames]) -> None:
    """A joined pass equals the passes apart, rule by rule and row by row."""
    whole = run(program, join(parts))
    apart = [run(program, part) for part in parts]
    for name, codes in whole.codes.items():
        expected = np.concatenate([one.codes[name] for one in apart if name in one.codes])
        assert codes.tolist() == expected.tolist(), name
    for name, held in whole.held.items():
        assert held.tolist() == np.concatenate([o.held[name] for o in apart if name in o.held]).tolist(), name
    assert [summary(c) for c in sorted(candidates(whole), key=place)] == [
        pytest.approx(summary(c)) for c in sorted((c for one in apart for c in candidates(one)), key=place)
    ]


def place(one: Candidate) -> tuple[str, int, float]:
    return one.rule.name, one.report, float(one.lead)


def summary(one: Candidate) -> list[float]:
    """Report, launches, share, saving; -1 stands for unknown."""
    return [one.report, len(one.rows), *(-1.0 if v is None else v for v in (one.share, one.low, one.high))]


def test_columns_units_members_and_aggregates() -> None:
    one = frame_of(
        {"a": [1.0, 2.0], "t": [5.0, 6.0]}, instances={"m": [(0, "x", 1.0), (1, "y", 2.0)]}, units={"t": "us"}
    )
    other = frame_of(
        {"b": [3.0], "t": [7000.0]}, instances={"m": [(0, "z", 3.0)]}, units={"t": "ns"}, report=[1]
    )
    whole = join([report_frames(one), report_frames(other)])
    launch, report = whole.scopes["launch"], whole.scopes["report"]
    assert evaluate('raw "a"', launch) == [1.0, 2.0, None]
    assert evaluate('raw "b"', launch) == [None, None, 3.0]
    assert evaluate('raw "t" us', launch) == [5000.0, 6000.0, 7000.0]
    assert evaluate('sum(value over instances "m")', launch) == [1.0, 2.0, 3.0]
    assert evaluate('key_of_max(value over instances "m")', launch) == ["x", "y", "z"]
    pack = pack_of('metric a { meaning "a" source ncu "a" }')
    assert evaluate("count(known(a) over launches)", report, pack) == [2.0, 0.0]


class Counted(TableSupply):
    """A supply that counts how often its instances are read."""

    reads = 0

    def instances(self, name: str, rows: object = None) -> Members | None:
        self.reads += 1
        return super().instances(name, rows)


def test_instances_are_read_of_the_reports_that_are_asked_for_only() -> None:
    frames = [
        frame_of({"a": [1.0, 2.0]}, instances={"m": [(0, "x", 1.0 + at), (1, "y", 9.0)]}) for at in range(4)
    ]
    supplies = [Counted(members=frame.supply.members) for frame in frames]  # type: ignore[attr-defined]
    for frame, supply in zip(frames, supplies, strict=True):
        frame.supply = supply
    launch = join([report_frames(frame) for frame in frames]).scopes["launch"]
    # rows 4 and 5 are the third report's, in another order than the frame's
    assert evaluate('sum(value over instances "m")', launch.take([5, 4])) == [9.0, 3.0]
    assert [supply.reads for supply in supplies] == [0, 0, 1, 0]
    assert evaluate('sum(value over instances "m")', launch) == [1.0, 9.0, 2.0, 9.0, 3.0, 9.0, 4.0, 9.0]


def test_different_tools_do_not_mix() -> None:
    with pytest.raises(ValueError, match="several tools"):
        join([Frames("ncu"), Frames("nsys")])


@pytest.mark.corpus
def test_real_reports_of_many_architectures(corpus: Path, default_pack: Pack) -> None:
    paths = sorted((corpus / "ncu").glob("*.ncu-rep"))[::4]
    program = Program(default_pack)
    wanted = Wanted(metrics=wanted_metrics(default_pack))
    same(program, [frames_of(open_report(path, wanted), at) for at, path in enumerate(paths)])
