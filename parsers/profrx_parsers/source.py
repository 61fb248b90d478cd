"""Opening an input safely: existence, permission, emptiness, packed files, bounded unpacking."""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from profrx_parsers.descriptor import HEAD_BYTES, Head
from profrx_parsers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
GZIP_MAGIC = b"\x1f\x8b"
MAX_UNPACKED_BYTES = 8 << 30
MAX_RATIO = 2000
"""A file that unpacks to more than this times its size is refused as a bomb (real reports: about 20)."""
MIN_BOMB_BYTES = 64 << 20
MAX_MEMBERS = 4096
SPILL_BYTES = 2 << 20
"""What unpacks to more is mapped from a temporary file instead of held in memory."""
_CHUNK = 1 << 20
_PACKED_CHUNK = 1 << 16
"""Smaller, since the piece in which damage lies is unpacked again byte by byte."""
DAMAGED_PACKING = "input-damaged-packing"


@dataclass(frozen=True)
class Source:
    """One input: a file or a folder.

    Attributes:
        path: where it lies.
        name: what the user called it (shown in messages).
        packed: ``zstd``, ``gzip`` or empty.
        damage: one line per damage that `data` met.
    """

    path: Path
    name: str
    packed: str = ""
    damage: list[str] = field(default_factory=list, compare=False)

    @property
    def is_folder(self) -> bool:
        """Whether the input is a folder."""
        return self.path.is_dir()

    def data(self) -> memoryview:
        """Return all bytes, unpacked; plain files are mapped, not read. Raises `InputError` for a bomb.

        Of damaged packing, what was unpacked before the damage is returned, and `damage` says so.
        """
        try:
            if not self.packed:
                with open(self.path, "rb", buffering=0) as file:
                    return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            unpacked = _Unpacked()
            try:
                for piece in self.chunks():
                    unpacked.add(piece)
            except InputError as err:
                if err.code != DAMAGED_PACKING or not unpacked.size:
                    raise
                self.damage.append(f"{err.message}; {unpacked.size:,} bytes were unpacked before that")
            return unpacked.view()
        except (OSError, ValueError) as err:
            raise os_error(self.name, err) from err

    def chunks(self) -> Iterator[bytes]:
        """Yield the unpacked bytes in pieces of about 1 MiB, within the bounds of this module."""
        yield from _unpack(self.path, self.name, self.packed)

    def sha256(self) -> str:
        """Return the digest of the file as it lies on disk (a folder: of its sorted member digests)."""
        digest = hashlib.sha256()
        if self.is_folder:
            for member in _members(self.path):
                digest.update(member.encode())
                with (self.path / member).open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
            return digest.hexdigest()
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


class _Unpacked:
    """Bytes that come piece by piece: kept in memory, many of them in a mapped file without a name.

    A map need not stay resident while it is passed over. Where no file can be made, or the disk is full, everything
    stays in memory.

    Attributes:
        size: how many bytes there are.
    """

    def __init__(self) -> None:
        self.size = 0
        self._held = bytearray()  # grows in place: joining the pieces would hold everything twice
        self._file: IO[bytes] | None = None
        self._may_spill = True

    def add(self, piece: bytes) -> None:
        """Append a piece."""
        if self._file is None and self._may_spill and self.size + len(piece) > SPILL_BYTES:
            self._spill()
        if self._file is None or not self._write(piece):
            self._held += piece
        self.size += len(piece)

    def _spill(self) -> None:
        try:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - outlives this call
        except OSError:
            self._may_spill = False
            return
        held, self._held = self._held, bytearray()
        if not self._write(held):
            self._held = held

    def _write(self, piece: bytes | bytearray) -> bool:
        """Write all of a piece; False when there is no room: then what was written before is back in memory."""
        assert self._file is not None
        try:
            left = memoryview(piece)
            while left:
                left = left[self._file.write(left) :]
            return True
        except OSError:
            self._may_spill = False
            with self._file as file:
                file.seek(0)
                self._held = bytearray(file.read())[: self.size]
            self._file = None
            return False

    def view(self) -> memoryview:
        """Return everything, read-only."""
        if self._file is None:
            return memoryview(self._held).toreadonly()
        with self._file:
            return memoryview(mmap.mmap(self._file.fileno(), self.size, access=mmap.ACCESS_READ))


def open_source(path: str | os.PathLike[str]) -> tuple[Source, Head]:
    """Check that `path` can be read and return it with its head. Raises `InputError`."""
    name = os.fspath(path)
    where = Path(path)
    if not name:
        raise InputError(
            "input-missing",
            "the path is empty",
            where="''",
            next_step="name a report; a variable of the shell may be unset",
        )
    try:
        mode = os.stat(name).st_mode
        if stat.S_ISDIR(mode):
            members = _members(where)
            return Source(where, name), Head(b"", where.name, members=members, path=name)
        if not stat.S_ISREG(mode):
            raise InputError(
                "input-not-a-file",
                "this is neither a file nor a folder",
                where=name,
                next_step="give a report, or a folder that is one capture",
            )
        with open(name, "rb", buffering=0) as file:
            start = file.read(HEAD_BYTES)
    except (OSError, ValueError) as err:
        raise os_error(name, err) from err
    if not start:
        raise InputError(
            "input-empty",
            "the file is empty",
            where=name,
            next_step="the capture was interrupted or the copy failed: collect or copy it again",
        )
    packed = "zstd" if start.startswith(ZSTD_MAGIC) else "gzip" if start.startswith(GZIP_MAGIC) else ""
    if packed:
        start = next(_unpack(where, name, packed, limit=HEAD_BYTES), b"")[:HEAD_BYTES]
    return Source(where, name, packed), Head(start, where.name, packed, path=name)


def _members(folder: Path) -> tuple[str, ...]:
    found: list[str] = []
    for root, folders, files in os.walk(folder, followlinks=False):
        folders.sort()
        depth = len(Path(root).relative_to(folder).parts)
        if depth >= 4:
            folders.clear()
        for file in sorted(files):
            found.append(os.path.relpath(os.path.join(root, file), folder))
            if len(found) >= MAX_MEMBERS:
                return tuple(found)
    return tuple(found)


def _unpack(path: Path, name: str, packed: str, limit: int | None = None) -> Iterator[bytes]:
    import pyarrow as pa

    size = path.stat().st_size
    bound = min(MAX_UNPACKED_BYTES, max(size * MAX_RATIO, MIN_BOMB_BYTES))
    total = 0
    try:
        if not packed:
            with path.open("rb") as file:
                while piece := file.read(_CHUNK):
                    yield piece
            return
        with pa.CompressedInputStream(pa.OSFile(os.fsencode(path), "rb"), packed) as stream:
            while piece := stream.read(limit or _PACKED_CHUNK):
                total += len(piece)
                if total > bound:
                    raise InputError(
                        "input-bomb",
                        f"{size:,} packed bytes unpack to more than {bound:,}",
                        where=name,
                        next_step="this is no profiler report; unpack it yourself if you trust it",
                    )
                yield piece
                if limit:
                    return
    except (OSError, pa.ArrowException) as err:
        rest = _before_damage(path, packed, total, limit or _PACKED_CHUNK)
        if rest:
            yield rest
            if limit:
                return
        raise InputError(
            DAMAGED_PACKING,
            f"the {packed} data is damaged: {err}",
            where=name,
            next_step="copy the file again",
        ) from err


def _before_damage(path: Path, packed: str, skip: int, most: int) -> bytes:
    """Return what can still be unpacked of the piece that failed, byte by byte: a piece fails as a whole."""
    import pyarrow as pa

    found = bytearray()
    with (
        contextlib.suppress(OSError, pa.ArrowException),
        pa.CompressedInputStream(pa.OSFile(os.fsencode(path), "rb"), packed) as stream,
    ):
        while skip and (piece := stream.read(min(skip, _PACKED_CHUNK))):
            skip -= len(piece)
        while not skip and len(found) < most and (piece := stream.read(1)):
            found += piece
    return bytes(found)


def os_error(name: str, err: Exception) -> InputError:
    """Return the `InputError` that says what the operating system refused."""
    if isinstance(err, FileNotFoundError):
        return InputError("input-missing", "no such file", where=name, next_step="check the path")
    if isinstance(err, PermissionError):
        return InputError(
            "input-permission",
            "no permission to read this",
            where=name,
            next_step="check the owner and mode of the file",
        )
    return InputError(
        "input-unreadable",
        f"cannot read: {getattr(err, 'strerror', None) or err}",
        where=name,
        next_step="check that the file is complete and the disk is readable",
    )
