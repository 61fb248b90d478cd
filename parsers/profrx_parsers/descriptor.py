"""What a reader says about itself, without being imported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

HEAD_BYTES = 4096
"""A sniff sees at most this much of a file."""


@dataclass(frozen=True)
class Head:
    """What detection may look at: the first bytes and the name; for a folder, the names inside.

    Attributes:
        data: at most `HEAD_BYTES` bytes, already unpacked when the file is zstd or gzip.
        name: file or folder name, without its parents.
        packed: ``zstd``, ``gzip`` or empty.
        members: relative member paths of a folder (sorted, at most 4096); empty for a file.
        path: the input itself, for folder sniffs that must look at a member's first bytes.
    """

    data: bytes
    name: str
    packed: str = ""
    members: tuple[str, ...] = ()
    path: str = ""


@dataclass(frozen=True)
class Match:
    """A reader recognised the input.

    Attributes:
        why: the reason, shown by ``profrx inspect``, e.g. ``starts with the magic "NVR"``.
        certain: False for a weak match (suffix, plausible text) that any certain match beats.
    """

    why: str
    certain: bool = True


Sniff = Callable[[Head], Match | None]


@dataclass(frozen=True)
class Descriptor:
    """One reader.

    Attributes:
        name: format name, e.g. ``ncu-rep``; unique.
        tool: folder of the tool, e.g. ``ncu``.
        title: what a person calls the format.
        suffixes: usual file suffixes, with the dot; break ties only.
        priority: unique; lower is asked first and wins among equal matches.
        sniff: looks at a `Head`, returns a `Match` or None. Must not raise and must not read the whole file.
        reader: dotted path ``package.module:function`` of ``read(source, wanted) -> Report``.
        extra: optional dependency group that the reader needs; empty = none.
        folder: whether the reader takes folders.
    """

    name: str
    tool: str
    title: str
    suffixes: tuple[str, ...]
    priority: int
    sniff: Sniff = field(compare=False)
    reader: str
    extra: str = ""
    folder: bool = False
