"""A roofline in characters: for Markdown on standard output and for terminals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from profrx.escape import clean, middle_cut
from profrx.report import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profrx.report.model import RooflinePoint

WIDTH, HEIGHT = 58, 10
LEAST = 0.01
"""A precision with less than this share of a kernel's main rate is not drawn."""
MARKS = "ABCDEFGHIJ"


def significant(points: Sequence[RooflinePoint]) -> list[RooflinePoint]:
    """Return the points worth showing: work, and no mere trace beside the kernel's main precision."""
    points = [p for p in points if not p.no_work]
    most: dict[str, float] = {}
    for p in points:
        most[p.kernel] = max(most.get(p.kernel, 0.0), p.flop_per_s or 0.0)
    return [p for p in points if p.flop_per_s and p.flop_per_s >= LEAST * most[p.kernel]]


def usable(points: Sequence[RooflinePoint]) -> list[RooflinePoint]:
    """Return the points that can be drawn: significant, and with traffic to put them over."""
    return [p for p in significant(points) if p.intensity and p.intensity > 0]


def ceilings(points: Sequence[RooflinePoint]) -> tuple[dict[str, float], dict[str, float]]:
    """Return compute roofs and memory roofs by name; of several launches the first that has one."""
    compute: dict[str, float] = {}
    memory: dict[str, float] = {}
    for point in points:
        for roof in point.roofs:
            if roof.value and roof.value > 0:
                (compute if roof.kind == "compute" else memory).setdefault(roof.name, roof.value)
    return compute, memory


def chart(points: Sequence[RooflinePoint]) -> str:
    """Return a log-log plot, or nothing when no point can be drawn.

    The line is the highest memory roof up to its ridge with the highest compute roof of the drawn precisions.
    """
    drawn = usable(points)[: len(MARKS)]
    compute, memory = ceilings(drawn)
    if not drawn or not compute or not memory:
        return ""
    top, slope = max(compute.values()), max(memory.values())
    xs = [p.intensity for p in drawn if p.intensity] + [top / slope]
    x0, x1 = math.floor(math.log10(min(xs)) - 0.3), math.ceil(math.log10(max(xs)) + 0.3)
    lowest = min([p.flop_per_s for p in drawn if p.flop_per_s] + [slope * 10**x0])
    y1 = math.log10(top) + 0.15
    y0 = max(math.log10(lowest) - 0.2, y1 - 6)

    def column(x: float) -> int:
        return round((math.log10(x) - x0) / (x1 - x0) * (WIDTH - 1))

    def row(y: float) -> int:
        return min(max(round((y1 - math.log10(y)) / (y1 - y0) * (HEIGHT - 1)), 0), HEIGHT - 1)

    field = [[" "] * WIDTH for _ in range(HEIGHT)]
    for c in range(WIDTH):
        x = 10 ** (x0 + c / (WIDTH - 1) * (x1 - x0))
        y = min(top, slope * x)
        if math.log10(y) >= y0:
            field[row(y)][c] = "-" if y >= top else "/"
    legend = []
    for mark, point in zip(MARKS, drawn, strict=False):
        field[row(point.flop_per_s or 1)][column(point.intensity or 1)] = mark
        legend.append(
            f"{mark} {middle_cut(clean(point.short), 40)} ({point.precision}): "
            f"{numbers.quantity(point.flop_per_s, 'FLOP/s')} at {numbers.quantity(point.intensity, 'FLOP/B')}"
        )
    first = numbers.quantity(10**y1, "FLOP/s")
    last = numbers.quantity(10**y0, "FLOP/s")
    marks = {0: first, HEIGHT - 1: last}
    lines = [f"{marks.get(i, ''):>12} |{''.join(cells).rstrip()}" for i, cells in enumerate(field)]
    axis = f"{'FLOP/B':>12} +{'-' * WIDTH}"
    ends = f"{'':>12}  {_tick(x0):<{WIDTH - 8}}{_tick(x1):>8}"
    roofs = f"roofs: {numbers.quantity(slope, 'B/s')} of DRAM, {numbers.quantity(top, 'FLOP/s')}"
    return "\n".join([*lines, axis, ends, roofs, *legend])


def _tick(power: int) -> str:
    """Return 10 to a power, short."""
    return f"1e{power}" if abs(power) > 4 else f"{10.0**power:g}"
