"""Peaks of AMD GPUs against the rates their vendor publishes.

Source: vendor product pages and white papers (see the references of rules/profrx_rules/devices/amd.rule): compute
units, boost clock and peak rate of each product; the catalogue holds only operations per cycle and unit.
"""

from __future__ import annotations

import pytest

from profrx.evaluate.arch import arch_number
from profrx.evaluate.params import within_arch
from profrx.evaluate.quantity import to_base
from profrx.language import ast
from profrx.language.pack import Pack, load_pack

PUBLISHED = [
    # product, architecture, compute units, clock in GHz, metric, published TFLOP/s
    ("MI100", "gfx908", 120, 1.502, "amd.matrix_fp16", 184.6),
    ("MI100", "gfx908", 120, 1.502, "amd.matrix_bf16", 92.3),
    ("MI100", "gfx908", 120, 1.502, "amd.matrix_fp32", 46.1),
    ("MI100", "gfx908", 120, 1.502, "amd.vector_fp32", 23.1),
    ("MI100", "gfx908", 120, 1.502, "amd.vector_fp64", 11.5),
    ("MI250X, one die", "gfx90a", 110, 1.7, "amd.matrix_fp16", 383.0 / 2),
    ("MI250X, one die", "gfx90a", 110, 1.7, "amd.matrix_fp64", 95.7 / 2),
    ("MI250X, one die", "gfx90a", 110, 1.7, "amd.vector_fp64", 47.9 / 2),
    ("MI300X", "gfx942", 304, 2.1, "amd.matrix_fp16", 1307.4),
    ("MI300X", "gfx942", 304, 2.1, "amd.matrix_bf16", 1307.4),
    ("MI300X", "gfx942", 304, 2.1, "amd.matrix_fp8", 2614.9),
    ("MI300X", "gfx942", 304, 2.1, "amd.matrix_fp32", 163.4),
    ("MI300X", "gfx942", 304, 2.1, "amd.matrix_fp64", 163.4),
    ("MI300X", "gfx942", 304, 2.1, "amd.vector_fp32", 163.4),
    ("MI300X", "gfx942", 304, 2.1, "amd.vector_fp64", 81.7),
    ("MI300A", "gfx942", 228, 2.1, "amd.matrix_fp16", 980.6),
    ("MI350X", "gfx950", 256, 2.2, "amd.matrix_fp16", 2306.9),
    ("MI350X", "gfx950", 256, 2.2, "amd.matrix_fp8", 4613.7),
    ("MI350X", "gfx950", 256, 2.2, "amd.matrix_f6f4", 9227.5),
    ("MI350X", "gfx950", 256, 2.2, "amd.matrix_fp64", 72.1),
    ("MI355X", "gfx950", 256, 2.4, "amd.matrix_fp16", 2516.6),
    ("RX 6900 XT", "gfx1030", 80, 2.25, "amd.vector_fp32", 23.04),
    ("RX 7900 XTX", "gfx1100", 96, 2.5, "amd.vector_fp32", 61.4),
    ("RX 7900 XTX", "gfx1100", 96, 2.5, "amd.matrix_fp16", 122.9),
    ("RX 9070 XT", "gfx1201", 64, 2.97, "amd.vector_fp32", 48.7),
    ("RX 9070 XT", "gfx1201", 64, 2.97, "amd.matrix_fp16", 195.0),
]


@pytest.fixture(scope="module")
def pack() -> Pack:
    return load_pack(plugins=False)


def constant(pack: Pack, metric: str, arch: str) -> float | None:
    """The number that the catalogue gives an architecture."""
    import numpy as np

    number = np.array([arch_number(arch)])
    for source in pack.metrics[metric].sources:
        if source.arch and within_arch(number, " .. ".join(source.arch))[0]:
            assert isinstance(source.formula, ast.Quantity)
            return to_base(source.formula.value, source.formula.unit)
    return None


@pytest.mark.parametrize(("product", "arch", "units", "clock", "metric", "published"), PUBLISHED)
def test_published_rate(
    pack: Pack, product: str, arch: str, units: int, clock: float, metric: str, published: float
) -> None:
    per_cycle = constant(pack, metric, arch)
    assert per_cycle is not None, product
    assert per_cycle * units * clock / 1000 == pytest.approx(published, rel=0.005)


@pytest.mark.parametrize("metric", ["amd.matrix_fp8", "amd.matrix_f6f4", "amd.matrix_fp64"])
def test_rates_that_a_generation_lacks_are_unknown(pack: Pack, metric: str) -> None:
    assert constant(pack, metric, "gfx906") is None
    assert constant(pack, metric, "gfx1030") is None


def test_every_peak_names_its_source(pack: Pack) -> None:
    for name, metric in pack.metrics.items():
        if name.startswith("amd."):
            assert metric.see, name
            assert set(metric.see) <= set(pack.references), name
