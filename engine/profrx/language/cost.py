"""What a rule costs before it runs: how many values it computes for each subject.

Every operator, function and metric read counts one; inside an aggregate it counts once for each expected member.
A let counts once, however often it is read.
"""

from __future__ import annotations

from profrx.language import ast
from profrx.language.walk import Judge, children, expressions

MEMBERS = {
    "instances": 64,
    "launches": 256,
    "kernels": 32,
    "ranges": 32,
    "streams": 8,
    "devices": 4,
    "ranks": 8,
}
"""Members that an aggregate is expected to have; a guess that only ranks rules among each other."""
OTHER_MEMBERS = 32


def cost(node: Judge) -> int:
    """Values computed for each subject."""
    exprs = [*(let.expr for let in node.lets), *(expr for _, expr in expressions(node))]
    return sum(map(expression_cost, exprs))


def expression_cost(node: ast.Expr) -> int:
    """Values computed for one expression."""
    inner = sum(expression_cost(part) for part in children(node))
    if isinstance(node, ast.Aggregate):
        return 1 + MEMBERS.get(node.domain, OTHER_MEMBERS) * inner
    return inner if isinstance(node, ast.Quantity | ast.Text | ast.Bool) else 1 + inner
