"""`diagnose`: reports in, ranked and evidence-backed findings out."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from profrx.report.model import FailedInput, Findings, Problem, ReportFindings
from profrx_parsers.errors import ProfrxError

if TYPE_CHECKING:
    from profrx.evaluate.frames import Frames
    from profrx.evaluate.metrics import Metrics
    from profrx.evaluate.outcomes import Outcomes
    from profrx.evaluate.program import Program
    from profrx.language.pack import Pack
    from profrx_parsers.report import Report, Wanted

LOG = logging.getLogger(__name__)
Input = "str | os.PathLike[str] | Report"


def diagnose(
    paths: Iterable[str | os.PathLike[str] | Report],
    *,
    pack: Pack | None = None,
    params: Mapping[str, Any] | None = None,
    kernel: str | None = None,
    top: int | None = None,
    private: bool = False,
    ranks: bool = False,
) -> Findings:
    """Judge reports by a pack of rules.

    Args:
        paths: report files or folders, or reports that are open already.
        pack: the rules; None = the default pack.
        params: parameter overrides, e.g. ``{"tail-effect.min_tail": "5 %"}``; see `profrx.evaluate.params`.
        kernel: glob on the kernel's full or short name; only its launches are judged.
        top: findings per report and entries of the overall ranking; None = all.
        private: keep facts that identify people and machines among the conditions.
        ranks: the reports are the ranks of one job; they are judged as one (see `job_of`).

    Returns:
        one entry per readable report in the order given; unreadable inputs are in `failed`.

    Raises:
        UsageError: an override that fits no parameter; reports that are no ranks of one job.
        RuleError: a pack that cannot run (declarations that depend on each other).
    """
    import profrx
    from profrx.evaluate import rank
    from profrx.evaluate.program import Program, wanted_metrics
    from profrx_parsers.report import Report, Wanted

    if pack is None:
        from profrx.language.pack import load_pack

        pack = load_pack(tests=False)
    program = Program(pack, params or {})
    _ = program.params, program.order
    wanted = Wanted(metrics=wanted_metrics(pack) | _summary_metrics(), private=private)
    result = Findings(version=profrx.__version__, pack=_pack_facts(pack))
    for path in _as_ranks(paths, wanted, result.failed) if ranks else paths:
        try:
            report = path if isinstance(path, Report) else _open(path, wanted)
            began = time.perf_counter()
            result.reports.append(judge(program, report, kernel=kernel, top=top))
            _told(result.reports[-1], time.perf_counter() - began)
        except Exception as err:
            result.failed.append(_failed(path, err))
    result.ranking = rank.overall(result.reports, top)
    return result


def _told(judged: ReportFindings, took: float) -> None:
    """Log what judging a report came to, and each row of its import log."""
    from profrx.report import damage

    found, gaps = len(judged.findings), len(judged.unknown)
    LOG.info("%s: %d findings, %d rules not judged; judged in %.3f s", judged.source, found, gaps, took)
    for one in judged.problems:
        LOG.debug("%s: %s %s: %s", judged.source, one.severity, one.code, damage.told(one))


def _open(path: str | os.PathLike[str], wanted: Wanted) -> Report:
    from profrx_parsers.registry import open_report
    from profrx_parsers.source import open_source

    report = open_report(path, wanted)
    if report.info.sha256 is None:
        report.info.sha256 = open_source(path)[0].sha256()
    return report


def _as_ranks(
    paths: Iterable[str | os.PathLike[str] | Report], wanted: Wanted, failed: list[FailedInput]
) -> list[Report]:
    """Return the one report that the ranks make together; a rank that cannot be read is left out and told."""
    from profrx.timeline.job import job_of
    from profrx_parsers.report import Report

    members = []
    for path in paths:
        try:
            members.append(path if isinstance(path, Report) else _open(path, wanted))
        except Exception as err:
            failed.append(_failed(path, err))
    return members if failed and len(members) < 2 else [job_of(members)]


def _failed(path: object, err: Exception) -> FailedInput:
    """Say what is wrong with one input, which must never cost the others their diagnosis.

    Raises what is no fault of an input; a defect of profrx is named, not hidden, and raised for its authors.
    """
    if isinstance(err, ProfrxError):
        if err.family != "input":
            raise err
        return FailedInput(
            source=err.where or str(path), code=err.code, message=err.message, next_step=err.next_step
        )
    if os.environ.get("PROFRX_TRACEBACK"):
        raise err
    return _defect(path, err)


def _defect(path: object, err: Exception) -> FailedInput:
    source = (
        path if isinstance(path, str | os.PathLike) else getattr(getattr(path, "info", None), "source", "")
    )
    return FailedInput(
        source=str(source),
        code="internal-defect",
        message=f"profrx failed on this input: {type(err).__name__}: {str(err)[:200]}",
        next_step="set PROFRX_TRACEBACK=1 and report what it prints, with the output of `profrx inspect`",
    )


def judge(
    program: Program, report: Report, *, kernel: str | None = None, top: int | None = None
) -> ReportFindings:
    """Judge one open report; see `diagnose`."""
    return judge_fully(program, report, kernel=kernel, top=top)[0]


def judge_fully(
    program: Program, report: Report, *, kernel: str | None = None, top: int | None = None
) -> tuple[ReportFindings, Outcomes]:
    """Judge one open report and keep the columns that the judgement came from."""
    from profrx.evaluate.frames import frames_of, only_kernel
    from profrx.evaluate.metrics import Metrics
    from profrx.evaluate.outcomes import run

    frames = frames_of(report)
    outcomes = run(program, only_kernel(frames, kernel) if kernel else frames)
    found = _found(outcomes, {0: report}, top)[0]
    launch = frames.get("launch")
    metrics = None
    if launch is not None:  # the page's numbers are of all kernels, then cut to those that were asked for
        metrics = Metrics(program.pack, launch) if kernel else outcomes.metrics("launch")
    _finish(found, report, metrics)
    if kernel:
        _cut(found, kernel)
    return found, outcomes


@dataclass(frozen=True)
class Judged:
    """One report of several that were judged together.

    Attributes:
        found: what `judge` gives of it.
        outcomes: the columns of the pass.
        first: row of the launch frame of `outcomes` that is the report's launch 0.
    """

    found: ReportFindings
    outcomes: Outcomes
    first: int


def judge_many(program: Program, reports: Sequence[Report], *, page: bool = True) -> list[Judged]:
    """Judge open reports in as few passes as possible: a pass over many costs little more than one over one.

    Args:
        program: the rules.
        reports: small ones: all their columns lie in memory together.
        page: whether the numbers that only a page shows are wanted too.
    """
    from profrx.evaluate.frames import frames_of
    from profrx.evaluate.join import Unlike

    parts = {at: frames_of(report, at) for at, report in enumerate(reports)}
    alike: dict[tuple[str, ...], list[int]] = {}
    for at, part in parts.items():
        alike.setdefault((part.tool, *part.scopes), []).append(at)
    pending = list(alike.values())
    judged: dict[int, Judged] = {}
    while pending:
        some = pending.pop()
        try:
            judged |= _together(program, {at: (reports[at], parts[at]) for at in some}, page)
        except Unlike:
            middle = len(some) // 2
            pending += [some[:middle], some[middle:]]
    return [judged[at] for at in range(len(reports))]


def _together(
    program: Program, members: Mapping[int, tuple[Report, Frames]], page: bool
) -> dict[int, Judged]:
    from profrx.evaluate.join import join
    from profrx.evaluate.outcomes import run

    outcomes = run(program, join([frames for _, frames in members.values()], strict=True))
    every = _found(outcomes, {at: report for at, (report, _) in members.items()}, None)
    metrics = outcomes.metrics("launch") if outcomes.frames.get("launch") else None
    judged: dict[int, Judged] = {}
    first = 0
    for at, (report, frames) in members.items():
        _finish(every[at], report, metrics, first=first, page=page)
        judged[at] = Judged(every[at], outcomes, first)
        launch = frames.get("launch")
        first += launch.rows if launch is not None else 0
    return judged


def _found(outcomes: Outcomes, reports: Mapping[int, Report], top: int | None) -> dict[int, ReportFindings]:
    """What a pass over reports (by position) says of each: verdicts, findings, what is unknown or blocked."""
    from profrx.evaluate import group, unjudged
    from profrx.evaluate.findings import findings_of_many
    from profrx.evaluate.verdicts import verdicts_of_many

    bases = group.base_times(outcomes)
    verdicts = verdicts_of_many(outcomes)
    findings = findings_of_many(outcomes, group.candidates(outcomes), reports, top)
    unknown = unjudged.unknown_of_many(outcomes, reports)
    blocked = unjudged.blocked_of_many(outcomes)
    coverage = unjudged.coverage(outcomes)
    return {
        at: ReportFindings(
            source=report.info.source,
            sha256=report.info.sha256,
            format=report.info.format,
            tool=report.info.tool,
            tool_version=report.info.tool_version,
            base_time=report.info.base_time,
            base_time_ns=bases.get(at),
            devices=_devices(report),
            verdicts=verdicts.get(at, []),
            findings=findings[at],
            coverage=coverage.get(at),
            unknown=unknown[at],
            blocked=blocked.get(at, []),
        )
        for at, report in reports.items()
    }


def _finish(
    found: ReportFindings, report: Report, metrics: Metrics | None, *, first: int = 0, page: bool = True
) -> None:
    """Fill the one-page numbers and the import log."""
    from profrx import summary
    from profrx.report import damage

    summary.complete(found, report, metrics, first=first, page=page)
    found.problems = [Problem(**vars(problem)) for problem in report.problems]
    found.next_step = damage.next_step(found.problems)


def _cut(found: ReportFindings, kernel: str) -> None:
    """Leave out what the page says of other kernels than a glob names."""
    from fnmatch import fnmatchcase

    page = found.summary
    lists: list[list[Any]] = [found.kernels, page.sol, page.stalls, page.roofline, page.path, found.vendor]
    for rows in lists:
        rows[:] = [r for r in rows if fnmatchcase(r.kernel, kernel) or fnmatchcase(r.short, kernel)]


def _summary_metrics() -> frozenset[str]:
    from profrx import summary

    return summary.wanted_metrics()[1]


def _pack_facts(pack: Pack) -> dict[str, str]:
    facts = {one.name: one.version for one in pack.packs}
    return {**facts, "digest": pack.digest}


def _devices(report: Report) -> list[dict[str, Any]]:
    rows = report.table("devices").to_pylist()
    return [{key: value for key, value in row.items() if value is not None} for row in rows]
