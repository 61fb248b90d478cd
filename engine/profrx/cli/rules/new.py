"""``profrx rules new``."""

from __future__ import annotations

import re
from pathlib import Path

import click

from profrx.cli.exits import Exit
from profrx.cli.output import emit
from profrx_parsers.errors import UsageError

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@click.command()
@click.argument("name")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    help="Write here; default NAME.rule, - is standard output.",
)
@click.option(
    "--kind",
    type=click.Choice(["rule", "guard", "verdict", "metric"]),
    default="rule",
    show_default=True,
    help="What to start.",
)
def new(name: str, output: str | None, kind: str) -> Exit:
    """Write a commented skeleton of a rule, guard, verdict or metric that passes its own check and tests."""
    from profrx.language.skeleton import skeleton

    if not NAME.fullmatch(name):
        raise UsageError(
            "rule-name",
            f"{name!r} is no rule id",
            next_step="use small letters, digits and hyphens: long-waits",
        )
    target = output or f"{name}.rule"
    if target != "-" and Path(target).exists():
        raise UsageError("rule-exists", "the file exists", where=target, next_step="name another one with -o")
    emit(skeleton(name, kind, "" if target == "-" else target), target)
    if target != "-":
        click.echo(f"wrote {target}", err=True)
    return Exit.CLEAN
