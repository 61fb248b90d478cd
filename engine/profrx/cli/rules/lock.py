"""``profrx rules lock``."""

from __future__ import annotations

from pathlib import Path

import click

from profrx.cli.exits import Exit
from profrx.cli.output import emit
from profrx.cli.rules.check import load
from profrx_parsers.errors import UsageError


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option(
    "--check",
    type=click.Path(path_type=Path),
    help="Compare with this lock file; exit with 1 when it differs.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write here, e.g. profrx.lock.")
def lock(paths: tuple[str, ...], check: Path | None, output: str | None) -> Exit:
    """Write down which rules, in which version and wording, a result depends on; or compare with what was written down."""
    from profrx.language.select import compare_lock
    from profrx.language.select import lock as lock_

    pack, _ = load(paths)
    if check is None:
        emit(lock_(pack), output)
        return Exit.CLEAN
    try:
        differences = compare_lock(pack, check.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError) as err:
        raise UsageError(
            "lock-unreadable",
            (err.strerror or str(err)) if isinstance(err, OSError) else str(err),
            where=str(check),
            next_step="write one with `profrx rules lock -o FILE`",
        ) from err
    emit("\n".join(differences) or "the rules are those of the lock file", output)
    return Exit.FINDINGS if differences else Exit.CLEAN
