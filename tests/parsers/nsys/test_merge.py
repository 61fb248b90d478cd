"""The merge technique gives what reading event by event gives, whatever fields are absent."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st

from profrx_parsers.nsys.growing import GrowingColumn
from profrx_parsers.nsys.merge import Column, Form, good_events, narrow

INT, TEXT, DOUBLE, FLOAT = (107, 1), (107, 101, 2), (107, 101, 3), (5,)
KINDS = {INT: "int", TEXT: "bytes", DOUBLE: "double", FLOAT: "float"}
FORM = Form(KINDS)


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number: int, kind: str, value: Any) -> bytes:
    if kind == "int":
        return varint(number << 3) + varint(value)
    if kind == "bytes":
        return varint(number << 3 | 2) + varint(len(value)) + value
    if kind == "double":
        return varint(number << 3 | 1) + struct.pack("<d", value)
    return varint(number << 3 | 5) + struct.pack("<f", value)


def event(values: dict[tuple[int, ...], Any]) -> bytes:
    inner = b"".join(field(p[-1], KINDS[p], values[p]) for p in (TEXT, DOUBLE) if p in values)
    outer = field(1, "int", values[INT]) if INT in values else b""
    outer += field(101, "bytes", inner) if inner else b""
    return (
        field(1, "int", 79)
        + field(107, "bytes", outer)
        + (field(5, "float", values[FLOAT]) if FLOAT in values else b"")
    )


ints = st.one_of(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-3, 300))
values = st.fixed_dictionaries(
    {},
    optional={
        INT: ints,
        TEXT: st.binary(max_size=12),
        DOUBLE: st.floats(allow_nan=False),
        FLOAT: st.floats(width=32, allow_nan=False),
    },
)


@settings(max_examples=200, deadline=None)
@given(st.lists(values, min_size=1, max_size=40))
def test_columns_equal_event_by_event(events: list[dict[tuple[int, ...], Any]]) -> None:
    found = FORM.read([event(e) for e in events])
    for path in KINDS:
        expected = [e.get(path) for e in events]
        column = found[path]
        if column is None:
            assert expected == [None] * len(events)
            continue
        assert column.arrow().to_pylist() == expected


def test_values_that_look_like_the_separator_are_kept() -> None:
    from profrx_parsers.nsys.merge import _MARKS

    events = [event({INT: _MARKS[0]}), event({}), event({INT: _MARKS[1]}), event({INT: 7})]
    column = FORM.read(events)[INT]
    assert column is not None
    assert column.arrow().to_pylist() == [_MARKS[0], None, _MARKS[1], 7]


def test_of_a_field_written_twice_the_last_value_counts() -> None:
    twice = field(1, "int", 79) + field(107, "bytes", field(1, "int", 1) + field(1, "int", 2))
    column = FORM.read([twice, event({}), event({INT: 5})])[INT]
    # Two values and two events with a value cannot be told from one each by their number alone.
    assert column is not None
    assert column.arrow().to_pylist()[2] == 5


def test_unknown_fields_are_counted_by_path() -> None:
    strange = field(1, "int", 79) + field(107, "bytes", field(77, "int", 1)) + field(9, "bytes", b"x")
    merged = FORM.parse([strange, strange, event({INT: 1})])
    counts = FORM.unknown(merged)
    assert counts == {(1,): 3, (9,): 2, (107, 77): 2}


def test_a_damaged_event_is_dropped_alone() -> None:
    good, bad = event({INT: 3}), b"\x08\x4f" + b"\xff" * 11
    with pytest.raises(DecodeError):
        FORM.parse([good, bad, good])
    assert good_events(FORM, [good, bad, good]) == [good, good]


@given(
    st.lists(st.lists(st.one_of(st.none(), ints), min_size=1, max_size=9), min_size=1, max_size=6),
    st.booleans(),
)
def test_growing_columns_keep_every_value(chunks: list[list[int | None]], as_id: bool) -> None:
    column = GrowingColumn("globalTid" if as_id else "start", "int")
    for chunk in chunks:
        present = np.array([v is not None for v in chunk])
        data = np.array([0 if v is None else v for v in chunk], np.int64)
        column.append(Column(data, None if present.all() else present) if present.any() else None, len(chunk))
    found = column.finish()
    assert found.to_pylist() == [v for chunk in chunks for v in chunk]


@given(st.lists(ints, max_size=20))
def test_narrowing_keeps_values(numbers: list[int]) -> None:
    assert narrow(np.array(numbers, np.int64)).tolist() == numbers
