"""Top stall reasons: what warps wait for, as a share of the time between two of their instructions.

The catalogue's meanings are used, which put two common mistakes right: ``wait`` is the fixed latency of the
instruction before (no synchronisation), and synchronisation of a block is ``barrier``. ``selected`` is no
stall: the warp issued. A stall reason is a symptom; what stands behind it is the findings' business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from profrx.report.model import Stall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profrx.summary.kernels import Group
    from profrx.summary.values import Values

FAMILY = "stall"
LATENCY = "stall.latency"
ISSUED = "stall.selected"
METRICS = frozenset({LATENCY})
"""Read besides the family, whose members the catalogue names."""

TOP = 3
LEAST = 0.005
"""A reason below half a percent is not worth a line."""


def stalls(groups: Sequence[Group], values: Values, top: int = TOP) -> list[Stall]:
    """Return the `top` reasons of each kernel's chosen launch, the largest share first.

    `cycles` is the wait per issued instruction: share x mean cycles between two instructions of a warp.
    """
    names = [name for name in values.family(FAMILY) if name != ISSUED]
    found = []
    for g in groups:
        shares = [(share, name) for name in names if (share := values.share(name, g.chosen)) is not None]
        latency = values.number(LATENCY, g.chosen)
        for share, name in sorted(shares, key=lambda s: (-s[0], s[1]))[:top]:
            if share < LEAST:
                continue
            found.append(
                Stall(
                    kernel=g.kernel,
                    short=g.short,
                    launch_id=g.chosen,
                    reason=name.removeprefix("stall."),
                    share=share,
                    cycles=None if latency is None else share * latency,
                    meaning=values.meaning(name).partition(": ")[2],
                )
            )
    return found
