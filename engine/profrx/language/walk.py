"""Walks over expressions, for checks: children, all sub-expressions, the names that are read."""

from __future__ import annotations

from collections.abc import Iterator

from profrx.language import ast


def children(node: ast.Expr) -> tuple[ast.Expr, ...]:
    """The direct parts of an expression."""
    match node:
        case ast.Unary():
            return (node.operand,)
        case ast.Binary():
            return (node.left, node.right)
        case ast.Compare():
            return node.operands
        case ast.In():
            return (node.operand, *node.items)
        case ast.Matches():
            return (node.operand,)
        case ast.If():
            return (node.condition, node.then, node.otherwise)
        case ast.Call():
            return node.arguments
        case ast.Choice():
            return node.values
        case ast.Aggregate():
            return (node.expr,) if node.where is None else (node.expr, node.where)
        case _:
            return ()


def walk(node: ast.Expr) -> Iterator[ast.Expr]:
    """The expression and everything below it, outer first."""
    pending = [node]
    while pending:
        here = pending.pop()
        yield here
        pending.extend(reversed(children(here)))


def names(node: ast.Expr) -> Iterator[ast.Name]:
    """Every `Name` in an expression."""
    return (part for part in walk(node) if isinstance(part, ast.Name))


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
