"""The small tables of a page: speed of light, stalls, roofline, idle time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from profrx.report import numbers
from profrx.report.textplot import LEAST, significant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profrx.report.model import ReportFindings, RooflinePoint

COMMANDS = 3
LEAST_IDLE = 0.005
NO_WORK = {
    "constants": "multiply-adds that set constants",
    "conversions": "conversions to single precision",
}
"""`RooflinePoint.no_work` in words."""


@dataclass(frozen=True)
class Grid:
    """A small table: header and rows of plain text; `code` names the columns that hold kernel names."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    code: frozenset[int] = frozenset()
    right: frozenset[int] = frozenset()


def narrow(grid: Grid | None, several: bool) -> Grid | None:
    """Leave out the kernel column where there is only one kernel."""
    if grid is None or several:
        return grid
    right = frozenset(i - 1 for i in grid.right)
    return Grid(grid.header[1:], tuple(row[1:] for row in grid.rows), right=right)


def sol(report: ReportFindings) -> Grid | None:
    """One row per kernel, one column per number."""
    labels = list(dict.fromkeys(n.label for n in report.summary.sol))
    if not labels:
        return None
    values: dict[tuple[str, int | None], dict[str, str]] = {}
    shorts: dict[tuple[str, int | None], str] = {}
    for one in report.summary.sol:
        key = (one.kernel, one.launch_id)
        values.setdefault(key, {})[one.label] = numbers.quantity(one.value, one.unit)
        shorts[key] = one.short
    rows = tuple(
        (shorts[k], *(cells.get(label, numbers.NOTHING) for label in labels)) for k, cells in values.items()
    )
    return Grid(("Kernel", *labels), rows, code=frozenset({0}), right=frozenset(range(1, len(labels) + 1)))


def stalls(report: ReportFindings) -> Grid | None:
    """One row per kernel: its top three reasons."""
    by_kernel: dict[str, list[str]] = {}
    shorts: dict[str, str] = {}
    for one in report.summary.stalls:
        cycles = "" if one.cycles is None else f", {numbers.digits(one.cycles)} cycles"
        by_kernel.setdefault(one.kernel, []).append(f"{one.reason} {numbers.share(one.share)}{cycles}")
        shorts[one.kernel] = one.short
    if not by_kernel:
        return None
    rows = tuple((shorts[k], *(cells + [numbers.NOTHING] * 3)[:3]) for k, cells in by_kernel.items())
    return Grid(("Kernel", "1st", "2nd", "3rd"), rows, code=frozenset({0}))


def stall_notes(report: ReportFindings) -> tuple[tuple[str, str], ...]:
    """What the reasons of the heaviest kernel mean."""
    stalls = report.summary.stalls
    return tuple((s.reason, s.meaning) for s in stalls if s.kernel == stalls[0].kernel and s.meaning)


def roofline_rows(report: ReportFindings) -> Grid | None:
    """One row per kernel and precision that did work."""
    rows = [
        (
            p.short,
            _precision(p),
            numbers.quantity(p.flop_per_s, "FLOP/s"),
            numbers.share(p.compute_share),
            numbers.quantity(p.bytes_per_s, "B/s"),
            numbers.share(p.memory_share),
            numbers.quantity(p.intensity, "FLOP/B"),
            numbers.quantity(p.ridge, "FLOP/B"),
        )
        for p in significant(report.summary.roofline)
    ]
    if not rows:
        return None
    header = ("Kernel", "Roof", "Achieved", "of roof", "DRAM", "of roof", "Intensity", "Ridge")
    return Grid(header, tuple(rows), code=frozenset({0}), right=frozenset(range(2, 8)))


def idle(report: ReportFindings) -> Grid | None:
    """Reasons of idle time as shares of the window; those under half a percent are left out."""
    busy = report.summary.busy
    listed = busy.get("idle") if isinstance(busy, dict) else None
    rows = [
        (str(one.get("reason", "")), numbers.share(one.get("share")), str(one.get("meaning", "")))
        for one in listed or ()
        if (one.get("share") or 0) >= LEAST_IDLE
    ]
    return (
        Grid(("Idle because of", "Of the window", "Meaning"), tuple(rows), right=frozenset({1}))
        if rows
        else None
    )


def commands(report: ReportFindings) -> tuple[tuple[str, str, str], ...]:
    """(kernel, its share of the window, command that profiles one steady launch of it)."""
    busy = report.summary.busy
    listed = busy.get("kernels") if isinstance(busy, dict) else None
    return tuple(
        (
            str(one.get("short", "")),
            f"{numbers.share(one.get('window_share'))} of the window",
            str(one["command"]),
        )
        for one in (listed or ())[:COMMANDS]
        if one.get("command")
    )


def command_notes(report: ReportFindings) -> tuple[str, ...]:
    """Why heavy kernels have no command, by reason; and what to heed where several ranks run."""
    busy = report.summary.busy
    if not isinstance(busy, dict):
        return ()
    reasons: dict[str, list[str]] = {}
    for one in busy.get("not_profiled") or ():
        name = f"`{str(one.get('short', '')).replace('`', '')}` ({numbers.share(one.get('window_share'))})"
        reasons.setdefault(str(one.get("why", "")), []).append(name)
    notes = [f"Not {', '.join(names)}: {why}." for why, names in reasons.items()]
    advice = str(busy.get("advice") or "") if busy.get("kernels") else ""
    return (*notes, advice) if advice else tuple(notes)


def roofline_note(report: ReportFindings) -> str:
    """The roofs of the heaviest kernel with numbers, and how they and the intensity are made."""
    points = [p for p in report.summary.roofline if p.kernel == report.summary.roofline[0].kernel]
    roofs = {roof.name: roof for p in points for roof in p.roofs if roof.value}
    if not roofs or not significant(report.summary.roofline):
        return ""
    ordered = sorted(roofs.values(), key=lambda roof: (roof.kind == "memory", roof.value or 0.0))
    words = ", ".join(f"{roof.name} {numbers.quantity(roof.value, roof.unit)}" for roof in ordered)
    return (
        f"Roofs at the clocks of the profile (counter peak x clock): {words}. "
        "Intensity is FLOP/s over DRAM bytes/s; a fused multiply-add counts two; the ridge is roof over DRAM roof."
        + _left_out(points)
    )


def _left_out(points: Sequence[RooflinePoint]) -> str:
    """Name the precisions of a kernel of which nothing is known, and what is counted as one but is no work."""
    unknown = [_precision(p) for p in points if p.flop_per_s is None]
    said = f" Not known: {', '.join(unknown)}." if unknown else ""
    least = LEAST * max(p.flop_per_s or 0.0 for p in points)
    for p in points:
        if p.no_work and p.flop_per_s and p.flop_per_s >= least:
            said += (
                f" {_precision(p)} is left out: its counters saw {NO_WORK.get(p.no_work, p.no_work)} only."
            )
    return said


def _precision(point: RooflinePoint) -> str:
    return point.precision.upper() if point.precision.startswith("fp") else point.precision
