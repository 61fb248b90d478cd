"""Walking expressions: their children, the names they read."""

from __future__ import annotations

from collections.abc import Iterator

from profrx.language import ast


def children(node: ast.Expr) -> tuple[ast.Expr, ...]:
    """Return the direct sub-expressions of a node, in reading order."""
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


def nodes(expr: ast.Expr | None) -> Iterator[ast.Expr]:
    """Yield a node and everything below it, parents first, without recursion."""
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


def expressions(declaration: ast.Rule | ast.Verdict | ast.Guard) -> Iterator[ast.Expr]:
    """Yield every expression of a declaration that is evaluated over its subjects."""
    for let in declaration.lets:
        yield let.expr
    if isinstance(declaration, ast.Verdict):
        for row in declaration.rows:
            yield row.when
        return
    yield declaration.when
    if isinstance(declaration, ast.Guard):
        return
    for level in (*declaration.severity, *declaration.confidence):
        if level.when is not None:
            yield level.when
    if declaration.estimate is not None:
        yield declaration.estimate.low
        if declaration.estimate.high is not None:
            yield declaration.estimate.high
    for evidence in declaration.evidence:
        yield evidence.expr
    for suppressed in declaration.suppresses:
        if suppressed.when is not None:
            yield suppressed.when


def conditions(declaration: ast.Rule | ast.Verdict | ast.Guard) -> list[ast.Expr]:
    """Return what decides a declaration: its condition, or those of a verdict's rows."""
    if isinstance(declaration, ast.Verdict):
        return [row.when for row in declaration.rows]
    return [declaration.when]
