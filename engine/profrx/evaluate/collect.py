"""What to collect: the tool options that would supply missing metrics, less what the report already has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from profrx.report.model import Collect

if TYPE_CHECKING:
    from profrx.language import ast
    from profrx.language.pack import Pack


def option(node: ast.Collect) -> str:
    """Return a collection action as typed on a command line: ``--section SourceCounters``."""
    if node.value.startswith("-"):
        return node.value
    return f"--{node.kind.replace('_', '-')} {node.value}".strip()


def options(
    nodes: Iterable[ast.Collect], tool: str, present: Mapping[str, Any] | None = None
) -> list[Collect]:
    """Return actions of a tool (of all tools when it has none), each once, less those already in `present`."""
    nodes = list(nodes)
    own = [node for node in nodes if node.tool == tool] or nodes
    found = {
        (node.tool, option(node)): Collect(tool=node.tool, option=option(node))
        for node in own
        if not _held(node, present or {})
    }
    return list(found.values())


def _held(node: ast.Collect, present: Mapping[str, Any]) -> bool:
    """Whether a report was collected with this very option already."""
    held = present.get({"section": "sections"}.get(node.kind, node.kind))
    if held is None:
        return False
    return node.value in held if isinstance(held, list) else node.value == held


def for_metrics(
    pack: Pack, metrics: Iterable[str], tool: str, present: Mapping[str, Any] | None = None
) -> list[Collect]:
    """Return the actions that supply metrics, through the inputs of derived ones where they say nothing."""
    nodes = []
    for name in metrics:
        metric = pack.metrics.get(name)
        if metric is not None:
            nodes.extend(metric.collect)
    return options(nodes, tool, present)
