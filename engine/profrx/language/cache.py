"""Parsed packs kept between runs: plain MessagePack in the user's cache folder, keyed by content.

Each pack without syntax errors is kept on its own, so a change in yours does not parse the shipped one again, and
once with and once without inline tests, as it was asked for. A marker says which packs were checked together
without a finding, so a hit needs neither parser nor checker. The format holds numbers, texts and lists; reading it
builds syntax tree nodes and can run nothing. A file that is damaged, foreign or of another version is a miss. Set
``PROFRX_CACHE_DIR`` to move the folder, ``PROFRX_NO_CACHE=1`` to do without.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from profrx.language import ast
from profrx.language.diagnostics import Lines, Place
from profrx.language.tables import STORED

KEPT = 40
"""Newest packs that are kept."""
MAX_STORED = 256 << 20
"""Bytes of one stored pack that are read."""
_WORD = -1
_TUPLE = -2
_NAN = -3
_PLAIN = frozenset({str, int, bool, type(None)})

CLASSES: tuple[type[ast.Node], ...] = tuple(
    sorted(
        (
            c
            for c in vars(ast).values()
            if isinstance(c, type) and issubclass(c, ast.Node) and c is not ast.Node
        ),
        key=lambda c: c.__name__,
    )
)
_CODES = {class_: code for code, class_ in enumerate(CLASSES)}
_FIELDS = tuple(tuple(f.name for f in fields(class_) if f.name != "span") for class_ in CLASSES)
Parsed = Mapping[str, tuple[ast.Declaration, ...]]


def folder() -> Path | None:
    """Where packs are kept; None when there is no safe place or none is wanted."""
    if os.environ.get("PROFRX_NO_CACHE"):
        return None
    named = os.environ.get("PROFRX_CACHE_DIR")
    if named:
        root = Path(named)
    elif sys.platform == "win32":
        root = Path(os.environ.get("LOCALAPPDATA", Path.home())) / "profrx" / "cache"
    elif sys.platform == "darwin":
        root = Path.home() / "Library" / "Caches" / "profrx"
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "profrx"
    return root / "rules"


@cache
def edition() -> str:
    """Changes whenever a stored tree could mean something else: grammar, node classes, checks."""
    import profrx

    shape = [(class_.__name__, names) for class_, names in zip(CLASSES, _FIELDS, strict=True)]
    parts = [profrx.__version__, repr(shape)]
    here = Path(__file__).parent
    parts += [
        f"{p.name} {p.stat().st_size} {p.stat().st_mtime_ns}"
        for p in sorted([*here.glob("*.py"), *here.glob("check/*.py"), STORED])
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def load(digest: str, texts: Mapping[str, str]) -> Parsed | None:
    """The declarations of each file of a pack, or None when they are not kept."""
    path = _path(digest)
    if path is None:
        return None
    try:
        if not _own(path) or path.stat().st_size > MAX_STORED:
            return None
        stored = msgspec.msgpack.decode(path.read_bytes())
        if stored.keys() != texts.keys():
            return None
        return {name: _decoded(declarations, texts[name], name) for name, declarations in stored.items()}
    except (
        OSError,
        msgspec.DecodeError,
        KeyError,
        IndexError,
        TypeError,
        ValueError,
        AttributeError,
        RecursionError,
    ):
        return None


def keep(digest: str, parsed: Parsed) -> None:
    """Keep the declarations of a pack; failing to is no failure."""
    path = _path(digest)
    if path is None:
        return
    packed = {name: [_pack(node) for node in nodes] for name, nodes in parsed.items()}
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
        with os.fdopen(handle, "wb") as stream:
            stream.write(msgspec.msgpack.encode(packed))
        os.replace(temporary, path)
        _prune(path.parent, "*.mpk")


def is_good(digest: str) -> bool:
    """Whether the whole of some packs was checked before and found without a mistake."""
    path = _path(digest, ".ok")
    try:
        return path is not None and path.exists() and _own(path)
    except OSError:
        return False


def mark_good(digest: str) -> None:
    """Remember that a check found nothing."""
    path = _path(digest, ".ok")
    if path is None:
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        _prune(path.parent, "*.ok")


def _prune(root: Path, pattern: str) -> None:
    for old in sorted(root.glob(pattern), key=lambda p: p.stat().st_mtime)[:-KEPT]:
        old.unlink()


def _path(digest: str, suffix: str = ".mpk") -> Path | None:
    root = folder()
    return (
        root / f"{hashlib.sha256((edition() + digest).encode()).hexdigest()[:40]}{suffix}" if root else None
    )


def _own(path: Path) -> bool:
    """Whether nobody but the user can have written the file."""
    if not hasattr(os, "getuid"):
        return True
    status = path.lstat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def _pack(value: Any) -> Any:
    """Lists for nodes, tuples and words; what is `_PLAIN` stands for itself and is not asked."""
    kind = type(value)
    code = _CODES.get(kind)
    if code is not None:
        state = value.__dict__
        _, start, end = state["span"].at
        parts = [state[name] for name in _FIELDS[code]]
        return [code, start, end, *[part if type(part) in _PLAIN else _pack(part) for part in parts]]
    if kind is tuple:
        return [_TUPLE, *[part if type(part) in _PLAIN else _pack(part) for part in value]]
    if kind is ast.Word:
        return [_WORD, *value.span.at[1:], str(value)]
    return [_NAN] if value != value else value


def _decoded(declarations: list[Any], text: str, file: str) -> tuple[ast.Declaration, ...]:
    decoder = _Decoder(Lines(text, file))
    return tuple([decoder.node(packed) for packed in declarations])


class _Decoder:
    """Builds the nodes of one file."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def place(self, start: int, end: int) -> Place:
        made: Place = object.__new__(Place)
        made.__dict__["at"] = (self.lines, start, end)
        return made

    def node(self, packed: list[Any]) -> Any:
        """A node, a tuple or a word; every other value stands for itself."""
        code = packed[0]
        if code == _TUPLE:
            node = self.node
            return tuple([node(part) if type(part) is list else part for part in packed[1:]])
        if code == _NAN:
            return math.nan
        if code == _WORD:
            word = ast.Word(packed[3])
            word.span = self.place(packed[1], packed[2])
            return word
        made = object.__new__(CLASSES[code])
        state = made.__dict__
        state["span"] = self.place(packed[1], packed[2])
        names = _FIELDS[code]
        if len(packed) != len(names) + 3:
            raise ValueError("a node of another shape")
        for name, part in zip(names, packed[3:], strict=True):
            state[name] = self.node(part) if type(part) is list else part
        return made


def digest_of(sources: Iterable[tuple[str, str, bytes]]) -> str:
    """SHA-256 over pack names, file names and contents."""
    digest = hashlib.sha256()
    for pack, name, data in sources:
        digest.update(f"{pack}\0{name}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()
