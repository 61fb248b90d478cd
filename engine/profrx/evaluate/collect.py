"""What to collect: the tool options that would supply missing metrics, less what the report already has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from profrx.language import ast, walk
from profrx.report.model import Collect

if TYPE_CHECKING:
    from profrx.language.pack import Pack
    from profrx_parsers.report import Report


BY_NAME = {"ncu": "--metrics"}
"""Option with which a tool collects metrics by name. Source: the tools' public command-line documentation."""

VENDORS = (frozenset({"ncu", "nsys"}), frozenset({"rocm", "rocprofv3", "rocprof-compute"}))
"""Tools that run on the same hardware: only these may be named where a report's own tool cannot collect."""


def option(node: ast.Collect) -> str:
    """Return a collection action as typed on a command line: ``--section SourceCounters``."""
    if node.value.startswith("-"):
        return node.value
    return f"--{node.kind.replace('_', '-')} {node.value}".strip()


def options(
    nodes: Iterable[ast.Collect], tool: str, present: Mapping[str, Any] | None = None
) -> list[Collect]:
    """Return actions of a tool (of its vendor's other tools when it has none), each once, less those in `present`."""
    vendor = next((tools for tools in VENDORS if tool in tools), None)
    nodes = [node for node in nodes if vendor is None or node.tool in vendor]
    own = [node for node in nodes if node.tool == tool] or nodes
    found = {
        (node.tool, option(node)): Collect(tool=node.tool, option=option(node))
        for node in own
        if not _held(node, present or {})
    }
    return list(found.values())


def present(report: Report) -> dict[str, Any]:
    """Return the collection options of a report, its stored sections counted as collected."""
    stored = report.extras.get("sections") or []
    sections = [*(report.info.options.get("sections") or []), *stored]
    return {**report.info.options, **({"sections": sections} if sections else {})}


def _held(node: ast.Collect, present: Mapping[str, Any]) -> bool:
    """Whether a report was collected with this very option already."""
    held = present.get({"section": "sections"}.get(node.kind, node.kind))
    if held is None:
        return False
    return node.value in held if isinstance(held, list) else node.value == held


def for_metrics(
    pack: Pack, metrics: Iterable[str], tool: str, present: Mapping[str, Any] | None = None
) -> list[Collect]:
    """Return the actions that supply metrics; a derived metric without its own needs those of its inputs.

    Where the report was collected with all of them and the metrics are missing all the same, the vendor's
    metrics are asked for by name, if the tool can be asked that way.
    """
    nodes: list[ast.Collect] = []
    names: list[str] = []
    for metric in _with_inputs(pack, metrics):
        nodes.extend(metric.collect)
        for source in metric.sources:
            if source.tool == tool:
                names.extend(source.names[:1])
                names.extend(n.name for n in walk.nodes(source.formula) if isinstance(n, ast.Raw))
    found = options(nodes, tool, present)
    flag = BY_NAME.get(tool)
    if found or not nodes or flag is None or not names:
        return found
    return [Collect(tool=tool, option=f"{flag} {','.join(dict.fromkeys(names))}")]


def _with_inputs(pack: Pack, names: Iterable[str]) -> list[ast.Metric]:
    """Metrics that say how to collect them, in the place of derived ones that do not: what those read."""
    found: dict[str, ast.Metric] = {}
    seen: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop(0)
        metric = pack.metrics.get(name)
        if metric is None or name in seen:
            continue
        seen.add(name)
        if metric.collect or not any(source.formula for source in metric.sources):
            found[name] = metric
            continue
        for source in metric.sources:
            pending.extend(n.name for n in walk.nodes(source.formula) if isinstance(n, ast.Name))
    return list(found.values())
