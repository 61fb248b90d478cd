"""Constructs of OpenACC and OpenMP as `ops`: which line of the source asked for what.

Source: the binary report's OpenACC events equal three tables of the export (12 pairs each, `events.OPENACC`); OpenMP
is read from exports only, because no binary report with such events was at hand.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx_parsers.nsys.host import compact_table, ints
from profrx_parsers.nsys.raw import Frame, Ints, RawTables, encode, pid_of, stack, tid_of
from profrx_parsers.problems import ProblemLog

COLUMNS = (
    "start", "end", "globalTid", "nameId", "eventKind", "lineNo", "srcFile", "funcName", "numGangs", "kernelName", "bytes",
)  # fmt: skip
_BINARY = "CUPTI_ACTIVITY_KIND_OPENACC"
_CATEGORIES = ("openacc", "openacc data", "openacc launch", "openmp")
_OTHER, _DATA, _LAUNCH, _OPENMP = range(4)
_TABLES = {f"{_BINARY}_OTHER": _OTHER, f"{_BINARY}_DATA": _DATA, f"{_BINARY}_LAUNCH": _LAUNCH}
_OPENMP_PREFIX = "OPENMP_EVENT_KIND_"
MAX_TABLES = 32


def read_directives(raw: RawTables, log: ProblemLog) -> pa.Table:
    """Read every construct; `name` is the construct with function and file:line where they are recorded.

    Of a source file only the last part of its path is kept: folders name users.
    """
    del log
    there = raw.names()
    parts = [_read(raw, name, kind) for name, kind in _TABLES.items() if name in there]
    if _BINARY in there:
        parts.append(_read(raw, _BINARY, None))
    openmp = sorted(name for name in there if name.startswith(_OPENMP_PREFIX))[:MAX_TABLES]
    parts += [_read(raw, name, _OPENMP) for name in openmp]
    parts = [part for part in parts if part.num_rows]
    if not parts:
        return compact_table("ops", {}, 0)
    table = stack(parts) if len(parts) > 1 else parts[0]
    return table.set_column(0, "op_id", ints(np.arange(table.num_rows)))


def _read(raw: RawTables, name: str, kind: int | None) -> pa.Table:
    frame = Frame(raw.table(name, COLUMNS))
    threads = frame.ints("globalTid")
    kinds = np.full(frame.rows, kind) if kind is not None else _kinds(frame)
    known = frame.known("globalTid")
    columns = {
        "op_id": ints(np.arange(frame.rows)),
        "name": _names(frame, raw),
        "category": encode(_CATEGORIES, kinds),
        "process_id": ints(pid_of(threads), known),
        "thread_id": ints(tid_of(threads), known),
        "start_ns": ints(frame.ints("start"), frame.known("start")),
        "end_ns": ints(frame.ints("end"), frame.known("end")),
    }
    return compact_table("ops", columns, frame.rows)


def _kinds(frame: Frame) -> Ints:
    launch = frame.known("numGangs") | frame.known("kernelName")
    return np.where(launch, _LAUNCH, np.where(frame.known("bytes"), _DATA, _OTHER))


def _names(frame: Frame, raw: RawTables) -> pa.DictionaryArray:
    """Build the names once per distinct combination of construct, function, file and line."""
    parts = [frame.ints(column, -1) for column in ("nameId", "funcName", "srcFile", "lineNo")]
    code = np.zeros(frame.rows, np.int64)
    for values in parts:
        distinct, place = np.unique(values, return_inverse=True)
        code = np.unique(code * max(len(distinct), 1) + place.reshape(-1), return_inverse=True)[1].reshape(-1)
    _, first = np.unique(code, return_index=True)
    some = [values[first] for values in parts]
    texts = [_texts(raw, ids) for ids in some[:3]]
    rows = zip(texts[0], texts[1], texts[2], some[3].tolist(), strict=True)
    labels = [_label(what, function, file, line) for what, function, file, line in rows]
    return encode(labels, code.astype(np.int64)) if labels else pa.nulls(frame.rows).dictionary_encode()


def _texts(raw: RawTables, ids: Ints) -> list[str | None]:
    found: list[str | None] = pc.cast(raw.strings().look_up(ids, ids >= 0), pa.string()).to_pylist()
    return found


def _label(what: str | None, function: str | None, file: str | None, line: int) -> str:
    place = file.replace("\\", "/").rsplit("/", 1)[-1] if file else ""
    if place and line > 0:
        place = f"{place}:{line}"
    return " ".join(
        part for part in (what or "construct", function or "", f"({place})" if place else "") if part
    )
