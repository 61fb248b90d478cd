"""Static checks: one module a pass, run in order over a loaded pack."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from profrx.language.check.context import Context
from profrx.language.check.limits import limits
from profrx.language.check.names import names
from profrx.language.check.patterns import patterns
from profrx.language.check.tree import cycles
from profrx.language.check.units import units
from profrx.language.diagnostics import Diagnostic, capped
from profrx.language.pack import Pack, unswept
from profrx.language.walk import mentioned

Pass = Callable[[Context], None]


def passes() -> tuple[Pass, ...]:
    """All passes; those that reason over numbers are imported here, so that loading a pack does not need them.

    Order matters: a declaration that an earlier pass finds broken is spared by the later ones that build on it.
    """
    from profrx.language.check.collects import collects
    from profrx.language.check.quality import quality
    from profrx.language.check.ranges import ranges
    from profrx.language.check.reachable import reachable
    from profrx.language.check.sources import sources
    from profrx.language.check.tables import tables
    from profrx.language.check.templates import templates
    from profrx.language.check.usage import usage

    return (*ESSENTIAL, ranges, tables, reachable, usage, sources, collects, templates, quality)


ROUNDS = 4
"""Broken metrics break metrics that break rules that break tests: real chains are shorter than this."""
TABLES = ("metrics", "params", "verdicts", "guards", "rules", "rulesets")
"""What evaluation reads and can be left out."""

ESSENTIAL: tuple[Pass, ...] = (limits, names, units, patterns, cycles)
"""What evaluation relies on."""


@unswept()
def check(pack: Pack, only: Iterable[str] | None = None) -> tuple[Diagnostic, ...]:
    """Judge the declarations of a pack, or those of the files named in `only`; loading mistakes come first."""
    context = Context(pack, frozenset(only) if only is not None else None)
    context.found += [d for d in pack.diagnostics if context.only is None or d.span.file in context.only]
    for run in passes():
        run(context)
    return capped(context.found)


def without_broken(pack: Pack) -> Pack:
    """The pack without the declarations that evaluation could not live with; they are reported in it.

    Leaving one out can break another that reads it, so those that name what was left out are judged again until
    nothing breaks; a file that still breaks after `ROUNDS` rounds goes as a whole.
    """
    rounds = 0
    found = list(pack.diagnostics)
    subset: frozenset[int] | None = None
    mentions: dict[int, set[str]] = {}
    while True:
        rounds += 1
        context = Context(pack, tests=False, subset=subset)
        for run in ESSENTIAL:
            run(context)
        if not context.broken:
            return replace(pack, diagnostics=capped(found)) if rounds > 1 else pack
        errors = [d for d in context.found if d.severity == "error"]
        found += errors
        spoiled = {one.span.file for one in errors} if rounds >= ROUNDS else set()
        kept: dict[str, Any] = {table: {} for table in TABLES}
        gone: set[str] = set()
        for table, nodes in kept.items():
            for name, node in getattr(pack, table).items():
                if id(node) not in context.broken and node.span.file not in spoiled:
                    nodes[name] = node
                else:
                    gone |= {name, *(row.name for row in getattr(node, "rows", ()))}
        pack = replace(pack, **kept)
        left = [node for nodes in kept.values() for node in nodes.values()]
        if not mentions:
            mentions = {id(node): mentioned(node) for node in left}
        subset = frozenset(id(node) for node in left if gone & mentions[id(node)])
