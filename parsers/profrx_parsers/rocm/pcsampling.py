"""PC sampling and thread-trace summaries: samples and cycles per instruction.

CSV samples carry the instruction text and, as a comment, the source place; JSON samples carry a code object and an
offset. Both become `instances` (metric ``pc_samples`` and, with stochastic sampling, ``pc_samples.<stall reason>``),
keyed by instruction, and per dispatch the metrics ``pc_samples`` and ``pc_samples.active_lanes`` (mean number of
lanes in the execution mask: the only portable measure of divergence on RDNA).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from profrx_parsers import schema
from profrx_parsers.private import without_user
from profrx_parsers.rocm.build import Parts
from profrx_parsers.rocm.dispatches import Dispatches
from profrx_parsers.rocm.members import Table
from profrx_parsers.rocm.sqlitefile import integers
from profrx_parsers.rocm.tables import Texts, read_text

if TYPE_CHECKING:
    from profrx_parsers.rocm.v3records import Process

_PLACE = re.compile(r"([^\s:][^:]*):(\d+)")
_DISPATCH = re.compile(r"_dispatch_(\d+)")
ATT_METRICS = (
    ("hitcount", "att.hits"),
    ("latency", "att.latency"),
    ("stall", "att.stall"),
    ("idle", "att.idle"),
)


def add_csv(parts: Parts, samples: Sequence[Table], traces: Sequence[Table]) -> None:
    """Add sampled (`samples`) and traced (`traces`) instructions of CSV files to a report in the making."""
    log = parts.log
    for table in samples:
        columns = Texts(read_text(table.file, log), log, table.name)
        ids = columns.int("dispatch_id")
        words, comments = columns.text("instruction"), columns.text("instruction_comment")
        masks, reasons = columns.text("exec_mask"), columns.text("stall_reason")
        if ids is None or words is None or masks is None:
            continue
        add_samples(
            parts,
            dispatch=ids.to_pylist(),
            instruction=words.to_pylist(),
            place=[] if comments is None else comments.to_pylist(),
            lanes=[lanes_of(m) for m in masks.to_pylist()],
            reason=[] if reasons is None else reasons.to_pylist(),
            where=table.name,
        )
    for table in traces:
        _add_trace(parts, table)


def add_json(parts: Parts, processes: Sequence[Process]) -> None:
    """Add the PC samples of a rocprofv3 JSON."""
    for process in processes:
        texts, comments = process.strings.pc_sample_instructions, process.strings.pc_sample_comments
        found = [*process.buffer_records.pc_sample_host_trap, *process.buffer_records.pc_sample_stochastic]
        if not found:
            continue

        def text(index: int, source: list[str]) -> str | None:
            return source[index] if 0 <= index < len(source) else None

        reasons = [(s.record.snapshot or {}).get("stall_reason") for s in found]
        add_samples(
            parts,
            dispatch=[s.record.dispatch_id for s in found],
            instruction=[text(s.inst_index, texts) for s in found],
            place=[text(s.inst_index, comments) for s in found],
            lanes=[
                s.record.exec_mask.bit_count() if 0 <= s.record.exec_mask < 1 << 64 else None for s in found
            ],
            reason=[None if r is None else str(r) for r in reasons],
            where="pc samples",
        )


def lanes_of(mask: str | None) -> int | None:
    """Return the number of active lanes in an execution mask (decimal or 0x…); None when it is no mask."""
    try:
        value = int(mask or "", 0)
    except ValueError:
        return None
    return value.bit_count() if 0 <= value < 1 << 64 else None


def add_samples(
    parts: Parts,
    *,
    dispatch: list[int | None],
    instruction: list[str | None],
    place: list[str | None],
    lanes: list[int | None],
    reason: list[str | None],
    where: str,
) -> None:
    """Count samples per dispatch and instruction; adds dispatch rows when no trace has them."""
    row_of = _rows(parts, dispatch, where)
    counts: Counter[tuple[int, str, str]] = Counter()
    places: dict[tuple[int, str], str] = {}
    total: Counter[int] = Counter()
    active: dict[int, int] = defaultdict(int)
    for at, number in enumerate(dispatch):
        row = row_of.get(number if number is not None else -1)
        if row is None:
            continue
        text = instruction[at] or "(unknown)"
        counts[row, text, "pc_samples"] += 1
        if at < len(reason) and (why := _reason(reason[at])):
            counts[row, text, f"pc_samples.{why}"] += 1
        if at < len(place) and place[at]:
            places.setdefault((row, text), str(place[at]))
        seen = lanes[at]
        if seen is not None:
            total[row] += 1
            active[row] += seen
    rows = parts.dispatches[0]
    sampled = np.full(rows.rows, np.nan)
    mean = np.full(rows.rows, np.nan)
    for row, count in total.items():
        sampled[row] = count
        mean[row] = active[row] / count
    rows.counters["pc_samples"] = pa.array(sampled, mask=np.isnan(sampled))
    rows.counters["pc_samples.active_lanes"] = pa.array(mean, mask=np.isnan(mean))
    for why in sorted({name for _, _, name in counts if name != "pc_samples"}):
        column = np.where(np.isnan(sampled), np.nan, 0.0)
        for (row, _, name), count in counts.items():
            if name == why:
                column[row] += count
        rows.counters[why] = pa.array(column, mask=np.isnan(column))
    found = [(r, m, t, float(c)) for (r, t, m), c in sorted(counts.items())]
    parts.loaders["instances"] = lambda: instance_rows(found)
    if places:
        parts.loaders["source_lines"] = lambda: _lines(places)


def _reason(text: str | None) -> str | None:
    word = (text or "").upper().rsplit("STALL_REASON_", 1)[-1].strip().lower()
    return word if word and word not in ("none", "not_available", "n/a") else None


def _rows(parts: Parts, dispatch: list[int | None], where: str) -> dict[int, int]:
    """Map dispatch ids to rows of the first run; make that run when the input has no trace."""
    ids = sorted({d for d in dispatch if d is not None})
    if not parts.dispatches:
        parts.dispatches.append(Dispatches(len(ids), {"dispatch": integers(ids)}, where=where))
    known = parts.dispatches[0].facts.get("dispatch")
    found = {} if known is None else {int(d): i for i, d in enumerate(known.to_pylist()) if d is not None}
    lost = sum(1 for d in dispatch if d is None or d not in found)
    if lost:
        parts.log.add(
            "warning",
            "rocm-sample-without-dispatch",
            "samples of dispatches that are not in the trace",
            where=where,
            count=lost,
        )
    return found


def instance_rows(found: Sequence[tuple[int, str, str, float]]) -> pa.Table:
    """Return `instances` of (row, metric, key, value)."""
    columns: list[list[Any]] = [list(c) for c in zip(*found, strict=True)] if found else [[], [], [], []]
    return schema.conform(
        "instances",
        dict(zip(("launch_id", "metric", "key", "value"), columns, strict=True)),
        len(found),
    )


def _lines(places: dict[tuple[int, str], str]) -> pa.Table:
    rows = []
    for at, ((row, text), place) in enumerate(places.items()):
        if found := _PLACE.search(place):
            rows.append(
                {
                    "launch_id": row,
                    "address": at,
                    "file": without_user(found[1]),
                    "line": int(found[2][:9]),
                    "function": text,
                }
            )
    return schema.from_rows("source_lines", rows)


def _add_trace(parts: Parts, table: Table) -> None:
    """Sum the cycles of a thread trace (`stats_ui_output_agent_A_dispatch_D.csv`); rows with ``; `` are labels."""
    columns = Texts(read_text(table.file, parts.log), parts.log, table.name)
    words, address = columns.text("instruction"), columns.text("vaddr")
    number = _DISPATCH.search(table.name)
    if words is None or address is None:
        return
    row_of = _rows(parts, [int(number[1])] if number else [0], table.name)
    row = next((row_of[n] for n in ([int(number[1])] if number else [0]) if n in row_of), None)
    if row is None:
        return
    keep = [i for i, w in enumerate(words.to_pylist()) if w and not w.startswith("; ")]
    rows = parts.dispatches[0]
    found: list[tuple[int, str, str, float]] = []
    keys = [f"{address[i].as_py()} {words[i].as_py()}" for i in keep]
    for column, metric in ATT_METRICS:
        values = columns.real(column)
        if values is None:
            continue
        numbers = [values[i].as_py() for i in keep]
        found.extend((row, metric, key, v) for key, v in zip(keys, numbers, strict=True) if v is not None)
        whole = np.full(rows.rows, np.nan)
        before = rows.counters.get(metric)
        if before is not None:
            whole = np.asarray(before.to_numpy(zero_copy_only=False), dtype=np.float64)
        whole[row] = sum(v for v in numbers if v is not None)
        rows.counters[metric] = pa.array(whole, mask=np.isnan(whole))
    earlier = parts.loaders.get("instances")
    parts.loaders["instances"] = lambda: (
        pa.concat_tables([earlier(), instance_rows(found)]) if earlier else instance_rows(found)
    )
