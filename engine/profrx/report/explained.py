"""An `Explanation` as text or JSON: for each rule and launch the outcome and the comparison that settled it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profrx.escape import clean
from profrx.report import numbers
from profrx.report.commands import lines as typed
from profrx.report.commands import option
from profrx.report.json import dumps
from profrx.report.views import ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profrx.evaluate.explain import Explained, Explanation, SubjectReason
    from profrx.report.model import Collect
    from profrx.summary.metric import MetricExplanation

FORMATS: dict[str, tuple[str, ...]] = {"text": (".txt",), "json": (".json",)}


def render(found: list[Explanation], format_: str, *, tree: bool = False) -> str:
    """Return explanations: text one after the other; JSON one object, or an array when there are several.

    `tree` adds the whole evaluated condition to the text; JSON always holds it.
    """
    if format_ == "json":
        return dumps(found[0]) if len(found) == 1 else "[\n" + ",\n".join(dumps(one) for one in found) + "\n]"
    return "\n\n".join(
        "\n\n".join([_head(one), *(_rule(rule, tree) for rule in one.explained)]) for one in found
    )


def _head(one: Explanation) -> str:
    lost = any(subject.missing for rule in one.explained for subject in rule.subjects)
    step = f"what is missing may only be lost. {one.next_step}" if one.next_step and lost else ""
    return "\n".join(filter(None, (clean(one.source), step)))


def render_metrics(found: list[MetricExplanation], format_: str) -> str:
    """Return explanations of metrics: what each means, and per launch its value, source and inputs."""
    if format_ == "json":
        return dumps(found[0]) if len(found) == 1 else "[\n" + ",\n".join(dumps(one) for one in found) + "\n]"
    return "\n\n".join(_metric(one) for one in found)


def _metric(one: MetricExplanation) -> str:
    unit = f" [{one.unit}]" if one.unit else ""
    lines = [clean(one.report), f"metric {one.metric}{unit}: {one.meaning}"]
    if one.valid:
        lines.append(f"  possible values {one.valid}")
    for value in one.values:
        launch = "" if value.launch_id is None else f" (launch {value.launch_id})"
        shown = "unknown" if value.value is None else numbers.quantity(value.value, one.unit)
        lines.append(f"  {clean(value.subject, 80)}{launch}: {shown}")
        if value.source:
            lines.append(f"    {'=' if value.provenance == 'derived' else 'stored as'} {clean(value.source)}")
        lines += [f"      {i.name} = {numbers.quantity(i.value, i.unit)}" for i in value.inputs]
        if value.reason:
            lines.append(f"    {clean(value.reason)}")
    if one.subjects > len(one.values):
        lines.append(f"  and {one.subjects - len(one.values):,} more")
    if not one.values:
        lines.append("  this report has no subject to show it on")
    if one.collect:
        lines += _collected(one.collect, "  ")
    lines += [f"  see {url}" for url in one.references]
    return "\n".join(lines)


def _rule(rule: Explained, tree: bool) -> str:
    counts = ", ".join(f"{count:,} {word}" for word, count in rule.counts.items())
    lines = [f"{rule.kind} {rule.rule}: {rule.title}", f"  {counts or 'no subject in this report'}"]
    for one in rule.subjects:
        lines += _subject(one, tree)
    return "\n".join(lines)


def _subject(one: SubjectReason, tree: bool) -> list[str]:
    name = one.short or one.subject or one.kernel or "this report"
    where = f" (launch {ranges(one.launches)})" if one.launches else ""
    lines = [f"  {clean(name, 80)}{where}: {one.outcome.upper()}"]
    if one.reason and not any(fact.value is not None for fact in one.deciding):
        lines.append(f"    because {clean(one.reason)}")
    for fact in one.deciding:
        if fact.value is None:
            continue
        value, threshold = numbers.compared(fact.value, fact.threshold, fact.unit)
        limit = "" if fact.threshold is None else f" {fact.label} {threshold}".rstrip()
        margin = "" if not fact.margin else f", margin {numbers.margin(fact.margin)}"
        source = f"  [{clean(fact.source, 120)}]" if fact.source and fact.source != fact.metric else ""
        lines.append(f"    {fact.metric} = {value}{limit}{margin}{source}")
    if one.missing:
        lines.append(f"    missing: {', '.join(one.missing)}")
    lines += [f"    {clean(text)}" for text in one.why_missing]
    if one.collect:
        lines += _collected(one.collect, "    ")
    if one.symptom_of:
        lines.append(f"    shown as part of {one.symptom_of}")
    if tree:
        lines += [f"      {_indented(line)}" for line in one.tree]
    return lines


def _collected(actions: Sequence[Collect], indent: str) -> list[str]:
    """Return the commands that collect something, to be copied."""
    command = [_indented(line) for line in typed(sorted({option(one) for one in actions}))]
    if len(command) == 1:
        return [f"{indent}collect with `{command[0]}`"]
    return [f"{indent}collect with these lines:", *(f"{indent}  {line}" for line in command)]


def _indented(line: str) -> str:
    """Clean a line and keep its indentation."""
    return " " * (len(line) - len(line.lstrip(" "))) + clean(line)
