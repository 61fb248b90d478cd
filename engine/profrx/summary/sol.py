"""Speed-of-light numbers: how much of each unit's peak a kernel reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profrx.report.model import SolNumber

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profrx.summary.kernels import Group
    from profrx.summary.values import Values

LABELS = {
    "sm.throughput": "SM",
    "memory.throughput": "Memory",
    "dram.throughput": "DRAM",
    "l2.throughput": "L2",
    "l1.throughput": "L1",
    "pipe.tensor": "Tensor",
    "occupancy.achieved": "Occupancy",
    "issue.utilization": "Issue slots",
}
"""Logical metric -> column heading, in reading order: the two bars, their parts, what keeps them busy."""

UNITS = {"amd": {"sm.throughput": "CU", "pipe.tensor": "Matrix"}}
"""Vendor -> headings under which its users know the same numbers."""

METRICS = frozenset(LABELS)


def sol(groups: Sequence[Group], values: Values, vendor: str | None = None) -> list[SolNumber]:
    """Return the numbers of each kernel's chosen launch; a number that no kernel has is left out."""
    labels = LABELS | UNITS.get(vendor or "", {})
    found = [
        SolNumber(
            kernel=g.kernel,
            short=g.short,
            launch_id=g.chosen,
            metric=metric,
            label=label,
            value=values.number(metric, g.chosen),
        )
        for g in groups
        for metric, label in labels.items()
    ]
    held = {one.metric for one in found if one.value is not None}
    return [one for one in found if one.metric in held]
