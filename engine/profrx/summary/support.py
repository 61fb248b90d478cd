"""Which rules a report can support: those whose metrics it holds, whatever their outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from profrx.evaluate.outcomes import Outcomes
    from profrx.language.pack import Pack
    from profrx.report.model import Unknown
    from profrx_parsers.report import Report


def support(report: Report, pack: Pack) -> tuple[list[str], list[Unknown]]:
    """Return (rules that the report can judge, rules that it cannot, with what is missing and how to collect it).

    A rule that was decided for at least one subject is supported. One that was skipped everywhere, because
    its parent did not fire, is supported when no metric it reads is missing everywhere. Rules of other tools, and all
    of a report without subjects, are in neither list.
    """
    from profrx.evaluate import unjudged
    from profrx.evaluate.frames import frames_of
    from profrx.evaluate.outcomes import FIRED, NOT_APPLICABLE, NOT_FIRED, SKIPPED, run
    from profrx.evaluate.program import Program

    outcomes = run(Program(pack, {}), frames_of(report))
    open_ = {one.rule: one for one in unjudged.unknown(outcomes, 0, report)}
    can: list[str] = []
    cannot: list[Unknown] = []
    for name, codes in outcomes.codes.items():
        if (codes == NOT_APPLICABLE).all():
            continue  # also when there is no subject at all
        if ((codes == FIRED) | (codes == NOT_FIRED)).any():
            can.append(name)
        elif name in open_:
            cannot.append(open_[name])
        elif (codes == SKIPPED).any() and (missing := _missing(outcomes, pack.rules[name])):
            cannot.append(_skipped(pack, name, missing, report))
        else:
            can.append(name)
    return can, cannot


def _missing(outcomes: Outcomes, rule: Any) -> list[str]:
    """Return the metrics that a rule reads and that no subject has."""
    metrics = outcomes.metrics(rule.scope)
    held = outcomes.program.pack.metrics
    return [
        name
        for name in sorted(outcomes.program.metrics_read(rule))
        if held[name].kind == "number" and metrics.column(name).null_count == metrics.frame.rows
    ]


def _skipped(pack: Pack, name: str, missing: list[str], report: Report) -> Unknown:
    from profrx.evaluate import collect
    from profrx.report.model import Unknown

    actions = collect.for_metrics(pack, missing, report.info.tool or "", collect.present(report))
    return Unknown(rule=name, title=pack.rules[name].title, missing=missing, collect=actions)
