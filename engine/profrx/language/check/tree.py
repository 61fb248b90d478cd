"""Pass: cycles between declarations, and rules that their own parent excludes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from profrx.language import ast
from profrx.language.check.context import Context, head
from profrx.language.check.formula import And, Compiler, Formula, Or, TooComplex
from profrx.language.check.regions import Space, variables
from profrx.language.walk import expressions, names, walk


def cycles(context: Context) -> None:
    """Cycles over `under`, `fired`, `suppresses` and formulas."""
    pack = context.pack
    rows = {row.name: verdict.name for verdict in pack.verdicts.values() for row in verdict.rows}
    judged: dict[str, ast.Declaration] = {**pack.verdicts, **pack.guards, **pack.rules}

    def needs(name: str) -> Iterable[str]:
        node = judged[name]
        if isinstance(node, ast.Rule | ast.Verdict):
            yield from (rows.get(parent, parent) for parent in node.under)
        for expr in (*(e for _, e in expressions(node)), *(let.expr for let in getattr(node, "lets", ()))):
            yield from (part.rule for part in walk(expr) if isinstance(part, ast.Fired))

    def suppresses(name: str) -> Iterable[str]:
        return (suppressed.rule for suppressed in pack.rules[name].suppresses)

    def formulas(name: str) -> Iterable[str]:
        for _, expr in expressions(pack.metrics[name]):
            yield from (part.name for part in names(expr))
            yield from (p.metric for p in walk(expr) if isinstance(p, ast.Aggregate) and not p.raw)

    _cycles(context, judged, needs, "each waits for the outcome of the next (`under` or `fired`)")
    _cycles(context, pack.rules, suppresses, "each suppresses the next, so none would be left")
    _cycles(context, pack.metrics, formulas, "each is computed from the next")


def _cycles(
    context: Context, nodes: Mapping[str, ast.Declaration], edges: Callable[[str], Iterable[str]], why: str
) -> None:
    """Report each cycle once, at its first declaration."""
    done: set[str] = set()
    for start in nodes:
        if start in done:
            continue
        path, on_path = [start], {start}
        pending = [iter(dict.fromkeys(edges(start)))]
        while pending:
            following = next((n for n in pending[-1] if n in nodes and n not in done), None)
            if following is None:
                pending.pop()
                on_path.discard(path[-1])
                done.add(path.pop())
            elif following in on_path:
                cycle = path[path.index(following) :]
                node = nodes[min(cycle, key=list(nodes).index)]
                if any(context.wanted(nodes[name]) for name in cycle) and not (
                    len(cycle) == 1 and "suppress" in why
                ):
                    shown = " -> ".join([*cycle, following])
                    context.report(node, "cycle", f"{shown}: {why}", head(node), hint="drop one of the links")
            else:
                path.append(following)
                on_path.add(following)
                pending.append(iter(dict.fromkeys(edges(following))))


class _Parents:
    """The condition under which a verdict row or rule lets its children be judged."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.compiler = Compiler()
        self.rows = {row.name: (v, row) for v in context.pack.verdicts.values() for row in v.rows}
        self.known: dict[str, Formula | None] = {}

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
            shut = [name for name in node.under if _excludes(parents.of(name), own)]
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
