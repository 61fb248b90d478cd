"""Which rules and parameters a call uses: ``profrx.toml``, then the options of the command line, which win."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from profrx.cli import options
from profrx_parsers.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from profrx.language.pack import Pack
    from profrx.language.settings import Suppressions

FILE = "profrx.toml"
"""Read from the working directory when it is there."""

SETTINGS = click.option(
    "--settings",
    "settings_file",
    type=click.Path(dir_okay=False),
    help=f"Settings file: packs, ruleset, parameters, suppressions; default {FILE} in the working directory.",
)
RULESET = click.option("--ruleset", metavar="NAME", help="Only the rules of this frozen ruleset.")
PREVIEW = click.option("--preview", is_flag=True, help="Also rules in preview.")


@dataclass(frozen=True)
class Chosen:
    """What a call judges with."""

    pack: Pack
    params: Mapping[str, Any]
    suppressions: Suppressions


def choose_rules(
    packs: tuple[str, ...],
    params: tuple[str, ...],
    settings: str | None = None,
    ruleset: str | None = None,
    preview: bool = False,
) -> Chosen:
    """Return pack, parameters and suppressions of a call.

    Raises:
        UsageError: a settings file or a parameter that cannot be read.
        RuleError: a pack or ruleset that cannot be used.
    """
    from profrx.cli.app import say
    from profrx.language.select import select
    from profrx.language.settings import Settings, Suppressions, load_settings

    given = options.parse_params(params)
    found = load_settings(settings or FILE) if settings or Path(FILE).is_file() else Settings()
    pack = options.load_packs((*map(str, found.packs), *packs))
    before = len(pack.diagnostics)
    pack = select(pack, ruleset or found.ruleset, preview or found.preview)
    errors = pack.diagnostics[before:]
    for one in errors:
        say(str(one))
    if errors:
        raise RuleError(
            "ruleset",
            "the frozen ruleset cannot be used",
            next_step="take another one, or the pack it was made for",
        )
    return Chosen(pack, {**found.params, **given}, Suppressions(found.suppressions, datetime.date.today()))


def tell_unused(suppressions: Suppressions) -> None:
    """Say which suppressions covered nothing or are over: they can be taken out of the settings."""
    from profrx.cli.app import say

    for one in suppressions.unused():
        why = f"ended on {one.expires}" if one.expired(suppressions.today) else "covered nothing"
        say(f"note: the suppression of {one.rule} {why} ({one.reason})")
