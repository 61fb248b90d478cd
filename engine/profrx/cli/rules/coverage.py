"""``profrx rules coverage``."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from profrx.cli import options
from profrx.cli.exits import Exit
from profrx.cli.output import choose, emit
from profrx.cli.rules.check import chosen as named
from profrx.cli.rules.check import declared_in, load

if TYPE_CHECKING:
    from profrx.evaluate.coverage import Coverage

FORMATS: dict[str, tuple[str, ...]] = {"text": (".txt",), "json": (".json",)}


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--rule", "only", multiple=True, metavar="ID", help="Only this declaration; repeatable.")
@click.option("--no-mutants", is_flag=True, help="Only the outcomes of conditions, which is faster.")
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    help="Exit with 1 when fewer percent of the mutants are noticed.",
)
@options.format_option("text", "json")
@options.OUTPUT
def coverage(
    paths: tuple[str, ...],
    only: tuple[str, ...],
    no_mutants: bool,
    fail_under: float | None,
    format_: str | None,
    output: str | None,
) -> Exit:
    """Show which outcomes of each condition the tests reach, and which changed thresholds they notice.

    Without PATHS, for the default pack. Lists what no test reaches and every mutant that all tests let pass.
    """
    from profrx.evaluate.coverage import coverage as coverage_

    kind = choose(format_, output, FORMATS, "text")
    pack, files = load(paths)
    chosen = named(pack, only) or (declared_in(pack, files) if files is not None else ())
    found = coverage_(pack, only=chosen, mutate=not no_mutants) if chosen or files is None else []
    emit(json.dumps([asdict(one) for one in found], indent=2) if kind == "json" else _text(found), output)
    mutants = sum(one.mutants for one in found)
    noticed = 100 * sum(one.killed for one in found) / mutants if mutants else 100.0
    return Exit.FINDINGS if fail_under is not None and noticed < fail_under else Exit.CLEAN


def _text(found: list[Coverage]) -> str:
    from profrx.report import numbers
    from profrx.report.grid import grid

    rows = [
        (
            f"{one.kind} {one.name}",
            one.tests,
            numbers.share(one.outcome_share),
            f"{one.killed}/{one.mutants}" if one.mutants else "-",
        )
        for one in found
    ]
    parts = [grid(("declaration", "tests", "outcomes", "mutants noticed"), rows, right=(1, 2, 3))]
    gaps = [line for one in found for line in _gaps(one)]
    if gaps:
        parts.append("\n".join(gaps))
    mutants, killed = sum(one.mutants for one in found), sum(one.killed for one in found)
    if mutants:
        parts.append(f"{killed} of {mutants} mutants noticed ({numbers.share(killed / mutants)})")
    return "\n\n".join(parts)


def _gaps(one: Coverage) -> list[str]:
    lines = [
        f"{c.span.file}:{c.span.line}: {one.name}: no test makes {c.text} {' or '.join(c.missed)}"
        for c in one.conditions
        if c.missed
    ]
    return lines + [
        f"{s.span.file}:{s.span.line}: {one.name}: no test notices {s.what}" for s in one.survivors
    ]
