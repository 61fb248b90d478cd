"""What to collect: the tool options that would supply missing metrics, less what the report already has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from profrx.evaluate.arch import arch_number, version_key, version_within
from profrx.evaluate.params import within_arch
from profrx.language import ast, walk
from profrx.report.model import Collect

if TYPE_CHECKING:
    from profrx.language.pack import Pack
    from profrx_parsers.report import Report


BY_NAME = {"ncu": "--metrics"}
"""Option with which a tool collects metrics by name. Source: the tools' public command-line documentation."""

VENDORS = (frozenset({"ncu", "nsys"}), frozenset({"rocm", "rocprofv3", "rocprof-compute"}))
"""Tools that run on the same hardware: only these may be named where a report's own tool cannot collect."""


SECTIONS: Mapping[str, tuple[float, str]] = {
    "PmSampling": (7.5, "2023.3"),
    "WorkloadDistribution": (7.0, "2024.1"),
    "SpeedOfLight_RooflineChart": (7.0, "2020.1"),
    "SpeedOfLight_HierarchicalHalfRooflineChart": (7.0, "2020.3"),
}
"""Section -> least compute capability and the first ncu that has it. Others are as old as the tool.

Source: the first version and the devices of the public reports seen to hold each section; a section may be older.
"""


@dataclass(frozen=True)
class Present:
    """How a report was taken: what collecting again can leave out, and what its device and tool can do.

    Attributes:
        options: collection options, stored sections counted as collected.
        arch: number of the device's architecture (see `arch`), None when unknown or when devices differ.
        version: of the tool, None when unknown.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    arch: float | None = None
    version: str | None = None

    def can(self, node: ast.Collect) -> bool:
        """Whether the device and the tool can take an action; what is unknown rules nothing out."""
        least, since = SECTIONS.get(node.value, (0.0, "")) if node.kind == "section" else (0.0, "")
        if self.arch is not None and self.arch < least:
            return False
        return version_key(self.version) is None or version_within(self.version, since, "")

    def fits(self, source: ast.MetricSource) -> bool:
        """Whether a source is for the device and the tool; what is unknown rules nothing out."""
        spans = source.arch is not None and self.arch is not None
        if spans and not within_arch(np.array([self.arch]), " .. ".join(source.arch or ()))[0]:
            return False
        known = source.version is not None and version_key(self.version) is not None
        return not known or version_within(self.version, *(source.version or ("", "")))


def option(node: ast.Collect) -> str:
    """Return a collection action as typed on a command line: ``--section SourceCounters``."""
    if node.value.startswith("-"):
        return node.value
    return f"--{node.kind.replace('_', '-')} {node.value}".strip()


def options(nodes: Iterable[ast.Collect], tool: str, present: Present | None = None) -> list[Collect]:
    """Return actions of a tool (of its vendor's other tools when it has none), each once.

    Those that the report was taken with, and those that its device or tool cannot take, are left out.
    """
    present = present or Present()
    vendor = next((tools for tools in VENDORS if tool in tools), None)
    nodes = [node for node in nodes if (vendor is None or node.tool in vendor) and present.can(node)]
    own = [node for node in nodes if node.tool == tool] or nodes
    found = {
        (node.tool, option(node)): Collect(tool=node.tool, option=option(node))
        for node in own
        if not _held(node, present.options)
    }
    return list(found.values())


def present(report: Report) -> Present:
    """Return how a report was taken."""
    stored = report.extras.get("sections") or []
    sections = [*(report.info.options.get("sections") or []), *stored]
    options = {**report.info.options, **({"sections": sections} if sections else {})}
    arches = {arch_number(text) for text in report.table("devices").column("arch").to_pylist()}
    return Present(options, arches.pop() if len(arches) == 1 else None, report.info.tool_version)


def _held(node: ast.Collect, present: Mapping[str, Any]) -> bool:
    """Whether a report was collected with this very option already."""
    held = present.get({"section": "sections"}.get(node.kind, node.kind))
    if held is None:
        return False
    return node.value in held if isinstance(held, list) else node.value == held


def for_metrics(
    pack: Pack, metrics: Iterable[str], tool: str, present: Present | None = None
) -> list[Collect]:
    """Return the actions that supply metrics; a derived metric without its own needs those of its inputs.

    Where the report was collected with all of them and the metrics are missing all the same, the vendor's
    metrics are asked for by name, if the tool can be asked that way.
    """
    present = present or Present()
    nodes: list[ast.Collect] = []
    names: list[str] = []
    for metric in _with_inputs(pack, metrics):
        own = [source for source in metric.sources if source.tool == tool]
        fitting = [source for source in own if present.fits(source)]
        if (own and not fitting) or (metric.collect and not any(map(present.can, metric.collect))):
            continue
        known = [source for source in fitting if source.arch] if present.arch is not None else []
        nodes.extend(metric.collect)
        for source in (known or fitting)[:1]:
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
