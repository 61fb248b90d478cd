"""What a metric is in one report: its value per launch, the counter or formula behind it, the values that went in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, Field

from profrx.report.model import Collect, Model
from profrx_parsers.errors import UsageError

if TYPE_CHECKING:
    import os

    from profrx.evaluate.metrics import Metrics
    from profrx.language.pack import Pack
    from profrx_parsers.report import Report

SCHEMA = "profrx.metric/1"
LIMIT = 50
"""Subjects listed."""


class Input(Model):
    """A value that a formula read: a metric of the catalogue in its unit, or a vendor's counter as stored."""

    name: str
    value: float | str | None
    unit: str = ""


class MetricValue(Model):
    """The metric on one subject; `value` is null when it is unknown, and `reason` says why."""

    subject: str
    launch_id: int | None = None
    value: float | str | None
    provenance: str = ""
    """exact (stored in the report) or derived (a formula)."""
    source: str = ""
    """The vendor's counter, or the formula."""
    inputs: list[Input] = Field(default_factory=list)
    reason: str = ""


class MetricExplanation(Model):
    """A metric of the catalogue on one report."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    schema_: str = Field(default=SCHEMA, alias="schema")
    report: str
    metric: str
    unit: str = ""
    meaning: str = ""
    valid: str = ""
    values: list[MetricValue] = Field(default_factory=list)
    subjects: int = 0
    """How many there are; at most `LIMIT` are listed."""
    collect: list[Collect] = Field(default_factory=list)
    references: list[str] = Field(default_factory=list)


def explain_metric(
    path: str | os.PathLike[str] | Report, name: str, *, pack: Pack | None = None, kernel: str | None = None
) -> MetricExplanation:
    """Explain a metric on a report.

    Args:
        path: a report file or folder, or an open report.
        name: logical name, such as ``dram.throughput``.
        pack: the catalogue; None = the default pack's.
        kernel: glob on the kernel's name.

    Raises:
        InputError: the report cannot be read.
        UsageError: no metric has that name.
    """
    from profrx.evaluate import collect
    from profrx.evaluate.frames import frames_of, only_kernel
    from profrx.evaluate.metrics import Metrics
    from profrx.language.pack import load_pack
    from profrx.language.printer import range_text
    from profrx_parsers.registry import open_report
    from profrx_parsers.report import Report

    pack = pack or load_pack(tests=False)
    if name not in pack.metrics:
        from profrx.language.diagnostics import did_you_mean

        raise UsageError(
            "unknown-metric-name",
            f"no metric is called {name!r}",
            next_step=did_you_mean(name, pack.metrics) or "`profrx rules list --metrics` lists them",
        )
    metric = pack.metrics[name]
    report = path if isinstance(path, Report) else open_report(path)
    frames = frames_of(report)
    frame = (only_kernel(frames, kernel) if kernel else frames).get(metric.scope)
    found = MetricExplanation(
        report=report.info.source,
        metric=name,
        unit=metric.unit,
        meaning=metric.meaning,
        valid=range_text(metric.valid) if metric.valid else "",
        collect=collect.options(metric.collect, frames.tool),
        references=[pack.references[r].url for r in metric.see if r in pack.references],
    )
    if frame is None or metric.kind == "instances":
        return found
    found.subjects = frame.rows
    metrics = Metrics(pack, frame)
    for row, subject in enumerate(frame.subjects.slice(0, LIMIT).to_pylist()):
        one = _value(metrics, name, row)
        one.subject = subject["kernel_short"] or subject["subject"] or ""
        one.launch_id = subject["subject_id"] if metric.scope == "launch" else None
        found.values.append(one)
    return found


def _value(metrics: Metrics, name: str, row: int) -> MetricValue:
    from profrx.evaluate.reasons import origin

    metric = metrics.pack.metrics[name]
    value = _plain(metrics, name, row)
    if value is None:
        reason = metrics.reason(name, row)
        return MetricValue(subject="", value=None, reason=reason.text if reason else "")
    provenance, source = origin(metrics, metric, row)
    inputs = _inputs(metrics, name, source, row) if provenance == "derived" else []
    return MetricValue(subject="", value=value, provenance=provenance, source=source, inputs=inputs)


def _plain(metrics: Metrics, name: str, row: int) -> float | str | None:
    """Return a metric in its own unit."""
    from profrx.evaluate.quantity import from_base

    value: Any = metrics.column(name)[row].as_py()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return from_base(float(value), metrics.pack.metrics[name].unit)
    return None if value is None else str(value)


def _inputs(metrics: Metrics, name: str, source: str, row: int) -> list[Input]:
    """Return what the formula that supplied the value read, each once."""
    from profrx.evaluate.showing import text_of
    from profrx.language import ast, walk

    found: dict[str, Input] = {}
    for one in metrics.sources(metrics.pack.metrics[name]):
        if one.formula is None or text_of(one.formula) != source:
            continue
        for node in walk.nodes(one.formula):
            if isinstance(node, ast.Raw):
                column = metrics.frame.raw(node.name)
                value = None if column is None else column[row].as_py()
                found.setdefault(node.name, Input(name=node.name, value=value, unit=node.unit))
            elif isinstance(node, ast.Name) and node.name in metrics.pack.metrics:
                inner = metrics.pack.metrics[node.name]
                if inner.kind == "number" and inner.scope == metrics.frame.scope:
                    found.setdefault(
                        node.name,
                        Input(name=node.name, value=_plain(metrics, node.name, row), unit=inner.unit),
                    )
    return list(found.values())
