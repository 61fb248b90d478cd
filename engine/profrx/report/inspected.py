"""An `Inspection` as text or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profrx.escape import clean
from profrx.report import damage, numbers
from profrx.report.commands import option, together
from profrx.report.grid import grid
from profrx.report.json import dumps

if TYPE_CHECKING:
    from profrx.inspection import Inspection

FORMATS: dict[str, tuple[str, ...]] = {"text": (".txt",), "json": (".json",)}

DEVICE_FACTS = (
    ("compute_units", "compute units", ""),
    ("memory_bytes", "memory", "B"),
    ("l2_bytes", "L2", "B"),
    ("core_clock_hz", "core clock", "Hz"),
    ("memory_clock_hz", "memory clock", "Hz"),
    ("peak_bandwidth_bytes_per_s", "peak bandwidth", "B/s"),
    ("peak_fp32_flop_per_s", "peak FP32", "FLOP/s"),
    ("peak_fp64_flop_per_s", "peak FP64", "FLOP/s"),
    ("peak_fp16_flop_per_s", "peak FP16", "FLOP/s"),
    ("peak_tensor_flop_per_s", "peak tensor", "FLOP/s"),
)


def render(found: list[Inspection], format_: str) -> str:
    """Return inspections: text one after the other; JSON one object, or an array when there are several."""
    if format_ == "json":
        return dumps(found[0]) if len(found) == 1 else "[\n" + ",\n".join(dumps(one) for one in found) + "\n]"
    return "\n\n".join(_text(one) for one in found)


def _text(one: Inspection) -> str:
    tool = f", {one.tool} {one.tool_version or ''}".rstrip() if one.tool else ""
    lines = [f"{one.source}: {one.title or one.format}{tool}", f"recognised because it {one.why}"]
    lines += [f"{label}: {value}" for label, value in one.conditions.facts.items() if label != "Collected"]
    if one.conditions.missing:
        lines.append(f"not recorded: {', '.join(one.conditions.missing)}")
    lines += [f"option {key}: {_value(value)}" for key, value in one.options.items()]
    lines += [f"private {key}: {_value(value)}" for key, value in one.private.items()]
    blocks = ["\n".join(clean(line) for line in lines)]
    blocks += [_device(row) for row in one.devices]
    if one.tables:
        rows = [(t.name, f"{t.rows:,}", t.one_row_is) for t in one.tables]
        blocks.append(grid(("table", "rows", "one row is"), rows, right=(1,), widest=110))
    blocks.append(_problems(one))
    blocks.append(_rules(one))
    if one.conditions.warnings:
        blocks.append("\n".join(f"note: {clean(text)}" for text in one.conditions.warnings))
    return "\n\n".join(block for block in blocks if block)


def _value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _device(row: dict[str, object]) -> str:
    facts = []
    for key, label, unit in DEVICE_FACTS:
        value = row.get(key)
        if isinstance(value, int | float):
            facts.append(f"{label} {numbers.quantity(float(value), unit)}")
    name = (
        f"device {row.get('device_id', '?')}: {row.get('name') or 'unnamed'} {row.get('arch') or ''}".rstrip()
    )
    source = f"\n  peaks: {row['peak_source']}" if row.get("peak_source") else ""
    return clean(name) + ("\n  " + clean(", ".join(facts)) if facts else "") + _tail(source)


def _tail(text: str) -> str:
    return f"\n  {clean(text)}" if text else ""


def _problems(one: Inspection) -> str:
    if not one.problems:
        return "no problems while reading"
    rows = [(p.severity, p.code, f"{p.count:,}", p.where, p.message, p.advice) for p in one.problems]
    return grid(("severity", "problem", "count", "first at", "what", "advice"), rows, right=(2,), widest=90)


def _rules(one: Inspection) -> str:
    total = len(one.rules_supported) + len(one.rules_unsupported)
    if not total:
        return ""
    lines = [f"{len(one.rules_supported)} of {total} rules can be judged"]
    if step := damage.next_step(one.problems) if one.rules_unsupported else "":
        lines.append(f"  some may lack only what is lost. {step}")
    needed: dict[str, list[str]] = {}
    for rule in one.rules_unsupported:
        needed.setdefault(together(sorted({option(c) for c in rule.collect})), []).append(rule.rule)
    for how, rules in sorted(needed.items(), key=lambda item: (not item[0], -len(item[1]))):
        named = ", ".join(rules[:8]) + (f" and {len(rules) - 8} more" if len(rules) > 8 else "")
        lines.append(
            f"  add `{how}` for {named}" if how else f"  no option supplies what these need: {named}"
        )
    return "\n".join(clean(line) if i == 0 else f"  {clean(line)}" for i, line in enumerate(lines))
