"""What a worker does: read, judge and flatten a few reports. Runs in another process or on another machine.

Tasks and answers are small and pickle by value: addresses and settings go in, rows come out. A worker keeps
the loaded rules between tasks.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from profrx.archive import record, stored
from profrx.archive.inputs import Item, fetch
from profrx.archive.limits import OutOfTime, time_limit
from profrx_parsers.errors import InputError, ProfrxError

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from profrx.evaluate.program import Program
    from profrx.language.pack import Pack
    from profrx_parsers.report import Report, Wanted


@dataclass(frozen=True)
class Setup:
    """What reports are judged with.

    Attributes:
        packs: further rule packs.
        params: parameter overrides.
        time_limit_s: per report; 0 = none.
    """

    packs: tuple[str, ...] = ()
    params: tuple[tuple[str, str], ...] = ()
    time_limit_s: float = 0.0


@dataclass(frozen=True)
class Task:
    """A few items, judged one after the other.

    Attributes:
        items: what to read.
        digests: per item, the sha256 it had when it was last judged with this setup, or None.
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
class _Bench:
    """A worker's tools for one setup."""

    program: Program
    wanted: Wanted
    key: str
    wanted_key: str
    instanced: tuple[str, ...]
    logical: tuple[str, ...]


@lru_cache(maxsize=4)
def _bench(packs: tuple[str, ...], params: tuple[tuple[str, str], ...]) -> _Bench:
    import profrx
    from profrx import summary
    from profrx.evaluate.program import Program, wanted_metrics
    from profrx.language.pack import load_pack
    from profrx_parsers.report import Wanted

    pack = load_pack(list(packs))
    program = Program(pack, dict(params))
    _ = program.params, program.order
    metrics = wanted_metrics(pack) | summary.wanted_metrics()[1]
    key = _digest([pack.digest, params, profrx.__version__])
    instanced = _instanced(pack)
    logical = tuple(
        sorted(n for n, m in pack.metrics.items() if m.kind == "number" and m.scope == "launch" and m.sources)
    )
    return _Bench(
        program,
        Wanted(metrics=metrics),
        key,
        _digest(sorted(metrics | instanced)),
        tuple(sorted(instanced)),
        logical,
    )


def _instanced(pack: Pack) -> set[str]:
    """Return the vendor metrics whose instances the rules read or point to lines by."""
    from profrx.evaluate.program import metric_named
    from profrx.language import ast, walk

    pending = [m.name for m in pack.metrics.values() if m.kind == "instances"]
    pending += [lines.metric for rule in pack.rules.values() for lines in rule.lines]
    seen: set[str] = set()
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        metric = pack.metrics.get(name)
        if metric is None:
            found.add(name)
            continue
        for source in metric.sources:
            found.update(source.names)
            for node in walk.nodes(source.formula) if source.formula is not None else ():
                if isinstance(node, ast.Raw):
                    found.add(node.name)
                elif metric_named(node) in pack.metrics:
                    pending.append(metric_named(node))
    return found


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:24]


def setup_key(setup: Setup) -> str:
    """Return the key of what reports are judged with: rules, parameters, version."""
    return _bench(setup.packs, setup.params).key


def wanted_key(setup: Setup) -> str:
    """Return the key of what is read of a report: stored tables with another one cannot be judged again."""
    return _bench(setup.packs, setup.params).wanted_key


def analyse(task: Task) -> list[Answer]:
    """Judge every item of a task; answers come in the same order. Bad input never raises."""
    bench = _bench(task.setup.packs, task.setup.params)
    return [
        _guarded(bench, item, digest, data, task.setup.time_limit_s)
        for item, digest, data in zip(task.items, task.digests, task.stored, strict=True)
    ]


def _guarded(bench: _Bench, item: Item, digest: str | None, data: bytes | None, limit: float) -> Answer:
    facts: dict[str, Any] = {
        "size_bytes": item.size,
        "modified_ns": item.modified_ns,
        "analysis_key": bench.key,
    }
    try:
        with time_limit(limit):
            if data is not None and digest is not None:
                try:
                    return Answer(
                        "rejudged",
                        _judged(bench, stored.unpack(data), item, {**facts, "sha256": digest}, data),
                    )
                except (ValueError, KeyError, TypeError):  # written by another version: read the file
                    pass
            with fetch(item) as path:
                return _read(bench, item, path, digest, facts)
    except InputError as err:
        if err.code in ("input-unknown-format", "input-folder", "input-empty") and not item.explicit:
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


def _read(bench: _Bench, item: Item, path: Path, digest: str | None, facts: dict[str, Any]) -> Answer:
    from profrx_parsers.registry import detect, read
    from profrx_parsers.source import Source

    source, descriptor, match = detect(path)
    facts["sha256"] = source.sha256()
    if digest == facts["sha256"]:
        return Answer("same")
    report = read(Source(source.path, item.uri, source.packed), descriptor, match, bench.wanted)
    return Answer("read", _judged(bench, report, item, facts, None))


def _judged(
    bench: _Bench, report: Report, item: Item, facts: dict[str, Any], data: bytes | None
) -> record.Record:
    from profrx.diagnose import judge_fully

    found, outcomes = judge_fully(bench.program, report)
    found.source = item.uri
    row, tables = record.rows_of(found)
    info = report.info
    row |= facts | {
        "captured_at": info.captured_at,
        "driver": info.driver,
        "runtime_version": info.runtime_version,
        "platform": info.platform,
        "clocks": info.clocks,
        "options": json.dumps(info.options, sort_keys=True, default=str) if info.options else None,
        "pack": json.dumps({p.name: p.version for p in bench.program.pack.packs}, sort_keys=True),
    }
    devices = report.table("devices").to_pylist()
    tables["devices"] = [
        {k: d[k] for k in ("device_id", "vendor", "name", "arch", "compute_units", "memory_bytes", "driver")}
        for d in devices
    ]
    launches = report.table("launches")
    row["launches"] = launches.num_rows
    verdicts = {v.kernel: v.verdict for v in reversed(found.verdicts)}
    groups, tables["kernels"] = _kernels(
        launches, {d["device_id"]: d for d in devices}, found.base_time_ns, verdicts
    )
    row["kernels"] = len(tables["kernels"])
    ids = {k["kernel"]: k["kernel_id"] for k in tables["kernels"]}
    for finding in tables["findings"]:
        finding["kernel_id"] = ids.get(finding["kernel"])
    frame = outcomes.frames.get("launch")
    metrics = (
        _medians(outcomes.metrics("launch"), bench.logical, groups, bench.program.pack.metrics)
        if frame
        else []
    )
    if data is None:
        data = stored.pack(report, bench.instanced, [p.model_dump() for p in found.problems])
    return record.Record(item.uri, row, tables, metrics, data, bench.wanted_key)


_SHAPE = ("kernel_id", "device_id", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")


def _kernels(
    launches: pa.Table, devices: dict[int, dict[str, Any]], base_ns: float | None, verdicts: dict[str, str]
) -> tuple[Any, list[dict[str, Any]]]:
    """Group launches by kernel, device and shape; returns the group of each launch and one row per group."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if not launches.num_rows:
        return np.empty(0, dtype=np.int64), []
    keys = [pc.cast(launches.column(n), pa.string()) for n in _SHAPE]
    joined = pc.binary_join_element_wise(*keys, "\x1f", null_handling="replace", null_replacement="")
    encoded = (
        joined.combine_chunks().dictionary_encode()
        if isinstance(joined, pa.ChunkedArray)
        else joined.dictionary_encode()
    )
    group = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    count = len(encoded.dictionary)
    first = np.full(count, -1, dtype=np.int64)
    first[group[::-1]] = np.arange(launches.num_rows)[::-1]
    duration = launches.column("duration_ns").to_numpy()
    rows = []
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(count + 1))
    heads = launches.select(["kernel", "kernel_short", *_SHAPE]).take(pa.array(first)).to_pylist()
    for n, head in enumerate(heads):
        times = duration[order[bounds[n] : bounds[n + 1]]]
        times = times[np.isfinite(times)]
        device = devices.get(head["device_id"], {})
        total = float(times.sum()) if times.size else None
        rows.append(
            {
                "kernel_row": n,
                "kernel_id": head["kernel_id"],
                "kernel": head["kernel"],
                "kernel_short": head["kernel_short"],
                "device": device.get("name"),
                "arch": device.get("arch"),
                "grid": _shape(head, "grid"),
                "block": _shape(head, "block"),
                "launches": int(bounds[n + 1] - bounds[n]),
                "duration_ns": total,
                "duration_median_ns": float(np.median(times)) if times.size else None,
                "duration_min_ns": float(times.min()) if times.size else None,
                "duration_max_ns": float(times.max()) if times.size else None,
                "time_share": total / base_ns if total is not None and base_ns else None,
                "verdict": verdicts.get(head["kernel"]),
            }
        )
    return group, rows


def _shape(head: dict[str, Any], what: str) -> str | None:
    sides = [head[f"{what}_{axis}"] for axis in "xyz"]
    return None if sides[0] is None else "x".join(str(s if s is not None else 1) for s in sides)


def _medians(
    metrics: Any, names: tuple[str, ...], group: Any, catalogue: Any
) -> list[tuple[int, str, str | None, float]]:
    """Return (kernel_row, metric, unit, median over launches) of every known value, in base units."""
    import numpy as np

    found: list[tuple[int, str, str | None, float]] = []
    count = int(group.max()) + 1 if group.size else 0
    for name in names:
        column = metrics.column(name)
        if column.null_count == len(column):
            continue
        values = column.to_numpy(zero_copy_only=False)
        for n in range(count):
            mine = values[group == n] if count > 1 else values
            mine = mine[np.isfinite(mine)]
            if mine.size:
                found.append((n, name, catalogue[name].unit or None, float(np.median(mine))))
    return found
