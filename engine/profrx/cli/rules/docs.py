"""``profrx rules docs``."""

from __future__ import annotations

from pathlib import Path

import click

from profrx.cli.exits import Exit
from profrx.cli.output import emit
from profrx.cli.rules.check import declared_in, load
from profrx_parsers.errors import UsageError


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option(
    "--rule", "only", multiple=True, metavar="ID", help="Only this rule, verdict or guard; repeatable."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the pages; made if absent.",
)
def docs(paths: tuple[str, ...], only: tuple[str, ...], output: Path | None) -> Exit:
    """Write a Markdown page per rule, verdict and guard, with an index and a diagram of the tree.

    Without PATHS, for the default pack. With -o, one file each into a folder; without it, the pages of --rule one after the
    other.
    """
    from profrx.cli.suggest import did_you_mean
    from profrx.language.docs import rules_docs

    pack, files = load(paths)
    judges = {**pack.verdicts, **pack.guards, **pack.rules}
    for name in only:
        if name not in judges:
            raise UsageError(
                "unknown-rule",
                f"no rule, verdict or guard is called {name!r}{did_you_mean(name, judges)}",
                next_step="`profrx rules list` names them",
            )
    chosen = only or (declared_in(pack, files) if files is not None else None)
    pages = rules_docs(pack, chosen)
    if output is None:
        shown = [text for name, text in pages.items() if name != "index.md"] if only else [pages["index.md"]]
        emit("\n".join(shown), None)
        return Exit.CLEAN
    output.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (output / name).write_text(text, encoding="utf-8")
    click.echo(f"wrote {len(pages)} pages to {output}", err=True)
    return Exit.CLEAN
