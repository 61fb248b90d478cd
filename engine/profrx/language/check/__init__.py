"""Static checks: one module a pass, run in order over a loaded pack."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from profrx.language.check.context import Context
from profrx.language.check.limits import limits
from profrx.language.check.names import names
from profrx.language.check.patterns import patterns
from profrx.language.check.quality import quality
from profrx.language.check.ranges import ranges
from profrx.language.check.sources import sources
from profrx.language.check.tables import tables
from profrx.language.check.templates import templates
from profrx.language.check.tree import tree
from profrx.language.check.units import units
from profrx.language.check.usage import usage
from profrx.language.diagnostics import Diagnostic
from profrx.language.pack import Pack

Pass = Callable[[Context], None]

PASSES: tuple[Pass, ...] = (
    limits,
    names,
    units,
    patterns,
    ranges,
    tables,
    tree,
    usage,
    sources,
    templates,
    quality,
)
"""Order matters: a declaration that an earlier pass finds broken is spared by the later ones that build on it."""


def check(pack: Pack, only: Iterable[str] | None = None) -> tuple[Diagnostic, ...]:
    """Judge the declarations of a pack, or those of the files named in `only`; loading mistakes come first."""
    context = Context(pack, frozenset(only) if only is not None else None)
    context.found += [d for d in pack.diagnostics if context.only is None or d.span.file in context.only]
    for run in PASSES:
        run(context)
    return tuple(dict.fromkeys(context.found))
