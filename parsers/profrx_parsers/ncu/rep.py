"""Reads `.ncu-rep` (plain or zstd-packed) and `.nsight-cuprof-report` without any vendor software.

What is decoded up front: where everything lies, launches' identity, the metrics asked for. Everything else
(instances, vendor rules, source lines) is decoded when its table is asked for. Damage ends up in `problems`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from profrx_parsers import columns
from profrx_parsers.ncu import (
    _clocks,
    _devices,
    _doubts,
    _launches,
    _lines,
    _options,
    _sections,
    _vendor,
)
from profrx_parsers.ncu._container import walk
from profrx_parsers.ncu._decode import decode
from profrx_parsers.ncu._instances import Instances
from profrx_parsers.ncu._lookup import Labels, look_up
from profrx_parsers.ncu._metrics import MetricStore, NumberColumns
from profrx_parsers.ncu._results import HIGHEST_FIELD, Result, scan
from profrx_parsers.ncu._session import SessionBlocks
from profrx_parsers.ncu._units import unit_of
from profrx_parsers.problems import ProblemLog
from profrx_parsers.report import Loader, Report, Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from profrx_parsers.info import ReportInfo
    from profrx_parsers.ncu._session import Session
    from profrx_parsers.problems import Severity
    from profrx_parsers.source import Source


STRUCTURAL = _launches.STRUCTURAL | _devices.STRUCTURAL | _lines.STRUCTURAL
"""Metrics that other tables need: decoded whatever the caller wants."""
_PLAUSIBLE_FIELD = 60
"""Unknown fields up to here are taken for a later version's, higher ones for damage."""


class _UnitsByName(Mapping[str, str]):
    """Units of a report's metrics, looked up when asked for."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels

    def get(self, name: str, default: Any = None) -> Any:
        """Return the unit of a metric."""
        return unit_of(name) or default

    def __getitem__(self, name: str) -> str:
        unit = unit_of(name)
        if unit is None:
            raise KeyError(name)
        return unit

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._labels.names if unit_of(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def read(source: Source, wanted: Wanted) -> Report:
    """Read a report. Raises `InputError` only when not even the file header can be read."""
    problems = ProblemLog()
    data = source.data()
    layout = walk(data, problems, source.name)
    results, entries = scan(data, layout.items, problems)
    store = decode(data, entries, look_up(layout.names, wanted.metrics, STRUCTURAL), problems)
    _check_results(results, problems)
    blocks = SessionBlocks(data, layout.sessions)
    problems.defer(blocks.check)
    if results:
        problems.defer(blocks.check_end)
    problems.defer(partial(_doubts.check, store))
    instances = Instances(store, problems)
    loaders: dict[str, Loader] = {
        "launches": partial(_launches.table, data, results, store),
        "metrics": store.table,
        "instances": partial(instances.table, wanted.metrics),
        "source_lines": partial(
            _lines.table, data, layout.items, results, instances, problems, wanted.private
        ),
        "vendor_findings": partial(_vendor.table, data, results, problems, wanted.private),
        "devices": lambda: _devices.table(blocks.session, store, _driver(blocks.session, results)),
    }
    extras = _extras(data, results, store)
    extras["instances"] = instances.plain_table
    extras["instance_batches"] = instances.batches
    if wanted.private:
        extras["source_files"] = partial(_lines.embedded_files, data, layout.items)
    return Report(lambda: _info(source, blocks.session, results, wanted), loaders, problems, extras)


def _extras(data: memoryview, results: Sequence[Result], store: MetricStore) -> dict[str, Any]:
    wide = columns.MetricColumns(
        store.rows,
        NumberColumns(store, text=False),
        NumberColumns(store, text=True),
        _UnitsByName(store.labels),
    )
    return {
        columns.EXTRA: wide,
        "clock_locked": [result.locked for result in results],
        "section_options": _sections.SectionOptions(data, results),
        "sections": _sections.SectionNames(data, results),
    }


def _info(source: Source, session: Session, results: Sequence[Result], wanted: Wanted) -> ReportInfo:
    from profrx_parsers.info import ReportInfo

    versions = session.versions
    private: dict[str, Any] = {}
    if wanted.private:
        private = {**session.private, "command_line": session.command_line}
    return ReportInfo(
        source=source.name,
        format="ncu-rep",
        tool="ncu",
        tool_version=_version(versions.get("Nsight Compute Target")),
        captured_at=session.captured_at(),
        driver=_driver(session, results),
        runtime_version=versions.get("CUDA Version"),
        platform=session.platform,
        clocks=_clocks.summary(results),
        base_time="profiled kernel time",
        options=_options.parse(session.command_line),
        private=private,
    )


def _driver(session: Session, results: Sequence[Result]) -> str | None:
    return session.versions.get("Display Driver Version") or _clocks.driver(results)


def _version(text: str | None) -> str | None:
    """Cut the build number off: ``2024.3.0.0 (build …)``."""
    return text.split()[0] if text and text.split() else None


def _check_results(results: Sequence[Result], problems: ProblemLog) -> None:
    unknown: dict[tuple[str, int], int] = {}
    for result in results:
        for number in result.parts:
            if number > HIGHEST_FIELD[result.kind]:
                unknown[result.kind, number] = unknown.get((result.kind, number), 0) + 1
    for (kind, number), count in sorted(unknown.items())[:64]:
        severity: Severity = "info" if number <= _PLAUSIBLE_FIELD else "warning"
        problems.add(
            severity, "ncu-unknown-field", f"{kind} results have an unknown field {number}", count=count
        )
    if not results:
        problems.add(
            "warning", "ncu-no-results", "the report holds no profiled kernel",
            advice="check the kernel filter and that the application launched kernels; then collect again",
        )  # fmt: skip
