"""Values that are kept as stored but cannot be right: NaN, negative counts, percentages above 100.

Source: observed in public reports: 1,732 NaN values, 17 results with negative counts, 23 metrics above 100 %
(counters of one ratio collected in different replay passes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profrx_parsers.ncu import _gather as g

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profrx_parsers.ncu._metrics import MetricStore
    from profrx_parsers.problems import ProblemLog

_NO_LIMIT = "launch__occupancy_limit_shared_mem"
"""NaN here means that the kernel uses no shared memory."""
_SLACK = 100.5
"""Percentages up to here are rounding, not contradiction."""


def check(store: MetricStore, problems: ProblemLog) -> None:
    """Add one row for each kind of doubtful value among the decoded metrics."""
    number, code = store.number, store.code
    if not len(code):
        return
    counts = np.array(
        [".pct" not in n and "_pct" not in n and "__" in n for n in store.names], dtype=np.bool_
    )
    limit = np.array([name == _NO_LIMIT for name in store.names], dtype=np.bool_)
    with np.errstate(invalid="ignore"):
        nan = store.numeric & np.isnan(number) & ~limit[code]
        negative = (store.kind != g.TEXT) & (number < 0) & counts[code]
        above = ~counts[code] & (number > _SLACK) & _percent(store)[code]
    _add(problems, store, nan, "ncu-nan-value", "metrics are stored as NaN: they were not measurable")
    _add(problems, store, negative, "ncu-negative-value", "counters are negative")
    _add(problems, store, above, "ncu-over-100-percent", "percentages exceed 100")


def _percent(store: MetricStore) -> NDArray[np.bool_]:
    return np.array([".pct" in n or n.endswith("_pct") for n in store.names], dtype=np.bool_)


def _add(problems: ProblemLog, store: MetricStore, mask: NDArray[np.bool_], code: str, message: str) -> None:
    found = np.flatnonzero(mask)
    if not len(found):
        return
    first = int(found[0])
    problems.add(
        "warning", code, message, count=len(found),
        where=f"launch {int(store.launch[first])}, {store.names[int(store.code[first])]}",
        advice="counters come from several replay passes: profile again with a longer or steadier kernel",
    )  # fmt: skip
