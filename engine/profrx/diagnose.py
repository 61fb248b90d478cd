"""`diagnose`: reports in, ranked and evidence-backed findings out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from profrx.report.model import FailedInput, Findings, Problem, ReportFindings
from profrx_parsers.errors import ProfrxError

if TYPE_CHECKING:
    from profrx.evaluate.outcomes import Outcomes
    from profrx.evaluate.program import Program
    from profrx.language.pack import Pack
    from profrx_parsers.report import Report

Input = "str | os.PathLike[str] | Report"


def diagnose(
    paths: Iterable[str | os.PathLike[str] | Report],
    *,
    pack: Pack | None = None,
    params: Mapping[str, Any] | None = None,
    kernel: str | None = None,
    top: int | None = None,
    private: bool = False,
) -> Findings:
    """Judge reports by a pack of rules.

    Args:
        paths: report files or folders, or reports that are open already.
        pack: the rules; None = the default pack.
        params: parameter overrides, e.g. ``{"tail-effect.min_tail": "5 %"}``; see `profrx.evaluate.params`.
        kernel: glob on the kernel's full or short name; only its launches are judged.
        top: findings per report and entries of the overall ranking; None = all.
        private: keep facts that identify people and machines among the conditions.

    Returns:
        one entry per readable report in the order given; unreadable inputs are in `failed`.

    Raises:
        UsageError: an override that fits no parameter.
        RuleError: a pack that cannot run (declarations that depend on each other).
    """
    import profrx
    from profrx.evaluate import rank
    from profrx.evaluate.program import Program, wanted_metrics
    from profrx_parsers.registry import open_report
    from profrx_parsers.report import Report, Wanted
    from profrx_parsers.source import open_source

    if pack is None:
        from profrx.language.pack import load_pack

        pack = load_pack()
    program = Program(pack, params or {})
    _ = program.params, program.order
    wanted = Wanted(metrics=wanted_metrics(pack) | _summary_metrics(), private=private)
    result = Findings(version=profrx.__version__, pack=_pack_facts(pack))
    for path in paths:
        try:
            report = path if isinstance(path, Report) else open_report(path, wanted)
            if not isinstance(path, Report) and report.info.sha256 is None:
                report.info.sha256 = open_source(path)[0].sha256()
            result.reports.append(judge(program, report, kernel=kernel, top=top))
        except ProfrxError as err:
            if err.family != "input":
                raise
            result.failed.append(
                FailedInput(
                    source=err.where or str(path), code=err.code, message=err.message, next_step=err.next_step
                )
            )
        except Exception as err:
            # one input must never cost the others their diagnosis; the defect is named, not hidden
            if os.environ.get("PROFRX_TRACEBACK"):
                raise
            result.failed.append(_defect(path, err))
    result.ranking = rank.overall(result.reports, top)
    return result


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
    from profrx.evaluate import group, unjudged, verdicts
    from profrx.evaluate.findings import findings
    from profrx.evaluate.frames import frames_of, only_kernel
    from profrx.evaluate.outcomes import run

    frames = frames_of(report)
    if kernel:
        frames = only_kernel(frames, kernel)
    outcomes = run(program, frames)
    found = ReportFindings(
        source=report.info.source,
        sha256=report.info.sha256,
        format=report.info.format,
        tool=report.info.tool,
        tool_version=report.info.tool_version,
        base_time=report.info.base_time,
        base_time_ns=group.base_times(outcomes).get(0),
        devices=_devices(report),
        verdicts=verdicts.verdicts(outcomes, 0),
        findings=findings(outcomes, group.candidates(outcomes), report, top),
        unknown=unjudged.unknown(outcomes, 0, report),
        blocked=unjudged.blocked(outcomes, 0),
    )
    _summarise(found, report, outcomes, kernel)
    found.problems = [Problem(**vars(problem)) for problem in report.problems]
    return found, outcomes


def _summarise(found: ReportFindings, report: Report, outcomes: Outcomes, kernel: str | None) -> None:
    """Fill the one-page numbers; of all kernels, then cut to those that were asked for."""
    from profrx import summary
    from profrx.evaluate.frames import frames_of
    from profrx.evaluate.metrics import Metrics

    launch = (frames_of(report) if kernel else outcomes.frames).get("launch")
    metrics = None
    if launch is not None:
        metrics = Metrics(outcomes.program.pack, launch) if kernel else outcomes.metrics("launch")
    summary.complete(found, report, metrics)
    if kernel:
        from fnmatch import fnmatchcase

        page = found.summary
        lists: list[list[Any]] = [
            found.kernels,
            page.sol,
            page.stalls,
            page.roofline,
            page.path,
            found.vendor,
        ]
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
