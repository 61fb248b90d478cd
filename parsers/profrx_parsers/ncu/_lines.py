"""The `source_lines` table: program counters seen in a launch, mapped by the cubin's own line table.

A report stores the cubin, and for each of its functions the address it was loaded at and its symbol. A program
counter belongs to the function loaded at or below it; its offset in the function's section is looked up in the
line program, where the first row at the greatest address at or below it counts. Inlined-call contexts are
ignored. SASS text is not stored in reports and not produced here.
Source: observed in reports of 2020.3 to 2025.4; agrees with the vendor's `source_info` on 21,373 addresses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from profrx_parsers import schema
from profrx_parsers.ncu._dwarf import Sequence as Rows
from profrx_parsers.ncu._dwarf import sequences
from profrx_parsers.ncu._elf import Elf, Symbol
from profrx_parsers.private import without_user
from profrx_parsers.wire import Message, WireError, decode_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from profrx_parsers.ncu._container import Item
    from profrx_parsers.ncu._instances import Instances
    from profrx_parsers.ncu._results import Result
    from profrx_parsers.problems import ProblemLog
    from profrx_parsers.wire import Span

    Ints = NDArray[np.int64]

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
_IN_EVERY_CUBIN = (".shstrtab", ".strtab", ".symtab")
_MAX_ADDRESS, _MAX_LINE = 1 << 62, (1 << 31) - 1
"""Larger ones are damage."""


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


@dataclass
class _Piece:
    """A contiguous piece of code: `start` is the offset of its rows in their section."""

    start: int
    rows: Rows

    @cached_property
    def columns(self) -> tuple[Ints, Ints, Ints]:
        """Addresses, ascending, files and lines of the rows; a row that cannot be has no file."""
        limits = (_MAX_ADDRESS, len(self.rows.names), _MAX_LINE)
        given = (self.rows.addresses, self.rows.files, self.rows.lines)
        addresses, files, lines = (
            np.array([v if 0 <= v <= most else 0 for v in values], dtype=np.int64)
            for values, most in zip(given, limits, strict=True)
        )
        named = np.array([bool(name) for name in self.rows.names], dtype=np.bool_)
        files = np.where(named[files] & (lines > 0), files, 0)
        order = np.argsort(addresses, kind="stable")  # only damage puts them out of order
        return addresses[order], files[order], lines[order]


class Located(NamedTuple):
    """Where addresses come from: for each, an index into `names` (-1 = unknown) and a line."""

    names: list[str]
    file: Ints
    line: Ints


class LineTable:
    """Lines of one cubin: (symbol, offset) -> (file, line)."""

    def __init__(self, data: memoryview) -> None:
        self.elf = Elf(data)
        if not all(map(self.elf.find, _IN_EVERY_CUBIN)):
            raise WireError("no section is named as in every cubin", 0)
        self.symbols = self.elf.symbols()
        self.by_name: dict[str, Symbol] = {}
        for symbol in self.symbols:
            if symbol.name and symbol.section:
                self.by_name.setdefault(symbol.name, symbol)
        self._sections: dict[int, list[_Piece]] = {}
        section = self.elf.find(".debug_line")
        if section is None:
            return
        relocations = self.elf.relocations(".debug_line")
        for rows in sequences(bytes(self.elf.data[section.start : section.stop])):
            index, addend = relocations.get(rows.operand, (len(self.symbols), 0))
            if index < len(self.symbols):
                symbol = self.symbols[index]
                self._place(symbol.section, symbol.value + addend + rows.start, rows)
            else:
                self._absolute(rows)

    def _absolute(self, rows: Rows) -> None:
        """Place rows without relocation: they start at a load address or at a section's address."""
        for number, section in enumerate(self.elf.sections):
            if (
                section.address
                and section.address <= rows.start < section.address + section.stop - section.start
            ):
                self._place(number, rows.start - section.address, rows)
                return
        self._place(-1, rows.start, rows)

    def _place(self, section: int, start: int, rows: Rows) -> None:
        if -_MAX_ADDRESS < start < _MAX_ADDRESS:
            self._sections.setdefault(section, []).append(_Piece(start, rows))

    @property
    def empty(self) -> bool:
        """Whether the cubin was built without line information."""
        return not self._sections

    def find(self, name: str, index: int, start: int, pcs: Ints) -> Located:
        """Return file and line of addresses in a function that was loaded at `start`."""
        found = Located([], np.full(len(pcs), -1, dtype=np.int64), np.zeros(len(pcs), dtype=np.int64))
        symbol = self.symbols[index] if 0 < index < len(self.symbols) else None
        if symbol is None or symbol.name != name:
            symbol = self.by_name.get(name, symbol)
        left = np.arange(len(pcs))
        if symbol is not None and symbol.value < _MAX_ADDRESS:
            left = self._fill(symbol.section, pcs - start + symbol.value, left, found)
        self._fill(-1, pcs, left, found)
        return found

    def _fill(self, section: int, offsets: Ints, left: Ints, found: Located) -> Ints:
        """Look the offsets that are left up in the pieces of a section, in order; returns those still left."""
        for piece in self._sections.get(section, ()):
            relative = offsets[left] - piece.start
            addresses, files, lines = piece.columns
            inside = np.flatnonzero((relative >= 0) & (relative < piece.rows.stop))
            if not len(addresses) or not len(inside):
                continue
            inside = inside[relative[inside] >= addresses[0]]
            last = np.searchsorted(addresses, relative[inside], side="right") - 1
            at = np.searchsorted(addresses, addresses[last])  # of the rows at one address the first counts
            inside, at = inside[files[at] > 0], at[files[at] > 0]
            used, number = np.unique(files[at], return_inverse=True)
            found.file[left[inside]] = number + len(found.names)
            found.line[left[inside]] = lines[at]
            found.names.extend(piece.rows.names[file] for file in used.tolist())
            left = np.delete(left, inside)
        return left


def sources(
    data: memoryview, items: Sequence[Item], problems: ProblemLog | None = None
) -> dict[int, SourceData]:
    """Merge all copies of every stored source by reference; a later copy never erases an earlier part."""
    found: dict[int, SourceData] = {}
    for item in items:
        if item.kind != "source":
            continue
        message = Message(data, (item.start, item.stop))
        if message.error and problems is not None and not item.cut:
            problems.add(
                "data-loss", "ncu-damaged-source", f"stored code is damaged ({message.error.reason})",
                where=f"byte {message.error.offset}", advice="source lines of its kernels may be missing",
            )  # fmt: skip
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
    instances: Instances,
    problems: ProblemLog,
    private: bool = False,
) -> pa.Table:
    """Map every program counter that the decoded metrics mention; rows without a line are left out.

    Unless `private`, home folders in paths become ``~``.
    """
    merged = sources(data, items, problems)
    lines: dict[int, LineTable | None] = {}
    rows = _Rows()
    missing = unmapped = lost = 0
    for launch, base, counters in _counters(instances, len(results)):
        result = results[launch]
        references = _references(data, result)
        mangled = decode_text(data, result.spans("mangled")[-1]) if result.spans("mangled") else ""
        tables = []
        for reference in references:
            if reference not in lines:
                lines[reference] = _load(data, merged.get(reference), problems)
            found = lines[reference]
            if found is not None:
                tables.append((found, merged[reference].functions))
        if not tables and not all(reference in merged for reference in references):
            lost += 1
        elif not tables and any(reference in merged and merged[reference].binary for reference in references):
            continue  # what is wrong with it has been told
        elif all(one.empty for one, _ in tables):
            missing += 1
        elif len(counters):
            before = len(rows.pieces)
            for one, functions in tables:
                _map(rows, launch, base, counters, mangled, one, functions)
            unmapped += len(rows.pieces) == before
    if lost:
        problems.add(
            "warning", "ncu-missing-source", "the code of some launches is not in the report",
            count=lost, advice="source lines are missing; copy or collect the report again",
        )  # fmt: skip
    if unmapped:
        problems.add(
            "warning", "ncu-unmapped-lines", "no address of some launches is in the line table of their code",
            count=unmapped, advice="build all code with -lineinfo; if it was, copy or collect the report again",
        )  # fmt: skip
    if missing:
        problems.add(
            "info", "ncu-no-line-info", "the code of some launches was built without line information",
            count=missing, advice="build with -lineinfo to see source lines",
        )  # fmt: skip
    return rows.table(private)


class _Rows:
    """The table as it grows: pieces of its columns, and texts once each."""

    def __init__(self) -> None:
        self.pieces: list[tuple[Ints, ...]] = []
        self.texts: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a text, a new one if it has none."""
        return self.texts.setdefault(text, len(self.texts))

    def table(self, private: bool) -> pa.Table:
        """Join the pieces; unless `private`, home folders in paths become ``~``."""
        if not self.pieces:
            return schema.empty("source_lines")
        launch, address, pc, file, line, function = (
            np.concatenate(c) for c in zip(*self.pieces, strict=True)
        )
        texts = pa.array(list(self.texts), pa.string())
        paths = texts if private else pa.array([without_user(text) for text in self.texts], pa.string())
        columns = {
            "launch_id": launch, "address": address, "pc": pc,
            "file": paths.take(pa.array(file)), "line": line, "function": texts.take(pa.array(function)),
        }  # fmt: skip
        return schema.conform("source_lines", columns, len(launch))


def _map(
    rows: _Rows,
    launch: int,
    base: int,
    counters: Ints,
    mangled: str,
    lines: LineTable,
    functions: dict[int, tuple[str, int]],
) -> None:
    """Add a row for every counter of a launch that a cubin knows, ascending."""
    loaded = functions if base in functions else {**functions, base: (mangled, 0)}
    starts = np.array(sorted(start for start in loaded if start < _MAX_ADDRESS), dtype=np.int64)
    owner = np.searchsorted(starts, counters, side="right") - 1
    for at in np.unique(owner[owner >= 0]).tolist():
        pcs, start = counters[owner == at], int(starts[at])
        name, index = loaded[start]
        found = lines.find(name, index, start, pcs)
        known = found.file >= 0
        pcs, count = pcs[known], int(known.sum())
        if count:
            numbers = np.array([rows.number(text) for text in found.names], dtype=np.int64)
            rows.pieces.append((
                np.full(count, launch), pcs - base, pcs, numbers[found.file[known]], found.line[known],
                np.full(count, rows.number(name)),
            ))  # fmt: skip


def _references(data: memoryview, result: Result) -> list[int]:
    found = [Message(data, span).integer(1) or 0 for span in result.spans("source")]
    return found or result.integers("references")


def _load(data: memoryview, source: SourceData | None, problems: ProblemLog) -> LineTable | None:
    if source is None or source.binary is None:
        return None
    start, stop = source.binary
    try:
        if stop - start > MAX_CUBIN:
            raise WireError(f"code of {stop - start:,} bytes", 0)
        return LineTable(data[start:stop])
    except WireError as err:
        problems.add(
            "data-loss", "ncu-damaged-lines", f"a line table does not decode ({err.reason})",
            where=f"byte {start + err.offset}", advice="source lines of its kernels are missing",
        )  # fmt: skip
        return None


def _counters(instances: Instances, rows: int) -> list[tuple[int, int, Ints]]:
    """Return launch, load address of its kernel, and the distinct program counters in its instances."""
    found = []
    bases: dict[int, int] = {}
    held = instances.table({BASE})
    for launch, index, address in zip(
        *(held.column(name).to_pylist() for name in ("launch_id", "key_int", "value")), strict=True
    ):
        if index == 0 and address is not None and address >= 0:
            bases[launch] = int(address)
    held = instances.table(instances.metrics - {BASE})
    launches = held.column("launch_id").to_numpy()
    keys = held.column("key_int").fill_null(-1).to_numpy()
    bounds = np.searchsorted(launches, np.arange(rows + 1))
    for launch, base in sorted(bases.items()):
        mine = np.unique(keys[bounds[launch] : bounds[launch + 1]])
        found.append((launch, base, mine[(mine >= max(_LOWEST_PC, base - _REACH)) & (mine < base + _REACH)]))
    return found
