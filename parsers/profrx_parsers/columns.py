"""Metrics of one report as wide columns: what the rules engine reads instead of the long table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping

EXTRA = "metric_columns"
"""Key of `Report.extras` under which a reader keeps a `MetricColumns`."""


@dataclass(frozen=True)
class MetricColumns:
    """One column per vendor metric, one row per launch (row i = launch_id i).

    Attributes:
        rows: number of launches.
        numbers: metric -> float64 array; null = not collected for that launch, NaN = stored as NaN.
        texts: metric -> string array; null = not collected.
        units: metric -> base unit, where known.
    """

    rows: int
    numbers: Mapping[str, pa.Array] = field(default_factory=dict)
    texts: Mapping[str, pa.Array] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)

    def column(self, name: str) -> pa.Array | None:
        """Return the column of a metric, numeric before text; None when no launch has it."""
        found = self.numbers.get(name)
        return found if found is not None else self.texts.get(name)

    @classmethod
    def from_long(cls, metrics: pa.Table, rows: int) -> MetricColumns:
        """Pivot a long `metrics` table; for readers whose source is not columnar."""
        import numpy as np

        numbers: dict[str, pa.Array] = {}
        texts: dict[str, pa.Array] = {}
        units: dict[str, str] = {}
        encoded = metrics.column("metric").combine_chunks().dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(len(encoded.dictionary) + 1))
        launch = metrics.column("launch_id").to_numpy()
        for code, name in enumerate(encoded.dictionary.to_pylist()):
            chosen = order[bounds[code] : bounds[code + 1]]
            where = np.full(rows, -1, dtype=np.int64)
            where[launch[chosen]] = chosen
            taken = pa.array(where, mask=where < 0)
            column = metrics.take(taken) if len(metrics) else metrics
            values, words = column.column("value").combine_chunks(), column.column("text").combine_chunks()
            if words.null_count < rows and values.null_count == rows:
                texts[name] = words
            else:
                numbers[name] = values
            unit = metrics.column("unit")[int(chosen[0])].as_py() if len(chosen) else None
            if unit:
                units[name] = unit
        return cls(rows, numbers, texts, units)
