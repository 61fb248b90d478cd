"""Values that are kept as stored but cannot be right: NaN, negative counts, percentages above 100.

Source: observed in public reports: 1,732 NaN values, 17 results with negative counts, 23 metrics above 100 %
(counters of one ratio collected in different replay passes).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from profrx_parsers.ncu import _gather as g

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profrx_parsers.ncu._metrics import MetricStore
    from profrx_parsers.problems import ProblemLog

_NO_LIMIT = "launch__occupancy_limit_shared_mem"
"""NaN here means that the kernel uses no shared memory."""
_OTHER, _COUNTER, _PERCENTAGE, _LIMIT = range(4)
_SLACK = 100.5
"""Percentages up to here are rounding, not contradiction."""


def check(store: MetricStore, problems: ProblemLog) -> None:
    """Add one row for each kind of doubtful value among the decoded metrics."""
    number, code = store.number, store.code
    if not len(code):
        return
    nature = store.labels.kinds(_nature)[code]
    with np.errstate(invalid="ignore"):
        nan = store.numeric & np.isnan(number) & (nature != _LIMIT)
        negative = (store.kind != g.TEXT) & (number < 0) & ((nature == _COUNTER) | (nature == _LIMIT))
        above = (nature == _PERCENTAGE) & (number > _SLACK)
    _add(problems, store, nan, "ncu-nan-value", "metrics are stored as NaN: they were not measurable")
    _add(problems, store, negative, "ncu-negative-value", "counters are negative")
    _add(problems, store, above, "ncu-over-100-percent", "percentages exceed 100")


@lru_cache(maxsize=16384)
def _nature(name: str) -> int:
    """Tell what a metric's name says of its values."""
    if name == _NO_LIMIT:
        return _LIMIT
    if ".pct" in name or "_pct" in name:
        return _PERCENTAGE if ".pct" in name or name.endswith("_pct") else _OTHER
    return _COUNTER if "__" in name else _OTHER


def _add(problems: ProblemLog, store: MetricStore, mask: NDArray[np.bool_], code: str, message: str) -> None:
    found = np.flatnonzero(mask)
    if not len(found):
        return
    first = int(found[0])
    problems.add(
        "warning", code, message, count=len(found),
        where=f"launch {int(store.launch[first])}, {store.labels.names[int(store.code[first])]}",
        advice="counters come from several replay passes: profile again with a longer or steadier kernel",
    )  # fmt: skip
