"""Reads `.nsys-rep` and `.qdrep` natively, nsys 2020.3 to 2026.x: no vendor program, no version gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.message import DecodeError

from profrx_parsers.nsys import events as spec
from profrx_parsers.nsys import system
from profrx_parsers.nsys.blocks import read_events
from profrx_parsers.nsys.capture import NORMAL_COLUMNS, Facts, report_of
from profrx_parsers.nsys.container import AGAIN, Container, open_container
from profrx_parsers.nsys.gpu_metrics import read_gpu_metrics
from profrx_parsers.nsys.job import rank_options
from profrx_parsers.nsys.merge import Form
from profrx_parsers.nsys.raw import Frame, Strings, pid_of
from profrx_parsers.problems import ProblemLog
from profrx_parsers.report import EVERYTHING, Report, Wanted
from profrx_parsers.source import Source
from profrx_parsers.wire import Message

MAX_FILES = 100_000
_EVENTS = {table.name: table for table in (*spec.TIMELINE, *spec.ON_DEMAND)}
_INPUTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": {"syncType": ("newSyncType", "deprecatedSyncType")},
    "CUDA_GRAPH_EVENTS": {"graphId": ("madeGraphId", "execGraphId")},
    "PROCESSES": {"name": ("name6", "name5"), "pid": ("globalPid", "name6", "name5")},
}
"""Columns of the export that the exporter chooses from two fields: the first that is present."""


def _inputs(table: spec.EventTable, columns: Sequence[str]) -> list[str]:
    """Return the fields to decode for columns of the export; no columns = all."""
    made = _INPUTS.get(table.name, {})
    wanted = [part for c in columns for part in made.get(c, (c,))] if columns else list(table.columns)
    return [name for name in dict.fromkeys(wanted) if name in table.columns]


class RepTables:
    """Raw tables of one report. The timeline tables are read together in one pass, the others on demand."""

    def __init__(self, box: Container, log: ProblemLog) -> None:
        self._box = box
        self._log = log
        self._held: dict[str, pa.Table] | None = None
        self._absent: frozenset[str] = frozenset()

    def names(self) -> frozenset[str]:
        """Return every table this form can hold."""
        return frozenset(_EVENTS) | frozenset(self._system) | {"GPU_METRICS"}

    def table(self, name: str, columns: Sequence[str]) -> pa.Table | None:
        """Return a raw table; see `RawTables`."""
        if name == "GPU_METRICS":
            return read_gpu_metrics(self._box, self.strings(), self._log)
        found = self._system.get(name)
        if found is None and name in _EVENTS:
            found = self._events(name, columns)
        if found is None:
            return None
        return found.select([c for c in columns if c in found.column_names]) if columns else found

    def strings(self) -> Strings:
        """Return the string block."""
        return self._strings

    def _events(self, name: str, columns: Sequence[str]) -> pa.Table | None:
        """Read a table, and with the first of the timeline all of them: one pass costs less than many."""
        table = _EVENTS[name]
        if self._held is None and name in NORMAL_COLUMNS:
            read = read_events(
                self._box, {_EVENTS[n]: _inputs(_EVENTS[n], c) for n, c in NORMAL_COLUMNS.items()}, self._log
            )
            self._held = {key: _derive(key, found) for key, found in read.items()}
            self._absent = frozenset(NORMAL_COLUMNS) - frozenset(read)
        if name in self._absent:
            return None
        enough = bool(columns) and set(columns) <= set(NORMAL_COLUMNS.get(name, ()))
        if self._held is not None and name in self._held and enough:
            return self._held.pop(name)
        log = self._log if self._held is None else ProblemLog()
        read = read_events(self._box, {table: _inputs(table, columns)}, log)
        return _derive(name, read[name]) if name in read else None

    @cached_property
    def _tail(self) -> list[bytes]:
        return list(self._box.tail())

    @cached_property
    def _strings(self) -> Strings:
        if not self._tail:
            return Strings(None, pa.array([], pa.string()))
        raw = self._texts(self._tail[0])
        expected = self._box.header.integer(3)
        if expected is not None and expected != len(raw):
            self._log.add(
                "data-loss",
                "nsys-string-count",
                f"the header counts {expected:,} strings, {len(raw):,} were read",
            )
        try:
            texts = pa.array(raw, pa.binary()).cast(pa.string())
        except pa.ArrowInvalid:
            texts = pa.array([text.decode("utf-8", "replace") for text in raw], pa.string())
        return Strings(None, texts, _file_ids(self._tail[0]))

    def _texts(self, block: bytes) -> list[bytes]:
        """Return the texts of the string block; those behind damage are lost."""
        try:
            return list(Form({(1,): "bytes"}).parse([block]).f1)
        except DecodeError:
            message = Message(block, (0, len(block)))
            self._log.add(
                "data-loss",
                "nsys-damaged-tail",
                f"strings, thread names or system information are damaged: {message.error.reason if message.error else 'no valid message'}",
                advice=AGAIN,
            )
            return [block[start:stop] for start, stop in message.spans(1)]

    @cached_property
    def _system(self) -> dict[str, pa.Table]:
        return system.tables(self._tail[2] if len(self._tail) > 2 else b"")


def _file_ids(block: bytes) -> list[int]:
    """Return the ids of texts that are names and contents of captured files: {2 name, 3 content} behind the strings."""
    message = Message(block, (0, len(block)))
    files = message.messages(2)[:MAX_FILES]
    return [number for file in files for field in (2, 3) if (number := file.integer(field)) is not None]


def _derive(name: str, table: pa.Table) -> pa.Table:
    """Add the columns that the exporter chooses between fields (see `_INPUTS`)."""
    for column, (first, *_, second) in _INPUTS.get(name, {}).items():
        if column != "pid" and first in table.column_names and second in table.column_names:
            table = table.append_column(column, _either(table.column(first), table.column(second)))
    if name == "PROCESSES" and "name" in table.column_names:
        table = table.filter(pc.field("name").is_valid())
        table = table.append_column("pid", pa.array(pid_of(Frame(table).ints("globalPid"))))
    return table


def _either(one: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.ChunkedArray:
    if one.null_count == len(one):
        return other
    return one if other.null_count == len(other) else pc.coalesce(one, other)


def read(source: Source, wanted: Wanted = EVERYTHING) -> Report:
    """Read a report. Raises `InputError` when the container has no usable index."""
    log = ProblemLog()
    box = open_container(source.data(), source.name, log)
    raw = RepTables(box, log)
    start, stop = box.state.integer(17), box.state.integer(18)
    environment = system.environment(box.state)
    facts = Facts(
        format="nsys-rep",
        tool_version=system.product_version(box),
        utc_ns=system.utc_epoch_ns(box, start),
        duration_ns=None if start is None or stop is None else max(0, stop - start),
        driver=environment.get(205),
        cuda_version=environment.get(611),
        system=environment.get(605),
        machine=environment.get(3),
        options=rank_options(environment.get(610, "").replace("\0", "\n").splitlines()),
        private=system.private_facts(box) if wanted.private else {},
    )
    report = report_of(raw, facts, source, log, wanted)
    report.extras["events_lost_share"] = lambda: box.lost_share
    return report
