"""Just enough ELF to find the line table of a cubin: sections, symbols, relocations. Bounded, nothing executed.

Source: the public System V ABI; cubins observed in Nsight Compute reports of 2020.3 to 2025.4.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from profrx_parsers.wire import WireError

MAX_SECTIONS = 65_536
MAX_SYMBOLS = 1_000_000
_RELA, _REL, _SYMTAB = 4, 9, 2
_FUNCTION = 2


@dataclass(frozen=True)
class Section:
    """A section: name, type, load address, bytes start..stop in the file, link and info of the header."""

    name: str
    kind: int
    address: int
    start: int
    stop: int
    link: int
    info: int


@dataclass(frozen=True)
class Symbol:
    """A symbol: name, type, section index, value, size."""

    name: str
    kind: int
    section: int
    value: int
    size: int


class Elf:
    """A little-endian 64-bit ELF file. Raises `WireError` when it is none."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        if len(data) < 64 or bytes(data[:6]) != b"\x7fELF\x02\x01":
            raise WireError("no 64-bit ELF file", 0)
        offset = int.from_bytes(data[40:48], "little")
        width, count, names = struct.unpack_from("<HHH", data, 58)
        if width < 64 or count > MAX_SECTIONS or offset + width * count > len(data):
            raise WireError("the section table does not fit", 40)
        raw = [struct.unpack_from("<IIQQQQII", data, offset + i * width) for i in range(count)]
        base = raw[names][4] if names < count else 0
        self.sections = [self._section(fields, base) for fields in raw]

    def _section(self, fields: tuple[int, ...], names: int) -> Section:
        label, kind, _flags, address, start, size, link, info = fields
        size = 0 if kind == 8 else min(size, max(0, len(self.data) - start))
        return Section(self._text(names + label), kind, address, start, start + size, link, info)

    def _text(self, at: int) -> str:
        piece = bytes(self.data[at : at + 4096])
        return piece.partition(b"\0")[0].decode("utf-8", "replace")

    def find(self, name: str) -> Section | None:
        """Return the section of that name."""
        return next((one for one in self.sections if one.name == name), None)

    def symbols(self) -> list[Symbol]:
        """Return the symbol table; empty when there is none."""
        table = next((one for one in self.sections if one.kind == _SYMTAB), None)
        if table is None or table.link >= len(self.sections):
            return []
        names = self.sections[table.link].start
        count = min((table.stop - table.start) // 24, MAX_SYMBOLS)
        found = []
        for index in range(count):
            label, info, _other, section, value, size = struct.unpack_from(
                "<IBBHQQ", self.data, table.start + index * 24
            )
            found.append(Symbol(self._text(names + label), info & 15, section, value, size))
        return found

    def relocations(self, section: str) -> dict[int, tuple[int, int]]:
        """Return the relocations of a section: offset in it -> (symbol index, addend)."""
        found: dict[int, tuple[int, int]] = {}
        for table in self.sections:
            if table.kind not in (_REL, _RELA) or table.name not in (".rel" + section, ".rela" + section):
                continue
            width = 24 if table.kind == _RELA else 16
            for at in range(table.start, table.stop - width + 1, width):
                offset, info = struct.unpack_from("<QQ", self.data, at)
                addend = struct.unpack_from("<q", self.data, at + 16)[0] if width == 24 else 0
                found[offset] = (info >> 32, addend)
        return found
