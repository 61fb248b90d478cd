"""Time columns: exact nanoseconds, fractional averages, and the damage that real files carry.

Durations are never taken from damaged times: a spreadsheet's ``1.62068E+14`` has lost nine digits, a zero or
negative span divides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from profrx_parsers.problems import ProblemLog
    from profrx_parsers.rocm.dispatches import Dispatches


def split_time(words: pa.Array) -> tuple[pa.Array, np.ndarray, int]:
    """Split text times into whole ns (int64, null when unusable), their fraction, and the count with an exponent."""
    words = pc.utf8_trim_whitespace(words)
    damaged = pc.match_substring_regex(words, r"[eE]")
    lost = pc.sum(damaged).as_py() or 0
    good = pc.match_substring_regex(words, r"^\d{1,18}(\.\d+)?$")
    usable = pc.if_else(good, words, None)
    dot = pc.find_substring(pc.fill_null(usable, ""), ".")
    if (pc.max(dot).as_py() or -1) < 0:
        return pc.cast(usable, pa.int64()), np.zeros(len(words)), lost
    parts = pc.split_pattern(usable, ".", max_splits=1)
    whole = pc.cast(pc.list_element(parts, 0), pa.int64())
    tail = pc.cast(pc.replace_substring_regex(usable, r"^\d+", "0"), pa.float64())
    return whole, np.nan_to_num(np.asarray(tail.to_numpy(zero_copy_only=False))), lost


def add_times(rows: Dispatches, log: ProblemLog) -> None:
    """Turn the text facts `start`, `end`, `dispatched`, `completed` into int64 and derive `duration` (float64 ns)."""
    fractions: dict[str, np.ndarray] = {}
    lost = 0
    for fact in ("start", "end", "dispatched", "completed"):
        if fact in rows.facts and pa.types.is_string(rows.facts[fact].type):
            rows.facts[fact], fractions[fact], damaged = split_time(rows.facts[fact])
            lost = max(lost, damaged)
    if lost:
        log.add(
            "data-loss",
            "rocm-damaged-times",
            "times with an exponent (a spreadsheet re-saved this file): start, end and duration are unknown",
            where=rows.where,
            count=lost,
            advice="use the file the profiler wrote, not one saved by a spreadsheet",
        )
    derive_duration(rows, log, fractions)
    _check_epochs(rows, log)
    if "start" in fractions and fractions["start"].any():
        log.add(
            "info",
            "rocm-averaged-times",
            "start and end are means over several runs of the program: only durations are kept",
            where=rows.where,
        )
        rows.facts.pop("start"), rows.facts.pop("end", None)


def derive_duration(
    rows: Dispatches, log: ProblemLog, fractions: dict[str, np.ndarray] | None = None
) -> None:
    """Set `duration` = end - start where both are known; zero and negative spans become null."""
    start, end = rows.facts.get("start"), rows.facts.get("end")
    if start is None or end is None:
        given = rows.facts.get("duration")
        if given is not None:
            rows.facts["duration"] = _positive(pc.cast(given, pa.float64()), rows, log)
        return
    fractions = fractions or {}
    shift = fractions.get("end", np.zeros(rows.rows)) - fractions.get("start", np.zeros(rows.rows))
    span = pc.cast(pc.subtract(end, start), pa.float64())
    rows.facts["duration"] = _positive(pc.add(span, pa.array(shift)), rows, log)


def _positive(span: pa.Array, rows: Dispatches, log: ProblemLog) -> pa.Array:
    good = pc.greater(span, 0.0)
    bad = pc.sum(pc.invert(good)).as_py() or 0
    if bad:
        log.add(
            "warning",
            "rocm-no-duration",
            "dispatches that end when or before they start have no duration",
            where=rows.where,
            count=bad,
            advice="rates and time shares cannot be computed for these dispatches",
        )
    return pc.if_else(good, span, None)


def _check_epochs(rows: Dispatches, log: ProblemLog) -> None:
    for early, late in (("start", "completed"), ("dispatched", "end")):
        if early in rows.facts and late in rows.facts:
            bad = pc.sum(pc.less(rows.facts[late], rows.facts[early])).as_py() or 0
            if bad:
                log.add(
                    "warning",
                    "rocm-mixed-epochs",
                    "dispatch and completion times belong to another run than start and end; only start and end are used",
                    where=rows.where,
                    count=bad,
                )
                return
