"""Mutants of a declaration: thresholds moved by 1 % either way, comparisons turned round.

A rule's tests should notice each of them. A threshold is a number or an own parameter that a comparison reads
in the condition (or in a let that it reads).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any

from profrx.evaluate.params import Owner
from profrx.evaluate.showing import text_of
from profrx.language import ast, walk

STEP = 0.01
"""Relative move of a threshold."""

TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "!=", "!=": "=="}
MAX_MUTANTS = 400
"""Mutants per declaration."""


@dataclass(frozen=True)
class Mutant:
    """A changed declaration.

    Attributes:
        what: the change in words, e.g. ``min_excess 10 % -> 10.1 %``.
        declaration: the changed copy.
        span: where the original stands.
    """

    what: str
    declaration: Owner
    span: ast.Span


def mutants(declaration: Owner) -> Iterator[Mutant]:
    """Return the mutants of a declaration's condition, at most `MAX_MUTANTS`."""
    return islice(_all(declaration), MAX_MUTANTS)


def _all(declaration: Owner) -> Iterator[Mutant]:
    compared = list(comparisons(declaration))
    named = {n.name for node in compared for n in walk.nodes(node) if isinstance(n, ast.Name)}
    for param in declaration.params:
        if param.name not in named:
            continue
        for moved in _moved_constant(param.default):
            params = tuple(
                replace(p, default=moved) if p.name == param.name else p for p in declaration.params
            )
            what = f"{param.name} {text_of(param.default)} -> {text_of(moved)}"
            yield Mutant(what, replace(declaration, params=params), param.span)
    for node in compared:
        for number in _thresholds(node):
            for moved in _moved_constant(number):
                what = f"{text_of(number)} -> {text_of(moved)} in {text_of(node)}"
                yield Mutant(what, substitute(declaration, number, moved), number.span)
        if isinstance(node, ast.Compare):
            for at, op in enumerate(node.ops):
                ops: Any = (*node.ops[:at], TURNED[op], *node.ops[at + 1 :])
                turned = replace(node, ops=ops)
                what = f"{text_of(node)} -> {text_of(turned)}"
                yield Mutant(what, substitute(declaration, node, turned), node.span)


def comparisons(declaration: Owner) -> Iterator[ast.Compare | ast.In]:
    """Yield the comparisons of a declaration's condition, those in the lets it reads included."""
    lets = {let.name: let.expr for let in declaration.lets}
    pending = walk.conditions(declaration)
    seen: set[str] = set()
    while pending:
        for node in walk.nodes(pending.pop(0)):
            if isinstance(node, ast.Compare) or (isinstance(node, ast.In) and node.is_range):
                yield node
            if isinstance(node, ast.Name) and node.name in lets and node.name not in seen:
                seen.add(node.name)
                pending.append(lets[node.name])


def _thresholds(node: ast.Expr) -> Iterator[ast.Quantity]:
    """Yield the numbers that a comparison holds a value against; factors of products are none."""
    pending = list(walk.children(node))
    while pending:
        inner = pending.pop(0)
        if isinstance(inner, ast.Quantity):
            yield inner
        elif isinstance(inner, ast.Unary | ast.Call) or (isinstance(inner, ast.Binary) and inner.op in "+-"):
            pending = [*walk.children(inner), *pending]


def _moved_constant(expr: ast.Expr) -> Iterator[ast.Expr]:
    """A constant a step up and a step down; zero has no per cent to move by."""
    if isinstance(expr, ast.Unary):
        for moved in _moved_constant(expr.operand):
            yield replace(expr, operand=moved)
    elif isinstance(expr, ast.Quantity) and expr.value:
        step = abs(expr.value) * STEP
        yield replace(expr, value=round(expr.value + step, 12))
        yield replace(expr, value=round(expr.value - step, 12))


def substitute(declaration: Owner, old: ast.Expr, new: ast.Expr) -> Owner:
    """Return a declaration with one node (by identity) replaced in its condition and lets."""
    lets = tuple(replace(let, expr=_swap(let.expr, old, new)) for let in declaration.lets)
    if isinstance(declaration, ast.Verdict):
        rows = tuple(replace(row, when=_swap(row.when, old, new)) for row in declaration.rows)
        return replace(declaration, lets=lets, rows=rows)
    return replace(declaration, lets=lets, when=_swap(declaration.when, old, new))


def _swap(expr: ast.Expr, old: ast.Expr, new: ast.Expr) -> ast.Expr:
    swapped: ast.Expr = _rebuild(expr, lambda node: new if node is old else None)
    return swapped


def _rebuild(node: Any, change: Callable[[Any], Any]) -> Any:
    """Copy an expression with changed nodes; what lies around no change is kept as it is."""
    changed = change(node)
    if changed is not None:
        return changed
    updates = {}
    for one in fields(node):
        value = getattr(node, one.name)
        if isinstance(value, ast.Node) and not isinstance(value, ast.Span):
            copy: Any = _rebuild(value, change)
        elif isinstance(value, tuple) and any(isinstance(item, ast.Node) for item in value):
            copy = tuple(_rebuild(i, change) if isinstance(i, ast.Node) else i for i in value)
            if all(a is b for a, b in zip(copy, value, strict=True)):
                continue
        else:
            continue
        if copy is not value:
            updates[one.name] = copy
    return replace(node, **updates) if updates else node
