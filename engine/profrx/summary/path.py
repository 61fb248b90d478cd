"""The way through the flowchart, question by question, in its order: busy, bound by what, occupancy last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from profrx.report import numbers
from profrx.report.model import PathStep
from profrx.report.verdicts import ROOT, UNKNOWN, leading, question
from profrx.summary.busy import PROFILED_ALONE, TIMELINES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profrx.report.model import ReportFindings
    from profrx.summary.kernels import Group
    from profrx.summary.values import Values
    from profrx_parsers.report import Report

BUSY = "Is the GPU busy at all?"
OCCUPANCY = "Occupancy?"
LIMITS = {
    "occupancy.limit_registers": "registers",
    "occupancy.limit_shared": "shared memory",
    "occupancy.limit_warps": "warps per block",
    "occupancy.limit_blocks": "blocks per multiprocessor",
    "occupancy.limit_barriers": "barriers",
}
"""Blocks that fit onto a multiprocessor, by what limits them; the least one decides."""
METRICS = frozenset({"occupancy.achieved", "occupancy.theoretical", "dram.throughput", *LIMITS})
FEW_WARPS = frozenset({"occupancy", "block-size", "small-grid"})
"""Causes whose repair is more resident warps."""
LEAST_WAIT = 0.05
"""Share of the window that waiting for other ranks has to have to be named."""
SATURATED = 0.8
"""At this share of the DRAM bandwidth more occupancy cannot make a kernel faster in a way worth trying first."""
FULL = 0.8
"""From this share of the places for warps on, warps are not what a multiprocessor lacks (blocks can be too large, too)."""


def path(groups: Sequence[Group], values: Values, found: ReportFindings, report: Report) -> list[PathStep]:
    """Return the steps of each kernel: a question and its answer, or why there is none."""
    first = _busy(found, report)
    steps = []
    for g in groups:
        answers = [(BUSY, first), *_tables(g, found), (OCCUPANCY, _occupancy(g, values, found))]
        steps += [PathStep(kernel=g.kernel, short=g.short, question=q, answer=a) for q, a in answers if a]
    return steps


def _busy(found: ReportFindings, report: Report) -> str:
    busy = found.summary.busy
    if isinstance(busy, dict):
        return _busy_words(busy)
    tool = report.info.tool or ""
    command, file = TIMELINES["amd" if tool.startswith("roc") else "nvidia"]
    if tool in PROFILED_ALONE:
        ranges = "range" in str(report.info.options.get("replay_mode", ""))
        alone = "ranges of the program were run again and again" if ranges else "kernels were run one by one"
        return (
            f"This report cannot tell: {alone}, and shares are of profiled kernel time. "
            f"Ask a timeline first: `{command}`, then `profrx diagnose {file}`."
        )
    return f"Not known from this report. Ask a timeline: `{command}`, then `profrx diagnose {file}`."


def _busy_words(busy: dict[str, Any]) -> str:
    """Return the busy share of the timeline in words; the keys are those of `profrx.timeline.busy_summary`."""
    share, window = busy.get("busy_share"), busy.get("window_ns")
    if not isinstance(share, int | float):
        return "Not known: the timeline holds no kernel."
    words = f"Busy {numbers.share(float(share))} of the window"
    waiting = busy.get("comm_wait_share")
    if isinstance(waiting, int | float) and waiting >= LEAST_WAIT:
        words += f" ({numbers.share(float(waiting))} only waiting for other ranks)"
    return (
        f"{words} of {numbers.quantity(float(window), 'ns')}."
        if isinstance(window, int | float)
        else f"{words}."
    )


def _next_tool(g: Group, found: ReportFindings) -> str:
    """A timeline holds no counters: name the command that profiles this kernel."""
    busy = found.summary.busy
    kernels = busy.get("kernels") if isinstance(busy, dict) else None
    command = next((k.get("command") for k in kernels or () if _is(k, g)), None)
    why = next((k["why"] for k in not_profiled(found) if _is(k, g)), "")
    if why:
        return f"A timeline holds no counters, and this kernel is none for ncu: {why}."
    return f"A timeline holds no counters. Profile one steady launch: `{command}`." if command else ""


def _is(row: dict[str, Any], g: Group) -> bool:
    """Whether a row of a busy summary is about a kernel; several may share the short name."""
    return row.get("kernel") == g.kernel if row.get("kernel") else row.get("short") == g.short


def not_profiled(found: ReportFindings) -> Sequence[dict[str, Any]]:
    """Return the heavy kernels of a timeline of which a profile would say nothing."""
    busy = found.summary.busy
    return busy.get("not_profiled", ()) if isinstance(busy, dict) else ()


def _tables(g: Group, found: ReportFindings) -> list[tuple[str, str]]:
    """One question per decision table, the leading one first; where that is unknown, how to know it."""
    said: dict[str, dict[str, str]] = {}
    for one in [*leading(found.verdicts), *found.verdicts]:
        if one.kernel == g.kernel and one.verdict != UNKNOWN:
            because = f"{one.because} Doubtful (`{one.guard}`): see Validity." if one.guard else one.because
            said.setdefault(one.table, {})[one.title or one.verdict] = because
    answers = [(question(table), _answer(rows)) for table, rows in said.items()]
    if question(ROOT) not in [q for q, _ in answers]:
        because = next((v.because for v in leading(found.verdicts) if v.kernel == g.kernel), "")
        answers.insert(0, (question(ROOT), _next_tool(g, found) or because))
    return answers


def _answer(said: dict[str, str]) -> str:
    if len(said) == 1:
        (title, because), *_ = said.items()
        return f"{title}. {because}".strip()
    return "Differs between launches: " + ", ".join(said) + "."


def _occupancy(g: Group, values: Values, found: ReportFindings) -> str:
    achieved = values.share("occupancy.achieved", g.chosen)
    if achieved is None:
        return ""
    words = f"{numbers.share(achieved)} achieved"
    theoretical = values.share("occupancy.theoretical", g.chosen)
    if theoretical is not None:
        words += f" of {numbers.share(theoretical)} that fit"
        limiter = _limiter(g, values)
        if limiter and theoretical < 1:
            words += f" (limited by {limiter})"
    dram = values.share("dram.throughput", g.chosen)
    if dram is not None and dram >= SATURATED:
        return f"{words}; DRAM is used at {numbers.share(dram)}, so raising it will not help."
    top = next((f for f in found.findings if f.subject.kernel == g.kernel and f.score), None)
    if top is not None and top.cause in FEW_WARPS and achieved < FULL:
        return f"{words}: more warps are the first fix here."
    return f"{words}: a means, not a goal."


def _limiter(g: Group, values: Values) -> str:
    """Return what lets the fewest blocks onto a multiprocessor; ties are named together."""
    limits = {
        label: value for name, label in LIMITS.items() if (value := values.share(name, g.chosen)) is not None
    }
    least = min(limits.values(), default=None)
    return " and ".join(label for label, value in limits.items() if value == least)
