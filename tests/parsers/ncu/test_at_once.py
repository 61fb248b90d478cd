"""What is decoded at once equals what is decoded one after the other, on sound data; unsound data is left to the latter."""

from __future__ import annotations

import gc
import math
import struct
import weakref
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from profrx_parsers.columns import EXTRA
from profrx_parsers.ncu import _entries, _gather, _instances, _locate, _names
from profrx_parsers.ncu._lookup import look_up
from profrx_parsers.ncu._names import NameTable
from profrx_parsers.problems import ProblemLog
from profrx_parsers.registry import open_report
from profrx_parsers.report import Wanted
from profrx_parsers.wire import WireError, fields, varint

Write = Callable[..., Path]
Encode = dict[str, Callable[..., bytes]]
WHOLE = st.one_of(st.integers(0, 300), st.integers(0, (1 << 64) - 1))
LETTERS = st.characters(min_codepoint=0x20, max_codepoint=0x2FF)


def raw(data: bytes) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.frombuffer(data, dtype=np.uint8)


def encoded(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


@given(st.binary(max_size=60), st.lists(WHOLE, max_size=6))
@example(b"", [])
@example(b"\xff" * 10, [1])
@example(b"\x80" * 8, [(1 << 64) - 1])
def test_numbers_everywhere(noise: bytes, numbers: list[int]) -> None:
    data = noise + b"".join(map(encoded, numbers)) + noise
    at = np.arange(len(data))
    for decode in (_gather.varints, _gather.short_varints):
        values, after = decode(raw(data), at, np.full(len(at), len(data)))
        for place in at.tolist():
            try:
                expected = varint(data, place, len(data))
            except WireError:
                assert after[place] == -1
                continue
            assert (int(values[place]), int(after[place])) == expected


@given(st.lists(st.binary(min_size=1, max_size=30), min_size=1, max_size=3), st.data())
def test_words_end_in_zeros(pieces: list[bytes], data: st.DataObject) -> None:
    stored = b"".join(pieces)
    at = data.draw(st.lists(st.integers(0, len(stored) + 12), min_size=1))
    found = _gather.words(raw(stored), np.array(at))
    assert [int(word).to_bytes(8, "little") for word in found] == [
        stored[place : place + 8].ljust(8, b"\0") for place in at
    ]


@given(st.lists(st.text(LETTERS, max_size=200), max_size=20), st.binary(max_size=3))
def test_name_tables(names: list[str], behind: bytes) -> None:
    texts = [name.encode() for name in names]
    data = b"".join(b"\x0a" + encoded(len(text)) + text for text in texts) + behind
    found = _names.undamaged(data)
    starts, stops, failed = _names.chain(memoryview(data), 0, len(data))
    if found is None:
        assert failed is not None or not names or any(len(text) > 1000 for text in texts)
        return
    assert failed is None
    assert found.to_pylist() == [_names.record(data[a:b]) for a, b in zip(starts, stops, strict=True)]


@given(st.binary(max_size=80))
def test_arbitrary_bytes_as_a_name_table(data: bytes) -> None:
    found = _names.undamaged(data)
    if found is not None:
        starts, stops, failed = _names.chain(memoryview(data), 0, len(data))
        assert failed is None
        assert found.to_pylist() == [_names.record(data[a:b]) for a, b in zip(starts, stops, strict=True)]


def test_names_by_id() -> None:
    """Projections of one table, in any order: codes stand for the wanted names, with or without counter domain."""
    names = ["a__x.sum", "FBSP.TriageA.b__y.sum", "c__z", "b__y.sum", "TriageCompute.c__z", "a__x.sum"]
    stored = b"".join(b"\x0a" + encoded(len(name)) + name.encode() for name in names)
    for wanted in (frozenset({"b__y.sum"}), frozenset({"c__z", "a__x.sum"}), None, frozenset(names[1:2])):
        table = NameTable()
        table.add(memoryview(stored), (0, len(stored)), ProblemLog())
        found = look_up(table, wanted, frozenset({"d__only_here"}))
        for name, code in zip(names, found.code_of_id.tolist(), strict=True):
            plain = name.rpartition("Triage")[2].partition(".")[2] if "Triage" in name else name
            if wanted is None or {name, plain} & wanted:
                assert found.labels.names[code] == name
                assert found.labels.asked[code]
            else:
                assert code == -1


def walked(data: bytes, tag: int) -> tuple[list[int], list[int]]:
    """Starts and stops of the entries at the front of some bytes."""
    starts, stops = array("q"), array("q")
    try:
        for number, wire, value in fields(data, 0, len(data)):
            if (
                number << 3 | wire != tag
                or not isinstance(value, tuple)
                or data[value[0] : value[0] + 1] != b"\x08"
            ):
                break
            starts.append(value[0])
            stops.append(value[1])
    except WireError:
        pass
    return starts.tolist(), stops.tolist()


ENTRY = st.builds(
    lambda ident, value: b"\x08" + encoded(ident) + value,
    st.integers(0, 5000),
    st.one_of(
        st.just(b""),
        st.binary(max_size=150).map(lambda b: b"\x12" + encoded(len(b)) + b),
        # Bytes that look like entries inside an entry.
        st.integers(1, 9).map(lambda n: b"\x12" + encoded(4 * n) + b"\x6a\x02\x08\x00" * n),
    ),
)


@given(st.lists(ENTRY, max_size=40), st.binary(max_size=20))
def test_runs_of_entries(entries: list[bytes], behind: bytes) -> None:
    data = b"".join(b"\x6a" + encoded(len(entry)) + entry for entry in entries) + behind
    starts, stops = walked(data, 0x6A)
    found = _entries.run(raw(data), 0x6A, len(data))
    count = len(found[0])
    assert found[0].tolist() == starts[:count]
    assert found[1].tolist() == stops[:count]


def test_a_long_run_is_found_at_once() -> None:
    data = b"".join(
        b"\x6a\x0b\x08" + encoded(300 + i) + b"\x12\x06\x19\x00\x6a\x02\x08\x01" for i in range(900)
    )
    starts, stops = _entries.run(raw(data), 0x6A, len(data))
    assert len(starts) == 900
    assert int(stops[-1]) == len(data)


Value = float | int | str
KEY = st.one_of(WHOLE, st.text(LETTERS, min_size=1, max_size=40))
NUMBER = st.one_of(WHOLE, st.floats(allow_nan=False))
PLAIN = st.tuples(KEY, NUMBER)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(PLAIN, max_size=12), min_size=1, max_size=6))
def test_instances_of_a_report(build: Any, tmp_path_factory: pytest.TempPathFactory, groups: Any) -> None:
    report = build()
    metrics = [
        report.metric(f"m__{at}", float(at), group, category=bool(at % 2)) for at, group in enumerate(groups)
    ]
    body = b"".join(b"\x6a" + encoded(len(metric)) + metric for metric in metrics)
    report.block(kernels=[report.kernel("f(int)", {"x__m": 1.0}, extra=body)], names=report.names)
    path = tmp_path_factory.mktemp("r") / "one.ncu-rep"
    path.write_bytes(bytes(report))
    opened = open_report(path)
    expected = [
        (
            f"m__{at}",
            key if isinstance(key, str) else None,
            None if isinstance(key, str) else key,
            float(value),
        )
        for at, group in enumerate(groups)
        for key, value in group
    ]
    columns = (
        opened.table("instances").column(name).to_pylist() for name in ("metric", "key", "key_int", "value")
    )
    found = [(m, k, i if i is None else i & (1 << 64) - 1, v) for m, k, i, v in zip(*columns, strict=True)]
    assert found == expected
    for at, group in enumerate(groups):
        assert opened.extras["instances"]({f"m__{at}"}).num_rows == len(group)
    parts = opened.extras["instance_batches"](None)
    assert sum(part.num_rows for part in parts) == len(expected)
    assert {problem.code for problem in opened.problems} == {"ncu-no-versions"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PLAIN, max_size=20), st.binary(max_size=12))
def test_located_like_followed(build: Any, group: Sequence[tuple[Value, Value]], behind: bytes) -> None:
    """Where the guess is certain, it finds what a walk over the lengths finds."""
    entry = build().metric("m__x", None, group, category=False)[2:] + behind
    data = memoryview(b"\0" * 5 + entry + b"\0" * 3)
    tail, stop = np.array([5]), np.array([5 + len(entry)])
    if not len(entry):
        return
    start, end, _, good = _locate._guess(np.frombuffer(data, np.uint8), tail, stop)
    said = ProblemLog()
    pieces = list(_locate._follow(data, 5, 5 + len(entry), said))
    if good[0]:
        assert not len(said)
        assert np.array_equal(start, np.concatenate([piece[0] for piece in pieces]))
        assert np.array_equal(end, np.concatenate([piece[1] for piece in pieces]))


@pytest.mark.parametrize("one", [b"\x1a\x00", b"\x1a\x02\x0a\x00", b"\x1a\x03\x18\x00\x18"])
def test_floods_of_empty_instances_are_bounded(
    one: bytes, build: Any, write: Write, encode: Encode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_instances, "MAX_ODD", 50)
    monkeypatch.setattr(_locate, "_AT_ONCE", 64)
    monkeypatch.setattr(_locate, "_HUGE", 1000)
    report = build()
    body = encode["number"](1, report.ident("m__x")) + one * 400
    body += report.metric("m__x", None, [(7, 2.5)], category=False)[2:]
    report.block(kernels=[report.kernel("f(int)", {}, extra=encode["blob"](13, body))], names=report.names)
    opened = open_report(write(bytes(report)))
    instances = opened.table("instances")
    assert instances.num_rows == 51
    assert instances.column("value").to_pylist()[-1] == 2.5
    lost = [p.count for p in opened.problems if "left out" in p.message]
    assert lost == [350]


def test_nine_and_ten_byte_keys(build: Any, write: Write) -> None:
    """Times in nanoseconds take nine bytes, the largest numbers ten."""
    keys = [1_700_000_000_000_000_000, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 56) - 1, 1 << 56]
    report = build()
    metric = report.metric("m__x", 1.0, [(key, 0.5) for key in keys])
    report.block(
        kernels=[report.kernel("f(int)", {}, extra=b"\x6a" + encoded(len(metric)) + metric)],
        names=report.names,
    )
    found = open_report(write(bytes(report))).table("instances").column("key_int").to_pylist()
    assert [key & (1 << 64) - 1 for key in found] == keys


def test_a_report_is_let_go_of_without_garbage_collection(simple_report: Any, write: Write) -> None:
    path = write(bytes(simple_report()))
    gc.collect()
    gc.disable()
    try:
        report = open_report(path, Wanted(metrics=frozenset({"m__index"})))
        report.table("metrics")
        report.table("devices")
        assert report.info.captured_at == "2023-11-14T22:13:20Z"
        assert report.extras[EXTRA].column("m__index").to_pylist() == [0.0, 1.0, 2.0]
        held = [weakref.ref(report), weakref.ref(report.problems)]
        del report
        assert [one() for one in held] == [None, None]
    finally:
        gc.enable()


def test_problems_are_complete_whenever_they_are_read(build: Any, write: Write, encode: Encode) -> None:
    """Session facts and doubtful values are looked at late, and still told."""
    report = build()
    broken = encode["blob"](6, b"\x08\x01\x1a\x7f")
    report.block(
        session=broken,
        kernels=[report.kernel("f(int)", {"m__count": -4.0, "n__x.pct": 250.0, "o__nan": math.nan})],
        names=report.names,
    )
    opened = open_report(write(bytes(report)))
    codes = {problem.code for problem in opened.problems}
    assert codes == {"ncu-damaged-session", "ncu-negative-value", "ncu-over-100-percent", "ncu-nan-value"}
    assert {row["code"] for row in opened.table("problems").to_pylist()} == codes


def test_values_next_to_the_end_of_the_data() -> None:
    data = struct.pack("<d", 1.5)
    found = _gather.values(raw(b"\x19" + data), np.array([0]), np.array([9]))
    assert (found[0].tolist(), found[1].tolist()) == ([_gather.DOUBLE], [1.5])
