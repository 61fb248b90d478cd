"""The ranks of one job, each captured into a report of its own, as one report.

Processes and devices get numbers of their own, so that equal ones of two hosts stay apart. Clocks are aligned by what
the ranks did together: a collective ends on all of them at once. Without a common collective the first GPU work of
all ranks is taken as simultaneous.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx.timeline.capture import KERNEL, Work, read_timeline
from profrx.timeline.classes import DEFAULT, classify
from profrx.timeline.intervals import Ints
from profrx.timeline.ranks import communicates
from profrx_parsers import schema
from profrx_parsers.errors import UsageError
from profrx_parsers.problems import ProblemLog
from profrx_parsers.report import Report

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST_STEPS = 3
"""Times between collectives that have to be there before they are compared."""
OUT_OF_STEP = 0.05
"""Share of the usual time between two collectives. Source: observed 0.01 to 0.2 % between ranks of one run, 9 % between
equal programs that ran apart (PyTorch, two H200)."""
OUT_OF_STEP_NS = 20_000
"""Kernels of one collective end some microseconds apart, which is much of the time between many small ones."""
JOINED = ("launches", "copies", "api_calls", "syncs", "ranges", "ops", "memory_events", "samples")
KEYS = {"launches": ("launch_id",), "copies": ("copy_id",), "api_calls": ("call_id",), "syncs": ("sync_id",),
        "ranges": ("range_id",), "ops": ("op_id", "parent_op_id")}  # fmt: skip
PROCESS_BITS = 22
"""Process ids of Linux fit; larger ones are cut, which only matters if two of one rank then are equal."""
MAX_RANKS = 512
"""So that a process id and a correlation id share 64 bits."""


def job_of(reports: Sequence[Report], classes: Path = DEFAULT) -> Report:
    """Join the reports of the ranks of one job: by the rank that each says it is, or in the order given.

    Args:
        reports: of one tool; their tables are decoded when the joined ones are asked for.
        classes: table of kernel classes (see `classes.load_classes`).

    Raises:
        UsageError: fewer than two reports, more than `MAX_RANKS`, or reports of several tools.
    """
    if not 1 < len(reports) <= MAX_RANKS:
        raise UsageError(
            "usage-ranks",
            f"a job has 2 to {MAX_RANKS} ranks, and {len(reports)} of the reports can be read",
            next_step="give the report of every rank, or leave out --ranks",
        )
    tools = sorted({str(report.info.tool) for report in reports})
    if len(tools) > 1:
        raise UsageError(
            "usage-ranks",
            f"ranks of one job are captured with one tool, these with {', '.join(tools)}",
            next_step="give the timelines of one tool",
        )
    digests = [report.info.sha256 for report in reports]
    if twice := next((r for r in reports if r.info.sha256 and digests.count(r.info.sha256) > 1), None):
        raise UsageError(
            "usage-ranks",
            "this report is given twice: each rank has one of its own",
            where=twice.info.source,
            next_step="give the report of every rank once",
        )
    reports = _in_order(reports)
    job = _Job(reports, classes)
    first = reports[0].info
    names = _names([Path(report.info.source) for report in reports])
    info = first.model_copy(
        update={
            "source": f"ranks: {', '.join(names[:4])}{', …' if len(names) > 4 else ''}",
            "sha256": _digest([report.info.sha256 for report in reports]),
            "captured_at": min((r.info.captured_at for r in reports if r.info.captured_at), default=None),
            "time_origin": "of the first rank; the others aligned by their common collectives",
            "private": {},
        }
    )  # fmt: skip
    loaders: dict[str, Callable[[], pa.Table]] = {"devices": job.devices}
    for name in JOINED:
        if any(report.has(name) for report in reports):
            loaders[name] = partial(job.table, name)
    sessions = [int(report.extras.get("session_ns") or 0) for report in reports]
    extras: dict[str, Any] = {"release": job.release}
    extras["session_ns"] = max(sessions) if all(sessions) else None
    for name in ("recorder", "graphics", "events_lost_share"):
        if all(name in report.extras for report in reports):
            extras[name] = cache(getattr(job, name))
    return Report(info, loaders, job.problems, extras)


def _names(paths: Sequence[Path]) -> list[str]:
    """Return the files' names, with their folder where names repeat."""
    names = [path.name for path in paths]
    if len(set(names)) == len(names):
        return names
    return [f"{path.parent.name}/{path.name}" if path.parent.name else path.name for path in paths]


def _in_order(reports: Sequence[Report]) -> list[Report]:
    ranks = [report.info.options.get("rank") for report in reports]
    known = [rank for rank in ranks if isinstance(rank, int)]
    if len(set(known)) < len(reports):
        return list(reports)
    return [report for _, report in sorted(zip(known, reports, strict=True), key=lambda pair: pair[0])]


def _digest(parts: Sequence[str | None]) -> str | None:
    if not all(parts):
        return None
    return hashlib.sha256("".join(str(part) for part in parts).encode()).hexdigest()


@dataclass
class _Job:
    """The ranks and how their numbers map to those of the job."""

    reports: list[Report]
    classes: Path
    problems: ProblemLog = field(default_factory=ProblemLog)
    _told: dict[tuple[int, str, str], int] = field(default_factory=dict)
    _placed: tuple[list[dict[int, int]], list[int]] | None = None

    def release(self, name: str) -> None:
        for report in self.reports:
            report.release(name)

    def place(self) -> tuple[list[dict[int, int]], list[int]]:
        """Return the device numbers of each rank (only devices with work), and what to add to its times.

        A GPU that several ranks use keeps one number, where the captures say which GPU it is.
        """
        if self._placed is None:
            work = [read_timeline(report, with_ranges=False).work for report in self.reports]
            numbers: list[dict[int, int]] = []
            places: dict[object, int] = {}
            for rank, (one, report) in enumerate(zip(work, self.reports, strict=True)):
                ask = report.extras.get("device_uuids")
                same = ask() if ask is not None else {}
                used = [int(d) for d in np.unique(one.device).tolist() if d >= 0]
                numbers.append({d: places.setdefault(same.get(d, (rank, d)), len(places)) for d in used})
            ends = [_ends(one, self.classes) for one in work]
            self._doubt(ends)
            self._placed = numbers, _shifts(work, ends)
            self.tell()
        return self._placed

    def _doubt(self, ends: Sequence[Mapping[str, Ints]]) -> None:
        """Say which reports may be of another job: they take part in no collective of the first, or in more or fewer."""
        said = [report.info.options.get("rank") for report in self.reports]
        known = [rank for rank in said if isinstance(rank, int)]
        if len(set(known)) < len(known):
            self.problems.add(
                "warning", "ranks-same-number", "reports say that they are the same rank: they are taken in the order given",
                advice="give the report of every rank of one job once",
            )  # fmt: skip
        strange = [rank for rank, mine in enumerate(ends) if rank and not list(_differences(ends[0], mine))]
        counts = [{name: len(one) for name, one in mine.items()} for mine in ends]
        uneven = [rank for rank, mine in enumerate(counts) if rank not in strange and mine != counts[0]]
        apart = [rank for rank, mine in enumerate(ends) if rank not in strange and _apart(ends[0], mine)]
        for ranks, code, text in (
            (strange, "ranks-no-common-collective",
             "no collective that the first rank made as often; clocks are aligned by the first GPU work, waits between ranks are "
             "unknown, and these may be reports of different jobs"),
            (uneven, "ranks-collectives-differ",
             "other collectives than the first rank; ranks form several groups, a capture was shorter, or these are reports of "
             "different jobs"),
            (apart, "ranks-not-in-step",
             "collectives do not end when those of the first rank do; ranks form several groups, or these are reports of "
             "different runs, and then what is said of waits between ranks means nothing"),
        ):  # fmt: skip
            if ranks:
                self.problems.add(
                    "warning", code, f"{_named(ranks)}: {text}", where=f"rank {ranks[0]}", count=len(ranks),
                    advice="give the reports of one run of one job, captured over the same time",
                )  # fmt: skip

    def devices(self) -> pa.Table:
        numbers, _ = self.place()
        rows: dict[int, dict[str, Any]] = {}
        for report, mine in zip(self.reports, numbers, strict=True):
            for row in report.table("devices").to_pylist():
                number = mine.get(row["device_id"])
                if number is not None:
                    rows.setdefault(number, {**row, "device_id": number})
        self.tell()
        return schema.from_rows("devices", list(rows.values()))

    def recorder(self) -> Any:
        """Return what the recorders of all ranks say, None where one says nothing."""
        parts = [report.extras["recorder"]() for report in self.reports]
        if any(part is None for part in parts):
            return None
        kinds: dict[str, set[int]] = {}
        for rank, part in enumerate(parts):
            for kind, processes in (part.kinds or {}).items():
                kinds.setdefault(kind, set()).update(_process(p, rank) if p else 0 for p in processes)
        return replace(
            parts[0],
            kinds=None
            if any(part.kinds is None for part in parts)
            else {k: frozenset(v) for k, v in kinds.items()},
            process=np.concatenate([_process(part.process, rank) for rank, part in enumerate(parts)]),
            by_program=any(part.by_program for part in parts),
            **self._times(parts),
        )

    def graphics(self) -> Any:
        """Return the flagged memory operations of all ranks, None where one cannot tell."""
        parts = [report.extras["graphics"]() for report in self.reports]
        if any(part is None for part in parts):
            return None
        kind = np.concatenate([part.kind for part in parts])
        return replace(
            parts[0], kind=kind, operations=sum(part.operations for part in parts), **self._times(parts)
        )

    def events_lost_share(self) -> float | None:
        """Return the largest share of lost events of a rank, None where one does not know."""
        shares = [report.extras["events_lost_share"]() for report in self.reports]
        return None if None in shares else max(shares)

    def _times(self, parts: Sequence[Any]) -> dict[str, Ints]:
        _, added = self.place()
        return {
            name: np.concatenate(
                [getattr(part, name) + more for part, more in zip(parts, added, strict=True)]
            )
            for name in ("starts", "ends")
        }

    def table(self, name: str) -> pa.Table:
        numbers, added = self.place()
        parts, rows = [], 0
        for rank, report in enumerate(self.reports):
            part = _alike(report.compact(name), name)
            columns = dict(zip(part.column_names, part.columns, strict=True))
            for column, values in columns.items():
                columns[column] = _moved(name, column, values, rank, numbers[rank], added[rank], rows)
            if "rank" in columns:
                columns["rank"] = pa.repeat(pa.scalar(rank, pa.int32()), part.num_rows)
            parts.append(pa.table(columns))
            rows += part.num_rows
        self.tell()
        return pa.concat_tables(parts).unify_dictionaries()

    def tell(self) -> None:
        """Pass on what the readers met since the last time, with the rank."""
        for rank, report in enumerate(self.reports):
            for problem in report.problems:
                key = (rank, problem.code, problem.message)
                more = problem.count - self._told.get(key, 0)
                if more:
                    self._told[key] = problem.count
                    where = f"rank {rank}{', ' + problem.where if problem.where else ''}"
                    self.problems.add(
                        problem.severity, problem.code, problem.message, where=where, count=more, advice=problem.advice
                    )  # fmt: skip


def _process(number: Any, rank: int) -> Any:
    """Return process ids of a rank as the job numbers them."""
    return (number & ((1 << PROCESS_BITS) - 1)) + (rank << PROCESS_BITS)


def _moved(
    table: str, column: str, values: Any, rank: int, devices: Mapping[int, int], added: int, rows: int
) -> Any:
    """Return a column of one rank in the numbers of the job."""
    if column in KEYS.get(table, ()):
        return pc.add(values, rows)
    if column.endswith("_ns") and column != "duration_ns":
        return pc.add(values, added)
    if column == "process_id":
        return pc.add(pc.bit_wise_and(values, (1 << PROCESS_BITS) - 1), rank << PROCESS_BITS)
    if column in ("device_id", "peer_device_id"):
        known = pa.array(list(devices), pa.int32())
        at = pc.index_in(values, known)
        return pc.take(pa.array(list(devices.values()), pa.int32()), at)
    return values


def _alike(table: pa.Table, name: str) -> pa.Table:
    """Return the columns in types that are the same for every rank: texts as dictionaries, numbers as the schema says."""
    columns = {}
    for field_ in schema.TABLES[name]:
        kind = pa.dictionary(pa.int32(), pa.string()) if pa.types.is_string(field_.type) else field_.type
        held = table.column(field_.name)
        columns[field_.name] = held if held.type == kind else _cast(held, kind)
    return pa.table(columns)


def _cast(held: Any, kind: pa.DataType) -> Any:
    if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(held.type):
        return held.cast(pa.string()).dictionary_encode()
    if pa.types.is_dictionary(held.type) and not pa.types.is_dictionary(kind):
        return held.cast(held.type.value_type).cast(kind)
    return held.cast(kind)


def _named(ranks: Sequence[int]) -> str:
    """Return ``rank 2``, ``ranks 1, 3``; at most eight of them."""
    words = ", ".join(map(str, ranks[:8])) + (f" and {len(ranks) - 8} more" if len(ranks) > 8 else "")
    return f"rank{'s' if len(ranks) > 1 else ''} {words}"


def _shifts(work: Sequence[Work], ends: Sequence[Mapping[str, Ints]]) -> list[int]:
    """Return what to add to the times of each rank so that common collectives end together."""
    out = [0]
    for one, mine in zip(work[1:], ends[1:], strict=True):
        common = list(_differences(ends[0], mine))
        if common:
            out.append(int(np.median(np.concatenate(common))))
        elif len(one) and len(work[0]):
            out.append(int(work[0].start[0]) - int(one.start[0]))
        else:
            out.append(0)
    return out


def _differences(one: Mapping[str, Ints], other: Mapping[str, Ints]) -> Iterator[Ints]:
    for name, ends in one.items():
        if len(other.get(name, ())) == len(ends):
            yield ends - other[name]


def _apart(one: Mapping[str, Ints], other: Mapping[str, Ints]) -> bool:
    """Whether the times between common collectives differ from rank to rank: within one run they cannot.

    Intervals are compared and not times, so clocks that drift do not count.
    """
    pairs = [(ends, other[name]) for name, ends in one.items() if len(other.get(name, ())) == len(ends)]
    steps = [np.diff(mine) for mine, _ in pairs]
    unlike = [np.abs(np.diff(mine) - np.diff(theirs)) for mine, theirs in pairs]
    if not pairs or sum(map(len, steps)) < LEAST_STEPS:
        return False
    usual = float(np.median(np.abs(np.concatenate(steps))))
    return bool(np.median(np.concatenate(unlike)) > max(OUT_OF_STEP * usual, OUT_OF_STEP_NS))


def _ends(work: Work, classes: Path) -> dict[str, Ints]:
    """Return the ends of the collectives by name, in order of start."""
    kinds = [kind for kind, _ in classify(work.name.texts, classes)]
    rows = np.flatnonzero((work.kind == KERNEL) & communicates(work, kinds)[work.name.codes])
    codes = work.name.codes[rows]
    return {work.name.texts[code]: work.end[rows[codes == code]] for code in np.unique(codes).tolist()}
