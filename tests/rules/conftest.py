"""The planted kernels, judged once for all tests of this folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from profrx.diagnose import diagnose
from profrx.report.model import Finding, ReportFindings


@dataclass(frozen=True)
class Planted:
    """A captured kernel whose bottleneck is known, and what the default pack says of it."""

    facts: dict[str, Any]
    findings: ReportFindings

    @property
    def name(self) -> str:
        return str(self.facts["case"])

    @property
    def cause(self) -> str:
        return str(self.facts["cause"])

    @property
    def accepted(self) -> set[str]:
        """The planted cause and those that are as right."""
        return {self.cause, *self.facts.get("also", ())}

    @property
    def trap(self) -> str | None:
        """A cause that looks guilty and costs nothing."""
        return self.facts.get("trap")

    @cached_property
    def causes(self) -> list[str]:
        """Causes in the order of rank, each once."""
        return list(dict.fromkeys(finding.cause for finding in self.findings.findings))

    @property
    def measured(self) -> float | None:
        """Share of the run time that the repaired version saves, by the clock; None without one."""
        before, after = self.facts.get("planted_ns"), self.facts.get("fixed_ns")
        return 1 - after / before if before and after else None

    def of_cause(self) -> Finding | None:
        """The first finding with an accepted cause and a global estimate: what the page prescribes."""
        found = (f for f in self.findings.findings if f.saving and f.saving.kind == "global")
        return next((finding for finding in found if finding.cause in self.accepted), None)


@pytest.fixture(scope="session")
def cases(fixtures: Path) -> list[dict[str, Any]]:
    """Every capture of fixtures/ncu with its facts."""
    return list(json.loads((fixtures / "ncu" / "cases.json").read_text("utf-8"))["cases"])


@pytest.fixture(scope="session")
def planted(fixtures: Path, cases: list[dict[str, Any]]) -> list[Planted]:
    """The planted kernels, traps included."""
    chosen = [case for case in cases if case["role"] in ("planted", "trap") and case.get("cause")]
    paths = [next((fixtures / "ncu" / case["case"]).glob("report.ncu-rep*")) for case in chosen]
    reports = diagnose(paths).reports
    assert len(reports) == len(chosen)
    return [Planted(case, report) for case, report in zip(chosen, reports, strict=True)]


@pytest.fixture(scope="session")
def repaired(fixtures: Path, cases: list[dict[str, Any]]) -> list[tuple[str, str, ReportFindings]]:
    """The repaired kernels: case, cause that was planted and taken out, findings."""
    chosen = [case for case in cases if case["role"] == "fixed"]
    paths = [next((fixtures / "ncu" / case["case"]).glob("report.ncu-rep*")) for case in chosen]
    reports = diagnose(paths).reports
    return [(str(c["case"]), str(c["was"]), report) for c, report in zip(chosen, reports, strict=True)]
