"""The roofline picture and its plain-text twin."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profrx.diagnose import diagnose
from profrx.report.model import Findings, Roof, RooflinePoint
from profrx.report.page import page
from profrx.report.roofline import inline_svg, svg
from profrx.report.textplot import HEIGHT, WIDTH, chart, significant

SVG = "{http://www.w3.org/2000/svg}"


def point(
    short: str = "k", flops: float | None = 4.2e12, intensity: float | None = 2.0, **more: object
) -> RooflinePoint:
    roofs = [
        Roof(name="FP32", kind="compute", value=6.2e13, unit="FLOP/s"),
        Roof(name="DRAM", kind="memory", value=4.8e12, unit="B/s"),
    ]
    given_ = {
        "kernel": short, "short": short, "precision": "fp32", "flop_per_s": flops, "bytes_per_s": 2.1e12, "intensity": intensity,
        "ridge": 12.9, "compute_share": 0.1, "memory_share": 0.4, "roofs": roofs, **more,
    }  # fmt: skip
    return RooflinePoint.model_validate(given_)


def test_picture_is_the_same_every_time(findings: Findings) -> None:
    points = findings.reports[0].summary.roofline
    assert svg(points) == svg(points)
    assert "Date" not in svg(points)


def test_picture_names_kernel_and_roofs_as_text(findings: Findings) -> None:
    root = ET.fromstring(svg(findings.reports[0].summary.roofline))
    words = {"".join(node.itertext()).strip() for node in root.iter(f"{SVG}text")}
    assert "matmul_naive (fp32)" in words
    assert "FP32 62.0 TFLOP/s" in words
    assert "DRAM 4.80 TB/s" in words
    assert "FLOP per byte of DRAM traffic" in words


@pytest.mark.parametrize(
    "name", ["$x^2$", "a<b>&c", "\\frac{1}", "x\x1b[31m", "名前", "--><script>", "_attn_fwd"]
)
def test_names_are_literal(name: str) -> None:
    root = ET.fromstring(svg([point(name)]))
    words = ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]
    shown = name.replace("\x1b", "\ufffd")
    assert f"{shown} (fp32)" in words
    assert not [node for node in root.iter() if node.tag.endswith("script")]


def test_inline_picture_takes_its_colours_from_the_page() -> None:
    text = inline_svg([point()], prefix="r7-")
    assert text.startswith("<svg ")
    assert "var(--ink)" in text
    assert "#24292f" not in text
    assert all(found.startswith("r7-") for found in re.findall(r'\bid="([^"]+)"', text))
    ET.fromstring(text)


@pytest.mark.parametrize(
    "points",
    [
        [],
        [point(flops=None)],
        [point(intensity=None)],
        [point(flops=0.0, intensity=0.0)],
        [point(roofs=[])],
        [point(roofs=[Roof(name="FP32", kind="compute", value=None, unit="FLOP/s")])],
    ],
)
def test_what_cannot_be_drawn_is_left_out(points: list[RooflinePoint]) -> None:
    assert svg(points) == ""
    assert chart(points) == ""


def test_a_trace_of_another_precision_is_not_drawn() -> None:
    points = [point(), point(precision="fp64", flops=1e3, intensity=1e-9)]
    assert "(fp64)" not in chart(points)


POSITIVE = st.floats(min_value=1e-6, max_value=1e18, allow_nan=False)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(POSITIVE, POSITIVE), min_size=1, max_size=12))
def test_text_chart_keeps_its_size_for_any_point(values: list[tuple[float, float]]) -> None:
    text = chart([point(f"k{i}", flops=f, intensity=x) for i, (f, x) in enumerate(values)])
    lines = text.split("\n")
    assert len([line for line in lines[:HEIGHT] if "|" in line]) == HEIGHT
    assert all(len(line) <= WIDTH + 14 for line in lines[: HEIGHT + 1])


def test_a_point_stands_below_its_roof() -> None:
    """In the chart the mark of a kernel under the roof must be on a lower line than the roof of its column."""
    lines = chart([point(flops=1e11, intensity=2.0)]).split("\n")[:HEIGHT]
    (row,) = [i for i, line in enumerate(lines) if "A" in line]
    column = lines[row].index("A")
    above = [i for i, line in enumerate(lines) if len(line) > column and line[column] in "/-"]
    assert above
    assert max(above) < row


def test_counted_operations_that_are_no_work_are_not_drawn() -> None:
    points = [point(), point(flops=4.0e12, precision="fp16", no_work="constants")]
    assert significant(points) == points[:1]
    assert "fp16" not in chart(points)
    assert "(fp16)" not in svg(points)


@pytest.mark.parametrize(
    ("case", "listed", "said"),
    [
        ("fp16-peak", ["FP16"], ""),
        (
            "tiny-blocks",
            ["FP32"],
            "FP16 is left out: its counters saw multiply-adds that set constants only.",
        ),
        (
            "tree-reduction",
            ["FP32"],
            "FP16 is left out: its counters saw multiply-adds that set constants only.",
        ),
        ("matmul-half", ["FP32"], "FP16 is left out: its counters saw conversions to single precision only."),
        ("style-detailed", ["FP32"], "Not known: FP16, tensor."),
        ("strided-load", ["FP32"], ""),
    ],
)
def test_only_precisions_with_work_are_listed(
    fixtures: Path, case: str, listed: list[str], said: str
) -> None:
    """By their sources, half_roof alone of these computes in half precision, and matmul_fp16 converts its operands.

    What the counters say stays in the findings: the vendor's own sums are compared with it.
    """
    report = diagnose([fixtures / "ncu" / case / "report.ncu-repz"]).reports[0]
    shown = page(report)
    assert shown.roofline_rows is not None
    assert [row[0] for row in shown.roofline_rows.rows] == listed
    assert shown.roofline_note.endswith(said or "the ridge is roof over DRAM roof.")
    assert {p.precision for p in report.summary.roofline} == {"fp64", "fp32", "fp16", "tensor"}
