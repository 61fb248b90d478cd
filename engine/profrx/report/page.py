"""The one-page report as plain data: what is shown, in which order, with numbers already readable.

Markdown, HTML and text are three spellings of one `Page`. Strings here are still untrusted: every writer
escapes in its own way. Source of the order: what a one-page summary of a kernel has to hold (conditions,
verdict, speed of light, top stalls, roofline position, top fix), then the ranked findings and the honest rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from profrx.report import numbers
from profrx.report.textplot import significant
from profrx.report.verdicts import UNKNOWN, leading
from profrx.report.views import Advice, Fix, Gap, advice, gaps

if TYPE_CHECKING:
    from profrx.report.model import Finding, Findings, Problem, ReportFindings, RooflinePoint, VendorFinding

TOP = 10
"""Findings in the ranked table unless ``--top`` says otherwise."""
KERNELS = 10
NUMBERS = 5
"""Kernels with speed-of-light, stall and roofline numbers."""
COMMANDS = 3
LEAST_SHARE = 0.005
"""Findings about less of the base time than this are counted, not listed, unless ``--top`` asks for them."""
LEAST_IDLE = 0.005
DIGEST = "digest"
"""Key of `Findings.pack` that holds the digest of all rule files."""


@dataclass(frozen=True)
class Grid:
    """A small table: header and rows of plain text; `code` names the columns that hold kernel names."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    code: frozenset[int] = frozenset()
    right: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Kernel:
    """One line of the verdict table."""

    short: str
    full: str
    launches: int
    time: str
    share: str
    verdict: str
    because: str = ""


@dataclass(frozen=True)
class Page:
    """One report on one page. Empty parts are left out by the writers, unknown ones are said to be unknown."""

    title: str
    source: str
    lede: str
    """One sentence: the verdict of the heaviest kernel."""
    conditions: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]
    base_time: str
    kernels: tuple[Kernel, ...]
    more_kernels: int
    idle: Grid | None
    """Why the GPU idled, of a timeline."""
    commands: tuple[tuple[str, str], ...]
    """(what, command) to profile next, of a timeline."""
    path: tuple[tuple[str, str], ...]
    """(question, answer) for the heaviest kernel."""
    path_kernel: str
    sol: Grid | None
    stalls: Grid | None
    stall_notes: tuple[tuple[str, str], ...]
    roofline: tuple[RooflinePoint, ...]
    roofline_rows: Grid | None
    top: Fix | None
    findings: tuple[Advice, ...]
    more_findings: int
    gaps: tuple[Gap, ...]
    warnings: tuple[str, ...]
    blocked: tuple[tuple[str, str, str], ...]
    """(rule, guard, reason)."""
    problems: tuple[Problem, ...]
    vendor: tuple[VendorFinding, ...]
    nothing: str = ""
    """Why there is nothing to say, when there is nothing."""
    several: bool = False
    """Whether the report holds more than one kernel (then kernels are named everywhere)."""
    footer: str = ""
    devices: tuple[str, ...] = field(default_factory=tuple)


def pages(findings: Findings, top: int | None = None) -> list[Page]:
    """Return one page per report."""
    names = [f"{name} {version}".strip() for name, version in findings.pack.items() if name != DIGEST]
    digest = findings.pack.get(DIGEST, "")
    pack = ", ".join(names) + (f" ({digest[:12]})" if digest else "")
    footer = f"profrx {findings.version}" + (f", rules: {pack}" if pack else "")
    return [page(report, top=top, footer=footer) for report in findings.reports]


def page(report: ReportFindings, *, top: int | None = None, footer: str = "") -> Page:
    """Assemble the page of one report."""
    limit = top or TOP
    report = _heaviest(_distinct(report))
    kernels = _kernels(report)
    several = len(report.kernels) > 1
    listed = [advice(one) for one in report.findings]
    worth = [a for a, one in zip(listed, report.findings, strict=True) if top or _worth(one)]
    best = next((a for a in listed if a.fixes and a.ranked), next((a for a in listed if a.fixes), None))
    heaviest = report.kernels[0].kernel if report.kernels else None
    steps = [(s.question, s.answer) for s in report.summary.path if s.kernel == heaviest]
    return Page(
        title=_title(report),
        source=report.source,
        lede=_lede(report, kernels),
        conditions=tuple(report.conditions.facts.items()),
        missing=tuple(report.conditions.missing),
        base_time=_base_time(report),
        kernels=kernels[:KERNELS],
        more_kernels=max(len(kernels) - KERNELS, 0),
        idle=_idle(report),
        commands=_commands(report),
        path=tuple(steps),
        path_kernel=report.kernels[0].short if report.kernels else "",
        sol=_narrow(_sol(report), several),
        stalls=_narrow(_stalls(report), several),
        stall_notes=_stall_notes(report),
        roofline=tuple(report.summary.roofline),
        roofline_rows=_narrow(_roofline(report), several),
        top=best.as_fix() if best else None,
        findings=tuple(worth[:limit]),
        more_findings=len(listed) - len(worth[:limit]),
        gaps=gaps(report),
        warnings=tuple(report.conditions.warnings),
        blocked=tuple((b.rule, b.guard, b.reason) for b in report.blocked),
        problems=tuple(p for p in report.problems if p.severity != "info"),
        vendor=tuple(report.vendor),
        nothing=_nothing(report),
        several=several,
        footer=footer,
    )


def _heaviest(report: ReportFindings) -> ReportFindings:
    """Keep the numbers of the heaviest kernels only: a page is short, JSON holds the rest."""
    kept = {row.kernel for row in report.kernels[:NUMBERS]}
    parts = report.summary
    few = {
        "sol": [one for one in parts.sol if one.kernel in kept],
        "stalls": [one for one in parts.stalls if one.kernel in kept],
        "roofline": [one for one in parts.roofline if one.kernel in kept],
    }
    return report.model_copy(update={"summary": parts.model_copy(update=few)})


def _worth(finding: Finding) -> bool:
    """Whether a finding is worth a line of the page: not when even its best case saves next to nothing in all."""
    if finding.time_share is None or finding.saving is None:
        return finding.time_share is None or finding.time_share >= LEAST_SHARE
    return finding.saving.high * finding.time_share >= LEAST_SHARE


def _distinct(report: ReportFindings) -> ReportFindings:
    """Number kernels that share a short name (templates of one function), so that a row says which it means."""
    by_short: dict[str, list[str]] = {}
    for row in report.kernels:
        by_short.setdefault(row.short, []).append(row.kernel)
    labels = {
        kernel: f"{short} [{number}]"
        for short, kernels in by_short.items()
        if len(kernels) > 1
        for number, kernel in enumerate(kernels, 1)
    }
    if not labels:
        return report
    copy = report.model_copy(deep=True)
    parts = copy.summary
    named: list[Any] = [*copy.kernels, *copy.verdicts, *copy.vendor]
    for one in [*named, *parts.sol, *parts.stalls, *parts.roofline, *parts.path]:
        one.short = labels.get(one.kernel, one.short)
    for finding in copy.findings:
        finding.subject.short = labels.get(finding.subject.kernel or "", finding.subject.short or "") or None
    return copy


def _title(report: ReportFindings) -> str:
    if len(report.kernels) == 1:
        return report.kernels[0].short
    name = report.source.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return f"{name}: {numbers.plural(len(report.kernels), 'kernel')}" if report.kernels else name


def _lede(report: ReportFindings, kernels: tuple[Kernel, ...]) -> str:
    busy = report.summary.busy
    if isinstance(busy, dict) and busy.get("verdict"):
        return str(busy["verdict"])
    if not kernels:
        return ""
    first = kernels[0]
    if not first.verdict:
        return ""
    if len(kernels) > 1:
        name = first.short.replace("`", "'")
        said = f"`{name}`, {first.share} of the time, is {first.verdict.lower()}."
        return f"{said} {first.because}".rstrip()
    return f"{first.verdict}. {first.because}" if first.because else f"{first.verdict}."


def _base_time(report: ReportFindings) -> str:
    if report.base_time is None:
        return ""
    total = numbers.quantity(report.base_time_ns, "ns")
    return report.base_time if report.base_time_ns is None else f"{report.base_time} ({total})"


def _kernels(report: ReportFindings) -> tuple[Kernel, ...]:
    """Join kernels with their verdict; launches of one kernel that differ are listed as ``a / b``."""
    words: dict[str, list[str]] = {}
    because: dict[str, str] = {}
    for one in leading(report.verdicts):
        if one.verdict == UNKNOWN:
            continue
        title = one.title or one.verdict
        if title not in words.setdefault(one.kernel, []):
            words[one.kernel].append(title)
        because.setdefault(one.kernel, one.because)
    return tuple(
        Kernel(
            short=row.short,
            full=row.kernel,
            launches=row.launches,
            time=numbers.quantity(row.duration_ns, "ns"),
            share=numbers.share(row.time_share),
            verdict=" / ".join(words.get(row.kernel, [])),
            because=because.get(row.kernel, "") if len(words.get(row.kernel, [])) == 1 else "",
        )
        for row in report.kernels
    )


def _idle(report: ReportFindings) -> Grid | None:
    """Reasons of idle time as shares of the window; those under half a percent are left out."""
    busy = report.summary.busy
    listed = busy.get("idle") if isinstance(busy, dict) else None
    rows = [
        (str(one.get("reason", "")), numbers.share(one.get("share")), str(one.get("meaning", "")))
        for one in listed or ()
        if (one.get("share") or 0) >= LEAST_IDLE
    ]
    return (
        Grid(("Idle because of", "Of the window", "Meaning"), tuple(rows), right=frozenset({1}))
        if rows
        else None
    )


def _commands(report: ReportFindings) -> tuple[tuple[str, str], ...]:
    busy = report.summary.busy
    listed = busy.get("kernels") if isinstance(busy, dict) else None
    return tuple(
        (
            f"{one.get('short', '')} ({numbers.share(one.get('window_share'))} of the window)",
            str(one["command"]),
        )
        for one in (listed or ())[:COMMANDS]
        if one.get("command")
    )


def _narrow(grid: Grid | None, several: bool) -> Grid | None:
    """Leave out the kernel column where there is only one kernel."""
    if grid is None or several:
        return grid
    right = frozenset(i - 1 for i in grid.right)
    return Grid(grid.header[1:], tuple(row[1:] for row in grid.rows), right=right)


def _sol(report: ReportFindings) -> Grid | None:
    """One row per kernel, one column per number."""
    labels = list(dict.fromkeys(n.label for n in report.summary.sol))
    if not labels:
        return None
    values: dict[tuple[str, int | None], dict[str, str]] = {}
    shorts: dict[tuple[str, int | None], str] = {}
    for one in report.summary.sol:
        key = (one.kernel, one.launch_id)
        values.setdefault(key, {})[one.label] = numbers.quantity(one.value, one.unit)
        shorts[key] = one.short
    rows = tuple(
        (shorts[k], *(cells.get(label, numbers.NOTHING) for label in labels)) for k, cells in values.items()
    )
    return Grid(("Kernel", *labels), rows, code=frozenset({0}), right=frozenset(range(1, len(labels) + 1)))


def _stalls(report: ReportFindings) -> Grid | None:
    by_kernel: dict[str, list[str]] = {}
    shorts: dict[str, str] = {}
    for one in report.summary.stalls:
        cycles = "" if one.cycles is None else f", {numbers.digits(one.cycles)} cycles"
        by_kernel.setdefault(one.kernel, []).append(f"{one.reason} {numbers.share(one.share)}{cycles}")
        shorts[one.kernel] = one.short
    if not by_kernel:
        return None
    rows = tuple((shorts[k], *(cells + [numbers.NOTHING] * 3)[:3]) for k, cells in by_kernel.items())
    return Grid(("Kernel", "1st", "2nd", "3rd"), rows, code=frozenset({0}))


def _stall_notes(report: ReportFindings) -> tuple[tuple[str, str], ...]:
    """What the reasons of the heaviest kernel mean."""
    stalls = report.summary.stalls
    return tuple((s.reason, s.meaning) for s in stalls if s.kernel == stalls[0].kernel and s.meaning)


def _roofline(report: ReportFindings) -> Grid | None:
    rows = [
        (
            p.short,
            p.precision.upper() if p.precision.startswith("fp") else p.precision,
            numbers.quantity(p.flop_per_s, "FLOP/s"),
            numbers.share(p.compute_share),
            numbers.quantity(p.bytes_per_s, "B/s"),
            numbers.share(p.memory_share),
            numbers.quantity(p.intensity, "FLOP/B"),
            numbers.quantity(p.ridge, "FLOP/B"),
        )
        for p in significant(report.summary.roofline)
    ]
    if not rows:
        return None
    header = ("Kernel", "Roof", "Achieved", "of roof", "DRAM", "of roof", "Intensity", "Ridge")
    return Grid(header, tuple(rows), code=frozenset({0}), right=frozenset(range(2, 8)))


def _nothing(report: ReportFindings) -> str:
    if report.findings or isinstance(report.summary.busy, dict):
        return ""
    if not report.kernels and not report.verdicts:
        return "This report holds nothing that can be judged: no kernel, no timeline, no summary."
    if report.unknown:
        return "No rule fired, and some could not be judged: see below what to collect."
    return "No rule fired: nothing in this report is worth fixing first."
