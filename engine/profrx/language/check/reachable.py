"""Pass: rules that their own parent excludes."""

from __future__ import annotations

from profrx.language import ast
from profrx.language.check.context import Context
from profrx.language.check.formula import And, Compiler, Formula, Or, TooComplex
from profrx.language.check.regions import Space, parts, variables

MAX_WORK = 100_000
"""Parts of parents' conditions that are looked at in one check; what is beyond is not proved."""


class _Parents:
    """The condition under which a verdict row or rule lets its children be judged."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.compiler = Compiler()
        self.rows = {row.name: (v, row) for v in context.pack.verdicts.values() for row in v.rows}
        self.known: dict[str, Formula | None] = {}
        self.sizes: dict[str, int] = {}
        self.work = 0

    def affordable(self, name: str) -> Formula | None:
        """The formula, as long as those asked for so far are not too large together."""
        if self.work > MAX_WORK or (formula := self.of(name)) is None:
            return None
        if name not in self.sizes:
            self.sizes[name] = parts(formula)
        self.work += self.sizes[name]
        return formula if self.work <= MAX_WORK else None

    def of(self, name: str, depth: int = 0) -> Formula | None:
        """The formula; None when it cannot be told."""
        if name not in self.known:
            self.known[name] = None  # for cycles, which are reported elsewhere
            self.known[name] = self._of(name, depth)
        return self.known[name]

    def _of(self, name: str, depth: int) -> Formula | None:
        if name in self.rows:
            verdict, row = self.rows[name]
            node, when = verdict, row.when
        elif name in self.context.pack.rules:
            rule = self.context.pack.rules[name]
            return self._with_parents(rule, rule.when, depth)
        else:
            return None
        return self._with_parents(node, when, depth)

    def _with_parents(self, node: ast.Rule | ast.Verdict, when: ast.Expr, depth: int) -> Formula | None:
        if id(node) in self.context.broken or depth > 8:
            return None
        own = self.compiler.condition(when, self.context.scope(node))
        above = [self.of(parent, depth + 1) for parent in node.under]
        known = [formula for formula in above if formula is not None]
        return And((own, Or(tuple(known)))) if known and len(known) == len(above) else own


def reachable(context: Context) -> None:
    """Rules whose condition contradicts all rows or rules that they hang under."""
    parents = _Parents(context)
    for node in context.pack.rules.values():
        if not node.under or not context.wanted(node) or id(node) in context.broken:
            continue
        try:
            own = parents.compiler.condition(node.when, context.scope(node))
            shut = [name for name in node.under if _excludes(parents.affordable(name), own)]
        except TooComplex:
            continue
        for name in shut:
            span = getattr(name, "span", node.span)
            if len(shut) == len(node.under):
                message = f"this rule can never fire under `{name}`: their conditions exclude each other"
                context.report(node, "unreachable-rule", message, span, hint="compare the thresholds of both")
            else:
                message = f"under `{name}` this rule can never fire: their conditions exclude each other"
                context.report(
                    node, "unreachable-rule", message, span, severity="warning", hint=f"drop `{name}`"
                )


def _excludes(parent: Formula | None, own: Formula) -> bool:
    """Whether the conjuncts of `own` that speak of the parent's inputs contradict it."""
    if parent is None:
        return False
    inputs = set(variables([parent]))
    conjuncts, pending = [], [own]
    while pending:
        part = pending.pop()
        if isinstance(part, And):
            pending += part.parts
        elif (read := set(variables([part]))) and read <= inputs:
            conjuncts.append(part)
    if not conjuncts:
        return False
    both = And((parent, *conjuncts))
    space = Space([both])
    return not space.too_large and not space.possible(both)
