"""``profrx archive``: report, query, trend, search, export."""

from __future__ import annotations

from typing import Any

import click

from profrx.cli import options
from profrx.cli.exits import Exit
from profrx.cli.output import choose, emit
from profrx.cli.suggest import did_you_mean
from profrx_parsers.errors import UsageError

LEAST_TEXT = 3
TREND = (
    "kernel",
    "device",
    "grid",
    "block",
    "reports",
    "first_ns",
    "last_ns",
    "verdict",
    "changes",
    "setup_changes",
)
ARCHIVE = click.argument("archive", type=click.Path(dir_okay=False))


@click.group(short_help="Ask an archive of reports.")
def archive() -> None:
    """Ask questions of an archive that `profrx batch` made."""


@archive.command("report", short_help="One Markdown page over everything.")
@ARCHIVE
@click.option("--top", type=click.IntRange(min=1), default=15, show_default=True, help="Rows of each table.")
@options.OUTPUT
def report(archive: str, top: int, output: str | None) -> Exit:
    """Write the page: the fixes worth most, the worst kernels, what cannot be judged, quality, contradictions."""
    from profrx.archive import Archive
    from profrx.archive.page import page

    with Archive(archive, readonly=True) as store:
        emit(page(store, top=top), output)
    return Exit.CLEAN


@archive.command("query", short_help="A named question, or SQL.")
@ARCHIVE
@click.argument("question", required=False)
@options.format_option("text", "csv", "json", "parquet", "arrow")
@options.OUTPUT
@click.option("--tables", "show_tables", is_flag=True, help="List the tables and their columns.")
def query(
    archive: str, question: str | None, format_: str | None, output: str | None, show_tables: bool
) -> Exit:
    """Answer QUESTION: a name from the list (printed without QUESTION), or one reading SQL statement."""
    from profrx import tabulate
    from profrx.archive import Archive
    from profrx.archive.queries import QUERIES

    with Archive(archive, readonly=True) as store:
        if show_tables:
            found = store.query(
                "SELECT m.name AS \"table\", group_concat(c.name, ', ') AS columns FROM sqlite_master m "
                "JOIN pragma_table_info(m.name) c WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'kernel_names%' "
                "GROUP BY m.name ORDER BY m.name"
            )
        elif question is None:
            import pyarrow as pa

            found = pa.table({"question": list(QUERIES), "answers": [q.title for q in QUERIES.values()]})
        else:
            if question not in QUERIES and len(question.split()) == 1:
                raise UsageError(
                    "query-failed",
                    f"no question is called {question!r}{did_you_mean(question, QUERIES)}",
                    next_step="`profrx archive query ARCHIVE` lists them; SQL works, too",
                )
            found = store.query(QUERIES[question].sql if question in QUERIES else question)
        emit(tabulate.write(found, choose(format_, output, tabulate.FORMATS, "text")), output)
    return Exit.CLEAN


@archive.command("search", short_help="Kernel names that hold a text.")
@ARCHIVE
@click.argument("text")
@click.pass_obj
def search(state: dict[str, bool], archive: str, text: str) -> Exit:
    """Print the kernel names that contain TEXT (three characters or more)."""
    from profrx.archive import Archive
    from profrx.escape import clean

    with Archive(archive, readonly=True) as store:
        found = store.search(text)
    for name in found:
        click.echo(clean(name))
    if not found and not state["quiet"]:
        short = "; a text of fewer than three characters finds nothing" if len(text) < LEAST_TEXT else ""
        click.echo(f"no kernel name contains {text!r}{short}", err=True)
    return Exit.CLEAN


@archive.command("trend", short_help="How a kernel's time moved.")
@ARCHIVE
@click.option(
    "--kernel", metavar="TEXT", help="Part of the kernel's name, a glob for all of it, or its canonical id."
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Series, the costliest first."
)
@options.format_option("text", "json", "csv")
@options.OUTPUT
@click.pass_obj
def trend(
    state: dict[str, bool],
    archive: str,
    kernel: str | None,
    limit: int,
    format_: str | None,
    output: str | None,
) -> Exit:
    """Show each kernel, device and launch shape over time, with change points (Pettitt's test) and set-up changes."""
    import pyarrow as pa

    from profrx import tabulate
    from profrx.archive import Archive
    from profrx.archive.trend import trend as series_of

    with Archive(archive, readonly=True) as store:
        rows: list[dict[str, Any]] = []
        for one in series_of(store, kernel, limit=limit):
            shown = {"kernel": one.kernel_short, "device": one.device, "grid": one.grid, "block": one.block}
            marks = "; ".join(
                f"#{c.index} {c.ratio - 1:+.1%}"
                + (f" (set-up changed: {', '.join(c.setup)})" if c.setup else "")
                for c in one.changes
            )
            rows.append(
                {
                    **shown,
                    "reports": len(one.duration_ns),
                    "first_ns": one.duration_ns[0],
                    "last_ns": one.duration_ns[-1],
                    "verdict": one.verdict,
                    "changes": marks,
                    "setup_changes": "; ".join(
                        f"#{i} {', '.join(what)}" for i, what in one.setup_changes.items()
                    ),
                }
            )
        if not rows and not state["quiet"]:
            click.echo("no kernel with a duration" + (" and that name" if kernel else ""), err=True)
        found = pa.Table.from_pylist(rows) if rows else pa.table({name: [] for name in TREND})
        emit(
            tabulate.write(found, choose(format_, output, tabulate.FORMATS, "text")),
            output,
        )
    return Exit.CLEAN


@archive.command("export", short_help="Parquet dataset, partitioned by tool.")
@ARCHIVE
@click.argument("folder", type=click.Path(file_okay=False))
def export(archive: str, folder: str) -> Exit:
    """Write every table as Parquet below FOLDER; equal archives give byte-equal files."""
    from profrx.archive import Archive
    from profrx.archive.export import export as write

    with Archive(archive, readonly=True) as store:
        files = write(store, folder)
    click.echo(f"{len(files)} files below {folder}", err=True)
    return Exit.CLEAN
