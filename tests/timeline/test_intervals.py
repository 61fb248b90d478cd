"""Interval arithmetic against counting every nanosecond."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from profrx.timeline.intervals import Union, intersection, overlapping, union

intervals = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=12)


def arrays(given: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    starts = np.array([s for s, _ in given], np.int64)
    return starts, starts + np.array([n for _, n in given], np.int64)


def cells(given: list[tuple[int, int]]) -> list[int]:
    """How many intervals cover each unit of time."""
    return [sum(s <= t < s + n for s, n in given) for t in range(60)]


def covered(one: Union) -> list[bool]:
    return [any(s <= t < e for s, e in zip(one.starts, one.ends, strict=True)) for t in range(60)]


@given(intervals)
def test_union_covers_what_any_covers(given_: list[tuple[int, int]]) -> None:
    found = union(*arrays(given_))
    assert covered(found) == [c > 0 for c in cells(given_)]
    assert found.total == sum(c > 0 for c in cells(given_))
    assert (found.starts[1:] > found.ends[:-1]).all()


@given(intervals, st.integers(1, 4))
def test_overlapping_counts(given_: list[tuple[int, int]], least: int) -> None:
    assert covered(overlapping(*arrays(given_), least)) == [c >= least for c in cells(given_)]


@given(intervals, intervals)
def test_shared_and_intersection(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    first, second = union(*arrays(one)), union(*arrays(other))
    both = [a > 0 and b > 0 for a, b in zip(cells(one), cells(other), strict=True)]
    assert first.shared(second) == second.shared(first) == sum(both)
    assert covered(intersection(first, second)) == both


@given(intervals, intervals)
def test_within_and_covers(one: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    found = union(*arrays(one))
    counts = cells(one)
    starts, ends = arrays(asked)
    expected = [sum(c > 0 for c in counts[s:e]) for s, e in zip(starts, ends, strict=True)]
    assert found.within(starts, ends).tolist() == expected
    assert found.covers(starts).tolist() == [counts[s] > 0 for s in starts]


@given(intervals)
def test_gaps_and_union_fill_the_span(given_: list[tuple[int, int]]) -> None:
    found = union(*arrays(given_))
    assert found.total + found.gaps().total == found.span
