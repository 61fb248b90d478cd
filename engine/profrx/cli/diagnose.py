"""``profrx diagnose``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from profrx.cli import options, settings
from profrx.cli.exits import Exit, first
from profrx.cli.output import choose, emit
from profrx.cli.progress import steps

if TYPE_CHECKING:
    from profrx.report.model import Findings

LEVELS = ("info", "low", "medium", "high", "critical")


@click.command(short_help="Rank what to fix first.")
@options.PATHS
@options.format_option("text", "md", "html", "json", "sarif", "junit")
@options.OUTPUT
@options.PACKS
@options.PARAMS
@settings.SETTINGS
@settings.RULESET
@settings.PREVIEW
@options.KERNEL
@click.option(
    "--top", type=click.IntRange(min=1), help="Rows of the ranked table in text, md and html; default 10."
)
@click.option(
    "--fail-on", type=click.Choice(LEVELS), help="Exit with 1 when a finding is at least this severe."
)
@click.option("--ranks", is_flag=True, help="The reports are the ranks of one job: judge them as one.")
@click.option("--strict", is_flag=True, help="Exit with 1 also when a rule could not be judged.")
@options.PRIVATE
@click.pass_obj
def diagnose(
    state: dict[str, bool],
    paths: tuple[str, ...],
    format_: str | None,
    output: str | None,
    packs: tuple[str, ...],
    params: tuple[str, ...],
    settings_file: str | None,
    ruleset: str | None,
    preview: bool,
    kernel: str | None,
    top: int | None,
    fail_on: str | None,
    ranks: bool,
    strict: bool,
    private: bool,
) -> Exit:
    """Rank what to fix in each report, with evidence and the run time it would save.

    Each report becomes one page: conditions, verdict, speed of light, top stalls, roofline, the top fix, ranked findings,
    what could not be judged and how to collect it. With -o page.md the roofline is written beside it as SVG.

    Exit codes: 0 clean, 1 findings at or above --fail-on, 2 usage, 3 some input unreadable, 4 nothing to analyse.
    """
    from profrx import diagnose as diagnose_
    from profrx.cli.app import say
    from profrx.report.formats import SUFFIXES
    from profrx.suppress import suppress

    kind = choose(format_, output, SUFFIXES, "text")
    chosen = settings.choose_rules(packs, params, settings_file, ruleset, preview)
    with steps(len(paths), quiet=state["quiet"]) as step:
        found = diagnose_(
            options.watched(paths, step),
            pack=chosen.pack,
            params=chosen.params,
            kernel=kernel,
            private=private,
            ranks=ranks,
        )
    for one in found.failed:
        step_ = f" ({one.next_step})" if one.next_step else ""
        say(f"error: {one.source}: {one.message} [{one.code}]{step_}")
    for report in found.reports:
        if kernel and not report.kernels:
            options.no_such_kernel(report.source, kernel)
    suppress(found, chosen.suppressions)
    if not state["quiet"]:
        settings.tell_unused(chosen.suppressions)
    if found.reports or kind not in ("text", "md", "html"):
        _write(found, kind, output, top, fail_on)
    return first(_codes(found, fail_on, strict))


def _write(found: Findings, kind: str, output: str | None, top: int | None, fail_on: str | None) -> None:
    from profrx.report.formats import render, write_markdown

    if kind == "md" and output and output != "-":
        write_markdown(found, Path(output), top=top)
        return
    more: dict[str, object] = {}
    if kind == "text" and not output and sys.stdout.isatty():
        import os
        import shutil

        more = {"color": "NO_COLOR" not in os.environ, "width": min(shutil.get_terminal_size().columns, 140)}
    if kind == "junit":
        more = {"fail_on": fail_on}
    emit(render(found, kind, top=top, **more), output)


def _codes(found: Findings, fail_on: str | None, strict: bool) -> list[Exit]:
    codes = []
    if found.failed:
        codes.append(Exit.UNREADABLE)
    findings = [one for report in found.reports for one in report.findings]
    if fail_on and any(LEVELS.index(one.severity) >= LEVELS.index(fail_on) for one in findings):
        codes.append(Exit.FINDINGS)
    if strict and any(report.unknown or report.blocked for report in found.reports):
        codes.append(Exit.FINDINGS)
    if not any(report.kernels or report.findings or report.verdicts for report in found.reports):
        codes.append(Exit.NOTHING)
    return codes
