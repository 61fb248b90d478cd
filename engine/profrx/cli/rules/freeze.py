"""``profrx rules freeze``."""

from __future__ import annotations

import click

from profrx.cli.exits import Exit
from profrx.cli.output import emit
from profrx.cli.rules.check import declared_in, load


@click.command()
@click.argument("name")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write here, e.g. rulesets.rule.")
def freeze(name: str, paths: tuple[str, ...], output: str | None) -> Exit:
    """Write the ruleset NAME: every stable rule at its version. Without PATHS, of the default pack."""
    from profrx.language.format import format_text
    from profrx.language.printer import to_text
    from profrx.language.select import frozen

    pack, files = load(paths)
    chosen = set(declared_in(pack, files)) if files is not None else None
    emit(format_text(to_text(frozen(pack, name, chosen))), output)
    return Exit.CLEAN
