"""What a check knows: the pack, and what each name means inside a declaration."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from profrx.language import ast
from profrx.language.diagnostics import MAX_COMPARED, MAX_ERRORS, Diagnostic, Severity, did_you_mean
from profrx.language.pack import Pack
from profrx.language.walk import Judge

MEMBER_NAMES = ("key", "index", "value")
"""What a member of ``over instances`` is called by."""
NARROW_TO_WIDE = ("launch", "kernel", "stream", "range", "rank", "device", "report", "pair", "archive")
"""Scopes, the narrowest first."""

Found = ast.Metric | ast.Param | ast.Let


@dataclass(frozen=True)
class Scope:
    """The names one expression can read.

    Attributes:
        owner: the declaration.
        lets: only those above the expression, when it is a let itself.
        members: the expression is evaluated per member, so `MEMBER_NAMES` mean something.
    """

    pack: Pack
    owner: ast.Declaration
    lets: tuple[ast.Let, ...] = ()
    params: tuple[ast.Param, ...] = ()
    members: bool = False

    def find(self, name: str) -> Found | None:
        """What a name stands for: a let before a param before a metric."""
        for let in reversed(self.lets):
            if let.name == name:
                return let
        for param in self.params:
            if param.name == name:
                return param
        return self.pack.metrics.get(name) or self.pack.params.get(name)

    def before(self, let: ast.Let) -> Scope:
        """The scope in which the expression of `let` itself is read."""
        at = next((i for i, known in enumerate(self.lets) if known is let), 0)
        return Scope(self.pack, self.owner, self.lets[:at], self.params, self.members)

    def inside(self) -> Scope:
        """The scope of a member expression."""
        return Scope(self.pack, self.owner, self.lets, self.params, True)

    def known(self) -> list[str]:
        """Every name that can be read here."""
        own = [let.name for let in self.lets] + [param.name for param in self.params]
        return (
            own
            + list(self.pack.metrics)
            + list(self.pack.params)
            + (list(MEMBER_NAMES) if self.members else [])
        )


@dataclass
class Context:
    """One run of all checks over a pack.

    Attributes:
        pack: what is checked.
        only: names of the files whose declarations are judged; the rest is background (None = all).
        tests: whether tests are judged, too.
        found: diagnostics so far.
        broken: declarations with an error, by identity: later passes leave them alone.
        hopeless: declarations that no pass may look into.
        compared: names that misspelt ones were compared with so far.
        counts: how much was reported, by file and severity.
        subset: declarations that are judged, by identity (None = all).
    """

    pack: Pack
    only: frozenset[str] | None = None
    tests: bool = True
    found: list[Diagnostic] = field(default_factory=list)
    broken: set[int] = field(default_factory=set)
    hopeless: set[int] = field(default_factory=set)
    compared: int = 0
    subset: frozenset[int] | None = None
    counts: dict[tuple[str, Severity], int] = field(default_factory=dict)

    def report(
        self,
        owner: ast.Declaration,
        code: str,
        message: str,
        span: ast.Span,
        *,
        severity: Severity = "error",
        hint: str = "",
        expected: tuple[str, ...] = (),
    ) -> None:
        """Note a mistake in a declaration; what `capped` would leave out is not made at all."""
        key = (owner.span.file, severity)
        self.counts[key] = self.counts.get(key, 0) + 1
        if self.counts[key] <= 2 * MAX_ERRORS:
            self.found.append(Diagnostic(code, message, span, severity, hint, expected, subject(owner)))
        if severity == "error":
            self.broken.add(id(owner))

    def suggest(self, word: str, known: Collection[str]) -> str:
        """``did you mean x?``, as long as not too many names were compared in this run."""
        self.compared += min(len(known), MAX_COMPARED) + 20  # asking costs something, whatever is known
        return did_you_mean(word, known) if self.compared < 50 * MAX_COMPARED else ""

    def wanted(self, node: ast.Declaration) -> bool:
        """Whether a declaration is to be judged."""
        return (
            id(node) not in self.hopeless
            and (self.only is None or node.span.file in self.only)
            and (self.subset is None or id(node) in self.subset)
        )

    @cached_property
    def parents(self) -> frozenset[str]:
        """What can stand after `under`."""
        rows = {row.name for verdict in self.pack.verdicts.values() for row in verdict.rows}
        return frozenset(rows | self.pack.rules.keys())

    @cached_property
    def raw_names(self) -> dict[str, str]:
        """Vendors' names in the catalogue -> logical names."""
        found: dict[str, str] = {}
        for metric in self.pack.metrics.values():
            for source in metric.sources:
                for name in source.names:
                    found.setdefault(name, metric.name)
        return found

    def judges(self) -> Iterator[Judge]:
        """Rules, verdicts and guards to judge."""
        for table in (self.pack.rules, self.pack.verdicts, self.pack.guards):
            yield from (node for node in table.values() if self.wanted(node))

    def metrics(self) -> Iterator[ast.Metric]:
        """Metrics to judge."""
        return (node for node in self.pack.metrics.values() if self.wanted(node))

    def scope(self, node: ast.Declaration) -> Scope:
        """What the expressions of a declaration can read."""
        if isinstance(node, ast.Rule | ast.Verdict | ast.Guard):
            return Scope(self.pack, node, node.lets, node.params)
        return Scope(self.pack, node)


def subject(node: ast.Declaration) -> str:
    """``rule tail-effect``."""
    return f"{type(node).__name__.lower()} {node.name}"


def head(node: ast.Declaration) -> ast.Span:
    """The place of a declaration's name, to point at it as a whole."""
    span: ast.Span = getattr(node.name, "span", node.span)
    return span
