"""``profrx rules check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from profrx.cli import options
from profrx.cli.exits import Exit
from profrx.cli.output import choose, emit
from profrx.cli.suggest import did_you_mean
from profrx_parsers.errors import RuleError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from profrx.language.ast import Guard, Metric, Rule, Verdict
    from profrx.language.pack import Pack

FORMATS: dict[str, tuple[str, ...]] = {"text": (".txt",), "json": (".json",), "sarif": (".sarif",)}


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings, too.")
@options.format_option("text", "json", "sarif")
@options.OUTPUT
def check(paths: tuple[str, ...], strict: bool, format_: str | None, output: str | None) -> Exit:
    """Find mistakes in rule files or packs without running them; without PATHS, in the default pack.

    Exits with 1 when there is an error (with --strict, also for a warning).
    """
    from profrx.language import show
    from profrx.language.check import check as check_

    kind = choose(format_, output, FORMATS, "text")
    pack, only = load(paths, checked=False)
    found = check_(pack, only)
    if kind == "json":
        emit(show.to_json(found), output)
    elif kind == "sarif":
        emit(show.to_sarif(found), output)
    else:
        emit(show.to_text(found, pack.files), output)
    bad = {"error", "warning"} if strict else {"error"}
    return Exit.FINDINGS if any(one.severity in bad for one in found) else Exit.CLEAN


def load(paths: tuple[str, ...], checked: bool = True) -> tuple[Pack, frozenset[str] | None]:
    """Return the default pack with the given files on top, and the names of the given files; None = all.

    With `checked`, what is broken is left out and reported in the pack's diagnostics.
    """
    from profrx.language.pack import PackError, load_pack, user_sources

    try:
        only = frozenset(source.name for path in paths for source in user_sources(Path(path)))
        return load_pack(paths, checked=checked), only if paths else None
    except PackError as err:
        raise RuleError(err.code, str(err), next_step="give a .rule file or a folder of them") from err


def chosen(pack: Pack, only: tuple[str, ...]) -> tuple[str, ...]:
    """Return `only`, once each name is known to be declared."""
    known = {**pack.metrics, **pack.guards, **pack.verdicts, **pack.rules}
    for name in only:
        if name not in known:
            raise UsageError(
                "unknown-rule",
                f"no rule, verdict, guard or metric is called {name!r}{did_you_mean(name, known)}",
                next_step="`profrx rules list` and `profrx rules list --metrics` name them all",
            )
    return only


def declared_in(pack: Pack, files: frozenset[str]) -> tuple[str, ...]:
    """Return the ids of the metrics, guards, verdicts and rules that stand in the given files."""
    tables: tuple[Mapping[str, Metric | Guard | Verdict | Rule], ...] = (
        pack.metrics,
        pack.guards,
        pack.verdicts,
        pack.rules,
    )
    return tuple(name for table in tables for name, node in table.items() if node.span.file in files)
