"""``profrx tables``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from profrx.cli import options
from profrx.cli.exits import Exit
from profrx.cli.output import choose, emit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profrx_parsers.problems import Problem


@click.command(short_help="Write one normalised table.")
@options.PATH
@click.option(
    "--table", "table", metavar="TABLE", help="Which table; without it, the tables and their row counts."
)
@click.option("--columns", metavar="A,B,…", help="Only these columns, in this order.")
@click.option("--rows", type=click.IntRange(min=1), help="At most so many rows; text shows 40 unless told.")
@options.format_option("text", "csv", "json", "parquet", "arrow")
@options.OUTPUT
@options.PRIVATE
@click.pass_obj
def tables(
    state: dict[str, bool],
    path: str,
    table: str | None,
    columns: str | None,
    rows: int | None,
    format_: str | None,
    output: str | None,
    private: bool,
) -> Exit:
    """Write one table of a report: text for eyes; csv, json, parquet or arrow for programs.

    Without --table, lists the tables of PATH with their row counts. Values are in base units (ns, B, Hz),
    missing is null.
    """
    from profrx import tabulate

    kind = choose(format_, output, tabulate.FORMATS, "text")
    if table is None:
        if columns or rows or kind != "text":
            raise click.BadOptionUsage("--table", "--columns, --rows and --format need --table TABLE.")
        listed, problems = _list(path, private)
        emit(listed, output)
        _tell_losses(problems, state)
        return Exit.CLEAN
    chosen = tuple(c.strip() for c in columns.split(",")) if columns else ()
    limit = rows if rows or kind != "text" else tabulate.TEXT_ROWS + 1
    found, problems = tabulate.read(path, table, columns=chosen, rows=limit, private=private)
    cut = kind == "text" and rows is None and len(found) > tabulate.TEXT_ROWS
    emit(tabulate.write(found.slice(0, tabulate.TEXT_ROWS) if cut else found, kind), output)
    if cut and not state["quiet"]:
        click.echo(
            f"first {tabulate.TEXT_ROWS} rows; --rows N shows more, -o FILE.parquet takes all", err=True
        )
    if table != "problems":
        _tell_losses(problems, state)
    return Exit.CLEAN


def _tell_losses(problems: Sequence[Problem], state: dict[str, bool]) -> None:
    """Say on standard error that the input is damaged: rows that are not there look like rows that never were."""
    from profrx.cli.app import say
    from profrx.report import damage

    losses = damage.losses(problems)
    if losses and not state["quiet"]:
        more = f" and {len(losses) - 1} more" if len(losses) > 1 else ""
        say(f"note: {losses[0][0].lower()}{losses[0][1:]}{more} (`--table problems` lists what was lost)")


def _list(path: str, private: bool) -> tuple[str, Sequence[Problem]]:
    from profrx.report.grid import grid
    from profrx_parsers import schema
    from profrx_parsers.registry import open_report
    from profrx_parsers.report import Wanted

    report = open_report(path, Wanted(private=private))
    rows = []
    for name, fields in schema.TABLES.items():
        if report.has(name):
            rows.append(
                (name, f"{len(report.table(name)):,}", (fields.metadata or {}).get(b"doc", b"").decode())
            )
    return grid(["table", "rows", "one row is"], rows, right=[1], widest=110), tuple(report.problems)
