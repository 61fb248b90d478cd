"""The one-page report as plain data: what is shown, in which order, with numbers already readable.

Markdown, HTML and text are three spellings of one `Page`. Strings here are still untrusted: every writer
escapes in its own way. Source of the order: what a one-page summary of a kernel has to hold (conditions,
verdict, speed of light, top stalls, roofline position, top fix), then the ranked findings and the honest rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from profrx.report import damage, focus, grids, numbers, scarce
from profrx.report.verdicts import UNKNOWN, leading
from profrx.report.views import Advice, Fix, Gap, Held, advice, gaps, held_back

if TYPE_CHECKING:
    from profrx.report.model import Findings, KernelRow, Problem, ReportFindings, RooflinePoint, VendorFinding

TOP = 10
"""Findings in the ranked table unless ``--top`` says otherwise."""
KERNELS = 10
"""Lines of the verdict table."""
HYGIENE = frozenset(
    {"clock-state", "measurement-validity", "missing-data", "library-kernels", "near-roofline"}
)
"""Causes that are no reason to change a kernel: they are findings, but never the top fix."""
LOSS = " Data of this report is lost (see Validity): this holds for what could be read."
"""Behind the verdict of a report with holes: what is missing may have been work."""
RANKS = "ranks: "
"""Begins the source of several reports that were judged as one job."""
DIFFERS = " / "
"""Between the verdicts of launches of one kernel."""
DIGEST = "digest"
"""Key of `Findings.pack` that holds the digest of all rule files."""


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
    doubt: str = ""
    """Why the verdict is no answer; empty where it is one."""

    @property
    def answer(self) -> str:
        """The verdict where it may stand as the answer."""
        return "" if self.doubt else self.verdict

    @property
    def shown(self) -> str:
        """The verdict as a table shows it."""
        return f"{self.verdict} (doubtful)" if self.doubt else self.verdict


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
    idle: grids.Grid | None
    """Why the GPU idled, of a timeline."""
    commands: tuple[tuple[str, str, str], ...]
    """(kernel, its share, command) to profile next, of a timeline."""
    command_notes: tuple[str, ...]
    """What to heed with them: kernels that are none for a profile, several ranks."""
    path: tuple[tuple[str, str], ...]
    """(question, answer) for the heaviest kernel that a profile can explain."""
    path_kernel: str
    sol: grids.Grid | None
    stalls: grids.Grid | None
    stall_notes: tuple[tuple[str, str], ...]
    roofline: tuple[RooflinePoint, ...]
    roofline_rows: grids.Grid | None
    roofline_note: str
    top: Fix | None
    findings: tuple[Advice, ...]
    more_findings: int
    gaps: tuple[Gap, ...]
    next_step: str
    """What to do before any gap is closed by collecting; empty unless the input is damaged."""
    warnings: tuple[str, ...]
    blocked: tuple[Held, ...]
    suppressed: tuple[tuple[str, str, str], ...]
    """(title, kernel, reason and last day) of findings that the settings accept."""
    problems: tuple[Problem, ...]
    vendor: tuple[VendorFinding, ...]
    nothing: str = ""
    """Why there is nothing to say, when there is nothing."""
    alone: str = ""
    """What is said of the only kernel, when there is one only."""
    several: bool = False
    """Whether the report holds more than one kernel (then kernels are named everywhere)."""
    footer: str = ""

    @property
    def doubtful(self) -> bool:
        """Whether the verdict of the heaviest kernel is no answer."""
        return bool(self.kernels and self.kernels[0].doubt)


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
    report = focus.heaviest(focus.distinct(report))
    kernels = _kernels(report)
    several = len(report.kernels) > 1
    launches = {row.kernel: row.launches for row in report.kernels}
    listed = [advice(one, launches.get(one.subject.kernel or "")) for one in report.findings]
    worth = [a for a, one in zip(listed, report.findings, strict=True) if top or focus.worth(one)]
    best = _best(worth) or _best(listed)
    if best and best not in worth:
        worth.insert(0, best)
    open_ = gaps(report)
    too_little = scarce.lede(report, open_)
    said = _lede(report, kernels) or _without_work(report)
    explained = _explained(report)
    steps = [
        (s.question, s.answer) for s in report.summary.path if explained and s.kernel == explained.kernel
    ]
    return Page(
        title=_title(report),
        source=shown(report.source),
        lede=said + _loss(report) if said else too_little,
        conditions=tuple(report.conditions.facts.items()),
        missing=tuple(report.conditions.missing),
        base_time=_base_time(report),
        kernels=kernels[:KERNELS],
        more_kernels=max(len(kernels) - KERNELS, 0),
        idle=grids.idle(report),
        commands=grids.commands(report),
        command_notes=grids.command_notes(report),
        path=tuple(steps),
        path_kernel=explained.short if explained else "",
        sol=grids.narrow(grids.sol(report), several),
        stalls=grids.narrow(grids.stalls(report), several),
        stall_notes=grids.stall_notes(report),
        roofline=tuple(report.summary.roofline),
        roofline_rows=grids.narrow(grids.roofline_rows(report), several),
        roofline_note=grids.roofline_note(report),
        top=best.as_fix() if best else None,
        findings=tuple(worth[:limit]),
        more_findings=len(listed) - len(worth[:limit]),
        gaps=open_,
        next_step=report.next_step,
        warnings=_warnings(report),
        blocked=held_back(report),
        suppressed=tuple(
            (s.title or s.rule, s.short or "", s.reason + (f" (until {s.expires})" if s.expires else ""))
            for s in report.suppressed
        ),
        problems=tuple(p for p in report.problems if p.severity != "info" or not report.kernels),
        vendor=tuple(report.vendor),
        nothing="" if too_little else _nothing(report),
        alone=_alone(report, kernels),
        several=several,
        footer=footer,
    )


def _best(among: list[Advice]) -> Advice | None:
    """Return the top fix: the first that is ranked by what it saves, else the first that says what to do."""
    fixes = [a for a in among if a.fixes and a.cause not in HYGIENE]
    return next((a for a in fixes if a.ranked), next(iter(fixes), None))


def _alone(report: ReportFindings, kernels: tuple[Kernel, ...]) -> str:
    """Return the verdict of a report's only kernel; a timeline has none to give, and some reports no times."""
    if len(kernels) != 1:
        return ""
    launches = numbers.plural(report.kernels[0].launches, "launch", "launches")
    timed = report.kernels[0].duration_ns is not None
    took = f"{kernels[0].time} in {launches}." if timed else f"{launches} without a time."
    if not kernels[0].verdict and isinstance(report.summary.busy, dict):
        return took
    return f"{kernels[0].shown or 'Unknown'}: {took}"


def _warnings(report: ReportFindings) -> tuple[str, ...]:
    """Return the warnings, without the one about clocks where a finding says it better."""
    said = any(one.cause == "clock-state" for one in report.findings)
    return tuple(text for text in report.conditions.warnings if not (said and text.startswith("Clocks were")))


def shown(source: str) -> str:
    """Return a path without the folders above its own: those name users and machines, not the report."""
    parts = [part for part in source.replace("\\", "/").split("/") if part]
    absolute = source.startswith(("/", "~", "\\")) or source[1:2] == ":"
    return "/".join(parts[-2:]) if absolute else source


def _title(report: ReportFindings) -> str:
    if len(report.kernels) == 1:
        return report.kernels[0].short
    name = report.source.replace("\\", "/").rstrip("/")
    if not name.startswith(RANKS):
        name = name.rsplit("/", 1)[-1]
    return f"{name}: {numbers.plural(len(report.kernels), 'kernel')}" if report.kernels else name


def _explained(report: ReportFindings) -> KernelRow | None:
    """Return the heaviest kernel that a profile can explain, the heaviest of all when there is none such."""
    busy = report.summary.busy
    left_out = {k.get("short") for k in busy.get("not_profiled") or ()} if isinstance(busy, dict) else set()
    shown = (k for k in report.kernels if k.short not in left_out)
    return next(shown, report.kernels[0] if report.kernels else None)


def _lede(report: ReportFindings, kernels: tuple[Kernel, ...]) -> str:
    busy = report.summary.busy
    if isinstance(busy, dict) and busy.get("verdict"):
        return str(busy["verdict"])
    if not kernels:
        return ""
    first = kernels[0]
    if not first.verdict:
        return ""
    name = first.short.replace("`", "'")
    if first.doubt:
        of = f" `{name}`, {first.share} of the time," if len(kernels) > 1 else " it"
        return f"What limits{of} is not known. {first.doubt}"
    if len(kernels) > 1:
        if DIFFERS in first.verdict:
            differs = first.verdict.lower().replace(DIFFERS, ", ")
            return f"`{name}`, {first.share} of the time, differs between its launches: {differs}."
        timed = all(row.duration_ns is not None for row in report.kernels)
        time = "the time" if timed else "the time that is known"
        said = f"`{name}`, {first.share} of {time}, is {first.verdict.lower()}."
        return f"{said} {first.because}".rstrip()
    return f"{first.verdict}. {first.because}" if first.because else f"{first.verdict}."


def _without_work(report: ReportFindings) -> str:
    """Return what a report without any kernel or copy is found to lack, and what to do about it."""
    first = next((one for one in report.findings if one.scope == "report"), None)
    if report.kernels or report.verdicts or first is None:
        return ""
    return " ".join([f"{first.title}.", *first.fix[:1]])


def _loss(report: ReportFindings) -> str:
    lost = any(problem.severity in damage.LOST for problem in report.problems)
    return f"{LOSS} {report.next_step}".rstrip() if lost else ""


def _base_time(report: ReportFindings) -> str:
    if report.base_time is None:
        return ""
    if report.base_time_ns is None:
        return report.base_time
    busy = report.summary.busy
    devices = len(busy.get("devices") or ()) if isinstance(busy, dict) else 1
    each = f" on each of {devices} devices" if devices > 1 else ""
    return f"{report.base_time} ({numbers.quantity(report.base_time_ns, 'ns')}){each}"


def _kernels(report: ReportFindings) -> tuple[Kernel, ...]:
    """Join kernels with their verdict; launches of one kernel that differ are listed as ``a / b``."""
    words: dict[str, list[str]] = {}
    because: dict[str, str] = {}
    doubt: dict[str, str] = {}
    for one in leading(report.verdicts):
        if one.verdict == UNKNOWN:
            continue
        title = one.title or one.verdict
        if title not in words.setdefault(one.kernel, []):
            words[one.kernel].append(title)
        because.setdefault(one.kernel, one.because)
        doubt.setdefault(one.kernel, one.doubt)
    return tuple(
        Kernel(
            short=row.short,
            full=row.kernel,
            launches=row.launches,
            time=numbers.quantity(row.duration_ns, "ns"),
            share=numbers.share(row.time_share),
            verdict=DIFFERS.join(words.get(row.kernel, [])),
            because=because.get(row.kernel, "") if len(words.get(row.kernel, [])) == 1 else "",
            doubt=doubt.get(row.kernel, ""),
        )
        for row in report.kernels
    )


def _nothing(report: ReportFindings) -> str:
    if report.findings or isinstance(report.summary.busy, dict):
        return ""
    if not report.kernels and not report.verdicts:
        nothing = "Nothing to judge: no kernel was read or chosen, and there is no timeline."
        return f"{nothing} {report.next_step}".rstrip()
    if report.unknown and report.coverage is not None:
        judged = numbers.plural(report.coverage.judged, "rule")
        rest = report.coverage.rules - report.coverage.judged
        return f"Of {judged} that could be judged none fired; {rest} could not be judged: see below what to collect."
    if report.unknown:
        return "No rule fired, and some could not be judged: see below what to collect."
    return "No rule fired: nothing in this report is worth fixing first."
