"""`diagnose` on real reports: everything is judged, nothing is invented, one bad input harms no other."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.evaluate.support import pack_of

from profrx.diagnose import diagnose
from profrx.evaluate.testing import run_tests
from profrx.language.pack import Pack
from profrx.report.model import Findings, ReportFindings

LEVELS = {"high": 1.0, "medium": 0.7, "low": 0.4}


def coherent(report: ReportFindings) -> None:
    """What holds for every diagnosis, whatever the report."""
    assert [f.rank for f in report.findings] == list(range(1, len(report.findings) + 1))
    ranked = [f for f in report.findings if f.same_cause_as is None]
    scores = [f.score for f in ranked if f.score is not None]
    assert scores == sorted(scores, reverse=True)
    assert all(f.score is not None for f in ranked[: len(scores)])
    causes = [(f.cause, f.scope, tuple(f.subject.launches), f.subject.name) for f in ranked if f.cause]
    assert len(causes) == len(set(causes))
    for one in report.findings:
        assert one.time_share is None or 0 <= one.time_share <= 1
        assert one.evidence
        if one.saving is not None:
            assert 0 <= one.saving.low <= one.saving.high <= 1
        if one.score is not None:
            assert one.saving is not None
            assert one.saving.kind == "global"
            assert one.time_share is not None
            middle = (one.saving.low + one.saving.high) / 2
            assert one.score == pytest.approx(middle * one.time_share * LEVELS[one.confidence])
        else:
            assert one.saving is None or one.saving.kind == "local" or one.time_share is None
    for row in report.unknown:
        assert row.subjects > 0
        assert row.missing or row.reasons


@pytest.mark.corpus
def test_every_second_public_report_is_judged(corpus: Path, default_pack: Pack) -> None:
    paths = sorted((corpus / "ncu").glob("*.ncu-rep"))[::2]
    found = diagnose(paths, pack=default_pack)
    assert found.failed == []
    assert [r.source for r in found.reports] == [str(p) for p in paths]
    for report in found.reports:
        coherent(report)
    assert [r.rank for r in found.ranking] == list(range(1, len(found.ranking) + 1))
    again = Findings.model_validate_json(found.model_dump_json(by_alias=True))
    assert again == found


@pytest.mark.corpus
def test_verdicts_follow_the_stored_throughputs(corpus: Path, default_pack: Pack) -> None:
    """SM 49.0 % and memory 53.4 % (printed by the vendor's own tool for this report): both in 40 .. 60 %."""
    (path,) = (corpus / "ncu").glob("2020.3.1.0_RTX-3070_*406cb4.ncu-rep")
    report = diagnose([path], pack=default_pack).reports[0]
    (row,) = [v for v in report.verdicts if v.table == "speed-of-light"]
    assert row.verdict == "balanced"
    values = {e.metric: e.value for e in row.evidence}
    assert values["sm"] == pytest.approx(49.01, abs=0.01)
    assert values["mem"] == pytest.approx(53.42, abs=0.01)


@pytest.mark.corpus
def test_a_kernel_filter_judges_only_its_launches(corpus: Path, default_pack: Pack) -> None:
    (path,) = (corpus / "ncu").glob("2024.3.0.0_A100-PCIE-40GB_cc8.0_3k_*2f5d5f.ncu-rep")
    whole = diagnose([path], pack=default_pack).reports[0]
    part = diagnose([path], pack=default_pack, kernel="*SquaredSums*").reports[0]
    assert {v.short for v in whole.verdicts} == {"FindPairsKernel", "SquaredSumsKernel"}
    assert {v.short for v in part.verdicts} == {"SquaredSumsKernel"}
    assert {k.short for k in part.kernels} == {"SquaredSumsKernel"}
    assert part.base_time_ns == whole.base_time_ns


def test_bad_inputs_land_in_failed_and_the_others_are_judged(tmp_path: Path, fixtures: Path) -> None:
    good = sorted(fixtures.glob("ncu/*/*.ncu-rep*"))
    if not good:
        pytest.skip("no captured report in fixtures/ncu yet")
    empty, text = tmp_path / "empty.ncu-rep", tmp_path / "notes.txt"
    empty.write_bytes(b"")
    text.write_text("not a report")
    pack = pack_of('metric m { unit % meaning "m" source ncu "sm__throughput.avg.pct_of_peak_sustained_elapsed" }'
                   'rule r { title "r" when m > 0 % because "{m}" }')  # fmt: skip
    found = diagnose([empty, good[0], text, tmp_path / "gone"], pack=pack)
    assert [(f.source, f.code) for f in found.failed] == [
        (str(empty), "input-empty"),
        (str(text), "input-unknown-format"),
        (str(tmp_path / "gone"), "input-missing"),
    ]
    assert all(f.next_step for f in found.failed)
    (report,) = found.reports
    assert report.sha256
    assert report.findings
    coherent(report)


def test_the_default_packs_own_tests_pass(default_pack: Pack) -> None:
    report = run_tests(default_pack)
    assert report.load_errors == ()
    assert [(f.declaration, f.test, f.expected, f.got) for f in report.failures] == []
    assert len(report.results) > 300
