"""``profrx rules``: everything an author of rules needs."""

from __future__ import annotations

import click

from profrx.cli.lazy import LazyGroup

VERBS = {
    "list": ("profrx.cli.rules.list:list_rules", "List the rules of the default pack and of yours."),
    "show": ("profrx.cli.rules.show:show", "Show a rule, a verdict, a guard or a metric as it is declared."),
    "new": ("profrx.cli.rules.new:new", "Write a commented skeleton of a rule."),
    "check": ("profrx.cli.rules.check:check", "Find mistakes in rule files without running them."),
    "test": ("profrx.cli.rules.test:test", "Run the tests that stand beside the rules."),
    "coverage": ("profrx.cli.rules.coverage:coverage", "Show what the tests of rules do not reach."),
    "docs": ("profrx.cli.rules.docs:docs", "Write a Markdown page per rule, with an index and a diagram."),
    "fmt": ("profrx.cli.rules.fmt:fmt", "Write rule files in the one canonical layout."),
    "freeze": ("profrx.cli.rules.freeze:freeze", "Write a frozen ruleset of all stable rules."),
    "lock": ("profrx.cli.rules.lock:lock", "Write down or compare which rules a result depends on."),
}


@click.command(cls=LazyGroup, verbs=VERBS)
def rules() -> None:
    """List, show, check, test, format and document rules."""
