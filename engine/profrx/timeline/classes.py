"""Which kind of work a kernel is, and whose: a table of patterns that users may replace."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from profrx_parsers.errors import UsageError

DEFAULT = Path(__file__).with_name("kernel_classes.csv")
OTHER = ("other", "own")
MAX_ROWS = 1000
LIBRARIES = {
    "nccl": "NCCL",
    "nvshmem": "NVSHMEM",
    "cudnn": "cuDNN",
    "cublas": "cuBLAS or CUTLASS",
    "cufft": "cuFFT",
    "cusparse": "cuSPARSE",
    "cub": "CUB or Thrust",
}
"""Library of the table -> its name in a sentence; the others are no libraries, or kinds of kernels that people write."""
FRAMEWORK = "at::native::"
"""Namespace of the kernels that come with PyTorch."""


@lru_cache(maxsize=16)
def load_classes(path: Path = DEFAULT) -> tuple[tuple[str, str, str], ...]:
    """Read a table of (pattern, class, library); patterns are RE2, matched anywhere, case ignored, first row wins.

    Raises `UsageError` when the file has no such columns or a pattern is no expression.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [(r["pattern"], r["class"], r["library"]) for r in csv.DictReader(file)][:MAX_ROWS]
    except (OSError, KeyError, TypeError, UnicodeDecodeError) as err:
        raise UsageError(
            "kernel-classes",
            f"no table of kernel classes: {err}",
            where=str(path),
            next_step="a CSV with the columns pattern, class, library",
        ) from err
    for pattern, _, _ in rows:
        try:
            pc.match_substring_regex(pa.array([""]), pattern)
        except (pa.ArrowInvalid, TypeError) as err:
            raise UsageError("kernel-classes", f"no expression: {pattern!r}", where=str(path)) from err
    return tuple(rows)


def classify(names: Sequence[str | None], path: Path = DEFAULT) -> list[tuple[str, str]]:
    """Return (class, library) of each kernel name."""
    texts = pa.array([n or "" for n in names], pa.string())
    found: list[tuple[str, str]] = [OTHER] * len(names)
    open_rows = set(range(len(names)))
    for pattern, kind, library in load_classes(path):
        hits = pc.match_substring_regex(texts, pattern, ignore_case=True).to_pylist()
        for row in [r for r in open_rows if hits[r]]:
            found[row] = (kind, library)
            open_rows.discard(row)
    return found


def library(names: Sequence[str | None], path: Path = DEFAULT) -> list[str | None]:
    """Return the library that each kernel comes with; None = not known, which most often means one's own.

    Template arguments do not count: a kernel that is handed a functor of a library is no kernel of it.
    """
    outer = [(name or "").partition("<")[0] for name in names]
    found = [LIBRARIES.get(owner) for _, owner in classify(outer, path)]
    return ["PyTorch" if FRAMEWORK in name else of for name, of in zip(outer, found, strict=True)]
