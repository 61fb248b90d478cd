"""Aligned plain-text columns: the tables of the text format."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from profrx.escape import clean, middle_cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def width(text: str) -> int:
    """Return how many terminal cells a line takes: wide characters two, combining ones none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def grid(
    header: Sequence[str], rows: Iterable[Sequence[object]], *, right: Iterable[int] = (), widest: int = 60
) -> str:
    """Return header and rows as aligned columns; column numbers in `right` are right-aligned.

    >>> print(grid(["kernel", "time"], [["gemm", "1 us"], ["add", "20 us"]], right=[1]))
    kernel   time
    gemm     1 us
    add     20 us
    """
    to_right = set(right)
    lines = [[middle_cut(clean(cell), widest) for cell in row] for row in (header, *rows)]
    widths = [max(width(line[i]) for line in lines) for i in range(len(header))]
    out = []
    for line in lines:
        cells = []
        for i, cell in enumerate(line):
            gap = " " * (widths[i] - width(cell))
            cells.append(gap + cell if i in to_right else cell + gap)
        out.append("  ".join(cells).rstrip())
    return "\n".join(out)
