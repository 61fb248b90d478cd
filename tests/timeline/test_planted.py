"""The planted cause comes first; a healthy capture has nothing above low severity."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from profrx.diagnose import diagnose
from profrx.report.model import ReportFindings

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("cases", ROOT / "fixtures/timeline/cases.py")
assert _spec
assert _spec.loader
_cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_cases)
CAUSES: dict[str, str] = {name: case[3] for name, case in _cases.CASES.items()}
PLANTED = [name for name, cause in CAUSES.items() if cause]
HEALTHY = [name for name, cause in CAUSES.items() if not cause]


@pytest.fixture(scope="module")
def judged() -> dict[str, ReportFindings]:
    """All captures judged in one go."""
    paths = [ROOT / f"fixtures/nsys/{name}/report.nsys-rep" for name in CAUSES]
    return dict(zip(CAUSES, diagnose(paths).reports, strict=True))


@pytest.mark.parametrize("name", PLANTED)
def test_planted_cause_is_first(name: str, judged: dict[str, ReportFindings]) -> None:
    first = judged[name].findings[0]
    assert first.cause == CAUSES[name], [f.rule for f in judged[name].findings]
    assert first.score is not None
    assert first.saving is not None


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_capture_has_nothing_above_low(name: str, judged: dict[str, ReportFindings]) -> None:
    assert {f.severity for f in judged[name].findings} <= {"info", "low"}


def test_there_are_enough_of_both() -> None:
    assert len(PLANTED) >= 10
    assert len(HEALTHY) >= 2


def test_planted_time_is_about_the_idle_or_lost_time(judged: dict[str, ReportFindings]) -> None:
    """What the programs were written to lose, within the rule's range."""
    sync = next(f for f in judged["host-sync"].findings if f.rule == "host-sync")
    assert sync.saving is not None
    assert 0.15 < sync.saving.low < sync.saving.high < 0.45
    fused = next(f for f in judged["unfused-elementwise"].findings if f.rule == "unfused-elementwise")
    assert fused.saving is not None
    assert fused.saving.high > 0.9
