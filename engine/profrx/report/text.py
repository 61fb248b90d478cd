"""The one-page report for a terminal: the same page, in aligned columns, coloured where that is wanted."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from profrx import escape
from profrx.report import numbers
from profrx.report.grid import grid
from profrx.report.page import pages, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from profrx.report.grids import Grid
    from profrx.report.model import Findings
    from profrx.report.page import Page
    from profrx.report.views import Held

LOST = "Data of this report is lost, and these rules may lack no more than that."
BEGIN, BEGIN_LATER = "Collect with", "If that does not help, collect with"
NO_COMMAND, NO_COMMAND_LOST = (
    "Nothing collects what these need",
    "What these need may be lost, and nothing collects it",
)
WIDTH = 110
"""Columns when the output is no terminal."""
_WORD = re.compile(r"[^\s`]*`[^`]+`\S*|\S+")
"""A word, or a command in backquotes with what touches it."""
COLOURS = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan", "info": "dim"}


def render(
    findings: Findings, *, top: int | None = None, color: bool = False, width: int | None = None
) -> str:
    """Return the pages of all reports as text.

    Args:
        findings: what was found.
        top: rows of the ranked table.
        color: whether to write terminal colours.
        width: columns to wrap at.
    """
    from rich.console import Console

    out = io.StringIO()
    console = Console(
        file=out,
        force_terminal=color,
        color_system="standard" if color else None,
        width=width or WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
        legacy_windows=False,
    )
    for number, page in enumerate(pages(findings, top)):
        if number:
            console.rule(style="dim")
        _page(console, page)
    if findings.failed:
        _heading(console, "Could not be read")
        _bullets(
            console,
            (
                f"{shown(one.source)}: {one.message} [{one.code}]{_step(one.next_step)}"
                for one in findings.failed
            ),
        )
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def _step(text: str) -> str:
    return f" ({text})" if text else ""


def _page(console: Console, page: Page) -> None:
    verdict = page.kernels[0].answer if len(page.kernels) == 1 else ""
    _say(console, f"{page.title}: {verdict.lower()}" if verdict else page.title, style="bold")
    if page.lede:
        _say(console, page.lede)
    if page.conditions:
        _say(console, " · ".join(f"{label}: {value}" for label, value in page.conditions), style="dim")
    if page.missing:
        _say(console, f"Not recorded: {', '.join(page.missing)}.", style="dim")
    if page.nothing:
        _say(console, page.nothing)
    _verdicts(console, page)
    _table(console, "Idle time", page.idle)
    _table(console, "Speed of light", page.sol)
    _table(console, "Top stall reasons", page.stalls)
    _bullets(console, (f"{reason}: {meaning}" for reason, meaning in page.stall_notes))
    _roofline(console, page)
    if page.top:
        _heading(console, "Top fix")
        where = f" in {page.top.kernel}" if page.several and page.top.kernel else ""
        saves = f": saves {page.top.saves}, {page.top.speedup}" if page.top.speedup else ""
        _say(console, f"{page.top.title}{where}{saves}", style="bold green")
        _say(console, page.top.because)
        _say(console, f"> {page.top.first}")
    _findings(console, page)
    _rest(console, page)
    console.print()
    _say(console, f"{page.source} · {page.footer}", style="dim")


def _verdicts(console: Console, page: Page) -> None:
    if not page.kernels:
        return
    _heading(console, "Verdict")
    judged = any(k.verdict for k in page.kernels)
    rows = [
        (k.short, f"{k.launches:,}", k.time, k.share, *((k.shown or "unknown",) if judged else ()))
        for k in page.kernels
    ]
    header = ("kernel", "launches", "time", "share", *(("verdict",) if judged else ()))
    _lines(console, grid(header, rows, right=(1, 2, 3)))
    if page.more_kernels:
        _say(console, f"{page.more_kernels} more.", style="dim")
    if page.base_time:
        _say(console, f"Share: of {page.base_time}.", style="dim")
    if page.path and page.several:
        _say(console, f"The way there for {page.path_kernel}:")
    for number, (question, answer) in enumerate(page.path, 1):
        _say(console, f"{number}. {question} {answer}")


def _roofline(console: Console, page: Page) -> None:
    from profrx.report.textplot import chart

    if page.roofline_rows is None:
        return
    _heading(console, "Roofline")
    _lines(console, chart(page.roofline))
    _lines(console, grid(page.roofline_rows.header, page.roofline_rows.rows, right=page.roofline_rows.right))
    if page.roofline_note:
        _say(console, page.roofline_note, style="dim")


def _findings(console: Console, page: Page) -> None:
    if not page.findings:
        return
    from rich.text import Text

    _heading(console, "Findings")
    for f in page.findings:
        head = Text(f"{f.rank:>3}. ")
        head.append(f"{f.severity:<8} ", style=COLOURS.get(f.severity, ""))
        head.append(escape.clean(f.title), style="bold")
        if page.several and f.full:
            head.append(f" in {escape.middle_cut(escape.clean(f.subject), 50)}")
        if f.launches:
            head.append(f", {f.launches}")
        console.print(head)
        gain = f"saves {f.saves}" if f.saves else "saving unknown"
        total = f", {f.of_report} of the total" if page.several and f.of_report else ""
        speed = f" ({f.speedup})" if f.speedup else ""
        known = (f"{gain}{speed}{total}", f"{f.confidence} confidence", f.decided_by)
        _say(console, "; ".join(filter(None, known)), indent=5)
        _say(console, f.because, indent=5, style="dim")
        for fix in f.fixes[:1]:
            _say(console, f"Fix: {fix}", indent=5)
        for place, part in f.locations[:2]:
            _say(console, f"at {place} ({part})", indent=5, style="dim")
    if page.more_findings:
        _say(
            console,
            f"{page.more_findings} more with --top {len(page.findings) + page.more_findings}.",
            style="dim",
        )


def _rest(console: Console, page: Page) -> None:
    if page.commands:
        _heading(console, "Profile next")
        for kernel, part, command in page.commands:
            _say(console, f"* {kernel} ({part}):")
            _lines(console, f"  {escape.clean(command)}")
        _bullets(console, page.command_notes)
    if page.gaps:
        _heading(console, "Not judged")
        if page.next_step:
            _bullets(console, [f"{LOST} {page.next_step}"])
        for g in page.gaps:
            _bullets(console, [_gap(g.command, g.rules, BEGIN_LATER if page.next_step else BEGIN)])
            if len(g.command) > 1:
                _lines(console, "\n".join(f"  {_copied(line)}" for line in g.command))
    if page.suppressed:
        _heading(console, "Accepted for now")
        _bullets(
            console,
            (f"{title}{' in ' + kernel if kernel else ''}: {why}" for title, kernel, why in page.suppressed),
        )
    notes = list(page.warnings)
    notes += [_held(one) for one in page.blocked]
    for p in page.problems:
        times = f" ({p.count} times)" if p.count > 1 else ""
        notes.append(f"{p.message}{times} [{p.code}]{': ' + p.advice if p.advice else ''}")
    if notes:
        _heading(console, "Validity")
        _bullets(console, notes)
    if page.vendor:
        _heading(console, "The vendor's stored results beside these")
        rows = [
            (v.short, v.rule, v.title, numbers.quantity(v.estimate_pct, "%"), v.agreement)
            for v in page.vendor[:10]
        ]
        _lines(console, grid(("kernel", "rule", "says", "estimate", "here"), rows, right=(3,), widest=34))


def _held(one: Held) -> str:
    named = ", ".join(one.kernels) + (f" and {one.more} more" if one.more else "")
    return f"Not judged{' for ' if named else ''}{named} ({one.guard}): {', '.join(one.rules)}. {one.reason}"


def _copied(line: str) -> str:
    """Return a line of a command, cleaned, with its indentation."""
    return " " * (len(line) - len(line.lstrip(" "))) + escape.clean(line)


def _gap(command: Sequence[str], rules: Sequence[str], begin: str) -> str:
    named = "; ".join(rules[:6]) + (f"; and {len(rules) - 6} more" if len(rules) > 6 else "")
    if len(command) > 1:
        return f"{begin} these lines to judge: {named}."
    if command:
        return f"{begin} `{command[0]}` to judge: {named}."
    return f"{NO_COMMAND if begin == BEGIN else NO_COMMAND_LOST}: {named}."


def _table(console: Console, title: str, table: Grid | None) -> None:
    if table is not None:
        _heading(console, title)
        _lines(console, grid(table.header, table.rows, right=table.right, widest=70))


def _heading(console: Console, text: str) -> None:
    console.print()
    _say(console, text, style="bold underline")


def _bullets(console: Console, lines: Iterable[str]) -> None:
    for line in lines:
        _say(console, f"* {line}")


def _lines(console: Console, text: str) -> None:
    """Print lines that are aligned already: never wrapped."""
    from rich.text import Text

    for line in text.split("\n"):
        console.print(Text(line), no_wrap=True, overflow="ignore", crop=False)


def _say(console: Console, text: str, *, style: str = "", indent: int = 0) -> None:
    """Print one paragraph of untrusted text, wrapped but not inside commands; nothing in it is markup."""
    from rich.text import Text

    for line in _folded(escape.clean(text), console.width - indent):
        console.print(Text(" " * indent + line, style=style), no_wrap=True, overflow="ignore", crop=False)


def _folded(text: str, width: int) -> list[str]:
    """Break a line at spaces outside backquotes: a command stays whole, to be copied, however long it is.

    >>> _folded("Run `ncu --set full` now.", 12)
    ['Run', '`ncu --set full`', 'now.']
    """
    from rich.cells import cell_len, chop_cells

    lines = [""]
    for word in _WORD.findall(text):
        pieces = [word] if "`" in word else chop_cells(word, max(width, 1))
        for piece in pieces:
            joined = f"{lines[-1]} {piece}" if lines[-1] else piece
            if lines[-1] and cell_len(joined) > width:
                lines.append(piece)
            else:
                lines[-1] = joined
    return lines
