"""A small encoder of `.ncu-rep` files: reports whose every value the test chose itself."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

Value = float | int | str | None


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def number(tag: int, value: int) -> bytes:
    return varint(tag << 3) + varint(value)


def blob(tag: int, body: bytes | str) -> bytes:
    body = body.encode() if isinstance(body, str) else body
    return varint(tag << 3 | 2) + varint(len(body)) + body


def double(tag: int, value: float) -> bytes:
    return varint(tag << 3 | 1) + struct.pack("<d", value)


def value_message(value: Value) -> bytes:
    if value is None:
        return b""
    if isinstance(value, str):
        return blob(1, value)
    return number(5, value) if isinstance(value, int) else double(3, value)


def sized(body: bytes) -> bytes:
    return struct.pack("<I", len(body)) + body


@dataclass
class Report:
    """Collects blocks; `bytes(report)` is the file."""

    names: list[str] = field(default_factory=list)
    blocks: list[bytes] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    version: int = 7

    def ident(self, name: str) -> int:
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def metric(
        self, name: str, value: Value, instances: Sequence[tuple[Value, Value]] = (), category: bool = True
    ) -> bytes:
        body = number(1, self.ident(name))
        if value is not None:
            body += blob(2, value_message(value))
        for key, one in instances:
            body += blob(3, blob(1, value_message(key)) + blob(2, value_message(one)))
        return body + (number(4, 0) if category else b"")

    def kernel(
        self, name: str, metrics: dict[str, Value], *, extra: bytes = b"", grid: int = 8, block: int = 128
    ) -> bytes:
        body = number(1, 11) + number(2, 42) + blob(6, name.partition("<")[0]) + blob(7, name)
        body += blob(10, number(1, grid) + number(2, 1) + number(3, 1))
        body += blob(11, number(1, block) + number(2, 1) + number(3, 1))
        body += b"".join(blob(13, self.metric(key, value)) for key, value in metrics.items())
        return body + extra + number(22, 1) + number(23, 7)

    def block(
        self,
        *,
        kernels: Sequence[bytes] = (),
        sources: Sequence[bytes] = (),
        ranges: Sequence[bytes] = (),
        cmdlists: Sequence[bytes] = (),
        graphs: Sequence[bytes] = (),
        session: bytes = b"",
        names: Sequence[str] = (),
        process: int = 1000,
        unknown: bytes = b"",
    ) -> Report:
        items = [sized(one) for group in (sources, kernels, ranges, cmdlists, graphs) for one in group]
        payload = b"".join(items) + unknown
        header = number(1, len(sources)) + number(2, len(kernels))
        header += blob(3, session) if session else b""
        header += blob(4, b"".join(blob(1, name) for name in names)) + number(5, len(payload))
        header += blob(6, number(1, process) + blob(2, "127.0.0.1") + blob(3, "app"))
        for tag, group in ((7, ranges), (8, cmdlists), (9, graphs)):
            header += number(tag, len(group)) if group else b""
        self.blocks.append(sized(header) + payload)
        return self

    def __bytes__(self) -> bytes:
        start = b"NVR\0" + sized(number(1, self.version))
        self.offsets = [len(start)]
        for one in self.blocks:
            self.offsets.append(self.offsets[-1] + len(one))
        return start + b"".join(self.blocks)


METRICS: dict[str, Value] = {
    "gpu__time_duration.sum": 1234.5,
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": 61.25,
    "launch__registers_per_thread": 40,
    "launch__kernel_name": "scale",
    "device__attribute_device_index": 0,
    "derived__never_collected": None,
}


def simple(kernels: int = 3) -> Report:
    """A report of a few kernels, names in the first result block, session facts behind."""
    report = Report()
    results = [
        report.kernel(f"void scale<{i}>(float*)", {**METRICS, "m__index": float(i)}) for i in range(kernels)
    ]
    report.block(session=number(2, 1_700_000_000))
    report.block(kernels=results[:1], names=report.names)
    for one in results[1:]:
        report.block(kernels=[one])
    report.block(session=blob(8, blob(1, "CUDA Version") + blob(2, "12.9")))
    return report


@pytest.fixture
def build() -> type[Report]:
    return Report


@pytest.fixture
def simple_report() -> Callable[..., Report]:
    return simple


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes], Path]:
    def write_one(data: bytes, name: str = "report.ncu-rep") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write_one


@pytest.fixture
def encode() -> dict[str, Callable[..., bytes]]:
    return {"number": number, "blob": blob, "double": double, "value": value_message, "varint": varint}
