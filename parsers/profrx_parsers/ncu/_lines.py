"""The `source_lines` table: program counters seen in a launch, mapped by the cubin's own line table.

A report stores the cubin, and for each of its functions the address it was loaded at and its symbol. A program
counter belongs to the function loaded at or below it; its offset in the function's section is looked up in the
line program, where the first row at the greatest address at or below it counts. Inlined-call contexts are
ignored. SASS text is not stored in reports and not produced here.
Source: observed in reports of 2020.3 to 2025.4; agrees with the vendor's `source_info` on 21,373 addresses.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from profrx_parsers import schema
from profrx_parsers.ncu._dwarf import Sequence as Rows
from profrx_parsers.ncu._dwarf import sequences
from profrx_parsers.ncu._elf import Elf, Symbol
from profrx_parsers.ncu._instances import table as instances
from profrx_parsers.private import without_user
from profrx_parsers.wire import Message, WireError, decode_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from profrx_parsers.ncu._container import Item
    from profrx_parsers.ncu._metrics import MetricStore
    from profrx_parsers.ncu._results import Result
    from profrx_parsers.problems import ProblemLog
    from profrx_parsers.wire import Span

BASE = "launch__function_pcs"
COUNTERS = ("inst_executed", "smsp__pcsamp_sample_count", "thread_inst_executed")
STRUCTURAL = frozenset((BASE, *COUNTERS))
"""Metrics whose instances this table needs: decoded whatever the caller wants."""
_LOWEST_PC = 1 << 16
"""Smaller keys are indices, not addresses."""
_REACH = 1 << 30
"""How far from its kernel a called function may lie, in bytes."""
MAX_CUBIN = 256 << 20
MAX_FILE_BYTES = 1 << 24


@dataclass
class SourceData:
    """Everything stored for one reference, over all its copies.

    Attributes:
        binary: span of the cubin.
        functions: load address -> (symbol name, symbol index).
        files: path -> span of the embedded text; empty when the file was not found at the capture.
    """

    binary: Span | None = None
    functions: dict[int, tuple[str, int]] = field(default_factory=dict)
    files: dict[str, Span] = field(default_factory=dict)


class LineTable:
    """Lines of one cubin: (symbol, offset) -> (file, line)."""

    def __init__(self, data: memoryview) -> None:
        self.elf = Elf(data)
        self.symbols = self.elf.symbols()
        self.by_name: dict[str, Symbol] = {}
        for symbol in self.symbols:
            if symbol.name and symbol.section:
                self.by_name.setdefault(symbol.name, symbol)
        self._sections: dict[int, list[tuple[int, Rows]]] = {}
        section = self.elf.find(".debug_line")
        if section is None:
            return
        relocations = self.elf.relocations(".debug_line")
        for rows in sequences(bytes(self.elf.data[section.start : section.stop])):
            index, addend = relocations.get(rows.operand, (len(self.symbols), 0))
            if index < len(self.symbols):
                symbol = self.symbols[index]
                self._sections.setdefault(symbol.section, []).append(
                    (symbol.value + addend + rows.start, rows)
                )
            else:
                self._absolute(rows)

    def _absolute(self, rows: Rows) -> None:
        """Place rows without relocation: they start at a load address or at a section's address."""
        for number, section in enumerate(self.elf.sections):
            if (
                section.address
                and section.address <= rows.start < section.address + section.stop - section.start
            ):
                self._sections.setdefault(number, []).append((rows.start - section.address, rows))
                return
        self._sections.setdefault(-1, []).append((rows.start, rows))

    @property
    def empty(self) -> bool:
        """Whether the cubin was built without line information."""
        return not self._sections

    def find(self, name: str, index: int, offset: int, pc: int) -> tuple[str, int] | None:
        """Return file and line of an address `offset` bytes into a function loaded so that it lies at `pc`."""
        symbol = self.symbols[index] if 0 < index < len(self.symbols) else None
        if symbol is None or symbol.name != name:
            symbol = self.by_name.get(name, symbol)
        if symbol is not None:
            found = self._in(symbol.section, symbol.value + offset)
            if found:
                return found
        return self._in(-1, pc)

    def _in(self, section: int, offset: int) -> tuple[str, int] | None:
        for start, rows in self._sections.get(section, ()):
            relative = offset - start
            if not 0 <= relative < rows.stop or not rows.addresses or relative < rows.addresses[0]:
                continue
            at = bisect_right(rows.addresses, relative) - 1
            while at and rows.addresses[at - 1] == rows.addresses[at]:
                at -= 1
            if rows.files[at] and rows.lines[at] > 0:
                return rows.files[at], rows.lines[at]
        return None


def sources(data: memoryview, items: Sequence[Item]) -> dict[int, SourceData]:
    """Merge all copies of every stored source by reference; a later copy never erases an earlier part."""
    found: dict[int, SourceData] = {}
    for item in items:
        if item.kind != "source":
            continue
        message = Message(data, (item.start, item.stop))
        merged = found.setdefault(message.integer(1) or 0, SourceData())
        for span in message.spans(4):
            if span[1] > span[0]:
                merged.binary = span
        files = message.message(8)
        for one in files.messages(1) if files else ():
            merged.files[one.text(1) or ""] = (one.spans(2) or [(0, 0)])[-1]
        relocation = message.message(9)
        for one in relocation.messages(1) if relocation else ():
            address, index = one.integer(2), one.integer(3)
            if address is not None:
                merged.functions[address] = (one.text(1) or "", index or 0)
    return found


def embedded_files(data: memoryview, items: Sequence[Item]) -> dict[str, str]:
    """Return source text stored with the report (``--import-source yes``): path -> text. Private."""
    files: dict[str, str] = {}
    for merged in sources(data, items).values():
        for path, (start, stop) in merged.files.items():
            if stop - start <= MAX_FILE_BYTES:
                files[path] = bytes(data[start:stop]).decode("utf-8", "replace")
    return files


def table(
    data: memoryview,
    items: Sequence[Item],
    results: Sequence[Result],
    store: MetricStore,
    problems: ProblemLog,
    private: bool = False,
) -> pa.Table:
    """Map every program counter that the decoded metrics mention; rows without a line are left out.

    Unless `private`, home folders in paths become ``~``.
    """
    merged = sources(data, items)
    lines: dict[int, LineTable | None] = {}
    columns: dict[str, list[Any]] = {
        key: [] for key in ("launch_id", "address", "pc", "file", "line", "function")
    }
    missing = 0
    for launch, base, counters in _counters(store, problems):
        result = results[launch]
        references = _references(data, result)
        mangled = decode_text(data, result.spans("mangled")[-1]) if result.spans("mangled") else ""
        tables = []
        for reference in references:
            if reference not in lines:
                lines[reference] = _load(data, merged.get(reference), problems)
            if lines[reference] is not None:
                tables.append((lines[reference], merged[reference].functions))
        if not tables or all(one is None or one.empty for one, _ in tables):
            missing += 1
            continue
        _map(columns, launch, base, counters, mangled, tables)
    if not private:
        columns["file"] = [without_user(path) for path in columns["file"]]
    if missing:
        problems.add(
            "info", "ncu-no-line-info", "the code of some launches was built without line information",
            count=missing, advice="build with -lineinfo to see source lines",
        )  # fmt: skip
    return schema.conform("source_lines", columns, len(columns["pc"]))


def _map(
    columns: dict[str, list[Any]], launch: int, base: int, counters: np.ndarray[Any, np.dtype[np.int64]],
    mangled: str, tables: list[tuple[Any, dict[int, tuple[str, int]]]],
) -> None:  # fmt: skip
    for lines, functions in tables:
        loaded = dict(functions) if base in functions else {**functions, base: (mangled, 0)}
        starts = sorted(loaded)
        for pc in counters.tolist():
            at = bisect_right(starts, pc) - 1
            if at < 0:
                continue
            name, index = loaded[starts[at]]
            found = lines.find(name, index, pc - starts[at], pc)
            if found is None:
                continue
            for key, value in zip(columns, (launch, pc - base, pc, *found, name), strict=True):
                columns[key].append(value)


def _references(data: memoryview, result: Result) -> list[int]:
    found = [Message(data, span).integer(1) or 0 for span in result.spans("source")]
    return found or result.integers("references")


def _load(data: memoryview, source: SourceData | None, problems: ProblemLog) -> LineTable | None:
    if source is None or source.binary is None:
        return None
    start, stop = source.binary
    if stop - start > MAX_CUBIN:
        return None
    try:
        return LineTable(data[start:stop])
    except WireError as err:
        problems.add(
            "data-loss", "ncu-damaged-lines", f"a line table does not decode ({err.reason})",
            where=f"byte {start + err.offset}", advice="source lines of its kernels are missing",
        )  # fmt: skip
        return None


def _counters(
    store: MetricStore, problems: ProblemLog
) -> list[tuple[int, int, np.ndarray[Any, np.dtype[np.int64]]]]:
    """Return launch, load address of its kernel, and the distinct program counters in its instances."""
    found = []
    bases: dict[int, int] = {}
    held = instances(store, problems, {BASE})
    for launch, index, address in zip(
        *(held.column(name).to_pylist() for name in ("launch_id", "key_int", "value")), strict=True
    ):
        if index == 0 and address is not None and address >= 0:
            bases[launch] = int(address)
    held = instances(store, problems, set(store.labels.names) - {BASE})
    launches = held.column("launch_id").to_numpy()
    keys = held.column("key_int").fill_null(-1).to_numpy()
    bounds = np.searchsorted(launches, np.arange(store.rows + 1))
    for launch, base in sorted(bases.items()):
        mine = np.unique(keys[bounds[launch] : bounds[launch + 1]])
        found.append((launch, base, mine[(mine >= max(_LOWEST_PC, base - _REACH)) & (mine < base + _REACH)]))
    return found
