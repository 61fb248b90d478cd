"""What a page leaves out, so that it stays a page: JSON holds everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from profrx.report.model import Finding, ReportFindings

NUMBERS = 5
"""Kernels with speed-of-light, stall and roofline numbers."""
LEAST_SHARE = 0.005
"""Findings about less of the base time than this are counted, not listed, unless ``--top`` asks for them."""


def heaviest(report: ReportFindings) -> ReportFindings:
    """Keep the numbers of the heaviest kernels only: a page is short, JSON holds the rest."""
    kept = {row.kernel for row in report.kernels[:NUMBERS]}
    parts = report.summary
    few = {
        "sol": [one for one in parts.sol if one.kernel in kept],
        "stalls": [one for one in parts.stalls if one.kernel in kept],
        "roofline": [one for one in parts.roofline if one.kernel in kept],
    }
    return report.model_copy(update={"summary": parts.model_copy(update=few)})


def worth(finding: Finding) -> bool:
    """Whether a finding is worth a line of the page: not when even its best case saves next to nothing in all."""
    if finding.time_share is None or finding.saving is None:
        return finding.time_share is None or finding.time_share >= LEAST_SHARE
    return finding.saving.high * finding.time_share >= LEAST_SHARE


def distinct(report: ReportFindings) -> ReportFindings:
    """Number kernels that share a short name (templates of one function), so that a row says which it means."""
    by_short: dict[str, list[str]] = {}
    for row in report.kernels:
        by_short.setdefault(row.short, []).append(row.kernel)
    labels = {
        kernel: f"{short} [{number}]"
        for short, kernels in by_short.items()
        if len(kernels) > 1
        for number, kernel in enumerate(kernels, 1)
    }
    if not labels:
        return report
    copy = report.model_copy(deep=True)
    parts = copy.summary
    named: list[Any] = [*copy.kernels, *copy.verdicts, *copy.vendor]
    for one in [*named, *parts.sol, *parts.stalls, *parts.roofline, *parts.path]:
        one.short = labels.get(one.kernel, one.short)
    if isinstance(parts.busy, dict):
        for row in [*(parts.busy.get("kernels") or ()), *(parts.busy.get("not_profiled") or ())]:
            row["short"] = labels.get(row.get("kernel") or "", row.get("short"))
    for finding in copy.findings:
        finding.subject.short = labels.get(finding.subject.kernel or "", finding.subject.short or "") or None
    return copy
