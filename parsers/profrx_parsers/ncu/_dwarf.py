"""DWARF line programs (versions 2 to 4) of a cubin: address -> file and line, per function.

Extended opcode 0x90 is NVIDIA's context of inlined calls; it moves no row and is skipped.
Source: the public DWARF 2 and 4 standards; observed in cubins of Nsight Compute reports.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field

from profrx_parsers.wire import WireError, varint

MAX_ROWS = 2_000_000
_ADVANCE, _LINE, _FILE, _CONST, _FIXED = 2, 3, 4, 8, 9


@dataclass
class Sequence:
    """Rows of one contiguous piece of code.

    Attributes:
        operand: offset (in the section) of the start address in the program, to match a relocation.
        start: the address as stored; 0 before relocation.
        addresses, files, lines: one element per row, addresses ascending and relative to `start`; files are places
            in `names`.
        names: paths of the program's files; 0 is none.
        stop: end of the piece, relative to `start`.
    """

    operand: int = 0
    start: int = 0
    addresses: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    stop: int = 0


def sequences(data: bytes) -> list[Sequence]:
    """Decode every line program of a section. Raises `WireError` at the first that does not decode."""
    found: list[Sequence] = []
    rows = 0
    pos = 0
    while pos + 10 < len(data):
        length = int.from_bytes(data[pos : pos + 4], "little")
        body, wide = pos + 4, False
        if length == 0xFFFFFFFF:
            length, body, wide = int.from_bytes(data[pos + 4 : pos + 12], "little"), pos + 12, True
        stop = body + length
        if length < 10 or stop > len(data):
            raise WireError("a line program does not fit", pos)
        try:
            new = _program(data, body, stop, wide, MAX_ROWS - rows)
        except IndexError:
            raise WireError("a line program is cut short", pos) from None
        found += new
        rows += sum(len(one.addresses) for one in new)
        pos = stop
    return found


def _program(data: bytes, pos: int, stop: int, wide: bool, budget: int) -> list[Sequence]:
    version = int.from_bytes(data[pos : pos + 2], "little")
    if not 2 <= version <= 4:
        raise WireError(f"line program version {version}", pos)
    offset = 8 if wide else 4
    header = int.from_bytes(data[pos + 2 : pos + 2 + offset], "little")
    pos += 2 + offset
    program = pos + header
    step = data[pos]
    pos += 2 if version >= 4 else 1
    line_base = int.from_bytes(data[pos + 1 : pos + 2], "little", signed=True)
    line_range, opcode_base = data[pos + 2], data[pos + 3]
    if not line_range or not opcode_base or program > stop:
        raise WireError("a line program header is damaged", pos)
    operands = data[pos + 4 : pos + 3 + opcode_base]
    files = _files(data, pos + 3 + opcode_base, program)
    return _run(data, program, stop, files, operands, (step, line_base, line_range, opcode_base), budget)


def _files(data: bytes, pos: int, stop: int) -> list[str]:
    """Decode the directory and file tables; element i is file number i (0 = none)."""
    folders = [""]
    while pos < stop and data[pos]:
        name, pos = _string(data, pos, stop)
        folders.append(name)
    pos += 1
    files = [""]
    while pos < stop and data[pos]:
        name, pos = _string(data, pos, stop)
        folder, pos = varint(data, pos, stop)
        _, pos = varint(data, pos, stop)
        _, pos = varint(data, pos, stop)
        files.append(_join(folders[folder] if folder < len(folders) else "", name))
    return files


def _join(folder: str, name: str) -> str:
    absolute = name.startswith("/") or name[1:3] in (":\\", ":/")
    path = name if absolute or not folder else f"{folder.rstrip('/')}/{name}"
    return posixpath.normpath(path) if "/../" in path or "/./" in path else path


def _string(data: bytes, pos: int, stop: int) -> tuple[str, int]:
    end = data.find(b"\0", pos, stop)
    if end < 0:
        raise WireError("a name is not ended", pos)
    return data[pos:end].decode("utf-8", "replace"), end + 1


def _sleb(data: bytes, pos: int, stop: int) -> tuple[int, int]:
    value, after = varint(data, pos, stop)
    bits = 7 * (after - pos)
    return (value - (1 << bits) if value >> (bits - 1) & 1 else value), after


def _run(
    data: bytes,
    pos: int,
    stop: int,
    files: list[str],
    operands: bytes,
    header: tuple[int, int, int, int],
    budget: int,
) -> list[Sequence]:
    step, line_base, line_range, opcode_base = header
    found: list[Sequence] = []
    current, address, file, line = Sequence(names=files), 0, 1, 1
    while pos < stop:
        opcode = data[pos]
        here, pos = pos, pos + 1
        emit = False
        if opcode >= opcode_base:
            adjusted = opcode - opcode_base
            address += adjusted // line_range * step
            line += line_base + adjusted % line_range
            emit = True
        elif opcode == 0:
            length, pos = varint(data, pos, stop)
            if not length or length > stop - pos:
                raise WireError("an extended opcode does not fit", here)
            kind, operand = data[pos], pos + 1
            pos += length
            if kind == 1:
                current.stop = address
                found.append(current)
                current, address, file, line = Sequence(names=files), 0, 1, 1
            elif kind == 2:
                value = int.from_bytes(data[operand:pos], "little")
                if not current.addresses:
                    current.operand, current.start, address = operand, value, 0
                else:
                    address = value - current.start
        elif opcode == 1:
            emit = True
        elif opcode == _ADVANCE:
            delta, pos = varint(data, pos, stop)
            address += delta * step
        elif opcode == _LINE:
            delta, pos = _sleb(data, pos, stop)
            line += delta
        elif opcode == _FILE:
            file, pos = varint(data, pos, stop)
        elif opcode == _CONST:
            address += (255 - opcode_base) // line_range * step
        elif opcode == _FIXED:
            address += int.from_bytes(data[pos : pos + 2], "little")
            pos += 2
        else:
            for _ in range(operands[opcode - 1] if opcode <= len(operands) else 0):
                _, pos = varint(data, pos, stop)
        if emit:
            budget -= 1
            if budget < 0:
                raise WireError(f"more than {MAX_ROWS:,} line rows", here)
            current.addresses.append(address)
            current.files.append(file if file < len(files) else 0)
            current.lines.append(line)
    return found
