"""Results of an `.ncu-rep`: one message per kernel, range, command list or graph.

`scan` walks the top level of every result once. Metric entries, thousands per result, are only located (for
`_metrics`); all other fields are kept as numbers and spans, decoded by whoever needs them.
Source: the format documentation shipped with Nsight Compute 2022.3 to 2025.3; field 35 observed since 2025.2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from profrx_parsers.ncu._entries import MetricEntries
from profrx_parsers.ncu._pages import Passage
from profrx_parsers.wire import BYTES, FIXED32, FIXED64, VARINT, Message, Span, WireError, varint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from profrx_parsers.ncu._container import Item
    from profrx_parsers.problems import ProblemLog

FIELDS: dict[str, dict[str, int]] = {
    "kernel": {
        "thread": 1, "correlation": 2, "kernel_id": 4, "mangled": 5, "function": 6, "demangled": 7,
        "grid": 10, "block": 11, "metrics": 13, "created": 14, "source": 15, "sections": 17, "rules": 19,
        "unsupported": 20, "nvtx": 21, "context": 22, "stream": 23, "clock": 25, "driver": 35,
    },
    "range": {
        "thread": 1, "correlation": 2, "metrics": 4, "created": 5, "sections": 7, "unsupported": 9,
        "nvtx": 10, "context": 11, "clock": 12, "references": 15, "rules": 20, "driver": 21,
    },
    "cmdlist": {
        "thread": 1, "correlation": 2, "metrics": 4, "created": 5, "sections": 7, "unsupported": 9,
        "nvtx": 10, "context": 11, "stream": 12, "clock": 13, "references": 17, "display": 18,
        "launches": 20, "rules": 21, "driver": 25,
    },
    "graph": {
        "thread": 1, "correlation": 2, "metrics": 4, "created": 5, "sections": 7, "unsupported": 9,
        "nvtx": 10, "context": 11, "stream": 12, "clock": 13, "references": 17, "rules": 22, "driver": 23,
    },
}  # fmt: skip
"""Field numbers by kind of result."""

MAX_REPEATS = 100_000
"""Occurrences of one field other than metrics; sections and rules reach a few dozen."""
MAX_ENTRIES = 20_000_000
"""Metric entries located per report: 8,000 launches of a full set, 70,000 of the basic one."""
HIGHEST_FIELD = {"kernel": 36, "range": 21, "cmdlist": 25, "graph": 23}
"""Highest field number seen or documented; a higher one is counted as unknown."""


_RUN = 24
"""Small metric entries one after the other, behind which more of them are looked for at once."""
_NAME = -1
_LIMITS = {
    kind: {
        named[name]: limit
        for names, limit in (
            (("thread", "correlation", "kernel_id", "context", "stream"), 0),
            (("grid", "block"), 20),
            (("clock",), 16),
            (("mangled", "function", "demangled"), _NAME),
        )
        for name in names
        if name in named
    }
    for kind, named in FIELDS.items()
}
"""Longest value of fields that are numbers (none) or small messages, in bytes; `_NAME` = text without controls.

A longer one has a damaged length and swallowed what follows."""
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f]")


@dataclass(slots=True)
class Result:
    """One result: where its parts lie.

    Attributes:
        kind: kernel, range, cmdlist or graph.
        start: offset of the message in the file.
        stop: its end.
        process: process id of its block, None when the block names none.
        complete: False when the message is cut or damaged.
        locked: whether the clocks were locked; None when the result does not say.
        parts: field number -> value, or list of values where it repeats: numbers, or spans in the file.
    """

    kind: str
    start: int
    stop: int
    process: int | None
    complete: bool = True
    locked: bool | None = None
    parts: dict[int, int | Span | list[int | Span]] = field(default_factory=dict)

    def _values(self, name: str) -> list[int | Span]:
        found = self.parts.get(FIELDS[self.kind].get(name, 0))
        if found is None:
            return []
        return found if isinstance(found, list) else [found]

    def integer(self, name: str) -> int | None:
        """Return a numeric field by its name in `FIELDS`; the last one counts."""
        found = self._values(name)
        return found[-1] if found and isinstance(found[-1], int) else None

    def integers(self, name: str) -> list[int]:
        """Return every number of a repeated field (unpacked)."""
        return [value for value in self._values(name) if isinstance(value, int)]

    def spans(self, name: str) -> list[Span]:
        """Return the spans of a length-delimited field."""
        return [value for value in self._values(name) if isinstance(value, tuple)]


def scan(data: memoryview, items: Iterable[Item], problems: ProblemLog) -> tuple[list[Result], MetricEntries]:
    """Locate the parts of every result; damaged ones are kept as far as they go."""
    results: list[Result] = []
    entries = MetricEntries()
    passage = Passage(data)
    for item in items:
        if item.kind == "source":
            continue
        result = Result(item.kind, item.start, item.stop, item.process, not item.cut)
        _scan_one(data, result, entries, problems, item.cut)
        for span in result.spans("clock"):
            executed = Message(data, span).integer(2)
            result.locked = result.locked if executed is None else bool(executed)
        if len(entries.starts) > MAX_ENTRIES:
            problems.add(
                "data-loss", "ncu-too-many-metrics", f"more than {MAX_ENTRIES:,} metric entries: the rest was left out",
                where=f"byte {item.start}", advice="split the capture into several reports",
            )  # fmt: skip
            break
        entries.bounds.append(len(entries.starts))
        passage.reached(item.stop)
        results.append(result)
    return results, entries


def _scan_one(
    data: memoryview, result: Result, entries: MetricEntries, problems: ProblemLog, cut: bool
) -> None:
    pos, stop = result.start, result.stop
    metric_tag = FIELDS[result.kind]["metrics"] << 3 | BYTES
    while pos < stop:
        try:
            _walk(data, pos, result, entries, metric_tag)
            return
        except WireError as err:
            at, reason = err.offset, err.reason
        result.complete = False
        if cut:
            return
        resumed = _resync(data, at + 1, stop, metric_tag)
        lost = (resumed if resumed is not None else stop) - at
        problems.add(
            "data-loss", "ncu-damaged-result",
            f"a {result.kind} result is damaged ({reason}); {lost:,} of its bytes were skipped",
            where=f"byte {at}", advice="copy or collect the report again",
        )  # fmt: skip
        if resumed is None:
            return
        pos = resumed


def _walk(data: memoryview, pos: int, result: Result, entries: MetricEntries, metric_tag: int) -> None:
    """Walk the fields of a result from `pos` on. Raises `WireError` at the first inconsistency.

    Reads the map in place: what is skipped by its length is never loaded from disk.
    """
    stop = result.stop
    limits = _LIMITS[result.kind]
    add_start, add_stop = entries.starts.append, entries.stops.append
    parts = result.parts
    here = pos
    small, most = 0, _RUN
    try:
        while pos < stop:
            here = pos
            tag = data[pos]
            if tag == metric_tag:
                length = data[pos + 1]
                pos += 2
                if length < 0x80:
                    small += 1
                    if small == most:
                        small = 0
                        behind = entries.add_run(data, here, stop, metric_tag)
                        if behind > here:
                            pos = behind
                            continue
                else:
                    length, pos = varint(data, here + 1, stop)
                    small = 0
                if data[pos] != 0x08 or not 0 < length <= stop - pos:
                    raise WireError("a metric entry does not fit", here)
                add_start(pos)
                pos += length
                add_stop(pos)
                continue
            number, value, pos = _field(data, pos, stop, limits)
            known = parts.get(number)
            if known is None:
                parts[number] = value
            elif isinstance(known, list):
                if len(known) >= MAX_REPEATS:
                    raise WireError(f"field {number} occurs more than {MAX_REPEATS:,} times", here)
                known.append(value)
            else:
                parts[number] = [known, value]
    except IndexError:
        raise WireError("cut short", here) from None


def _field(data: memoryview, here: int, stop: int, limits: dict[int, int]) -> tuple[int, int | Span, int]:
    """Return number and value of the field at `here`, and where the next one begins."""
    tag, pos = data[here], here + 1
    if tag >= 0x80:
        tag, pos = varint(data, here, stop)
    number, wire = tag >> 3, tag & 7
    if number == 0 or number > 1000:
        raise WireError(f"field number {number}", here)
    if wire in (VARINT, BYTES):
        if pos < stop and data[pos] < 0x80:  # most are
            value, pos = data[pos], pos + 1
        else:
            value, pos = varint(data, pos, stop)
        if wire == VARINT:
            return number, value, pos
        if value > stop - pos:
            raise WireError(f"field {number} declares {value:,} bytes, {stop - pos:,} remain", here)
        if number in limits and _impossible(data, pos, value, limits[number]):
            raise WireError(f"field {number} holds more than it can", here)
        return number, (pos, pos + value), pos + value
    if wire in (FIXED64, FIXED32):
        width = 8 if wire == FIXED64 else 4
        if width > stop - pos:
            raise WireError(f"field {number} cut short", here)
        return number, int.from_bytes(data[pos : pos + width], "little"), pos + width
    raise WireError(f"wire type {wire}", here)


def _impossible(data: memoryview, pos: int, length: int, limit: int) -> bool:
    if limit == _NAME:
        return _CONTROL.search(data, pos, pos + length) is not None
    return length > limit or limit == 0


def _resync(data: memoryview, pos: int, stop: int, metric_tag: int) -> int | None:
    """Find the next offset from which four whole metric entries follow each other; None when there is none."""
    marker = re.compile(re.escape(bytes((metric_tag,))))
    for tries, found in enumerate(marker.finditer(data, pos, stop)):
        at, whole = found.start(), 0
        try:
            while whole < 4 and at < stop and data[at] == metric_tag:
                length, body = varint(data, at + 1, stop)
                inner = Message(data, (body, min(body + length, stop)))
                if length > stop - body or inner.error or inner.numbers - {1, 2, 3, 4} or 1 not in inner:
                    break
                at, whole = body + length, whole + 1
        except (WireError, IndexError):
            whole = 0
        if whole == 4:
            return found.start()
        if tries > 200_000:
            break
    return None
