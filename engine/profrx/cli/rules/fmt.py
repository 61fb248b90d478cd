"""``profrx rules fmt``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from profrx.cli.exits import Exit
from profrx_parsers.errors import RuleError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 when a file would change.")
def fmt(paths: tuple[str, ...], check: bool) -> Exit:
    """Write rule files in the one canonical layout. Comments stay; formatting twice changes nothing."""
    from profrx.cli.app import say
    from profrx.language.format import format_text
    from profrx.language.parse import RuleSyntaxError

    changed = broken = 0
    for file in rule_files(paths):
        try:
            before = file.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as err:
            broken += 1
            say(f"{file}: byte {err.start}: this is not UTF-8 text [not-utf8] (save the file as UTF-8)")
            continue
        try:
            after = format_text(before, str(file))
        except RuleSyntaxError as err:
            broken += 1
            for one in err.diagnostics:
                say(str(one))
            continue
        if after != before:
            changed += 1
            click.echo(f"{'would change' if check else 'changed'} {file}")
            if not check:
                file.write_text(after, encoding="utf-8")
    if broken:
        raise RuleError(
            "rule-syntax", f"{broken} of the files cannot be parsed", next_step="see `profrx rules check`"
        )
    return Exit.FINDINGS if check and changed else Exit.CLEAN


def rule_files(paths: tuple[str, ...]) -> Iterator[Path]:
    """Yield the rule files of files and folders. Raises `UsageError` for a path without any."""
    for name in paths:
        path = Path(name)
        found = sorted(path.rglob("*.rule")) if path.is_dir() else [path] if path.is_file() else []
        if not found:
            raise UsageError(
                "no-rule-files", "no rule file here", where=name, next_step="give a .rule file or a folder"
            )
        yield from found
