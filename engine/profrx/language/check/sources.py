"""Pass: the metrics of a rule exist in the tools and scopes it is meant for."""

from __future__ import annotations

from collections.abc import Iterator

from profrx.language import ast
from profrx.language.check.context import NARROW_TO_WIDE, Context, Scope, head
from profrx.language.check.names import TABLES
from profrx.language.walk import Judge, children


def sources(context: Context) -> None:
    """Metrics without a source for a declared tool; metrics without any; reads across scopes."""
    supply = _supply(context)
    for metric in context.metrics():
        if not metric.sources and not metric.deprecated:
            message = f"metric {metric.name} has no source, so it is never known"
            hint = 'add one, such as: source ncu "raw_name"'
            context.report(metric, "no-source", message, head(metric), severity="warning", hint=hint)
    for node in context.judges():
        if id(node) not in context.broken:
            _judge(context, node, supply)


def _judge(context: Context, node: Judge, supply: dict[str, frozenset[str]]) -> None:
    needed = dict(_needed(context, node))
    for name, place in needed.items():
        _scope(context, node, context.pack.metrics[name], place)
    tools = [supply[name] for name in needed if ANY not in supply[name]]
    if isinstance(node, ast.Rule):
        for tool in node.applies_to:
            without = [name for name in needed if not supply[name] & {tool, ANY}]
            if without:
                message = f"`{without[0]}` has no source for {tool}, so this rule is always unknown there"
                hint = f"add `source {tool} …` to the metric, or drop {tool} from applies_to"
                context.report(
                    node, "source-missing", message, needed[without[0]], severity="warning", hint=hint
                )
    if tools and not frozenset.intersection(*tools):
        message = "no single tool supplies all metrics of this condition: it is always unknown"
        context.report(
            node,
            "source-missing",
            message,
            head(node),
            severity="warning",
            hint="see `source` of each metric",
        )


ANY = "*"
"""Stands for every tool: the tables that all readers fill."""


def _supply(context: Context) -> dict[str, frozenset[str]]:
    """Per metric, the tools that can supply it; a formula needs its inputs, which are not followed."""
    return {
        name: frozenset(ANY if source.tool in TABLES else source.tool for source in metric.sources)
        for name, metric in context.pack.metrics.items()
    }


def _needed(context: Context, node: Judge) -> Iterator[tuple[str, ast.Span]]:
    """Metrics without which the condition is unknown, with the place where they are read."""
    scope = context.scope(node)
    roots = [row.when for row in node.rows] if isinstance(node, ast.Verdict) else [node.when]
    pending: list[tuple[ast.Expr, Scope, ast.Span | None]] = [(root, scope, None) for root in roots]
    seen: set[int] = set()
    while pending:
        expr, here, place = pending.pop()
        match expr:
            case ast.Name():
                found = here.find(expr.name)
                if isinstance(found, ast.Metric):
                    yield expr.name, place or expr.span
                elif isinstance(found, ast.Let) and id(found) not in seen:
                    seen.add(id(found))
                    pending.append((found.expr, here.before(found), None))
            case ast.Binary("??" | "or") | ast.Aggregate() | ast.Call("known") | ast.If():
                continue  # known without them, or a question about them
            case _:
                pending += [(part, here, place) for part in children(expr)]


def _scope(context: Context, node: Judge, metric: ast.Metric, place: ast.Span) -> None:
    """A wide subject has many narrow values: one must say which."""
    if metric.scope not in NARROW_TO_WIDE or node.scope not in NARROW_TO_WIDE:
        return
    if metric.scope == "launch" and node.scope in ("report", "archive", "rank", "device", "stream", "range"):
        message = f"`{metric.name}` is a value of each launch, this {type(node).__name__.lower()} judges a {node.scope}"
        hint = f"aggregate it: mean({metric.name} over launches)"
        context.report(node, "scope-mismatch", message, place, hint=hint)
