"""Pass: cycles between declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from profrx.language import ast
from profrx.language.check.context import Context, head
from profrx.language.walk import expressions, names, nodes


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
            yield from (part.rule for part in nodes(expr) if isinstance(part, ast.Fired))

    def suppresses(name: str) -> Iterable[str]:
        return (suppressed.rule for suppressed in pack.rules[name].suppresses)

    def formulas(name: str) -> Iterable[str]:
        for _, expr in expressions(pack.metrics[name]):
            yield from (part.name for part in names(expr))
            yield from (p.metric for p in nodes(expr) if isinstance(p, ast.Aggregate) and not p.raw)

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
