"""Times the nsys reader on a report or export, in a fresh process per run: seconds, rows, peak memory.

    python benchmarks/nsys_reader.py REPORT            what the timeline rules need of it
    python benchmarks/nsys_reader.py REPORT --grow N   the same on a report of its event blocks N times over
    python benchmarks/nsys_reader.py --sqlite ROWS     an export with that many NVTX rows, made here

A grown report repeats real events, later each time and with new correlation ids; its header still counts the first lot.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

TABLES = ("launches", "copies", "api_calls", "syncs", "ranges", "memory_events", "devices")


def measure(path: str) -> dict[str, object]:
    """Read the tables the rules need, in their compact types."""
    from profrx_parsers.registry import open_report

    began = time.perf_counter()
    report = open_report(path)
    rows = {name: report.compact(name).num_rows for name in TABLES}
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    problems = [(p.code, p.count) for p in report.problems]
    return {"seconds": round(seconds, 2), "peak_mib": round(peak), "rows": rows, "problems": problems}


def analyse(path: str) -> dict[str, object]:
    """Read, and compute every timeline metric."""
    from profrx.timeline import timeline_metrics
    from profrx_parsers.registry import open_report

    began = time.perf_counter()
    tables = timeline_metrics(open_report(path))
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows = {scope: table.num_rows for scope, table in tables.items()}
    return {"analysis_seconds": round(seconds, 2), "peak_mib": round(peak), "rows": rows}


def varint(value: int) -> bytes:
    """Encode an unsigned number."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


TIMES = ((107, 1), (107, 2), (108, 1), (108, 2), (102, 2), (102, 10), (123, 1), (123, 2))
CORRELATIONS = ((107, 3), (108, 3), (123, 12))


def shifter() -> Callable[[bytes, int, int], bytes]:
    """Return a function that moves one event in time and gives it another correlation id."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kind = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="event.proto", syntax="proto2")
    event = file.message_type.add(name="E")
    event.field.add(name="f1", number=1, label=kind.LABEL_OPTIONAL, type=kind.TYPE_INT64)
    for outer in sorted({path[0] for path in TIMES}):
        inner = event.nested_type.add(name=f"T{outer}")
        for number in sorted(n for o, n in (*TIMES, *CORRELATIONS) if o == outer):
            inner.field.add(name=f"f{number}", number=number, label=kind.LABEL_OPTIONAL, type=kind.TYPE_INT64)
        field = event.field.add(
            name=f"f{outer}", number=outer, label=kind.LABEL_OPTIONAL, type=kind.TYPE_MESSAGE
        )
        field.type_name = f".E.T{outer}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    cls = message_factory.GetMessageClass(pool.FindMessageTypeByName("E"))
    changes = [(f"f{o}", f"f{n}", by) for by, paths in enumerate((TIMES, CORRELATIONS)) for o, n in paths]

    def move(data: bytes, time: int, correlation: int) -> bytes:
        message = cls.FromString(data)
        for outer, inner, by in changes:
            if message.HasField(outer) and getattr(message, outer).HasField(inner):
                part = getattr(message, outer)
                setattr(part, inner, getattr(part, inner) + (correlation if by else time))
        return bytes(message.SerializeToString())

    return move


def grow(path: Path, times: int, into: Path) -> None:
    """Write a report with the events of `path` repeated, each time later and with new correlation ids."""
    import pyarrow as pa

    from profrx_parsers.nsys.container import open_container
    from profrx_parsers.nsys.merge import Form
    from profrx_parsers.problems import ProblemLog
    from profrx_parsers.wire import Message

    data = path.read_bytes()
    box = open_container(memoryview(data), str(path), ProblemLog())
    strings = box._strings_at
    length = (box.state.integer(18) or 0) - (box.state.integer(17) or 0)
    form, move, codec = Form({(1,): "bytes"}), shifter(), pa.Codec("lz4_raw")
    blocks = [list(form.parse([block]).f1) for block in box.event_blocks()]
    extra = bytearray()
    for again in range(1, times):
        for events in blocks:
            moved = [move(event, again * length, again * 10_000_000 % (1 << 31)) for event in events]
            body = b"".join(b"\x0a" + varint(len(event)) + event for event in moved)
            raw = varint(len(body)) + body
            packed = codec.compress(raw, asbytes=True)
            extra += varint(len(packed)) + varint(len(raw)) + packed
    table_at = int.from_bytes(data[-16:-8], "little")
    offsets = box.sections["Sampling Data Offsets"]
    place = Message(offsets, (0, len(offsets))).integer(2) or 0
    shift = len(extra)
    new_offsets = b"\x0a\x03lz4\x10" + varint(place + shift)
    start = data.index(bytes(offsets), strings)
    body_end = data[start + len(offsets) : table_at]
    content = data[:strings] + bytes(extra) + data[strings:start] + new_offsets + body_end
    moved_by = shift + len(new_offsets) - len(offsets)
    entries = b""
    for entry in Message(memoryview(data), (table_at, len(data) - 16)).messages(1):
        name, at, size = (entry.text(1) or "").encode(), entry.integer(2) or 0, entry.integer(3) or 0
        if name == b"Raw Sampling Data":
            size += shift
        elif name == b"Sampling Data Offsets":
            at, size = at + shift, len(new_offsets)
        elif at > strings:
            at += moved_by
        row = b"\x0a" + varint(len(name)) + name + b"\x10" + varint(at) + b"\x18" + varint(size)
        entries += b"\x0a" + varint(len(row)) + row
    into.write_bytes(content + entries + len(content).to_bytes(8, "little") + b"U3w[END]")


def export_of(rows: int, into: Path) -> None:
    """Write a SQLite export with `rows` nested NVTX ranges, a kernel and a call for every tenth, and OS calls."""
    import sqlite3

    db = sqlite3.connect(into)
    db.executescript(
        "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
        "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
        "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER,"
        " color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,"
        " correlationId INTEGER, nameId INTEGER, returnValue INTEGER);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,"
        " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,"
        " gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);"
        "CREATE TABLE OSRT_API(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER,"
        " returnValue INTEGER, nestingLevel INTEGER, callchainId INTEGER);"
    )
    thread = 1 << 48 | 1000 << 24 | 1000
    names = [f"range number {i}" for i in range(500)] + [
        "cudaLaunchKernel_v7000",
        "a_kernel",
        "a_kernel(float*)",
        "read",
    ]
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(names))
    steps = range(rows // 5)
    db.executemany(
        "INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, NULL, NULL, NULL, ?, NULL, ?, 0)",
        (
            (s * 5000 + d * 100, s * 5000 + 5000 - d * 100, thread, (s + d) % 500)
            for s in steps
            for d in range(5)
        ),
    )
    db.executemany(
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 500, 0)",
        ((s * 5000 + 600, s * 5000 + 2600, thread, s + 1) for s in steps[::2]),
    )
    db.executemany(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, 502, 501, 8, 1, 1, 128, 1, 1)",
        ((s * 5000 + 3000, s * 5000 + 9000, s + 1, thread & ~0xFFFFFF) for s in steps[::2]),
    )
    db.executemany(
        "INSERT INTO OSRT_API VALUES (?, ?, 27, ?, 503, 0, NULL, 0)",
        ((s * 200, s * 200 + 150, thread + 1) for s in range(rows * 17 // 2)),
    )
    db.commit()
    db.close()


def child(path: str, kind: str) -> None:
    """Run one measurement in a process of its own and print it."""
    command = [sys.executable, __file__, "--child", kind, path]
    print(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip(), flush=True)


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("report", nargs="?")
    parser.add_argument("--grow", type=int)
    parser.add_argument("--sqlite", type=int)
    parser.add_argument("--analyse", action="store_true")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--child", choices=("read", "analyse"))
    given = parser.parse_args()
    if given.child:
        print(json.dumps((measure if given.child == "read" else analyse)(given.report)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = given.report
        if given.sqlite:
            path = f"{folder}/made.sqlite"
            export_of(given.sqlite, Path(path))
        elif given.grow:
            path = f"{folder}/grown.nsys-rep"
            grow(Path(given.report), given.grow, Path(path))
        print(f"{Path(path).stat().st_size:,} bytes", flush=True)
        for _ in range(given.runs):
            child(path, "analyse" if given.analyse else "read")


if __name__ == "__main__":
    main()
