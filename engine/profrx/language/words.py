"""Conditions in words, for people who read rules and do not write them."""

from __future__ import annotations

from profrx.language import ast
from profrx.language.printer import expr_text, quantity_text

_ORDER = {
    "<": "is below",
    "<=": "is at most",
    ">": "is above",
    ">=": "is at least",
    "==": "is",
    "!=": "is not",
}


def in_words(node: ast.Expr, params: dict[str, ast.Param] | None = None) -> str:
    """An English clause for a condition; parameters are followed by their default.

    >>> from profrx.language.parse import parse_expr
    >>> in_words(parse_expr("sm.throughput < 30 % and not known(dram.bytes)"))
    '`sm.throughput` is below 30 % and not (`dram.bytes` is known)'
    """
    return _Words(params or {}).clause(node)


class _Words:
    def __init__(self, params: dict[str, ast.Param]) -> None:
        self.params = params

    def clause(self, node: ast.Expr, inside: str = "") -> str:
        match node:
            case ast.Binary("and" | "or"):
                text = f"{self.clause(node.left, node.op)} {node.op} {self.clause(node.right, node.op)}"
                return f"({text})" if inside not in ("", node.op) else text
            case ast.Unary("not"):
                return f"not ({self.clause(node.operand)})"
            case ast.Compare():
                return self.comparison(node)
            case ast.In():
                return f"{self.value(node.operand)} is {self.membership(node)}"
            case ast.Matches():
                how = "matches" if not node.glob else "looks like"
                return f"{self.value(node.operand)} {how} `{node.pattern}`"
            case ast.Call("known"):
                return f"{self.value(node.arguments[0])} is known"
            case ast.Fired():
                return f"the rule `{node.rule}` fired"
            case ast.If():
                condition, then, otherwise = map(self.clause, (node.condition, node.then, node.otherwise))
                return f"({then} if {condition}, else {otherwise})"
        return self.value(node)

    def comparison(self, node: ast.Compare) -> str:
        if len(node.ops) == 2 and node.ops[0] in ("<", "<=") and node.ops[1] in ("<", "<="):
            low, middle, high = (self.value(operand) for operand in node.operands)
            ends = (
                f"above {low}" if node.ops[0] == "<" else f"at least {low}",
                "below" if node.ops[1] == "<" else "at most",
            )
            return f"{middle} is {ends[0]} and {ends[1]} {high}"
        parts = zip(node.operands, node.ops, node.operands[1:], strict=False)
        return " and ".join(f"{self.value(a)} {_ORDER[op]} {self.value(b)}" for a, op, b in parts)

    def membership(self, node: ast.In) -> str:
        items = [self.value(item) for item in node.items]
        return f"between {items[0]} and {items[1]}" if node.is_range else f"one of {', '.join(items)}"

    def value(self, node: ast.Expr) -> str:
        if isinstance(node, ast.Quantity):
            return quantity_text(node)
        if isinstance(node, ast.Name) and node.name in self.params:
            return f"`{node.name}` ({expr_text(self.params[node.name].default)})"
        return f"`{expr_text(node)}`"
