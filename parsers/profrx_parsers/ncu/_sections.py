"""Section definitions stored with results: which metric has which label, and what other architectures use.

ProfilerSection: 1 identifier, 2 display name, 4 header {2 metrics}, 5 body, 6 metrics. A section metric is
{1 name, 2 label, 6 filter, 7 options {1 name, 2 label, 3 filter}}; a filter is {1 lowest, 2 highest
architecture, 3 several of them}, the architecture as a whole number (90 = compute capability 9.0).
Body items nest by kind; metrics are found by their shape, to a bounded depth.
Source: the format documentation shipped with Nsight Compute 2024.1; observed from 2020.3 to 2025.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from profrx_parsers.wire import Message, Span

if TYPE_CHECKING:
    from profrx_parsers.ncu._results import Result

MAX_DEPTH = 10
MAX_MESSAGES = 200_000
KEPT_METRICS, KEPT_BYTES = 1000, 8 << 20
"""Most metrics of a section that is kept decoded over reports, and most bytes of all those sections."""
KEPT_INDICES = 32
"""Sets of sections kept with what they say by metric."""
_METRIC = re.compile(r"^[A-Za-z_][\w.:]*__[\w.:]+$")
_MARK = b"__"
"""Stands in every metric name: what lacks it holds no metric."""
_KNOWN = frozenset(range(1, 12))

ArchRange = tuple[int | None, int | None]
"""Lowest and highest architecture, both included; None = open."""


@dataclass(frozen=True)
class Option:
    """An alternative of a section metric: its name, label, and the architectures it is for (none = all)."""

    name: str
    label: str | None
    archs: tuple[ArchRange, ...]


@dataclass(frozen=True)
class SectionMetric:
    """A metric as a section of the report names it.

    Attributes:
        section: identifier of the section.
        section_label: its display name.
        name: metric name.
        label: what exports call it; None when the section gives none.
        archs: architectures the name is for; none = all.
        options: alternatives for other architectures.
    """

    section: str
    section_label: str | None
    name: str
    label: str | None
    archs: tuple[ArchRange, ...]
    options: tuple[Option, ...]

    def resolve(self, arch: int) -> str | None:
        """Return the metric collected on an architecture (90 = 9.0); None when the section has none for it."""
        for option in self.options:
            if option.archs and _covers(option.archs, arch):
                return option.name
        return self.name if not self.archs or _covers(self.archs, arch) else None


def _covers(ranges: tuple[ArchRange, ...], arch: int) -> bool:
    return any((low is None or low <= arch) and (high is None or arch <= high) for low, high in ranges)


class SectionOptions(Mapping[str, tuple[SectionMetric, ...]]):
    """Metric name -> what the report's own sections say about it; decoded on first use.

    An option's name is a key too, so that each spelling finds the others.
    """

    def __init__(self, data: memoryview, results: Sequence[Result]) -> None:
        self._data = data
        self._results = results

    @cached_property
    def _index(self) -> _Index:
        sections = tuple(decoded_sections(self._data, self._results))
        key = tuple(map(id, sections))
        index = _indices.get(key)
        if index is None:
            index = _Index(sections)
            if all(one.kept for one in sections):
                if len(_indices) >= KEPT_INDICES:
                    _indices.clear()
                _indices[key] = index  # which holds the sections: no other object can take their ids
        return index

    def get(self, name: str, default: Any = None) -> Any:
        """Return the entries of a metric."""
        return self._index.entries.get(name, default)

    def __getitem__(self, name: str) -> tuple[SectionMetric, ...]:
        return self._index.entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._index.entries)

    def __len__(self) -> int:
        return len(self._index.entries)

    def renamed(self, arch: int) -> Mapping[str, tuple[str, ...]]:
        """Return the metrics that are collected under other names on an architecture, with those names."""
        return self._index.renamed(arch)


class _Index:
    """What a set of sections says, by metric; shared by all reports with the same sections."""

    def __init__(self, sections: tuple[_Section, ...]) -> None:
        self.sections = sections
        found: dict[str, dict[int, SectionMetric]] = {}
        for one in dict.fromkeys(metric for section in sections for metric in section.metrics):
            for name in (one.name, *(option.name for option in one.options)):
                found.setdefault(name, {})[id(one)] = one
        self.entries = {name: tuple(ones.values()) for name, ones in found.items()}
        self._renamed: dict[int, dict[str, tuple[str, ...]]] = {}

    def renamed(self, arch: int) -> Mapping[str, tuple[str, ...]]:
        """See `SectionOptions.renamed`."""
        known = self._renamed.get(arch)
        if known is None:
            known = {}
            for name, entries in self.entries.items():
                others = tuple(o for one in entries if (o := one.resolve(arch)) and o != name)
                if others:
                    known[name] = others
            if len(self._renamed) < KEPT_INDICES:
                self._renamed[arch] = known
        return known


class SectionNames(Sequence[str]):
    """Identifiers of the sections that results hold, in order of first appearance; looked up on first use."""

    LIMIT = 1000
    """Results looked at: all results of a capture have the same sections."""

    def __init__(self, data: memoryview, results: Sequence[Result]) -> None:
        self._data = data
        self._results = results
        self._found: list[str] | None = None

    def _names(self) -> list[str]:
        if self._found is None:
            seen: dict[str, None] = {}
            for result in self._results[: self.LIMIT]:
                for start, stop in result.spans("sections"):
                    name = _first_text(self._data, start, stop)
                    if name:
                        seen[name] = None
            self._found = list(seen)
        return self._found

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | slice) -> str | list[str]:
        return self._names()[at]

    def __len__(self) -> int:
        return len(self._names())


def _first_text(data: memoryview, start: int, stop: int) -> str | None:
    """Return field 1 when it is the first field and short, which it always was."""
    if stop - start < 2 or data[start] != 0x0A:
        return None
    end = start + 2 + data[start + 1]
    return (
        bytes(data[start + 2 : end]).decode("utf-8", "replace")
        if data[start + 1] < 128 and end <= stop
        else None
    )


@dataclass(frozen=True)
class _Section:
    """A decoded section: its metrics, how many messages were looked at, whether it is kept for other reports."""

    metrics: tuple[SectionMetric, ...]
    messages: int
    kept: bool


_kept: dict[bytes, _Section] = {}
"""Decoded sections by their bytes: those of one tool version are the same in every report."""
_indices: dict[tuple[int, ...], _Index] = {}


def decoded_sections(data: memoryview, results: Sequence[Result]) -> Iterator[_Section]:
    """Yield every distinct section of the report."""
    seen: set[tuple[str, int]] = set()
    budget = MAX_MESSAGES
    for result in results:
        for span in result.spans("sections"):
            key = (_first_text(data, *span) or "", span[1] - span[0])
            if key in seen or len(seen) > 4096:
                continue
            seen.add(key)
            section = _section(bytes(data[span[0] : span[1]]), budget)
            yield section
            budget -= section.messages
            if budget <= 0:
                return


def _section(data: bytes, budget: int) -> _Section:
    """Return a section, of which at most `budget` messages are looked at."""
    known = _kept.get(data)
    if known is not None:
        return known
    metrics, messages = _decode(data, budget)
    kept = len(metrics) <= KEPT_METRICS and messages < budget and len(data) <= KEPT_BYTES // 4
    section = _Section(metrics, messages, kept)
    if kept:
        if sum(map(len, _kept)) + len(data) > KEPT_BYTES:
            _kept.clear()
        _kept[data] = section
    return section


def _decode(data: bytes, budget: int) -> tuple[tuple[SectionMetric, ...], int]:
    section = Message(data, (0, len(data)))
    name, label = section.text(1) or "", section.text(2)
    found: list[SectionMetric] = []
    messages = 0
    stack: list[tuple[Span, int]] = [(one, 0) for number in (4, 5, 6) for one in section.spans(number)]
    while stack and messages < budget:
        messages += 1
        inner, depth = stack.pop()
        message = Message(data, inner)
        if message.error or not message.numbers:
            continue
        metric = _metric(name, label, message)
        if metric is not None:
            found.append(metric)
        elif depth < MAX_DEPTH:
            nested = [one for number in message.numbers for one in message.spans(number)]
            stack += [(one, depth + 1) for one in nested if data.find(_MARK, *one) >= 0]
    return tuple(dict.fromkeys(found)), messages


def _metric(section: str, section_label: str | None, message: Message) -> SectionMetric | None:
    if 1 not in message or message.numbers - _KNOWN or not message.spans(1):
        return None
    start, stop = message.spans(1)[-1]
    if not 4 < stop - start <= 400:
        return None
    name = message.text(1) or ""
    if not _METRIC.match(name):
        return None
    options = tuple(
        Option(text, one.text(2), _archs(one.message(3)))
        for one in message.messages(7)
        if (text := one.text(1))
    )
    return SectionMetric(section, section_label, name, message.text(2), _archs(message.message(6)), options)


def _archs(message: Message | None) -> tuple[ArchRange, ...]:
    if message is None or message.error:
        return ()
    several = message.messages(3)
    return tuple((one.integer(1), one.integer(2)) for one in (several or [message]) if one.numbers & {1, 2})
