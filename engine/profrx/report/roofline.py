"""The roofline as SVG, drawn with matplotlib: deterministic bytes, text as text, colours for light and dark.

Source: S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009:
attainable FLOP/s = min(peak FLOP/s, intensity x peak bandwidth).
"""

from __future__ import annotations

import io
import math
import re
import warnings
from typing import TYPE_CHECKING, Any

from profrx.escape import clean, middle_cut
from profrx.report import numbers
from profrx.report.textplot import ceilings, usable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profrx.report.model import RooflinePoint

INK, FAINT, PAPER = "#24292f", "#8b949e", "#ffffff"
"""Text and roofs; grid; background. In HTML they become CSS variables (see `inline_svg`)."""
SERIES = (
    "#0969da",
    "#bc4c00",
    "#1a7f37",
    "#8250df",
    "#cf222e",
    "#0a7ea4",
    "#9a6700",
    "#6e7781",
    "#bf3989",
    "#57606a",
)
MARKERS = {"fp64": "s", "fp32": "o", "fp16": "^", "tensor": "D"}
SIZE = (7.2, 3.7)
"""Of the picture, in inches."""
PLACE = (0.125, 0.12, 0.865, 0.86)
"""Of the axes in the picture: left, bottom, width, height as shares."""
POINTS = 12
"""More points than this (kernels x precisions) are not drawn: the heaviest kernels come first."""
CLOSE = 0.07
"""Roofs nearer than this share of the axis get their labels side by side."""


def svg(points: Sequence[RooflinePoint]) -> str:
    """Return the picture, or nothing when no point can be drawn."""
    drawn = usable(points)[:POINTS]
    compute, memory = ceilings(drawn)
    if not drawn or not compute or not memory:
        return ""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    settings: Any = {
        "svg.hashsalt": "profrx",
        "svg.fonttype": "none",
        "font.size": 9,
        "font.family": "sans-serif",
    }
    with mpl.rc_context(settings):
        figure = Figure(figsize=SIZE, facecolor=PAPER)
        FigureCanvasSVG(figure)
        axes = figure.add_axes(PLACE, facecolor=PAPER)
        _draw(axes, drawn, compute, memory)
        out = io.StringIO()
        with warnings.catch_warnings():
            # A glyph that this font lacks is the viewer's to find: the text stays text.
            warnings.filterwarnings("ignore", message="Glyph .* missing")
            figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Title": "Roofline"})
    return _plain(out.getvalue())


def inline_svg(points: Sequence[RooflinePoint], *, prefix: str = "") -> str:
    """Return the picture for HTML: no XML head, colours as the variables of the page's style sheet.

    `prefix` keeps the ids of several pictures in one document apart.
    """
    drawn = svg(points)
    if not drawn:
        return ""
    body = drawn[drawn.index("<svg") :]
    for colour, name in ((INK, "ink"), (FAINT, "faint"), (PAPER, "paper")):
        body = body.replace(colour, f"var(--{name})")
    body = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}", body)
    return body.replace("<svg ", '<svg role="img" aria-label="Roofline" ', 1)


def _draw(
    axes: Any, points: list[RooflinePoint], compute: dict[str, float], memory: dict[str, float]
) -> None:
    from matplotlib.ticker import LogLocator

    top, slope = max(compute.values()), max(memory.values())
    xs = [p.intensity for p in points if p.intensity] + [c / slope for c in compute.values()]
    ys = [p.flop_per_s for p in points if p.flop_per_s]
    x0, x1 = min(xs) / 4, max(xs) * 8
    low, high = min([*ys, slope * x0]) / 2, top * 2
    low = max(low, high / 1e7)
    axes.set(xscale="log", yscale="log", xlim=(x0, x1), ylim=(low, high))
    wide, high_in = SIZE[0] * PLACE[2], SIZE[1] * PLACE[3]
    angle = math.degrees(math.atan2(high_in / math.log10(high / low), wide / math.log10(x1 / x0)))
    for name, roof in memory.items():
        axes.plot([x0, top / roof], [roof * x0, top], color=INK, linewidth=1.4, solid_capstyle="round")
        start = max(x0, low / roof) * 1.3
        label = f"{name} {numbers.quantity(roof, 'B/s')}"
        tilt = {"rotation": angle, "rotation_mode": "anchor"}
        _text(axes, start, roof * start, label, ha="left", va="bottom", fontsize=8, **tilt)
    previous = math.inf
    for name, roof in sorted(compute.items(), key=lambda item: -item[1]):
        axes.plot([roof / slope, x1], [roof, roof], color=INK, linewidth=1.4)
        crowded = math.log10(previous / roof) < CLOSE * math.log10(high / low)
        at = x1 if not crowded else x1 / (x1 / x0) ** 0.3
        label = f"{name} {numbers.quantity(roof, 'FLOP/s')} "
        _text(axes, at, roof, label, ha="right", va="bottom", fontsize=8)
        previous = math.inf if crowded else roof
    kernels = list(dict.fromkeys(p.kernel for p in points))
    labels = []
    for point in points:
        colour = SERIES[kernels.index(point.kernel) % len(SERIES)]
        marker = MARKERS.get(point.precision, "o")
        labels.append(f"{middle_cut(clean(point.short), 36)} ({point.precision})")
        axes.plot(
            [point.intensity], [point.flop_per_s], marker, color=colour, markersize=7, label="point", zorder=3
        )
    axes.xaxis.set_major_locator(LogLocator(numticks=7))
    axes.xaxis.set_major_formatter(lambda x, _: numbers.digits(x, 1))
    axes.yaxis.set_major_formatter(lambda y, _: numbers.quantity(y, "FLOP/s"))
    axes.set_xlabel("FLOP per byte of DRAM traffic", color=INK)
    axes.grid(True, which="major", color=FAINT, linewidth=0.4, alpha=0.5)
    axes.tick_params(colors=INK, which="both", labelsize=8)
    for side in axes.spines.values():
        side.set_color(FAINT)
    legend = axes.legend(
        loc="lower right", fontsize=8, frameon=True, facecolor=PAPER, edgecolor=FAINT, labelcolor=INK
    )
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_parse_math(False)
        text.set_text(label)  # only now: a legend leaves out labels that begin with an underscore


def _text(axes: Any, x: float, y: float, text: str, **how: Any) -> Any:
    """Write literal text: a dollar sign in a name must not start a formula."""
    return axes.text(x, y, text, color=INK, parse_math=False, **how)


def _plain(text: str) -> str:
    """Drop the metadata block and the comments: they name matplotlib's version, which would change the bytes."""
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    return re.sub(r"\n\s*\n+", "\n", text)
