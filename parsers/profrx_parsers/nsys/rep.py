"""Reads `.nsys-rep` and `.qdrep` natively, nsys 2020.3 to 2026.x: no vendor program, no version gate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx_parsers.nsys import events as spec
from profrx_parsers.nsys import system
from profrx_parsers.nsys.blocks import read_events
from profrx_parsers.nsys.capture import Facts, report_of
from profrx_parsers.nsys.container import Container, open_container
from profrx_parsers.nsys.gpu_metrics import read_gpu_metrics
from profrx_parsers.nsys.merge import Form
from profrx_parsers.nsys.raw import Strings
from profrx_parsers.problems import ProblemLog
from profrx_parsers.report import EVERYTHING, Report, Wanted
from profrx_parsers.source import Source

_EVENTS = {table.name: table for table in (*spec.TIMELINE, *spec.ON_DEMAND)}
_TIMELINE = frozenset(table.name for table in spec.TIMELINE)


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
            found = self._events(name)
        if found is None:
            return None
        return found.select([c for c in columns if c in found.column_names]) if columns else found

    def strings(self) -> Strings:
        """Return the string block."""
        return self._strings

    def _events(self, name: str) -> pa.Table | None:
        if self._held is None and name in _TIMELINE:
            read = read_events(self._box, spec.TIMELINE, self._log)
            self._held = {key: _derive(key, table) for key, table in read.items()}
            self._absent = _TIMELINE - frozenset(read)
        if name in self._absent:
            return None
        if self._held is not None and name in self._held:
            return self._held.pop(name)
        log = self._log if self._held is None else ProblemLog()
        read = read_events(self._box, (_EVENTS[name],), log)
        return _derive(name, read[name]) if name in read else None

    @cached_property
    def _tail(self) -> list[bytes]:
        return list(self._box.tail())

    @cached_property
    def _strings(self) -> Strings:
        if not self._tail:
            return Strings(None, pa.array([], pa.string()))
        raw = list(Form({(1,): "bytes"}).parse(self._tail[:1]).f1)
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
        return Strings(None, texts)

    @cached_property
    def _system(self) -> dict[str, pa.Table]:
        return system.tables(self._tail[2] if len(self._tail) > 2 else b"")


def _derive(name: str, table: pa.Table) -> pa.Table:
    """Apply the exporter's own choices between fields (see `events`)."""

    def choose(column: str, first: str, second: str) -> pa.Table:
        one, other = table.column(first), table.column(second)
        if one.null_count == len(one):
            chosen = other
        elif other.null_count == len(other):
            chosen = one
        else:
            chosen = pc.coalesce(one, other)
        return table.append_column(column, chosen)

    if name == "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION":
        return choose("syncType", "newSyncType", "deprecatedSyncType")
    if name == "CUDA_GRAPH_EVENTS":
        table = table.rename_columns({"graphId": "madeGraphId"})
        return choose("graphId", "madeGraphId", "execGraphId")
    if name == "PROCESSES":
        table = choose("name", "name6", "name5").filter(pc.field("name").is_valid())
        pid = np.asarray(table.column("globalPid").cast(pa.int64())) >> 24 & 0xFF_FFFF
        return table.append_column("pid", pa.array(pid))
    return table


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
        private=system.private_facts(box) if wanted.private else {},
    )
    return report_of(raw, facts, source, log, wanted)
