"""Protobuf wire decoding: against the published examples, the protobuf library, and damage."""

from __future__ import annotations

import struct

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.struct_pb2 import ListValue, Struct, Value
from hypothesis import given
from hypothesis import strategies as st

from profrx_parsers.wire import BYTES, FIXED64, VARINT, Message, WireError, fields, signed, varint


def test_published_examples() -> None:
    """From the protobuf encoding document: 150 as a varint, and the string "testing" in field 2."""
    assert list(fields(b"\x08\x96\x01", 0, 3)) == [(1, VARINT, 150)]
    message = Message(b"\x12\x07testing", (0, 9))
    assert message.text(2) == "testing"
    assert message.numbers == {2}


@given(st.dictionaries(st.text(max_size=8), st.floats(allow_nan=False), max_size=6))
def test_agrees_with_the_protobuf_library(content: dict[str, float]) -> None:
    data = Struct(
        fields={key: Value(number_value=value) for key, value in content.items()}
    ).SerializeToString()
    found = {}
    for entry in Message(data, (0, len(data))).messages(1):
        value = entry.message(2)
        bits = value.integer(2) if value else None
        found[entry.text(1) or ""] = struct.unpack("<d", (bits or 0).to_bytes(8, "little"))[0]
    assert found == content


@given(st.lists(st.integers(min_value=0, max_value=2**31 - 1), max_size=8), st.text(max_size=20))
def test_repeated_fields_and_merging(numbers: list[int], name: str) -> None:
    proto = FileDescriptorProto(name=name, public_dependency=numbers, dependency=["a", name])
    data = proto.SerializeToString()
    message = Message(data + data, (0, 2 * len(data)))
    assert message.integers(10) == numbers * 2
    assert message.texts(3) == ["a", name] * 2
    assert message.text(1) == name


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_signed_numbers(value: int) -> None:
    assert signed(value & (2**64 - 1)) == value


@given(st.binary(max_size=200))
def test_any_bytes_end(data: bytes) -> None:
    message = Message(data, (0, len(data)))
    for number in message.numbers:
        message.integer(number)
        message.text(number)
        message.message(number)
    if message.error is not None:
        assert 0 <= message.error.offset <= len(data)


@given(st.integers(min_value=0, max_value=60))
def test_every_cut_keeps_the_fields_before_it(size: int) -> None:
    data = ListValue(values=[Value(string_value=f"value {i}") for i in range(5)]).SerializeToString()
    cut = data[:size]
    message = Message(cut, (0, len(cut)))
    whole = Message(data, (0, len(data))).spans(1)
    assert message.spans(1) == [span for span in whole if span[1] <= len(cut)]
    assert (message.error is None) == (
        len(cut) in {0, len(data), *(span[1] for span in whole)} or size >= len(data)
    )


@pytest.mark.parametrize(
    "data",
    [b"\x80" * 11, b"\x0a\xff\xff\xff\xff\x0f", b"\x0b", b"\x00", b"\x09\x01", b"\x0d\x01", b"\x08"],
    ids=["endless", "length", "group", "zero", "fixed64", "fixed32", "cut"],
)
def test_damage_is_an_error_with_an_offset(data: bytes) -> None:
    with pytest.raises(WireError) as caught:
        list(fields(data, 0, len(data)))
    assert caught.value.offset == 0 or data[:1] == b"\x08"
    assert caught.value.reason


def test_wire_types() -> None:
    data = b"\x09" + struct.pack("<d", 1.5) + b"\x12\x00"
    assert list(fields(data, 0, len(data))) == [
        (1, FIXED64, int.from_bytes(struct.pack("<d", 1.5), "little")),
        (2, BYTES, (11, 11)),
    ]
    assert varint(b"\xff" * 9 + b"\x01", 0, 10) == (2**64 - 1, 10)
