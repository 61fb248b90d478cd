"""A click group that knows its verbs by name and one line of help, and imports a verb only to run it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Mapping


class LazyGroup(click.Group):
    """Group whose commands are given as ``name -> (module:attribute, one line of help)``."""

    def __init__(self, *args: Any, verbs: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.verbs = dict(verbs)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the table: the order in which a user meets them."""
        return list(self.verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a verb."""
        if cmd_name not in self.verbs:
            return None
        module, _, attribute = self.verbs[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, text) for name, (_, text) in self.verbs.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but an unknown verb is answered with the nearest one."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in self.verbs:
            from profrx.cli.suggest import did_you_mean

            ctx.fail(f"no verb is called {name!r}{did_you_mean(name, self.verbs)}")
        return super().resolve_command(ctx, args)
