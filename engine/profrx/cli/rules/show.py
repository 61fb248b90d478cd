"""``profrx rules show``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from profrx.cli import options
from profrx.cli.exits import Exit
from profrx.cli.output import emit
from profrx_parsers.errors import UsageError

if TYPE_CHECKING:
    from profrx.language import ast
    from profrx.language.pack import Pack


@click.command()
@click.argument("name")
@options.PACKS
@options.OUTPUT
def show(name: str, packs: tuple[str, ...], output: str | None) -> Exit:
    """Show the declaration NAME: a rule, verdict, guard, metric or parameter (RULE.NAME), with the file it stands in."""
    from profrx.language.printer import to_text

    node = _find(options.load_packs(packs, tests=True), name)
    emit(f"# {node.span.file}:{node.span.line}\n{to_text(node)}", output)
    return Exit.CLEAN


def _find(pack: Pack, name: str) -> ast.Declaration:
    from profrx.cli.suggest import did_you_mean

    tables = (pack.rules, pack.verdicts, pack.guards, pack.metrics, pack.params)
    for table in tables:
        if name in table:
            found: ast.Declaration = table[name]
            return found
    owner = pack.row_owner(name)
    if owner is not None:
        return owner
    rule, _, own = name.rpartition(".")
    for owners in (pack.rules, pack.verdicts, pack.guards):
        for param in owners[rule].params if rule in owners else ():
            if param.name == own:
                return param
    known = [word for table in tables for word in table]
    raise UsageError(
        "unknown-rule",
        f"no rule, verdict, guard, metric or parameter is called {name!r}{did_you_mean(name, known)}",
        next_step="`profrx rules list` and `profrx rules list --metrics` name them all",
    )
