"""``profrx inspect``."""

from __future__ import annotations

import click

from profrx.cli import options
from profrx.cli.each import each
from profrx.cli.exits import Exit, first
from profrx.cli.output import choose, emit


@click.command(short_help="Say what a file is and what it holds.")
@options.PATHS
@click.option("--rules/--no-rules", default=True, help="Whether to try which rules the report can support.")
@options.PACKS
@options.format_option("text", "json")
@options.OUTPUT
@options.PRIVATE
@click.pass_obj
def inspect(
    state: dict[str, bool],
    paths: tuple[str, ...],
    rules: bool,
    packs: tuple[str, ...],
    format_: str | None,
    output: str | None,
    private: bool,
) -> Exit:
    """Say what each file is and why, its tables, devices, collection options and problems.

    Also which rules it can and cannot support, and which collection option would change that.
    """
    from profrx.inspection import inspect as inspect_
    from profrx.report.inspected import FORMATS, render

    kind = choose(format_, output, FORMATS, "text")
    found, failed = each(
        paths, lambda path: inspect_(path, packs=packs, private=private, rules=rules), quiet=state["quiet"]
    )
    if found:
        emit(render(found, kind), output)
    return first([Exit.UNREADABLE] if failed else [])
