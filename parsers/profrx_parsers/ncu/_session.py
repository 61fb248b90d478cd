"""Session facts of an `.ncu-rep`, merged over all its blocks: system, versions, devices, command line."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from profrx_parsers.problems import ProblemLog
from profrx_parsers.wire import Message, Span, WireError, fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PLATFORMS = {
    1: "Windows", 2: "Linux", 3: "Android", 4: "macOS", 5: "QNX", 6: "HOS", 7: "Integrity", 8: "Linux",
}  # fmt: skip
KNOWN_FIELDS = frozenset(range(1, 12))
Value = float | str | None
MAX_DEVICES = 4096
KEPT_DEVICES, KEPT_BYTES = 32, 64 << 10
"""Devices whose attributes are kept decoded over reports, and most bytes of one."""


@dataclass
class Session:
    """What the session blocks say; private parts are kept apart.

    Attributes:
        created: unix seconds.
        versions: provider -> version, e.g. ``CUDA Version``.
        devices: device id -> (name, attribute -> value).
        platform: system and machine architecture.
        command_line: of the profiler, as stored. Private.
        private: host, user and address facts. Private.
    """

    created: int | None = None
    versions: dict[str, str] = field(default_factory=dict)
    devices: dict[int, tuple[str | None, dict[str, Value]]] = field(default_factory=dict)
    platform: str | None = None
    command_line: str | None = None
    private: dict[str, object] = field(default_factory=dict)

    def captured_at(self) -> str | None:
        """Return the creation time as ISO 8601, None when absent or impossible."""
        if not self.created or self.created > 1 << 40:
            return None
        try:
            return datetime.fromtimestamp(self.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        except (ValueError, OverflowError, OSError):
            return None


def value_of(message: Message | None) -> Value:
    """Decode a metric value message; None when absent or empty."""
    if message is None:
        return None
    if message.spans(1):
        return message.text(1)
    if (bits := message.integer(3)) is not None:
        return float(struct.unpack("<d", bits.to_bytes(8, "little"))[0])
    if (bits := message.integer(2)) is not None:
        return float(struct.unpack("<f", (bits & 0xFFFFFFFF).to_bytes(4, "little"))[0])
    whole = message.integer(5)
    whole = whole if whole is not None else message.integer(4)
    return float(whole) if whole is not None else None


class SessionBlocks:
    """The session messages of a report, decoded when somebody looks at them.

    Args:
        data: the report.
        spans: of the messages, to be merged in this order.
    """

    def __init__(self, data: memoryview, spans: Sequence[Span]) -> None:
        self._data = data
        self._spans = spans
        self._problems = ProblemLog()

    @cached_property
    def session(self) -> Session:
        """What they say."""
        return merge(self._data, self._spans, self._problems)

    def check(self, problems: ProblemLog) -> None:
        """Tell what is wrong with them."""
        _ = self.session
        problems.extend(self._problems)

    def check_end(self, problems: ProblemLog) -> None:
        """Tell that versions are missing, which are written behind the kernels, unless damage is known."""
        if not self.session.versions and all(one.severity != "data-loss" for one in problems):
            problems.add(
                "warning", "ncu-no-versions",
                "no version of CUDA or the tool, written behind the kernels: the file may be cut between two of them",
                advice="launches may be missing: copy or collect the report again",
            )  # fmt: skip


def merge(data: memoryview, spans: Iterable[Span], problems: ProblemLog) -> Session:
    """Merge all session messages: repeated fields append, of single ones the last wins."""
    session = Session()
    unknown: set[int] = set()
    for span in spans:
        try:
            for number, _wire, value in fields(data, *span):
                if number not in KNOWN_FIELDS:
                    unknown.add(number)
                elif isinstance(value, tuple):
                    _add(session, number, Message(data, value), problems)
                elif number == 2:
                    session.created = value
        except WireError as err:
            problems.add(
                "data-loss", "ncu-damaged-session", f"facts about the session are damaged ({err.reason})",
                where=f"byte {err.offset}", advice="copy or collect the report again",
            )  # fmt: skip
    if unknown:
        listed = ", ".join(map(str, sorted(unknown)[:8]))
        problems.add("info", "ncu-unknown-field", f"session fields not known: {listed}", count=len(unknown))
    return session


def _add(session: Session, number: int, message: Message, problems: ProblemLog) -> None:
    if message.error and number not in (7, 11):
        problems.add(
            "data-loss", "ncu-damaged-session", f"facts about the session are damaged ({message.error.reason})",
            where=f"byte {message.error.offset}", advice="copy or collect the report again",
        )  # fmt: skip
    if number == 8:
        provider, version = message.text(1), message.text(2)
        if provider and version:
            session.versions[provider] = version
    elif number == 6:
        _device(session, message, problems)
    elif number in (3, 4):
        _system(session, message, target=number == 4)
    elif number == 11:
        session.command_line = bytes(message.data[slice(*message.span)]).decode("utf-8", "replace")
    elif number == 9:
        names = {1: "executable", 2: "working_directory", 3: "arguments", 4: "environment"}
        session.private.update({names[n]: message.text(n) for n in names if n in message})


def _device(session: Session, message: Message, problems: ProblemLog) -> None:
    ident = message.integer(1) or 0
    if ident >= 1 << 31:
        problems.add(
            "data-loss", "ncu-damaged-session", "a device has an impossible number; its attributes are left out",
            where=f"byte {message.span[0]}", advice="copy or collect the report again",
        )  # fmt: skip
        return
    if ident not in session.devices and len(session.devices) >= MAX_DEVICES:
        return
    known, attributes = session.devices.get(ident, (None, {}))
    spans = message.spans(3)
    if spans:
        start, stop = spans[0][0], spans[-1][1]
        inside = tuple((first - start, last - start) for first, last in spans)
        decoded = _attributes if stop - start <= KEPT_BYTES else _attributes.__wrapped__
        attributes.update(decoded(bytes(message.data[start:stop]), inside))
    session.devices[ident] = (message.text(2) or known, attributes)


@lru_cache(maxsize=KEPT_DEVICES)
def _attributes(data: bytes, spans: tuple[Span, ...]) -> Mapping[str, Value]:
    """Decode attributes of a device; all reports of one machine hold the same."""
    found: dict[str, Value] = {}
    for span in spans:
        one = Message(data, span)
        name = one.text(1)
        if name:
            found[name] = value_of(one.message(2))
    return MappingProxyType(found)


def _system(session: Session, message: Message, target: bool) -> None:
    """Host (field 3) or target system (field 4); the target's facts win."""
    machine = message.text(4)
    system = PLATFORMS.get(message.integer(6) or 0) or message.text(1)
    described = " ".join(part.strip() for part in (system, machine) if part and part.strip())
    if described and (target or session.platform is None):
        session.platform = described
    side = "target" if target else "host"
    facts = {
        "os": message.text(1), "build": message.text(2), "processor": message.text(3),
        "computer": message.text(5), "addresses": [m.text(1) for m in message.messages(7)],
    }  # fmt: skip
    session.private[side] = {key: value for key, value in facts.items() if value}
