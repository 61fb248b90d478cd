"""What rules read of one report, as bytes: lets a changed rule judge again without parsing the file.

A stored report is its unpacked size and, compressed with zstd, a JSON head and Arrow IPC streams, each preceded
by its length. Numbers lie in one column, metric after metric: a stream of hundreds of columns of a few rows is
mostly head. Reports whose tables are larger than `LIMIT_BYTES` (long timelines, many instances) are not stored:
they are read again.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from profrx_parsers import columns, schema
from profrx_parsers.info import ReportInfo
from profrx_parsers.problems import Problem, ProblemLog
from profrx_parsers.report import Report

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LIMIT_BYTES = 256 << 10
MAX_ROWS = 20_000
"""Tables longer than this are not looked at: compressing them would cost more than reading again."""
MAX_UNPACKED_BYTES = 64 << 20
_MAGIC = b"PRX3"
_NUMBERS, _TEXTS = "\0numbers", "\0texts"


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
    for name in ("launches", "devices", "vendor_findings", "source_lines"):
        if report.has(name):
            tables[name] = report.table(name)
    others = set(schema.TABLES) - set(tables) - {"metrics", "problems", "instances"}
    if any(report.has(n) and report.table(n).num_rows for n in others):
        return None
    metrics: list[str] = []
    if report.has("instances"):
        metrics, tables["instances"] = _numbered(_instances(report, set(instanced)))
    if any(t.num_rows > MAX_ROWS for t in tables.values()):
        return None
    numbers = dict(wide.numbers)
    values = pa.concat_arrays(list(numbers.values())) if numbers else pa.array([], pa.float64())
    tables[_NUMBERS] = pa.table({"value": values})
    tables[_TEXTS] = pa.table(dict(wide.texts))
    head = {
        "info": report.info.model_dump(exclude={"private"}),
        "rows": wide.rows,
        "numbers": list(numbers),
        "units": [wide.units.get(name) for name in numbers],
        "instanced": metrics,
        "problems": list(problems),
        "section_options": _resolved(report),
        "extras": {k: v for k, v in report.extras.items() if isinstance(v, list)},
        "tables": list(tables),
    }
    pieces = [json.dumps(head, ensure_ascii=True, separators=(",", ":")).encode()]
    pieces += [_stream(t) for t in tables.values()]
    whole = b"".join(struct.pack("<I", len(p)) + p for p in pieces)
    if len(whole) > MAX_UNPACKED_BYTES:
        return None
    packed: bytes = pa.compress(whole, codec="zstd", asbytes=True)
    return None if len(packed) > LIMIT_BYTES else _MAGIC + struct.pack("<I", len(whole)) + packed


def _instances(report: Report, instanced: set[str]) -> pa.Table:
    """Return the instances of some metrics, in the reader's compact form where it has one."""
    decode = report.extras.get("instance_batches")
    if not callable(decode):
        return report.compact("instances")
    parts = list(decode(instanced))
    return pa.concat_tables(parts) if parts else schema.empty("instances")


def _numbered(instances: pa.Table) -> tuple[list[str], pa.Table]:
    """Return the names of metrics that have instances, and the table with their places instead of them."""
    column = instances.column("metric").combine_chunks()
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    used = pc.unique(encoded.indices)
    names = encoded.dictionary.take(used).to_pylist()
    key = instances.column("key")
    instances = instances.set_column(1, "metric", pc.index_in(encoded.indices, used))
    if pa.types.is_string(key.type):
        instances = instances.set_column(2, "key", key.dictionary_encode())
    return names, instances


def _named(names: list[str], instances: pa.Table) -> pa.Table:
    """Undo `_numbered`."""
    places = instances.column("metric").combine_chunks()
    metric = pa.DictionaryArray.from_arrays(places, pa.array(names, pa.string()))
    return instances.set_column(1, "metric", metric)


def unpack(data: bytes) -> Report:
    """Return the report again. Raises `ValueError` for bytes that `pack` did not make."""
    if not data.startswith(_MAGIC):
        raise ValueError("not a stored report")
    if len(data) < len(_MAGIC) + 4:
        raise ValueError("stored report cut short")
    (unpacked,) = struct.unpack_from("<I", data, len(_MAGIC))
    if unpacked > MAX_UNPACKED_BYTES:
        raise ValueError("stored report larger than any that is written")
    try:
        data = pa.decompress(data[len(_MAGIC) + 4 :], unpacked, codec="zstd", asbytes=True)
    except OSError as err:
        raise ValueError("stored report is damaged") from err
    pieces, at = [], 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        pieces.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    head: dict[str, Any] = json.loads(pieces[0])
    tables = {
        name: pa.ipc.open_stream(piece).read_all()
        for name, piece in zip(head["tables"], pieces[1:], strict=True)
    }
    values, rows = tables.pop(_NUMBERS).column("value").combine_chunks(), head["rows"]
    if len(values) != rows * len(head["numbers"]):
        raise ValueError("stored numbers do not fit their names")
    numbers = {name: values.slice(at * rows, rows) for at, name in enumerate(head["numbers"])}
    if "instances" in tables:
        tables["instances"] = _named(head["instanced"], tables["instances"])
    units = {name: unit for name, unit in zip(numbers, head["units"], strict=True) if unit}
    words = tables.pop(_TEXTS)
    texts = {name: words.column(name).combine_chunks() for name in words.column_names}
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
    extras[columns.EXTRA] = columns.MetricColumns(rows, numbers, texts, units)
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
    options: Any = report.extras.get("section_options")
    archs = [a for a in report.table("devices").column("arch").to_pylist() if a and a.startswith("sm_")]
    numbers = sorted({int(digits) for a in archs if (digits := a[3:].rstrip("af")).isdigit()})
    kept: dict[str, list[_Resolved]] = {}
    for arch in numbers if hasattr(options, "renamed") else ():
        for metric, others in options.renamed(arch).items():
            kept.setdefault(metric, []).extend(_Resolved(arch, other) for other in others)
    return kept


def _constant(table: pa.Table) -> Any:
    return lambda: table


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
