"""System information, clocks, version and private facts of a binary report (`nsys-rep`).

Source: equality with the export's TARGET_INFO_* and META tables over 157 report/export pairs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from profrx_parsers.nsys.container import Container
from profrx_parsers.wire import Message, signed

MAX_ROWS = 100_000
"""Entries kept of any system table; the largest seen has some hundred."""

_GPU = {
    "id": 1, "name": 2, "busLocation": 3, "isDiscrete": 4, "uuid": 5, "chipName": 7, "l2CacheSize": 10,
    "totalMemory": 11, "memoryBandwidth": 12, "clockRate": 13, "smCount": 14, "cuDevice": 15,
    "maxShmemPerSm": 28, "maxRegistersPerSm": 29, "threadsPerWarp": 30, "maxWarpsPerSm": 32,
    "maxBlocksPerSm": 33, "maxThreadsPerBlock": 34, "computeMajor": 41, "computeMinor": 42, "smMajor": 43,
    "smMinor": 44,
}  # fmt: skip
_CUDA_DEVICE = {"gpuId": 1, "cudaId": 2, "pid": 3, "uuid": 5, "numMultiprocessors": 6}
_OLD_GPU = {
    "name": 1, "globalMemorySize": 3, "l2CacheSize": 5, "coreClockRate": 7, "numMultiprocessors": 9,
    "deviceId": 24, "pciBusId": 26,
}  # fmt: skip
_CONTEXT = {"nullStreamId": 1, "hwId": 2, "vmId": 3, "processId": 4, "deviceId": 5, "contextId": 6}
_STREAM = {"streamId": 1, "hwId": 2, "vmId": 3, "processId": 4, "contextId": 5, "priority": 6, "flag": 7}
_TEXTS = frozenset(("name", "busLocation", "uuid", "chipName", "pciBusId"))


def tables(message: bytes) -> dict[str, pa.Table]:
    """Return the TARGET_INFO tables of the system-information message; damaged parts are left out."""
    root = Message(message, (0, len(message)))
    gpus: list[Message] = []
    old: list[Message] = []
    maps: list[Message] = []
    for machine in root.messages(1):
        hardware = machine.message(2)
        if hardware is not None:
            gpus += hardware.messages(7)
            maps += hardware.messages(9)
            old += hardware.messages(1)
    found = {
        "TARGET_INFO_GPU": _rows(gpus, _GPU),
        "TARGET_INFO_CUDA_DEVICE": _rows(maps, _CUDA_DEVICE),
        "TARGET_INFO_CUDA_GPU": _rows(old, _OLD_GPU),
        "TARGET_INFO_CUDA_CONTEXT_INFO": _rows(root.messages(14), _CONTEXT),
        "TARGET_INFO_CUDA_STREAM": _rows(root.messages(15), _STREAM),
    }
    return {name: table for name, table in found.items() if table is not None}


def _rows(messages: list[Message], fields: Mapping[str, int]) -> pa.Table | None:
    if not messages:
        return None
    columns: dict[str, list[Any]] = {name: [] for name in fields}
    for message in messages[:MAX_ROWS]:
        for name, number in fields.items():
            value = message.text(number) if name in _TEXTS else _int(message, number)
            columns[name].append(value)
    return pa.table({n: pa.array(v, pa.string() if n in _TEXTS else pa.int64()) for n, v in columns.items()})


def _int(message: Message, number: int) -> int | None:
    value = message.integer(number)
    return None if value is None else signed(value)


def environment(state: Message) -> dict[int, str]:
    """Return the system properties of the capture state: number -> text. Some of them are private."""
    found: dict[int, str] = {}
    for device in state.messages(1):
        values = device.message(2)
        for entry in values.messages(1) if values is not None else ():
            number, text = entry.integer(1), entry.text(2)
            if number is not None and text is not None:
                found.setdefault(number, text)
    return found


def product_version(box: Container) -> str | None:
    """Return the version of the nsys that wrote the report."""
    section = box.sections.get("UI Data")
    return Message(section, (0, len(section))).text(6) if section is not None else None


def utc_epoch_ns(box: Container, start: int | None) -> int | None:
    """Return the wall-clock time of event time 0, in unix nanoseconds, or None.

    Up to 2025.6 the capture state lists clock pairs, T(source) = T(target) + offset modulo 2**64; from clock
    7 (event time) the chain leads to clock 9 (UTC). 2026.1 has a section of its own.
    """
    pairs = box.state.message(16)
    if pairs is not None:
        return _walk(pairs)
    section = box.sections.get("Time Conversion Data")
    if section is None or start is None:
        return None
    return _converted(section, start)


def _walk(pairs: Message) -> int | None:
    edges: dict[int, list[tuple[int, int]]] = {}
    for pair in pairs.messages(1)[:MAX_ROWS]:
        source, target, text = pair.integer(1), pair.integer(2), pair.text(5)
        if source is None or target is None or text is None or not text.lstrip("-").isdigit():
            continue
        offset = int(text[:24])
        edges.setdefault(source, []).append((target, -offset))
        edges.setdefault(target, []).append((source, offset))
    times = {7: 0}
    waiting = deque([7])
    while waiting:
        clock = waiting.popleft()
        for other, offset in edges.get(clock, ()):
            if other not in times:
                times[other] = (times[clock] + offset) % (1 << 64)
                waiting.append(other)
    return times.get(9)


def _converted(section: memoryview, start: int) -> int | None:
    from profrx_parsers.wire import WireError, varint

    try:
        size, at = varint(section, 0, len(section))
    except WireError:
        return None
    root = Message(section, (at, min(at + size, len(section))))
    kinds = {clock.integer(1): clock.integer(2) for clock in root.messages(1)}
    for entry in root.messages(2):
        if kinds.get(entry.integer(1)) != 11 or kinds.get(entry.integer(2)) != 7:
            continue
        points = entry.message(3)
        point = points.message(1) if points is not None else None
        source, target = (point.integer(1), point.integer(2)) if point is not None else (None, None)
        if source is not None and target is not None:
            return signed(source) + start - signed(target)
    return None


def private_facts(box: Container) -> dict[str, Any]:
    """Return host, command lines and environment: only for callers that asked for private facts."""
    found: dict[str, Any] = {}
    section = box.sections.get("UI Data")
    if section is not None:
        ui = Message(section, (0, len(section)))
        found["host"] = ui.text(5)
        found["nsys_command"] = ui.text(25)
    section = box.sections.get("Analysis Options Data")
    target = Message(section, (0, len(section))).message(26) if section is not None else None
    if target is not None:
        found["program"] = target.text(10)
        found["arguments"] = target.texts(11)
        found["folder"] = target.text(12)
    inside = environment(box.state)
    found["environment"] = inside.get(610, "").replace("\0", "\n")
    found["host"] = found.get("host") or inside.get(619)
    return {key: value for key, value in found.items() if value}
