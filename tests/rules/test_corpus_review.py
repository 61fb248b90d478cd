"""Real reports: the committed review is what the pack says, and no finding contradicts its verdict."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from profrx.diagnose import diagnose

if TYPE_CHECKING:
    from profrx.report.model import Finding, ReportFindings

pytestmark = pytest.mark.corpus

PIPES = {"fp64-pipe", "fp32-pipe", "fp16-pipe", "alu-pipe", "xu-pipe", "tensor-pipe", "issue-slots"}
CONTRADICTS = {
    "memory-bound": PIPES | {"occupancy", "small-grid", "instruction-latency", "memory-latency"},
    "saturated": {"occupancy", "small-grid", "instruction-latency", "memory-latency"},
    "compute-bound": {
        "dram-bandwidth",
        "l2-bandwidth",
        "l1-bandwidth",
        "occupancy",
        "memory-latency",
        "system-memory",
    },
    "latency-bound": PIPES
    | {"dram-bandwidth", "l2-bandwidth", "l1-bandwidth", "shared-bandwidth", "near-roofline"},
}
"""Verdict -> causes that claim run time and that it excludes."""


@pytest.fixture(scope="module")
def reports(corpus: Path) -> dict[str, ReportFindings]:
    """What the pack says of each report of the corpus."""
    paths = sorted((corpus / "ncu").glob("*.ncu-rep"))
    return {path.stem: report for path, report in zip(paths, diagnose(paths).reports, strict=True)}


def _rows() -> list[list[str]]:
    text = (Path(__file__).parents[2] / "docs" / "corpus-review.md").read_text("utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip(" `") for cell in line.strip("| ").split(" | ")] for line in lines]


def _named(finding: Finding | None) -> str:
    if finding is None:
        return "none"
    if finding.saving is None or finding.saving.kind == "local":
        return finding.cause
    return f"{finding.cause} {finding.saving.low * 100:.0f}..{finding.saving.high * 100:.0f} %"


def test_review_is_what_the_pack_says(reports: dict[str, ReportFindings]) -> None:
    """Every kernel has its row; verdict and top cause are those of today; every row says why."""
    said = []
    for name, report in reports.items():
        for kernel in report.kernels:
            of = [v for v in report.verdicts if v.kernel == kernel.kernel and v.table == "speed-of-light"]
            of.sort(key=lambda v: -(v.time_share or 0))
            verdict = ", ".join(dict.fromkeys(v.verdict for v in of)) or "unknown"
            top = next((f for f in report.findings if f.subject.kernel == kernel.kernel), None)
            said.append((name, verdict, _named(top)))
    rows = _rows()
    assert [(row[0], row[2], row[3]) for row in rows] == said
    assert all(len(row[5]) > 20 and row[5].endswith(".") for row in rows)


def test_no_finding_contradicts_its_verdict(reports: dict[str, ReportFindings]) -> None:
    wrong = []
    for name, report in reports.items():
        verdicts = {i: v.verdict for v in report.verdicts if v.table == "speed-of-light" for i in v.launches}
        for finding in report.findings:
            if finding.saving is None or finding.saving.kind == "local":
                continue
            for launch in finding.subject.launches:
                if finding.cause in CONTRADICTS.get(verdicts.get(launch, ""), set()):
                    wrong.append((name, launch, verdicts[launch], finding.rule))
    assert not wrong


def test_latency_outranks_conflicts_without_cost(reports: dict[str, ReportFindings]) -> None:
    """Bank conflicts or occupancy come before the waiting that dominates only by a larger estimate."""
    for report in reports.values():
        for kernel in report.kernels:
            ranked = [f for f in report.findings if f.subject.kernel == kernel.kernel]
            for first, second in pairwise(ranked):
                if first.cause in ("shared-bank-conflicts", "occupancy"):
                    assert first.saving is not None
                    assert (
                        first.saving.kind == "global"
                        or second.saving is None
                        or second.saving.kind == "local"
                    )
