"""`roofline.csv`: ceilings measured on the node, one row per GPU of the node (not per profiled GPU).

GB/s and GFLOP/s. The header's misspellings are part of the format. The median over the rows is used: the file does
not say which row is the profiled GPU, and the rows of one node differ by a few percent.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from profrx_parsers.rocm.agents import Agent, positive
from profrx_parsers.rocm.csvread import Csv

if TYPE_CHECKING:
    from profrx_parsers.problems import ProblemLog

MAX_ROWS = 1024


def apply(files: Sequence[Csv], agent: Agent, log: ProblemLog) -> None:
    """Add the measured ceilings to `agent.constants` as ``roofline.<column>`` in byte/s and FLOP/s."""
    import pyarrow as pa

    from profrx_parsers.rocm.csvread import read_csv

    for file in files[:1]:
        table = read_csv(file, log, lambda name: pa.float64()).slice(0, MAX_ROWS)
        for name in table.column_names:
            if name == "device" or name.lower().endswith(("low", "high")):
                continue
            values = [v for v in table.column(name).to_pylist() if positive(v)]
            if values:
                agent.constants[f"roofline.{name}"] = statistics.median(values) * 1e9
        if measured := agent.constants.get("roofline.HBMBw"):
            agent.bandwidth = measured
            agent.peak_tensor = agent.constants.get("roofline.MFMAF16Flops")
            agent.peak_source = "roofline.csv: measured on this node (memory bandwidth, FP16 matrix rate)"
