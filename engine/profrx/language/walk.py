"""Walks over expressions and declarations: children, all sub-expressions, names that are read, templates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from profrx.language import ast

_PARTS: dict[type, Callable[[Any], tuple[ast.Expr, ...]]] = {
    ast.Unary: lambda node: (node.operand,),
    ast.Binary: lambda node: (node.left, node.right),
    ast.Compare: lambda node: node.operands,
    ast.In: lambda node: (node.operand, *node.items),
    ast.Matches: lambda node: (node.operand,),
    ast.If: lambda node: (node.condition, node.then, node.otherwise),
    ast.Call: lambda node: node.arguments,
    ast.Choice: lambda node: node.values,
    ast.Aggregate: lambda node: (node.expr,) if node.where is None else (node.expr, node.where),
}


def children(node: ast.Expr) -> tuple[ast.Expr, ...]:
    """The direct parts of an expression."""
    parts = _PARTS.get(type(node))
    return parts(node) if parts is not None else ()


def nodes(expr: ast.Expr | None) -> Iterator[ast.Expr]:
    """The expression and everything below it, outer first, without recursion."""
    pending = [] if expr is None else [expr]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


def strict_nodes(expr: ast.Expr | None) -> Iterator[ast.Expr]:
    """Like `nodes`, without what ``known(x)`` and the left side of ``??`` look at: nothing there is needed."""
    pending = [] if expr is None else [expr]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.Call) and node.function == "known":
            continue
        if isinstance(node, ast.Binary) and node.op == "??":
            pending.append(node.right)
            continue
        pending.extend(reversed(children(node)))


def names(node: ast.Expr) -> Iterator[ast.Name]:
    """Every `Name` in an expression."""
    return (part for part in nodes(node) if isinstance(part, ast.Name))


Judge = ast.Rule | ast.Guard | ast.Verdict
"""Declarations that judge a subject."""


def expressions(node: ast.Declaration) -> Iterator[tuple[str, ast.Expr]]:
    """Every expression of a declaration with the statement it stands in, except tests, lets and params."""
    if isinstance(node, ast.Rule | ast.Guard | ast.Verdict):
        yield from (("require", demand) for demand in node.requires)
    match node:
        case ast.Rule():
            yield "when", node.when
            for word, levels in (("severity", node.severity), ("confidence", node.confidence)):
                yield from ((word, level.when) for level in levels if level.when is not None)
            if node.estimate is not None:
                yield "estimate", node.estimate.low
                if node.estimate.high is not None:
                    yield "estimate", node.estimate.high
            yield from (("evidence", evidence.expr) for evidence in node.evidence)
            yield from (("suppresses", s.when) for s in node.suppresses if s.when is not None)
        case ast.Guard():
            yield "when", node.when
        case ast.Verdict():
            yield from (("row", row.when) for row in node.rows)
        case ast.Metric():
            yield from (("formula", source.formula) for source in node.sources if source.formula is not None)


def mentioned(node: ast.Declaration) -> set[str]:
    """Every name of another declaration that stands in one, tests aside; its own lets and params are among them."""
    if isinstance(node, ast.Ruleset):
        return {rule for rule, _ in node.rules}
    lets = getattr(node, "lets", ())
    found: set[str] = set()
    for expr in (*(expr for _, expr in expressions(node)), *(let.expr for let in lets)):
        for part in nodes(expr):
            match part:
                case ast.Name():
                    found.add(part.name)
                case ast.Fired():
                    found.add(part.rule)
                case ast.Aggregate():
                    found.add(part.metric)
    found.update(getattr(node, "under", ()), getattr(node, "blocks", ()))
    if isinstance(node, ast.Rule):
        found.update(one.rule for one in node.suppresses)
        found.update(one.metric for one in node.lines)
        found.add(node.replaced_by)
    return found


def evaluated(node: Judge) -> Iterator[ast.Expr]:
    """Every expression that is evaluated over the subjects: lets first, `require` not, it is about settings."""
    yield from (let.expr for let in node.lets)
    yield from (expr for word, expr in expressions(node) if word != "require")


def conditions(node: Judge) -> list[ast.Expr]:
    """What decides a declaration: its condition, or those of a verdict's rows."""
    return [row.when for row in node.rows] if isinstance(node, ast.Verdict) else [node.when]


def templates(node: ast.Declaration) -> Iterator[tuple[str, str]]:
    """Every text with ``{fields}`` of a declaration, with its statement."""
    match node:
        case ast.Rule():
            yield "because", node.because
            yield from (("fix", text) for text in node.fix)
            yield from (("except", text) for text in node.exceptions)
        case ast.Guard():
            yield "because", node.because
            yield from (("fix", text) for text in node.fix)
        case ast.Verdict():
            yield from (("row", row.because) for row in node.rows)
