"""``profrx explain``."""

from __future__ import annotations

import click

from profrx.cli import options, settings
from profrx.cli.each import each
from profrx.cli.exits import Exit, first
from profrx.cli.output import choose, emit


@click.command(short_help="Say why a rule fired, did not, or could not tell.")
@options.PATHS
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="ID",
    help="This rule, verdict or guard; repeatable. Default: all.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Explain this metric instead: value, source, inputs; repeatable.",
)
@click.option("--tree", is_flag=True, help="Show the whole evaluated condition, not only what decided it.")
@options.PACKS
@options.PARAMS
@settings.SETTINGS
@settings.RULESET
@settings.PREVIEW
@options.KERNEL
@options.format_option("text", "json")
@options.OUTPUT
@click.pass_obj
def explain(
    state: dict[str, bool],
    paths: tuple[str, ...],
    rules: tuple[str, ...],
    metrics: tuple[str, ...],
    tree: bool,
    packs: tuple[str, ...],
    params: tuple[str, ...],
    settings_file: str | None,
    ruleset: str | None,
    preview: bool,
    kernel: str | None,
    format_: str | None,
    output: str | None,
) -> Exit:
    """Say for every rule and launch why it fired, did not fire, or could not tell.

    Fired and not fired: the first deciding comparison with value, threshold and margin. Unknown: what is missing and the
    option that collects it. Skipped: the parent that did not hold. Blocked: the guard.
    """
    from profrx import explain as explain_
    from profrx.report.explained import FORMATS, render

    kind = choose(format_, output, FORMATS, "text")
    chosen = settings.choose_rules(packs, params, settings_file, ruleset, preview)
    pack, values = chosen.pack, chosen.params
    if metrics:
        from profrx.report.explained import render_metrics
        from profrx.summary.metric import explain_metric

        lists, failed = each(
            paths,
            lambda path: [explain_metric(path, name, pack=pack, kernel=kernel) for name in metrics],
            quiet=state["quiet"],
        )
        if lists:
            emit(render_metrics([one for some in lists for one in some], kind), output)
        return first([Exit.UNREADABLE] if failed else [])
    found, failed = each(
        paths,
        lambda path: explain_(path, rules or None, pack=pack, params=values, kernel=kernel),
        quiet=state["quiet"],
    )
    if kernel:
        for explanation in found:
            if not any(one.subjects for one in explanation.explained):
                options.no_such_kernel(explanation.source, kernel)
        if kind == "text":
            found = [e for e in found if any(one.subjects for one in e.explained)]
    if found:
        emit(render(found, kind, tree=tree), output)
    codes = [Exit.UNREADABLE] if failed else []
    if not any(one.subjects for explanation in found for one in explanation.explained):
        codes.append(Exit.NOTHING)
    return first(codes)
