"""What makes a condition unknown on a row: values that are missing, divisions by zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from profrx.evaluate import operators, trace
from profrx.evaluate.notes import noted
from profrx.evaluate.showing import text_of
from profrx.language import ast, walk

if TYPE_CHECKING:
    from profrx.evaluate.compile import Evaluator
    from profrx.evaluate.frame import Frame
    from profrx.evaluate.metrics import Metrics
    from profrx.evaluate.trace import Step

NOT_COLLECTED = frozenset({"missing", "no source"})
"""Kinds of reasons that collecting more could cure; NaN, impossible values and guards are not among them."""


def is_narrower(frame: Frame, scope: str) -> bool:
    """Whether a scope is that of members of a frame's rows: a row has many values of such a metric."""
    return scope != frame.scope and any(link.scope == scope for link in frame.members.values())


def missing(evaluator: Evaluator, step: Step, row: int) -> dict[str, tuple[str, str]]:
    """Return the names whose absence makes a condition unknown on a row, with kind and text of the reason.

    Args:
        evaluator: of the declaration, over the frame that the step was traced on.
        step: the traced condition.
        row: which subject.
    """
    found: dict[str, tuple[str, str]] = {}
    for leaf in trace.deciding(step, row):
        if leaf.values[row] is not None:
            continue
        for name, domain in _reads(evaluator, leaf.expr):
            if not name and domain in evaluator.metrics.frame.members:
                continue
            reason = _why(evaluator.metrics, name, domain, row)
            if reason is not None:
                found[name or domain] = reason
    return found


def _why(metrics: Metrics, name: str, domain: str, row: int) -> tuple[str, str] | None:
    """Kind and text of the reason why a name is unknown where an expression reads it; None when it is known."""
    absent = ("missing", f"not in the report: {name}")
    if domain == "instances":
        members, _ = metrics.members(name)
        return None if members is not None and (members.row == row).any() else absent
    if domain:
        link = metrics.frame.members.get(domain)
        if link is None:
            return "missing", f"the report has no {domain}"
        inner = metrics.related(link.frame)
        rows = np.flatnonzero(link.owner == row)
        reasons = (_why(inner, name, "", int(one)) for one in rows[:64])
        return next((reason for reason in reasons if reason is not None), None)
    metric = metrics.pack.metrics.get(name)
    if metric is None:
        value = operators.spread(metrics.raw(name), metrics.frame.rows)[row]
        return None if value.is_valid else absent
    reason = metrics.reason(name, row)
    return None if reason is None else (reason.kind, reason.text)


@noted
def _reads(evaluator: Evaluator, expr: ast.Expr) -> tuple[tuple[str, str], ...]:
    """Return what an expression cannot do without, through lets: (name, "" or the domain it is read in).

    An aggregate needs members of its domain at all: ("", ``launches``).
    """
    return tuple(_reading(evaluator, expr))


def _reading(evaluator: Evaluator, expr: ast.Expr) -> Iterator[tuple[str, str]]:
    pending: list[tuple[ast.Expr, str]] = [(expr, "")]
    seen: set[tuple[str, str]] = set()
    while pending:
        node, domain = pending.pop(0)
        if isinstance(node, ast.Call) and node.function == "known":
            continue
        if isinstance(node, ast.Binary) and node.op == "??":
            pending.append((node.right, domain))
            continue
        if isinstance(node, ast.Aggregate):
            inner = "" if node.domain == "instances" else node.domain
            pending.extend((part, inner) for part in walk.children(node))
            if node.domain == "instances":
                yield node.metric, "instances"
            else:
                yield "", node.domain
            continue
        pending.extend((part, domain) for part in walk.children(node))
        if not isinstance(node, ast.Name | ast.Raw) or (node.name, domain) in seen:
            continue
        seen.add((node.name, domain))
        if isinstance(node, ast.Raw):
            yield node.name, domain
        elif (let := evaluator.let(node.name)) is not None:
            pending.append((let.expr, ""))
        elif evaluator.param(node.name) is None and node.name not in ("key", "index", "value"):
            yield node.name, domain


def not_computable(evaluator: Evaluator, step: Step, row: int) -> list[str]:
    """Return why a condition is unknown on a row although nothing is missing, in words.

    A division by zero; else the parts that come to nothing: numbers out of range, text where a number is due.
    """
    zeros: dict[str, None] = {}
    parts: list[str] = []
    for leaf in trace.deciding(step, row):
        if leaf.values[row] is not None:
            continue
        parts.append(f"cannot be computed from these values: {leaf.text}")
        pending: list[ast.Expr] = [leaf.expr]
        seen: set[str] = set()
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Aggregate):
                continue
            if isinstance(node, ast.Name) and node.name not in seen:
                seen.add(node.name)
                if (let := evaluator.let(node.name)) is not None:
                    pending.append(let.expr)
            if isinstance(node, ast.Binary) and node.op == "/":
                divisor = operators.spread(evaluator.value(node.right), evaluator.rows)[row]
                if divisor.is_valid and divisor.as_py() == 0:
                    zeros[f"division by zero: {text_of(node.right)} is 0"] = None
            pending.extend(walk.children(node))
    return list(zeros) or ([] if missing(evaluator, step, row) else parts)
