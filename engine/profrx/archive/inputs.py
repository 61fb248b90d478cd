"""Finding the inputs of a batch: folders, tar and zip files, object stores.

`walk` yields `Item`s (cheap: names, sizes, times) and `Trouble` for what it cannot enter; `fetch` brings one
item to a local path when a worker needs it. Nothing is extracted under a name that an archive chose.
"""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from profrx_parsers.errors import InputError
from profrx_parsers.source import MAX_UNPACKED_BYTES

MAX_MEMBERS = 1_000_000
MAX_DEPTH = 64
_TAR_OFFSET, _TAR_MAGIC = 257, b"ustar"
_PIECE = 1 << 20


OWN_SUFFIXES = (".ncu-rep", ".ncu-repz", ".nsight-cuprof-report", ".nsys-rep", ".qdrep")
"""Names that only reports have: one that holds none is a report that is lost, not another kind of file."""


@dataclass(frozen=True)
class Item:
    """One candidate input.

    Attributes:
        uri: its stable address: an absolute path, ``path!member`` for a member of a tar or zip file, or an
            object-store URL.
        kind: ``file``, ``folder`` (one capture), ``tar``, ``zip`` or ``remote``.
        place: path or URL of the file that holds it.
        member: name inside a tar or zip file; empty otherwise.
        size: bytes, or None.
        modified_ns: time of the last change, or None.
        explicit: named by the user himself, so that "not recognised" is a failure and not a shrug.
    """

    uri: str
    kind: str
    place: str
    member: str = ""
    size: int | None = None
    modified_ns: int | None = None
    explicit: bool = False

    @property
    def is_report(self) -> bool:
        """Whether it claims to be a report: by its name, or because the user named it."""
        name = self.uri.replace("!", "/").rpartition("/")[2].lower()
        # macOS keeps attributes of a file beside it, as ._NAME
        return self.explicit or (name.endswith(OWN_SUFFIXES) and not name.startswith("._"))


@dataclass(frozen=True)
class Trouble:
    """Something that could not be entered: one clear line."""

    uri: str
    error: InputError


def walk(roots: list[str]) -> Iterator[Item | Trouble]:
    """Yield everything below `roots` in a stable order; a root given twice is walked once."""
    seen: set[tuple[int, int]] = set()
    for root in dict.fromkeys(roots):
        if "://" in root:
            yield from _remote(root)
            continue
        path = os.path.abspath(root)
        try:
            status = os.stat(path)
        except OSError as err:
            yield _trouble(path, err)
            continue
        if stat.S_ISDIR(status.st_mode):
            yield from _folder(path, seen, explicit=True)
        else:
            yield from _file(path, status, explicit=True)


def _folder(top: str, seen: set[tuple[int, int]], *, explicit: bool) -> Iterator[Item | Trouble]:
    """Walk depth first without recursion; each folder is entered once, so that link loops end."""
    pending: list[tuple[str, int]] = [(top, 0)]
    while pending:
        folder, depth = pending.pop()
        try:
            status = os.stat(folder)
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda e: e.name)
        except OSError as err:
            yield _trouble(folder, err)
            continue
        identity = (status.st_dev, status.st_ino)
        if identity in seen:
            yield Trouble(
                folder,
                InputError(
                    "input-visited",
                    "this folder was already walked (a link leads back to it)",
                    where=folder,
                    next_step="nothing to do: its files are analysed once",
                ),
            )
            continue
        seen.add(identity)
        if depth > MAX_DEPTH:
            yield Trouble(
                folder,
                InputError(
                    "input-too-deep",
                    f"folders are nested deeper than {MAX_DEPTH}",
                    where=folder,
                    next_step="give the inner folder as a root of its own",
                ),
            )
            continue
        capture = _capture(folder, status)
        if capture is not None:
            yield capture
            continue
        below: list[tuple[str, int]] = []
        for entry in entries:
            try:
                if entry.is_dir():
                    below.append((entry.path, depth + 1))
                    continue
                status = entry.stat()
            except OSError as err:
                yield _trouble(entry.path, err)
                continue
            if stat.S_ISREG(status.st_mode):
                yield from _file(entry.path, status, explicit=False)
        pending.extend(reversed(below))


def _capture(folder: str, status: os.stat_result) -> Item | None:
    """Return the folder as one item when a reader takes it as one capture."""
    from profrx_parsers.registry import sniff
    from profrx_parsers.source import open_source

    try:
        _, head = open_source(folder)
    except InputError:
        return None
    hits = [match for _, match in sniff(head) if match.certain] if head.members else []
    if not hits:
        return None
    size = newest = 0
    for member in head.members:
        try:
            inner = os.stat(os.path.join(folder, member))
        except OSError:
            continue
        size, newest = size + inner.st_size, max(newest, inner.st_mtime_ns)
    return Item(folder, "folder", folder, size=size, modified_ns=newest or status.st_mtime_ns)


def _file(path: str, status: os.stat_result, *, explicit: bool) -> Iterator[Item | Trouble]:
    kind = _archive_kind(path) if stat.S_ISREG(status.st_mode) else ""  # opening a FIFO waits for a writer
    if kind == "tar":
        yield from _tar(path, status)
    elif kind == "zip":
        yield from _zip(path, status)
    else:
        yield Item(path, "file", path, size=status.st_size, modified_ns=status.st_mtime_ns, explicit=explicit)


def _archive_kind(path: str) -> str:
    lowered = path.lower()
    try:
        with open(path, "rb") as file:
            head = file.read(512)
    except OSError:
        return ""
    if head.startswith(b"PK\x03\x04"):
        return "zip"
    if head[_TAR_OFFSET : _TAR_OFFSET + 5] == _TAR_MAGIC or lowered.endswith(
        (".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")
    ):
        return "tar"
    return ""


def _safe(member: str) -> bool:
    parts = PurePosixPath(member.replace("\\", "/")).parts
    return bool(parts) and not member.startswith(("/", "\\")) and ".." not in parts and ":" not in parts[0]


def _tar(path: str, status: os.stat_result) -> Iterator[Item | Trouble]:
    try:
        with tarfile.open(path) as tar:
            for count, member in enumerate(tar):
                if count >= MAX_MEMBERS:
                    yield _member_trouble(
                        path, member.name, "input-too-many", f"more than {MAX_MEMBERS:,} members"
                    )
                    return
                if not member.isfile():
                    continue
                if not _safe(member.name):
                    yield _member_trouble(
                        path, member.name, "input-unsafe-name", "the member's name leads out of the archive"
                    )
                    continue
                yield Item(f"{path}!{member.name}", "tar", path, member.name, member.size, status.st_mtime_ns)
    except (tarfile.TarError, OSError, EOFError, ValueError) as err:
        yield Trouble(
            path,
            InputError(
                "input-damaged-archive",
                f"the tar file is damaged: {err}",
                where=path,
                next_step="members before the damage are analysed; copy the file again for the rest",
            ),
        )


def _zip(path: str, status: os.stat_result) -> Iterator[Item | Trouble]:
    try:
        with zipfile.ZipFile(path) as archive:
            for count, member in enumerate(archive.infolist()):
                if count >= MAX_MEMBERS:
                    yield _member_trouble(
                        path, member.filename, "input-too-many", f"more than {MAX_MEMBERS:,} members"
                    )
                    return
                if member.is_dir():
                    continue
                if not _safe(member.filename):
                    yield _member_trouble(
                        path,
                        member.filename,
                        "input-unsafe-name",
                        "the member's name leads out of the archive",
                    )
                    continue
                yield Item(
                    f"{path}!{member.filename}",
                    "zip",
                    path,
                    member.filename,
                    member.file_size,
                    status.st_mtime_ns,
                )
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as err:
        yield Trouble(
            path,
            InputError(
                "input-damaged-archive",
                f"the zip file is damaged: {err}",
                where=path,
                next_step="copy the file again",
            ),
        )


def _remote(root: str) -> Iterator[Item | Trouble]:
    from pyarrow import fs

    try:
        system, base = fs.FileSystem.from_uri(root)
        scheme = root.split("://", 1)[0]
        query = "?" + root.split("?", 1)[1] if "?" in root else ""
        infos = [system.get_file_info(base)]
        explicit = infos[0].type == fs.FileType.File
        if not explicit:
            infos = system.get_file_info(fs.FileSelector(base, recursive=True))
        for info in sorted(infos, key=lambda i: i.path):
            if info.type == fs.FileType.File:
                address = f"{scheme}://{info.path}"
                yield Item(
                    address,
                    "remote",
                    address + query,
                    size=info.size,
                    modified_ns=info.mtime_ns,
                    explicit=explicit,
                )
    except (OSError, ValueError, NotImplementedError) as err:
        yield Trouble(
            root,
            InputError(
                "input-remote",
                f"the object store cannot be listed: {_first_line(err)}",
                where=root.split("?", 1)[0],
                next_step="check the URL, the credentials and the network",
            ),
        )


@contextmanager
def fetch(item: Item) -> Iterator[Path]:
    """Give a local path for `item`; copies of members and remote objects live until the block ends."""
    if item.kind in ("file", "folder"):
        yield Path(item.place)
        return
    with TemporaryDirectory(prefix="profrx-") as folder:
        base = PurePosixPath(item.member or item.uri).name or "report"
        target = Path(folder) / "".join(c if c.isalnum() or c in "._-" else "_" for c in base)[-120:]
        try:
            with _opened(item) as stream, target.open("wb") as out:
                _copy(stream, out, item.uri)
        except (OSError, tarfile.TarError, zipfile.BadZipFile, KeyError, EOFError, ValueError) as err:
            raise InputError(
                "input-unreadable",
                f"cannot read: {_first_line(err)}",
                where=item.uri,
                next_step="the file changed or vanished since it was listed: run again",
            ) from err
        yield target


@contextmanager
def _opened(item: Item) -> Iterator[Any]:
    if item.kind == "tar":
        with tarfile.open(item.place) as tar:
            stream = tar.extractfile(item.member)
            if stream is None:
                raise KeyError(item.member)
            yield stream
    elif item.kind == "zip":
        with zipfile.ZipFile(item.place) as archive, archive.open(item.member) as stream:
            yield stream
    else:
        from pyarrow import fs

        system, path = fs.FileSystem.from_uri(item.place)
        with system.open_input_stream(path, compression=None) as stream:
            yield stream


def _copy(stream: Any, out: Any, uri: str) -> None:
    total = 0
    while piece := stream.read(_PIECE):
        total += len(piece)
        if total > MAX_UNPACKED_BYTES:
            raise InputError(
                "input-bomb",
                f"the member unpacks to more than {MAX_UNPACKED_BYTES:,} bytes",
                where=uri,
                next_step="this is no profiler report",
            )
        if shutil.disk_usage(out.name).free < 2 * _PIECE:
            raise InputError(
                "input-no-space",
                "no space left for a temporary copy",
                where=uri,
                next_step="free some space or set TMPDIR to another disk",
            )
        out.write(piece)


def _trouble(path: str, err: OSError) -> Trouble:
    from profrx_parsers.source import os_error

    return Trouble(path, os_error(path, err))


def _member_trouble(path: str, member: str, code: str, message: str) -> Trouble:
    shown = member.encode("unicode_escape").decode()[:200]
    return Trouble(
        f"{path}!{shown}",
        InputError(
            code,
            message,
            where=f"{path}!{shown}",
            next_step="it was skipped; repack the archive if you need it",
        ),
    )


def _first_line(err: BaseException) -> str:
    return (str(err).strip().splitlines() or [type(err).__name__])[0][:200]
