"""The one-page numbers of a report: conditions, speed of light, stalls, roofline, path, kernels, vendor's view.

`complete` fills them into the findings of one report. Everything is read through the metric catalogue, so an
alias of an architecture or a tool version is resolved in one place; what a report lacks stays null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from profrx.report.model import ReportFindings
    from profrx.summary.values import Columns
    from profrx_parsers.report import Report

KERNELS = 10
"""Kernels that the summary covers, the heaviest first."""


def wanted_metrics() -> tuple[frozenset[str], frozenset[str]]:
    """Return what the summary reads: (logical names of the catalogue, raw vendor names). For projection."""
    from profrx.summary import path, roofline, sol, stalls

    logical = sol.METRICS | stalls.METRICS | roofline.METRICS | path.METRICS
    return frozenset(logical), roofline.RAW


def complete(
    found: ReportFindings,
    report: Report,
    metrics: Columns | None = None,
    rows: Mapping[int, int] | None = None,
    *,
    first: int = 0,
    page: bool = True,
) -> ReportFindings:
    """Fill conditions, kernels, summary and the vendor's view into `found` and return it.

    Args:
        found: verdicts, findings and unknown rules of the report, as far as there are any.
        report: the report itself.
        metrics: the catalogue over a frame of launches; None for a report without launch metrics.
        rows: row of the frame per launch_id, of the launches that count; None = all, in file order.
        first: row of the frame that is launch 0, where `rows` is None.
        page: whether what only a page shows (conditions, speed of light, stalls, roofline, path) is wanted.
    """
    from profrx.summary import busy, conditions, kernels, path, roofline, sol, stalls, vendor
    from profrx.summary.values import Values

    groups = kernels.groups(report, rows)
    found.summary.busy = busy.busy(report)
    base = found.base_time_ns and found.base_time_ns * busy.devices(found.summary.busy)
    found.kernels = kernels.rows(groups, found.verdicts, base)
    if found.base_time_ns is None:
        found.base_time_ns = kernels.total(groups)
    if page:
        values = Values(report, metrics, rows, first)
        heavy = groups[:KERNELS]
        vendors = report.table("devices").column("vendor").to_pylist()
        found.conditions = conditions.conditions(report)
        found.summary.sol = sol.sol(heavy, values, vendors[0] if vendors else None)
        found.summary.stalls = stalls.stalls(heavy, values)
        found.summary.roofline = roofline.roofline(heavy, values)
        found.summary.path = path.path(heavy, values, found, report)
    found.vendor = vendor.beside(report, found)
    return found
