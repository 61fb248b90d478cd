"""What rules read of one report, as bytes: lets a changed rule judge again without parsing the file.

A stored report is a JSON head and Arrow IPC streams (zstd inside), each preceded by its length. Reports whose
tables are larger than `LIMIT_BYTES` (long timelines, many instances) are not stored: they are read again.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from profrx_parsers import columns, schema
from profrx_parsers.problems import Problem, ProblemLog
from profrx_parsers.report import Report, ReportInfo

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LIMIT_BYTES = 256 << 10
MAX_ROWS = 20_000
"""Tables longer than this are not looked at: compressing them would cost more than reading again."""
_MAGIC = b"PRX1"
_WIDE = "\0wide"


def pack(report: Report, instanced: Iterable[str], problems: Sequence[dict[str, Any]]) -> bytes | None:
    """Return the bytes of what rules read, or None when they would be too many.

    Args:
        report: as read with the projection of the rules.
        instanced: vendor metrics whose instances rules read or point to lines by.

        problems: rows of the import log as they were when the report was judged: decoding for the store must
            not add to them.

    Of the reader's extras, lists (of facts per launch, of section names) are kept.
    """
    wide = report.extras.get(columns.EXTRA)
    if not isinstance(wide, columns.MetricColumns):
        return None
    tables: dict[str, pa.Table] = {}
    decode = report.extras.get("instances")
    for name in ("launches", "devices", "vendor_findings", "source_lines"):
        if report.has(name):
            tables[name] = report.table(name)
    if report.has("instances"):
        tables["instances"] = decode(set(instanced)) if callable(decode) else report.table("instances")
    others = set(schema.TABLES) - set(tables) - {"metrics", "problems", "instances"}
    if any(report.has(n) and report.table(n).num_rows for n in others):
        return None
    if any(t.num_rows > MAX_ROWS for t in tables.values()):
        return None
    arrays = {f"n:{k}": v for k, v in wide.numbers.items()} | {f"t:{k}": v for k, v in wide.texts.items()}
    tables[_WIDE] = pa.table(arrays) if arrays else pa.table({})
    head = {
        "info": report.info.model_dump(exclude={"private"}),
        "rows": wide.rows,
        "units": dict(wide.units),
        "problems": list(problems),
        "section_options": _resolved(report),
        "extras": {k: v for k, v in report.extras.items() if isinstance(v, list)},
        "tables": list(tables),
    }
    pieces = [json.dumps(head, ensure_ascii=True).encode()]
    pieces += [_stream(t) for t in tables.values()]
    total = sum(map(len, pieces))
    if total > LIMIT_BYTES:
        return None
    return _MAGIC + b"".join(struct.pack("<I", len(p)) + p for p in pieces)


def unpack(data: bytes) -> Report:
    """Return the report again. Raises `ValueError` for bytes that `pack` did not make."""
    if not data.startswith(_MAGIC):
        raise ValueError("not a stored report")
    pieces, at = [], len(_MAGIC)
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        pieces.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    head: dict[str, Any] = json.loads(pieces[0])
    tables = {
        name: pa.ipc.open_stream(piece).read_all()
        for name, piece in zip(head["tables"], pieces[1:], strict=True)
    }
    wide = tables.pop(_WIDE)
    numbers = {n[2:]: wide.column(n).combine_chunks() for n in wide.column_names if n.startswith("n:")}
    texts = {n[2:]: wide.column(n).combine_chunks() for n in wide.column_names if n.startswith("t:")}
    log = ProblemLog()
    for row in head["problems"]:
        problem = Problem(**row)
        log.add(
            problem.severity,
            problem.code,
            problem.message,
            where=problem.where,
            count=problem.count,
            advice=problem.advice,
        )
    extras: dict[str, Any] = dict(head["extras"])
    extras[columns.EXTRA] = columns.MetricColumns(head["rows"], numbers, texts, head["units"])
    options = head["section_options"]
    extras["section_options"] = {
        name: [_Resolved(*entry) for entry in entries] for name, entries in options.items()
    }
    return Report(ReportInfo(**head["info"]), {n: _constant(t) for n, t in tables.items()}, log, extras)


class _Resolved(NamedTuple):
    """What a section of the report collects on one architecture."""

    arch: int
    name: str

    def resolve(self, arch: int) -> str | None:
        """Return the collected name on that architecture."""
        return self.name if arch == self.arch else None


def _resolved(report: Report) -> dict[str, list[_Resolved]]:
    """Resolve the report's section options for the architectures it holds; only names that change are kept."""
    options = report.extras.get("section_options") or {}
    archs = [a for a in report.table("devices").column("arch").to_pylist() if a and a.startswith("sm_")]
    numbers = sorted({int(digits) for a in archs if (digits := a[3:].rstrip("af")).isdigit()})
    kept: dict[str, list[_Resolved]] = {}
    for metric, entries in options.items():
        for arch in numbers:
            for entry in entries:
                other = entry.resolve(arch)
                if other and other != metric:
                    kept.setdefault(metric, []).append(_Resolved(arch, other))
    return kept


def _constant(table: pa.Table) -> Any:
    return lambda: table


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
