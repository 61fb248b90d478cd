"""Open ranges by thread, against a search through all ranges."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from profrx_parsers.nsys.nesting import OPEN, OpenRanges, depths, sort_key

TEXTS = pa.array(["step", "forward", "layer", "x"])


def nested(draw: st.DrawFn, low: int, high: int, left: list[int]) -> list[tuple[int, int, int]]:
    """Draw ranges that nest inside [low, high)."""
    found = []
    at = low
    while left[0] > 0 and high - at > 2 and draw(st.booleans()):
        left[0] -= 1
        start = draw(st.integers(at, high - 2))
        end = draw(st.integers(start + 1, high))
        found.append((start, end, draw(st.integers(0, 3))))
        found += nested(draw, start, end, left)
        at = end
    return found


@st.composite
def threads(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    return [
        (thread, *one)
        for thread in draw(st.sets(st.integers(1, 9), max_size=3))
        for one in nested(draw, 0, 60, [12])
    ]


def index(ranges: list[tuple[int, int, int, int]]) -> OpenRanges:
    columns = [np.array(c, np.int64) for c in zip(*ranges, strict=True)] or [np.empty(0, np.int64)] * 4
    tid, start, end, name = columns
    order = sort_key(tid, start, end)
    if order is not None:
        tid, start, end, name = tid[order], start[order], end[order], name[order]
    level = np.zeros(len(tid), np.int64)
    for thread in np.unique(tid):
        rows = tid == thread
        level[rows] = depths(start[rows], end[rows])
    return OpenRanges(tid, start, end, name, level, np.arange(10), TEXTS)


@settings(max_examples=200, deadline=None)
@given(threads(), st.lists(st.tuples(st.integers(1, 9), st.integers(-2, 65)), min_size=1, max_size=20))
def test_paths_equal_a_full_search(
    ranges: list[tuple[int, int, int, int]], asked: list[tuple[int, int]]
) -> None:
    found = index(ranges).paths(np.array([t for t, _ in asked]), np.array([w for _, w in asked])).to_pylist()
    for (thread, when), path in zip(asked, found, strict=True):
        inside = [r for r in ranges if r[0] == thread and r[1] <= when < r[2]]
        inside.sort(key=lambda r: (r[1], -r[2]))
        expected = " / ".join(TEXTS[r[3]].as_py() for r in inside) or None
        if len({(r[1], r[2]) for r in inside}) == len(inside):
            assert path == expected


def test_an_open_range_covers_everything_after_it() -> None:
    ranges = index([(1, 10, OPEN, 0), (1, 20, 30, 1)])
    asked = ranges.paths(np.array([1, 1, 1, 2]), np.array([9, 25, 1000, 25]))
    assert asked.to_pylist() == [None, "step / forward", "step", None]


def test_empty_ranges_have_a_depth_and_no_calls() -> None:
    assert depths(np.array([5, 5, 7]), np.array([5, 9, 7])).tolist()[0] == 0
    assert index([(1, 5, 5, 0)]).paths(np.array([1]), np.array([5])).to_pylist() == [None]


def test_paths_hold_no_text_that_is_not_used() -> None:
    paths = index([(1, 0, 10, 0), (2, 0, 10, 3)]).paths(np.array([1]), np.array([5]))
    assert paths.dictionary.to_pylist() == ["step"]
