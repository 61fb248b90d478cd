"""Display labels of exports (``DRAM Frequency`` in section X) and the metrics behind them.

Exports of the details page print labels, which sections of the tool define per architecture. `labels.csv` lists
those that stand for one metric on an architecture, whatever the tool version; others stay unresolved.
Source: sections stored in reports of Nsight Compute 2020.3 to 2025.4.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files


@cache
def _table() -> dict[tuple[str, str], list[tuple[int, int, str]]]:
    text = files("profrx_parsers.ncu").joinpath("labels.csv").read_text("utf-8")
    table: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
    for row in csv.DictReader(text.splitlines()):
        low, high = int(row["lowest_arch"] or 0), int(row["highest_arch"] or 9999)
        table.setdefault((row["section"], row["label"]), []).append((low, high, row["metric"]))
    return table


def metric_of(section: str, label: str, arch: int | None) -> str | None:
    """Return the metric of a label; without an architecture only if it is the same on all since Volta."""
    found = _table().get((section, label), ())
    if arch is None:
        names = {metric for low, high, metric in found if high >= 70}
        return names.pop() if len(names) == 1 else None
    return next((metric for low, high, metric in found if low <= arch <= high), None)
