"""A pack made ready to run: declarations in dependency order, who hangs under whom, what each one reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from profrx.evaluate.params import Owner, Parameters
from profrx.language import ast, walk
from profrx.language.pack import Pack
from profrx_parsers.errors import RuleError

if TYPE_CHECKING:
    from profrx.evaluate.notes import Notes


@dataclass(frozen=True)
class Parent:
    """What a declaration hangs under: a rule, or a row of a verdict."""

    owner: str
    row: str = ""


@dataclass
class Program:
    """A pack with its parameters.

    Attributes:
        pack: the declarations.
        overrides: parameter overrides; see `params`.
    """

    pack: Pack
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def owners(self) -> dict[str, Owner]:
        """Verdicts, guards and rules by name; removed rules are left out."""
        found: dict[str, Owner] = {**self.pack.verdicts, **self.pack.guards}
        found.update({n: r for n, r in self.pack.rules.items() if r.status != "removed"})
        return found

    @cached_property
    def params(self) -> Parameters:
        """Parameters with overrides. Raises `UsageError` for an override that does not fit."""
        return Parameters(self.owners, self.pack.params, self.overrides)

    @cached_property
    def rows(self) -> dict[str, str]:
        """Row name -> its verdict."""
        return {row.name: v.name for v in self.pack.verdicts.values() for row in v.rows}

    def parents(self, declaration: Owner) -> list[Parent]:
        """Return what a declaration hangs under. Raises `RuleError` for a name that nobody has."""
        if isinstance(declaration, ast.Guard):
            return []
        found = []
        for name in declaration.under:
            if name in self.rows:
                found.append(Parent(self.rows[name], name))
            elif name in self.owners:
                found.append(Parent(name))
            else:
                raise RuleError(
                    "unknown-parent",
                    f"{declaration.name} hangs under {name!r}, which is neither a rule nor a verdict row",
                    where=declaration.span.file,
                    next_step="run `profrx rules check`",
                )
        return found

    def guards_of(self, rule: str) -> list[ast.Guard]:
        """Return the guards that block a rule."""
        return self._guards.get(rule, [])

    @cached_property
    def _guards(self) -> dict[str, list[ast.Guard]]:
        found: dict[str, list[ast.Guard]] = {}
        for guard in self.pack.guards.values():
            for name in guard.blocks:
                found.setdefault(name, []).append(guard)
        return found

    # --- what is read ------------------------------------------------------------------------------------

    def metrics_read(self, declaration: Owner) -> frozenset[str]:
        """Return the catalogue metrics that a declaration reads, not counting those behind formulas."""
        if self.owners.get(declaration.name) is not declaration:
            return self._metrics_read(declaration)
        if declaration.name not in self._read:
            self._read[declaration.name] = self._metrics_read(declaration)
        return self._read[declaration.name]

    @cached_property
    def _read(self) -> dict[str, frozenset[str]]:
        return {}

    def _metrics_read(self, declaration: Owner) -> frozenset[str]:
        own = {let.name for let in declaration.lets} | {param.name for param in declaration.params}
        return frozenset(
            name
            for expr in walk.evaluated(declaration)
            for node in walk.nodes(expr)
            if (name := metric_named(node)) and name not in own and name in self.pack.metrics
        )

    def notes(self, declaration: Owner) -> Notes | None:
        """Return the notes on a declaration of the pack, shared by every pass; None for any other."""
        if self.owners.get(declaration.name) is not declaration:
            return None
        return self._notes.setdefault(declaration.name, {})

    @cached_property
    def _notes(self) -> dict[str, Notes]:
        return {}

    def shared_params(self, declaration: Owner) -> list[str]:
        """Return the file-level parameters that a declaration reads."""
        return sorted(
            {
                node.name
                for expr in walk.evaluated(declaration)
                for node in walk.nodes(expr)
                if isinstance(node, ast.Name) and node.name in self.pack.params
            }
        )

    @cached_property
    def last_use(self) -> dict[str, list[str]]:
        """Declaration -> metrics (formula inputs included) that no later declaration reads."""
        last: dict[str, str] = {}
        for name in self.order:
            for metric in self.behind(self.metrics_read(self.owners[name])):
                last[metric] = name
        found: dict[str, list[str]] = {}
        for metric, name in last.items():
            found.setdefault(name, []).append(metric)
        return found

    def behind(self, metrics: frozenset[str]) -> frozenset[str]:
        """Return metrics with everything that their formulas read."""
        seen: set[str] = set()
        pending = list(metrics)
        while pending:
            name = pending.pop()
            if name in seen or name not in self.pack.metrics:
                continue
            seen.add(name)
            for source in self.pack.metrics[name].sources:
                pending.extend(n for node in walk.nodes(source.formula) if (n := metric_named(node)))
        return frozenset(seen)

    # --- order -------------------------------------------------------------------------------------------

    @cached_property
    def order(self) -> list[str]:
        """Names of all declarations, each after what it depends on: guards first where possible.

        Raises `RuleError` when declarations depend on each other in a circle.
        """
        wanted = [*self.pack.guards, *self.pack.verdicts, *(n for n in self.owners if n in self.pack.rules)]
        done: dict[str, None] = {}
        on_path: set[str] = set()
        for start in wanted:
            stack: list[tuple[str, Iterator[str]]] = []
            if start not in done:
                stack.append((start, iter(self._needs(start))))
                on_path.add(start)
            while stack:
                name, needs = stack[-1]
                following = next((n for n in needs if n not in done and n in self.owners), None)
                if following is None:
                    stack.pop()
                    on_path.discard(name)
                    done[name] = None
                elif following in on_path:
                    circle = [n for n, _ in stack]
                    circle = [*circle[circle.index(following) :], following]
                    raise RuleError(
                        "rule-cycle",
                        "declarations depend on each other: " + " -> ".join(circle[:12]),
                        where=self.owners[following].span.file,
                        next_step="remove one `under` or `fired(…)` of the circle",
                    )
                else:
                    stack.append((following, iter(self._needs(following))))
                    on_path.add(following)
        return list(done)

    def ancestors(self, declaration: Owner) -> frozenset[str]:
        """Return a declaration with everything its outcome depends on: parents, `fired`, guards."""
        seen: set[str] = set()
        pending = [declaration.name]
        while pending:
            name = pending.pop()
            if name in seen or name not in self.owners:
                continue
            seen.add(name)
            pending += self._needs(name)
            blocking = {name, *self.behind(self.metrics_read(self.owners[name]))}
            pending += [guard.name for one in blocking for guard in self.guards_of(one)]
        return frozenset(seen)

    def _needs(self, name: str) -> list[str]:
        declaration = self.owners[name]
        needs = [parent.owner for parent in self.parents(declaration)]
        for expr in walk.evaluated(declaration):
            needs.extend(node.rule for node in walk.nodes(expr) if isinstance(node, ast.Fired))
        return needs


def metric_named(node: ast.Expr) -> str:
    """Return the catalogue name a node reads, if it reads one."""
    if isinstance(node, ast.Name):
        return node.name
    return node.metric if isinstance(node, ast.Aggregate) else ""


def wanted_metrics(pack: Pack) -> frozenset[str]:
    """Return every vendor name that a pack can read, all architectures and versions, for reader projection."""
    from profrx.evaluate.metrics import COMMON_SOURCES

    wanted: set[str] = set()
    formulas: list[ast.Expr] = []
    for metric in pack.metrics.values():
        for source in metric.sources:
            if source.formula is not None:
                formulas.append(source.formula)
            elif source.tool not in COMMON_SOURCES:
                wanted.update(source.names)
    declarations: list[Owner] = [*pack.verdicts.values(), *pack.guards.values(), *pack.rules.values()]
    for declaration in declarations:
        formulas.extend(walk.evaluated(declaration))
        if isinstance(declaration, ast.Rule):
            wanted.update(lines.metric for lines in declaration.lines if lines.metric not in pack.metrics)
    for formula in formulas:
        for node in walk.nodes(formula):
            if isinstance(node, ast.Raw):
                wanted.add(node.name)
            elif isinstance(node, ast.Aggregate) and node.metric and node.metric not in pack.metrics:
                wanted.add(node.metric)
    return frozenset(wanted)
