"""Values of one launch by logical metric name, null kept as None."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from profrx_parsers.report import Report


class Columns(Protocol):
    """What the summary needs of `profrx.evaluate.metrics.Metrics`."""

    pack: Any

    def column(self, name: str) -> Any:
        """Return a metric's Arrow column in base units; `KeyError` for a name that the catalogue lacks."""


class Values:
    """Cells of the metric catalogue for the launches of one report.

    Args:
        report: for raw vendor metrics that the catalogue does not name.
        metrics: the catalogue over a frame; None = everything is unknown.
        rows: row of the frame per launch_id; None = the same number, counted from `first`.
        first: row of the frame that is launch 0.
    """

    def __init__(
        self,
        report: Report,
        metrics: Columns | None,
        rows: Mapping[int, int] | None = None,
        first: int = 0,
    ) -> None:
        self._first = first
        self._metrics = metrics
        self._rows = rows
        self._raw = report.extras.get("metric_columns")
        self._columns: dict[str, Any] = {}

    def number(self, name: str, launch_id: int) -> float | None:
        """Return a logical metric of a launch in the catalogue's unit (``%``: 0..100), None when unknown."""
        value = self.share(name, launch_id)
        if value is None or self._metrics is None:
            return None
        from profrx.evaluate.quantity import from_base

        return from_base(value, self._metrics.pack.metrics[name].unit)

    def share(self, name: str, launch_id: int) -> float | None:
        """Return a logical metric of a launch in base units (percentages as ratios), None when unknown."""
        if self._metrics is None:
            return None
        if name not in self._columns:
            try:
                self._columns[name] = self._metrics.column(name)
            except KeyError:
                self._columns[name] = None
        column = self._columns[name]
        row = self._first + launch_id if self._rows is None else self._rows.get(launch_id, -1)
        return None if column is None else _cell(column, row)

    def raw(self, name: str, launch_id: int) -> float | None:
        """Return a vendor metric as stored, None when it was not collected."""
        column = self._raw.column(name) if self._raw is not None else None
        return None if column is None else _cell(column, launch_id)

    def meaning(self, name: str) -> str:
        """Return the catalogue's sentence about a metric."""
        if self._metrics is None or name not in self._metrics.pack.metrics:
            return ""
        return str(self._metrics.pack.metrics[name].meaning)

    def family(self, family: str) -> list[str]:
        """Return the names of the metrics of a family, in the catalogue's order."""
        if self._metrics is None:
            return []
        return [name for name, metric in self._metrics.pack.metrics.items() if metric.family == family]


def _cell(column: Any, row: int) -> float | None:
    if not 0 <= row < len(column):
        return None
    value = column[row].as_py()
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
