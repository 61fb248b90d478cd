"""Pass: what would make later passes or the evaluation recurse without bound."""

from __future__ import annotations

from collections.abc import Mapping

from profrx.language import ast
from profrx.language.check.context import Context, head
from profrx.language.scan import MAX_CHAIN
from profrx.language.walk import children, expressions, names


def limits(context: Context) -> None:
    """Lets that build on lets, and metrics computed from metrics, only so deep."""
    for node in context.judges():
        depths: dict[str, int] = {}
        for let in node.lets:
            depths[let.name] = _depth(let.expr, depths)
        deepest = max((_depth(expr, depths) for _, expr in expressions(node)), default=0)
        if max([deepest, *depths.values()]) > MAX_CHAIN:
            message = f"its lets build on each other more than {MAX_CHAIN} operators deep"
            context.report(node, "too-deep", message, head(node), hint="compute fewer things from each other")
            context.hopeless.add(id(node))
    _metrics(context)


def _depth(expr: ast.Expr, lets: dict[str, int]) -> int:
    if isinstance(expr, ast.Name):
        return 1 + lets.get(expr.name, 0)
    return 1 + max((_depth(part, lets) for part in children(expr)), default=0)


def _metrics(context: Context) -> None:
    """Depth of each metric over the metrics in its formulas; cycles are reported by another pass."""
    metrics: Mapping[str, ast.Metric] = context.pack.metrics
    inputs = {
        name: {part.name for _, expr in expressions(metric) for part in names(expr) if part.name in metrics}
        for name, metric in metrics.items()
    }
    depths = dict.fromkeys((name for name, read in inputs.items() if not read), 0)
    waiting = {name: read for name, read in inputs.items() if read}
    while waiting:
        ready = [name for name, read in waiting.items() if read <= depths.keys()]
        if not ready:
            return
        for name in ready:
            depths[name] = 1 + max(depths[read] for read in waiting.pop(name))
            if depths[name] == MAX_CHAIN:
                message = f"metrics are computed from each other more than {MAX_CHAIN} deep"
                context.report(metrics[name], "too-deep", message, head(metrics[name]))
                context.hopeless.add(id(metrics[name]))
                return
