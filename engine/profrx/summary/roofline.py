"""Where a kernel stands against its roofs: FP64, FP32, FP16 and the tensor cores, over DRAM traffic.

attainable FLOP/s = min(compute roof, intensity x DRAM roof); intensity = FLOP/s over DRAM B/s; the ridge is
compute roof over DRAM roof. Roofs are at the clocks of the profile, as the counters' own peaks give them.
A fused multiply-add counts two operations, a packed half-precision one four (see the catalogue's ``flops.*``).
Source: S. Williams, A. Waterman, D. Patterson, CACM 52(4), 2009; the peaks are counters of the report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from profrx.report.model import Roof, RooflinePoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profrx.summary.kernels import Group
    from profrx.summary.values import Values

PRECISIONS = ("fp64", "fp32", "fp16")
BANDWIDTH, PEAK_BANDWIDTH = "dram.bandwidth", "dram.peak_bandwidth"
SOURCE = "counter peak x clock of the profile"
MATRIX_TYPES = {
    "BF16": "bf16",
    "FP16": "fp16",
    "FP8": "fp8",
    "FP6/FP4": "f6f4",
    "FP32": "fp32",
    "FP64": "fp64",
}
"""Operand type -> suffix of the catalogue's `mfma.…` (rate) and `mfma.roof_…` of AMD's matrix units."""
MATRIX_CLOCK = "device.matrix_clock"
"""Known where peaks follow from the device rather than from counters."""
DEVICE_SOURCE = "operations per cycle x highest clock of the device"
MEASURED_SOURCE = "roofline.csv: measured on the node of the profile"
PUBLISHED_SOURCE = "sysinfo.csv, else the published bandwidth of the device"
HALF, HALF_FMA, HALF_CONVERT, ALL = "inst.half", "inst.half_fma", "inst.half_convert", "inst.total"
CONSTANTS = 0.04
"""Share of all instructions below which half-precision multiply-adds are taken to set constants, when no half-precision
addition, product or conversion is beside them. Compilers write ``HFMA2 R, -RZ, RZ, x, y`` for a move where that pipe is
free. Source: observed in single-precision and integer kernels (9.0, nvcc 13.0): up to 2.4 %, none of their operands of half
precision; the leanest half-precision stream (load, multiply-add, store and addresses) has more than twice as many."""
METRICS = frozenset(
    {
        HALF,
        HALF_FMA,
        HALF_CONVERT,
        ALL,
        BANDWIDTH,
        PEAK_BANDWIDTH,
        MATRIX_CLOCK,
        *(f"{kind}.{p}" for kind in ("flops", "peak") for p in PRECISIONS),
        *(f"mfma.{kind}{t}" for kind in ("", "roof_") for t in MATRIX_TYPES.values()),
    }
)

TENSOR_TYPES = (
    "fp64", "tf32_dst_fp32", "bf16_dst_fp32", "fp16", "fp16_dst_fp16", "fp16_dst_fp32", "fp8", "fp8_dst_fp16",
    "fp8_dst_fp32", "fp4_dst_fp32", "fp4_fp6_dst_fp16", "fp4_fp6_dst_fp32",
)  # fmt: skip
"""Floating-point operand types of the tensor counters seen on 8.0, 9.0 and 12.0; integer ones are no FLOP."""
_FAMILIES = ("", "op_hmma_", "op_hgmma_")
_FAMILY_NAMES = {"op_hmma_": "mma", "op_hgmma_": "wgmma"}
_RATE, _PEAK = ".sum.per_second", ".sum.peak_sustained_elapsed.per_second"


def _name(family: str, kind: str, sparsity: str, suffix: str) -> str:
    return f"sm__ops_path_tensor_{family}src_{kind}{sparsity}{suffix}"


RAW = frozenset(
    _name(family, kind, sparsity, suffix)
    for family in _FAMILIES
    for kind in TENSOR_TYPES
    for sparsity in ("", "_sparsity_off", "_sparsity_on")
    for suffix in (_RATE, _PEAK)
)
"""Vendor counters of the tensor roofline; the catalogue does not name them one by one."""


@dataclass(frozen=True)
class Tensor:
    """Tensor-core work of one operand type: what was reached and the roof."""

    kind: str
    rate: float
    roof: float | None
    lower: tuple[tuple[str, float], ...] = ()
    """(instruction family, its peak) where a family alone reaches less than the roof."""


def roofline(groups: Sequence[Group], values: Values) -> list[RooflinePoint]:
    """Return the points of each kernel's chosen launch; a precision whose counters are absent has null values.

    A kernel of which nothing is known has no point.
    """
    found = []
    for g in groups:
        traffic = values.number(BANDWIDTH, g.chosen)
        slope = values.number(PEAK_BANDWIDTH, g.chosen)
        sources = _sources(values, g.chosen)
        points = []
        for precision in PRECISIONS:
            rate = values.number(f"flops.{precision}", g.chosen)
            peak = values.number(f"peak.{precision}", g.chosen)
            points.append(_point(g, precision, precision.upper(), rate, peak, traffic, slope, sources))
        points[PRECISIONS.index("fp16")].no_work = _no_half(values, g.chosen)
        best = tensor(values, g.chosen)
        name = f"Tensor {best.kind}" if best else "Tensor"
        rate, peak = (best.rate, best.roof) if best else (None, None)
        point = _point(g, "tensor", name, rate, peak, traffic, slope, (sources[2], sources[1], sources[2]))
        for family, own in best.lower if best else ():
            roof = Roof(name=f"{name}, {family}", kind="compute", value=own, unit="FLOP/s", source=SOURCE)
            point.roofs.insert(1, roof)
        points.append(point)
        if any(p.flop_per_s is not None for p in points):
            found += points
    return found


def _no_half(values: Values, launch_id: int) -> str:
    """Return why the half-precision instructions of a launch are no work (see `RooflinePoint.no_work`)."""
    half, fma = values.number(HALF, launch_id), values.number(HALF_FMA, launch_id)
    whole = values.number(ALL, launch_id)
    if not half or fma is None:
        return ""
    if half == values.number(HALF_CONVERT, launch_id):
        return "conversions"
    return "constants" if half == fma and whole and fma < CONSTANTS * whole else ""


def _sources(values: Values, launch_id: int) -> tuple[str, str, str]:
    """Where the roofs of vector arithmetic, of memory and of matrix arithmetic come from."""
    if values.number(MATRIX_CLOCK, launch_id) is None:
        return SOURCE, SOURCE, SOURCE
    if values.raw("roofline.HBMBw", launch_id) is not None:
        return DEVICE_SOURCE, MEASURED_SOURCE, MEASURED_SOURCE
    return DEVICE_SOURCE, PUBLISHED_SOURCE, DEVICE_SOURCE


def tensor(values: Values, launch_id: int) -> Tensor | None:
    """Return the operand type with the highest rate; None when no tensor counter was collected.

    Counters without a sparsity suffix hold dense and sparse work together, and their peak is the sparse one: twice
    what dense work can reach. So the roof is the dense peak unless sparse work was measured. On 9.0 the peak of
    warp-group instructions (hgmma) is the higher and so the machine's roof.
    Source: observed in reports of 2025.1 (8.0, 9.0) and 2025.4 (12.0).
    """
    best: Tensor | None = None
    for kind in TENSOR_TYPES:
        rates = {
            s: _largest(values, launch_id, kind, s, _RATE) for s in ("", "_sparsity_off", "_sparsity_on")
        }
        known = [rate for rate in rates.values() if rate is not None]
        if not known:
            continue
        rate = rates[""] if rates[""] is not None else sum(known)
        sparse = (rates["_sparsity_on"] or 0.0) > 0
        order = ("_sparsity_on", "_sparsity_off", "") if sparse else ("_sparsity_off", "")
        roofs = (_largest(values, launch_id, kind, s, _PEAK) for s in order)
        roof = next((roof for roof in roofs if roof), None)
        one = Tensor(_kind_label(kind), rate, roof, _lower(values, launch_id, kind, order[0], roof))
        if best is None or _rank(one) > _rank(best):
            best = one
    return best or _matrix(values, launch_id)


def _matrix(values: Values, launch_id: int) -> Tensor | None:
    """Return the operand type nearest to its roof on AMD's matrix units; None when no matrix instruction ran."""
    found = []
    for label, suffix in MATRIX_TYPES.items():
        rate = values.number(f"mfma.{suffix}", launch_id)
        if rate:
            found.append(Tensor(label, rate, values.number(f"mfma.roof_{suffix}", launch_id)))
    return max(found, key=lambda t: t.rate / t.roof if t.roof else 0.0, default=None)


def _rank(one: Tensor) -> tuple[float, bool, float]:
    """Order operand types: by work done; without any work, the half-precision roof is the one people quote."""
    return one.rate, one.kind.startswith("FP16"), one.roof or 0.0


def _lower(
    values: Values, launch_id: int, kind: str, sparsity: str, roof: float | None
) -> tuple[tuple[str, float], ...]:
    """Return the families whose own peak is below the roof: on 9.0 ``mma`` (hmma) under ``wgmma`` (hgmma)."""
    found = []
    for source in TENSOR_TYPES:
        if source.partition("_dst_")[0] != kind.partition("_dst_")[0]:
            continue
        for family, name in _FAMILY_NAMES.items():
            peak = values.raw(_name(family, source, sparsity, _PEAK), launch_id)
            rate = values.raw(_name(family, source, sparsity, _RATE), launch_id)
            if peak and rate and roof and peak < 0.99 * roof:
                found.append((name, peak))
    return tuple(dict(found).items())


def _largest(values: Values, launch_id: int, kind: str, sparsity: str, suffix: str) -> float | None:
    """Return the largest value over the instruction families (their total, for rates, has no family)."""
    found = [values.raw(_name(family, kind, sparsity, suffix), launch_id) for family in _FAMILIES]
    known = [value for value in found if value is not None]
    return max(known) if known else None


def _kind_label(kind: str) -> str:
    source, _, target = kind.partition("_dst_")
    label = source.upper().replace("_", "/")
    return f"{label} to {target.upper()}" if target else label


def _point(
    g: Group,
    precision: str,
    name: str,
    rate: float | None,
    peak: float | None,
    traffic: float | None,
    slope: float | None,
    sources: tuple[str, str, str],
) -> RooflinePoint:
    roofs = [
        Roof(name=name, kind="compute", value=peak, unit="FLOP/s", source=sources[0]),
        Roof(name="DRAM", kind="memory", value=slope, unit="B/s", source=sources[1]),
    ]
    return RooflinePoint(
        kernel=g.kernel,
        short=g.short,
        launch_id=g.chosen,
        precision=precision,
        flop_per_s=rate,
        bytes_per_s=traffic,
        intensity=_over(rate, traffic),
        ridge=_over(peak, slope),
        compute_share=_over(rate, peak),
        memory_share=_over(traffic, slope),
        roofs=roofs,
    )


def _over(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None
