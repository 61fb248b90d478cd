"""``profrx batch``."""

from __future__ import annotations

import sys

import click

from profrx.cli import options
from profrx.cli.exits import Exit


@click.command(short_help="Analyse a whole archive of reports.")
@click.argument("roots", nargs=-1, required=True)
@click.option(
    "--archive",
    "archive",
    required=True,
    type=click.Path(dir_okay=False),
    help="SQLite file; made if absent.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Worker processes; default one per processor.")
@click.option(
    "--cluster", metavar="WHERE", help="Dask cluster instead: HOST:PORT, a scheduler file, or local:N."
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0),
    default=300.0,
    show_default=True,
    help="Seconds per report; 0 = none.",
)
@click.option(
    "--memory-limit",
    type=click.IntRange(min=0),
    default=4096,
    show_default=True,
    help="MiB a worker may grow by; 0 = none.",
)
@options.PACKS
@options.PARAMS
@click.pass_context
def batch(
    ctx: click.Context,
    roots: tuple[str, ...],
    archive: str,
    workers: int | None,
    cluster: str | None,
    time_limit: float,
    memory_limit: int,
    packs: tuple[str, ...],
    params: tuple[str, ...],
) -> Exit:
    """Analyse everything below ROOTS into one SQLite archive.

    ROOTS are folders, reports, tar or zip files, or object-store URLs (s3://, gs://). Unchanged reports are
    not read again; an interrupted batch goes on where it stopped when the same command is run again.
    """
    from profrx.archive import batch as run
    from profrx.archive.progress import Bar, Log, Silent

    quiet = bool((ctx.obj or {}).get("quiet"))
    progress = Silent() if quiet else Bar() if sys.stderr.isatty() else Log()
    result = run(
        roots,
        archive,
        workers=workers,
        cluster=cluster,
        packs=packs,
        params=options.parse_params(params),
        time_limit_s=time_limit,
        memory_limit_bytes=memory_limit << 20 or None,
        progress=progress,
    )
    if result.stopped:
        return Exit.INTERRUPTED
    if result.failed or result.quarantined:
        return Exit.UNREADABLE
    if result.analysed + result.rejudged + result.reused:
        return Exit.CLEAN
    if not quiet:
        click.echo(f"no report below {', '.join(roots)}", err=True)
    return Exit.NOTHING
