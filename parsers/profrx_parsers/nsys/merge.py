"""Many protobuf events to columns with one parse: the merge technique.

Protobuf defines that parsing the concatenation of messages merges them, that singular sub-messages merge and
that repeated fields append. So when every scalar is declared ``repeated`` and every sub-message singular,
the C parser turns the joined bytes of n events into one message whose repeated fields are the columns.
No Python object is made per event.

What a merge loses is which event a value came from. A field with as many values as events is dense. A
field with fewer is read again with a *separator* message behind every event that sets the field to a
value seen nowhere else: the separators in the column then say which event each value belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

Path = tuple[int, ...]
Kinds = Mapping[Path, str]
"""Field path -> ``int`` (varint), ``double``, ``float`` or ``bytes`` (also text)."""

_F = descriptor_pb2.FieldDescriptorProto
_TYPES = {"int": _F.TYPE_INT64, "double": _F.TYPE_FIXED64, "float": _F.TYPE_FIXED32, "bytes": _F.TYPE_BYTES}
_MARKS = (-0x3A5C_9E71_0B2D_4F68, -0x1B3D_5F70_2A4C_6E8B, -0x7C1E_3A5B_6D8F_0213)
_MARK32 = (0xFFA5_C3E1, 0x7FB1_D2C3, 0xFFC9_1735)
_MARK_BYTES = (b"\xff\x00separator\xff", b"\xfe\x01separator\xfe", b"\xfd\x02separator\xfd")


@dataclass(frozen=True)
class Column:
    """Values of one field over n events.

    Attributes:
        values: numbers (int64 or float64), or byte strings; n long, fill values where absent.
        present: which events carry the field; None = all of them.
    """

    values: npt.NDArray[Any] | list[bytes]
    present: npt.NDArray[np.bool_] | None = None

    def arrow(self) -> pa.Array:
        """Return an Arrow array: nulls where absent, integers as narrow as their values allow."""
        mask = None if self.present is None else ~self.present
        if isinstance(self.values, list):
            if mask is not None:
                here = [v if p else None for v, p in zip(self.values, ~mask, strict=True)]
                return pa.array(here, pa.binary())
            return pa.array(self.values, pa.binary())
        return pa.array(narrow(self.values), mask=mask)


def narrow(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return integers in the smallest signed type that holds them; other types unchanged."""
    if values.dtype != np.int64 or not len(values):
        return values
    low, high = int(values.min()), int(values.max())
    for kind in (np.int8, np.int16, np.int32):
        info = np.iinfo(kind)
        if info.min <= low and high <= info.max:
            return values.astype(kind)
    return values


class Form:
    """A message type made at run time for a set of field paths, in column form.

    Args:
        kinds: the fields to read.
        known: further documented paths, never read and never reported as unknown.
    """

    _made = 0

    def __init__(self, kinds: Kinds, known: Kinds | None = None) -> None:
        self.kinds = dict(kinds)
        self._known = {**(known or {}), **self.kinds}
        self._message = _build(self._known)
        self._spare: dict[frozenset[Path], Form] = {}

    def read(self, events: Sequence[bytes]) -> dict[Path, Column | None]:
        """Return one column per path, None where no event has the field. Raises `DecodeError`."""
        return self.columns(self.parse(events), events)

    def parse(self, events: Sequence[bytes]) -> Any:
        """Merge the events into one message. Raises `DecodeError` when one of them is damaged."""
        return self._message.FromString(b"".join(events))

    def columns(self, merged: Any, events: Sequence[bytes]) -> dict[Path, Column | None]:
        """Return the columns of a merged message."""
        out: dict[Path, Column | None] = {}
        sparse = {}
        for path, kind in self.kinds.items():
            field = _field(merged, path)
            count = 0 if field is None else len(field)
            if count == 0:
                out[path] = None
            elif count == len(events):
                out[path] = Column(_values(field, kind))
            else:
                sparse[path] = _values(field, kind)
        if sparse:
            out.update(self._place(sparse, events))
        return out

    def _place(self, sparse: dict[Path, Any], events: Sequence[bytes]) -> dict[Path, Column]:
        key = frozenset(sparse)
        form = self._spare.get(key)
        if form is None:
            form = self._spare[key] = Form({p: self.kinds[p] for p in sparse})
        separator = form._message()
        marks: dict[Path, Any] = {}
        for path, values in sparse.items():
            marks[path] = _mark(values, self.kinds[path])
            target = separator
            for number in path[:-1]:
                target = getattr(target, f"f{number}")
            getattr(target, f"f{path[-1]}").append(marks[path])
        packed = separator.SerializeToString()
        merged = form._message.FromString(packed.join([*events, b""]))
        out = {}
        for path in sparse:
            kind = self.kinds[path]
            out[path] = _spread(_values(_field(merged, path), kind), marks[path], kind, len(events))
        return out

    def unknown(self, merged: Any) -> dict[Path, int]:
        """Count the fields of a merged message that this form does not declare, by path."""
        found: dict[Path, int] = {}
        _unknown(merged, (), found)
        return {path: count for path, count in found.items() if path not in self._known}


def good_events(form: Form, events: Sequence[bytes]) -> list[bytes]:
    """Return the events that parse on their own: used when a merge failed."""
    good = []
    for event in events:
        try:
            form.parse([event])
        except DecodeError:
            continue
        good.append(event)
    return good


def _build(kinds: Kinds) -> Any:
    tree: dict[int, Any] = {}
    for path, kind in kinds.items():
        node = tree
        for number in path[:-1]:
            node = node.setdefault(number, {})
        node[path[-1]] = kind
    Form._made += 1
    root = f"M{Form._made}"
    file = descriptor_pb2.FileDescriptorProto(name=f"{root}.proto", syntax="proto2")
    _message(file.message_type.add(name=root), tree, root)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(root))


def _message(into: Any, tree: Mapping[int, Any], full: str) -> None:
    for number, kind in sorted(tree.items()):
        field = into.field.add(name=f"f{number}", number=number)
        if isinstance(kind, dict):
            field.label, field.type = _F.LABEL_OPTIONAL, _F.TYPE_MESSAGE
            field.type_name = f".{full}.T{number}"
            _message(into.nested_type.add(name=f"T{number}"), kind, f"{full}.T{number}")
        else:
            field.label, field.type = _F.LABEL_REPEATED, _TYPES[kind]


def _field(message: Any, path: Path) -> Any:
    for number in path[:-1]:
        name = f"f{number}"
        if not message.HasField(name):
            return None
        message = getattr(message, name)
    return getattr(message, f"f{path[-1]}")


def _values(field: Any, kind: str) -> Any:
    if kind == "bytes":
        return list(field)
    if kind == "int":
        return np.fromiter(field, np.int64, len(field))
    return np.fromiter(field, np.uint64 if kind == "double" else np.uint32, len(field)).view(
        np.float64 if kind == "double" else np.float32
    )


def _bits(values: npt.NDArray[Any], kind: str) -> npt.NDArray[Any]:
    return values if kind == "int" else values.view(np.uint64 if kind == "double" else np.uint32)


def _mark(values: Any, kind: str) -> Any:
    if kind == "bytes":
        used = set(values)
        choices: Iterable[Any] = _MARK_BYTES
        return next(m for m in choices if m not in used)
    bits = _bits(values, kind)
    choices = (
        _MARKS
        if kind == "int"
        else _MARK32
        if kind == "float"
        else [m & 0xFFFF_FFFF_FFFF_FFFF for m in _MARKS]
    )
    return next(m for m in choices if not (bits == bits.dtype.type(m)).any())


def _spread(values: Any, mark: Any, kind: str, count: int) -> Column:
    if kind == "bytes":
        hit = pc.equal(pa.array(values, pa.binary()), pa.scalar(mark, pa.binary())).to_numpy(
            zero_copy_only=False
        )
    else:
        bits = _bits(values, kind)
        hit = bits == bits.dtype.type(mark)
    event = np.cumsum(hit)[~hit]
    present = np.zeros(count, bool)
    present[event] = True
    if kind == "bytes":
        texts = [b""] * count
        for at, value in zip(
            event.tolist(), (v for v, h in zip(values, hit, strict=True) if not h), strict=True
        ):
            texts[at] = value
        return Column(texts, present)
    out = np.zeros(count, values.dtype)
    out[event] = values[~hit]
    return Column(out, present)


def _unknown(message: Any, at: Path, found: dict[Path, int]) -> None:
    for field in UnknownFieldSet(message):
        path = (*at, field.field_number)
        found[path] = found.get(path, 0) + 1
    for descriptor, value in message.ListFields():
        if descriptor.type == _F.TYPE_MESSAGE:
            _unknown(value, (*at, descriptor.number), found)
