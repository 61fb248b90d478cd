"""PC sampling and thread-trace summaries: samples per instruction as instances and source lines."""

from __future__ import annotations

from collections.abc import Sequence

from profrx_parsers.rocm.build import Parts
from profrx_parsers.rocm.members import Table


def add_csv(parts: Parts, samples: Sequence[Table], traces: Sequence[Table]) -> None:
    """Add loaders for sampled and traced instructions."""
