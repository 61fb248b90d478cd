"""What a worker does: read, judge and flatten a few reports. Runs in another process or on another machine.

Tasks and answers are small and pickle by value: addresses and settings go in, rows come out. A worker keeps
the loaded rules between tasks.
"""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from profrx.archive import record, stored
from profrx.archive.bench import Bench, Setup, bench_of
from profrx.archive.inputs import Item, fetch
from profrx.archive.kernels import kernels, medians
from profrx.archive.limits import OutOfTime, swept, time_limit
from profrx_parsers import columns
from profrx_parsers.errors import InputError, ProfrxError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from profrx.diagnose import Judged
    from profrx.report.model import ReportFindings
    from profrx_parsers.report import Report

SMALL_LAUNCHES, SMALL_BYTES = 256, 4 << 20
"""Reports up to this size wait for their neighbours and are judged with them in one pass."""

T = TypeVar("T")


@dataclass(frozen=True)
class Task:
    """A few items; the small ones among them are judged together.

    Attributes:
        items: what to read.
        digests: per item, the sha256 it had when it was last judged with this setup or its tables were stored, or None.
        stored: per item, its stored tables to judge again without reading, or None.
        setup: what to judge with.
    """

    items: tuple[Item, ...]
    digests: tuple[str | None, ...]
    stored: tuple[bytes | None, ...]
    setup: Setup

    def split(self) -> list[Task]:
        """Return one task per item."""
        return [
            Task((item,), (digest,), (data,), self.setup)
            for item, digest, data in zip(self.items, self.digests, self.stored, strict=True)
        ]


@dataclass(frozen=True)
class Answer:
    """What came of one item: ``read``, ``rejudged``, ``same`` (unchanged content), ``ignored`` (no report)."""

    kind: str
    record: record.Record | None = None


@dataclass(frozen=True)
class _Open:
    """A report that has been read and waits to be judged with its neighbours.

    Attributes:
        item: where it came from.
        report: the report.
        facts: what the archive keeps of the file.
        left_s: seconds left of the report's time limit, 0 = no limit.
        stored: its stored tables, where it was read from those, or None.
        digest: sha256 of the file that they were stored from.
    """

    item: Item
    report: Report
    facts: dict[str, Any]
    left_s: float
    stored: bytes | None = None
    digest: str | None = None

    @property
    def small(self) -> bool:
        """Whether it may wait in memory: a report of counters of a few launches."""
        few = self.report.table("launches").num_rows <= SMALL_LAUNCHES
        return few and (self.item.size or 0) <= SMALL_BYTES and columns.EXTRA in self.report.extras


def analyse(task: Task) -> list[Answer]:
    """Judge every item of a task, small reports together; answers come in the same order. Bad input never raises."""
    bench = bench_of(task.setup.packs, task.setup.params)
    with swept():
        return _analysed(bench, task)


def _analysed(bench: Bench, task: Task) -> list[Answer]:
    limit = task.setup.time_limit_s
    with ExitStack() as files:
        found = [
            _guarded(bench, item, limit, partial(_opened, bench, item, digest, data, limit, files))
            for item, digest, data in zip(task.items, task.digests, task.stored, strict=True)
        ]
        waiting = [one for one in found if isinstance(one, _Open)]
        judged = iter(_together(bench, waiting, limit))
        return [next(judged) if isinstance(one, _Open) else one for one in found]


def _together(bench: Bench, waiting: list[_Open], limit: float) -> list[Answer]:
    """Judge reports in one pass; when that fails or takes too long, one by one, so that only a bad one pays."""
    logged = [_logged(one.report) for one in waiting]
    answers: list[Answer | None] = [None] * len(waiting)
    if len(waiting) > 1:
        try:
            with time_limit(limit):
                answers = list(_answers(bench, waiting))
        except Exception:  # whatever it is, each report alone tells whose fault it is
            pass
    for at, one in enumerate(waiting):
        # what is decoded for neighbours must not show in the log of a damaged report: it starts afresh, alone
        dirty = _logged(one.report) != logged[at]
        kept = answers[at]
        if kept is None or (dirty and len(waiting) > 1):
            work = partial(_again if dirty else _alone, bench, one)
            answers[at] = _guarded(bench, one.item, one.left_s, work, dict(one.facts))
    return [one for one in answers if one is not None]


def _logged(report: Report) -> list[tuple[str, int]]:
    return [(one.code, one.count) for one in report.problems]


def _guarded(
    bench: Bench, item: Item, limit: float, work: Callable[..., T], facts: dict[str, Any] | None = None
) -> T | Answer:
    """Do some work on an item within its limits; what goes wrong becomes the answer."""
    if facts is None:
        facts = {"size_bytes": item.size, "modified_ns": item.modified_ns, "analysis_key": bench.key}
    try:
        with time_limit(limit):
            return work(facts)
    except InputError as err:
        if err.code in ("input-unknown-format", "input-folder", "input-empty") and not item.is_report:
            return Answer("ignored")
        # messages name the temporary copy of a member: the address is what the user knows
        return Answer("read", record.failed(item.uri, "failed", err.code, err.message, err.next_step, facts))
    except OutOfTime:
        why = (
            "report-hang",
            f"reading took longer than {limit:g} s",
            "raise --time-limit, or look at it alone with `profrx inspect`",
        )
    except MemoryError:
        why = (
            "report-memory",
            "reading needs more memory than a worker may take",
            "raise --memory-limit, or look at it alone with `profrx inspect`",
        )
    except ProfrxError as err:
        why = (err.code, err.message, err.next_step)
    except Exception as err:  # a defect met in one report must not end the batch
        why = (
            "report-defect",
            f"{type(err).__name__}: {err}"[:300],
            "this is a defect of profrx: please report it",
        )
    return Answer("read", record.failed(item.uri, "quarantined", *why, facts))


def _opened(
    bench: Bench,
    item: Item,
    digest: str | None,
    data: bytes | None,
    limit: float,
    files: ExitStack,
    facts: dict[str, Any],
) -> Answer | _Open:
    """Read an item; a small report waits for its neighbours, anything else is judged at once."""
    started = time.monotonic()
    one: Answer | _Open | None = None
    if data is not None and digest is not None:
        try:
            again = {**facts, "sha256": digest}
            one = _Open(item, stored.unpack(data), again, limit, data, digest)
        except (ValueError, KeyError, TypeError):  # written by another version: read the file
            pass
    if one is None:
        # what its stored tables were judged with is not this setup: unchanged content is no reason to stop
        judged = digest if data is None else None
        one = _read(bench, item, files.enter_context(fetch(item)), judged, facts)
    if isinstance(one, Answer):
        return one
    if limit:
        one = replace(one, left_s=max(limit - (time.monotonic() - started), 0.1))
    return one if one.small else _alone(bench, one, one.facts)


def _read(bench: Bench, item: Item, path: Path, digest: str | None, facts: dict[str, Any]) -> Answer | _Open:
    from profrx_parsers.registry import detect, read
    from profrx_parsers.source import Source

    source, descriptor, match = detect(path)
    facts["sha256"] = source.sha256()
    if digest == facts["sha256"]:
        return Answer("same")
    report = read(Source(source.path, item.uri, source.packed), descriptor, match, bench.wanted)
    return _Open(item, report, facts, 0.0)


def _alone(bench: Bench, one: _Open, facts: dict[str, Any]) -> Answer:
    """Judge one report; one whose stored tables do not fit this version is read again."""
    if one.stored is not None:
        try:
            return _answers(bench, [one])[0]
        except (ValueError, KeyError, TypeError):
            with fetch(one.item) as path:
                fresh = _read(bench, one.item, path, None, facts)
                return fresh if isinstance(fresh, Answer) else _answers(bench, [fresh])[0]
    return _answers(bench, [one])[0]


def _again(bench: Bench, one: _Open, facts: dict[str, Any]) -> Answer:
    """Read a report once more and judge it."""
    if one.stored is not None:
        return _alone(bench, replace(one, report=stored.unpack(one.stored)), facts)
    with fetch(one.item) as path:
        fresh = _read(bench, one.item, path, None, facts)
        return fresh if isinstance(fresh, Answer) else _alone(bench, fresh, facts)


def _answers(bench: Bench, waiting: list[_Open]) -> list[Answer]:
    """Judge reports together and flatten what was found."""
    from profrx.diagnose import judge_many

    judged = judge_many(bench.program, [one.report for one in waiting], page=False)
    records = [_record(bench, one, each.found) for one, each in zip(waiting, judged, strict=True)]
    _add_medians(bench, judged, records)
    kind = ["read" if one.stored is None else "rejudged" for one in waiting]
    return [Answer(word, each.record) for word, each in zip(kind, records, strict=True)]


def _record(bench: Bench, one: _Open, found: ReportFindings) -> _Flat:
    report = one.report
    found.source = one.item.uri
    row, tables = record.rows_of(found)
    info = report.info
    row |= one.facts | {
        "captured_at": info.captured_at,
        "driver": info.driver,
        "runtime_version": info.runtime_version,
        "platform": info.platform,
        "clocks": info.clocks,
        "options": json.dumps(info.options, sort_keys=True, default=str) if info.options else None,
        "pack": bench.versions,
    }
    devices = report.table("devices").to_pylist()
    tables["devices"] = [
        {k: d[k] for k in ("device_id", "vendor", "name", "arch", "compute_units", "memory_bytes", "driver")}
        for d in devices
    ]
    launches = report.table("launches")
    row["launches"] = launches.num_rows
    verdicts = {v.kernel: v.answer for v in reversed(found.verdicts)}
    groups, tables["kernels"] = kernels(
        launches, {d["device_id"]: d for d in devices}, found.base_time_ns, verdicts
    )
    row["kernels"] = len(tables["kernels"])
    ids = {k["kernel"]: k["kernel_id"] for k in tables["kernels"]}
    for finding in tables["findings"]:
        finding["kernel_id"] = ids.get(finding["kernel"])
    data = one.stored
    if data is None:
        data = stored.pack(report, bench.instanced, [p.model_dump() for p in found.problems])
    return _Flat(record.Record(one.item.uri, row, tables, [], data, bench.wanted_key), groups)


@dataclass(frozen=True)
class _Flat:
    """A record whose metrics are still to come, and the kernel row of each launch."""

    record: record.Record
    groups: Any


def _add_medians(bench: Bench, judged: list[Judged], flat: list[_Flat]) -> None:
    """Add the logical metrics of every kernel row: median over its launches of what is known, in base units."""
    import numpy as np

    passes: dict[int, list[int]] = {}
    for at, one in enumerate(judged):
        if one.outcomes.frames.get("launch") is not None:
            passes.setdefault(id(one.outcomes), []).append(at)
    for members in passes.values():
        members.sort(key=lambda at: judged[at].first)
        counts = [len(flat[at].record.tables["kernels"]) for at in members]
        starts = np.cumsum([0, *counts])
        owner = np.concatenate([flat[at].groups + s for at, s in zip(members, starts, strict=False)])
        homes = [
            (flat[at].record.metrics, n)
            for at, count in zip(members, counts, strict=True)
            for n in range(count)
        ]
        metrics = judged[members[0]].outcomes.metrics("launch")
        for name, row, value in medians(metrics, bench.logical, owner, int(starts[-1])):
            kept, number = homes[row]
            kept.append((number, name, bench.program.pack.metrics[name].unit or None, value))
