"""Direct3D 12 memory operations that the kind of heap or page makes slow.

Exports of Windows captures have ``DX12_MEMORY_OPERATION``, tied to its call in ``DX12_API`` by `traceEventId`. Ten
combinations of a call with a heap type, page property or flag are the subject of the vendor's rule (public guide,
"DX12 Memory Operations"). Numbers of heap types and page properties are looked up in the export's own ENUM tables; where
an export has none, they are those of the public schema (heap 1 upload, 2 readback; page 2 write-combine, 3 write-back).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from profrx_parsers.nsys.raw import Bools, Frame, Ints, RawTables

MAX_ENUM = 100
NOT_ZEROED = 0x1000
"""D3D12_HEAP_FLAG_CREATE_NOT_ZEROED. Source: public d3d12.h."""
ZEROED, WRONG_WAY = "zeroed", "wrong-way"
"""Memory cleared at creation although nobody asked for it; data read from, or written to, memory made for the other way."""


@dataclass(frozen=True)
class Flagged:
    """Flagged memory operations: times of their calls (ns), `kind` of each as index into (ZEROED, WRONG_WAY).

    `operations`: memory operations in all.
    """

    starts: Ints
    ends: Ints
    kind: Ints
    operations: int


def read_flagged(raw: RawTables, readable: bool) -> Flagged | None:
    """Return the flagged operations; None when the form may hold some that cannot be read (`readable` is false).

    An export makes a table when it has rows, so one without the tables recorded no such operation.
    """
    if not {"DX12_MEMORY_OPERATION", "DX12_API"} <= raw.names():
        none = np.empty(0, np.int64)
        return Flagged(none, none, none, 0) if readable else None
    memory = Frame(
        raw.table(
            "DX12_MEMORY_OPERATION",
            ("rangeStart", "rangeEnd", "heapType", "heapFlags", "cpuPageProperty", "traceEventId"),
        )
    )
    calls = Frame(raw.table("DX12_API", ("id", "start", "end", "nameId")))
    if not calls.has("id") or not memory.has("traceEventId"):
        return None
    order = np.argsort(calls.ints("id"), kind="stable")
    ids, wanted = calls.ints("id")[order], memory.ints("traceEventId")
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    row = order[at]
    call = np.where((ids[at] == wanted) & memory.known("traceEventId"), _call_codes(raw, calls)[row], -1)
    kind = _kinds(raw, memory, call)
    starts, ends = calls.ints("start")[row], calls.ints("end")[row]
    good = (kind >= 0) & (ends >= starts)
    return Flagged(starts[good], ends[good], kind[good], memory.rows)


_CREATE_HEAP, _CREATE_RESOURCE, _MAP, _UNMAP, _READ, _WRITE = range(6)
_CALLS = (
    r"::CreateHeap\d*$", r"::CreateCommittedResource\d*$", r"::Map$", r"::Unmap$", r"::ReadFromSubresource$",
    r"::WriteToSubresource$",
)  # fmt: skip


def _call_codes(raw: RawTables, calls: Frame) -> Ints:
    names = raw.strings().look_up(calls.ints("nameId"), calls.known("nameId"))
    texts = names.dictionary.to_pylist()
    codes = [next((c for c, p in enumerate(_CALLS) if re.search(p, text or "")), -1) for text in texts]
    found: Ints = np.array([*codes, -1], np.int64)[np.asarray(names.indices.fill_null(len(codes)))]
    return found


def _kinds(raw: RawTables, memory: Frame, call: Ints) -> Ints:
    heap, page = memory.ints("heapType", -1), memory.ints("cpuPageProperty", -1)
    upload = heap == _number(raw, "ENUM_D3D12_HEAP_TYPE", "upload", 1)
    readback = heap == _number(raw, "ENUM_D3D12_HEAP_TYPE", "readback", 2)
    combined = page == _number(raw, "ENUM_D3D12_PAGE_PROPERTY", "writecombine", 2)
    written_back = page == _number(raw, "ENUM_D3D12_PAGE_PROPERTY", "writeback", 3)
    ranged = memory.known("rangeStart") & memory.known("rangeEnd")
    filled: Bools = ranged & (memory.ints("rangeEnd") > memory.ints("rangeStart"))
    creates = (call == _CREATE_HEAP) | (call == _CREATE_RESOURCE)
    zeroed = creates & memory.known("heapFlags") & (memory.ints("heapFlags") & NOT_ZEROED == 0)
    reads = ((call == _MAP) & filled) | (call == _READ)
    writes = ((call == _UNMAP) & filled) | (call == _WRITE)
    wrong = (reads & (upload | combined)) | (writes & (readback | written_back))
    return np.where(zeroed, 0, np.where(wrong, 1, -1))


def _number(raw: RawTables, table: str, word: str, usual: int) -> int:
    """Return the number whose name in an ENUM table of the export ends in `word`."""
    held = raw.table(table, ("id", "name")) if table in raw.names() else None
    if held is None or {"id", "name"} - set(held.column_names):
        return usual
    for row in held.slice(0, MAX_ENUM).to_pylist():
        plain = re.sub(r"[^a-z]", "", str(row["name"] or "").lower())
        if plain.endswith(word) and not plain.endswith("gpuupload"):
            return int(row["id"]) if row["id"] is not None else usual
    return usual
