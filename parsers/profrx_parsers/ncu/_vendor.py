"""The `vendor_findings` table: results of the vendor's own rules, as stored in the report.

A stored rule gives one finding per body item that holds a message, table or chart; a rule that ran and had
nothing to say gives none. Speed-up and focus metrics belong to the item they sit in.
RuleResult: 1 id, 2 name, 3 body {1 items}, 4 section, 5 source markers. Item: 1 message {1 text, 2 type,
4 title}, 2 table, 3 bar, 7 roofline, 8 focus metrics, 9 source table, 10 speed-up, 12 rule tables.
Source: the format documentation shipped with Nsight Compute 2025.3; counts agree with `ncu_report` 2026.3.1.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from profrx_parsers import schema
from profrx_parsers.ncu._pages import Passage
from profrx_parsers.private import without_user
from profrx_parsers.wire import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from profrx_parsers.ncu._results import Result
    from profrx_parsers.problems import ProblemLog

KINDS = {0: "none", 1: "ok", 2: "warning", 3: "error", 4: "optimization"}
"""Message types as numbered in the file; the vendor's module renumbers them."""
ESTIMATES = {1: "local", 2: "global"}
SEVERITIES = {0: "default", 1: "low", 2: "high"}
MARKERS = {0: "sass", 1: "source"}
_KNOWN = frozenset(range(1, 9))
_SHOWN = (1, 2, 3, 7, 9, 12)
MAX_FINDINGS = 1_000_000


def table(
    data: memoryview, results: Sequence[Result], problems: ProblemLog, private: bool = False
) -> pa.Table:
    """Decode the stored rule results of every launch, in file order; home folders become ``~`` unless `private`."""
    rows: list[dict[str, Any]] = []
    passage = Passage(data)
    for launch, result in enumerate(results):
        passage.reached(result.start)
        for span in result.spans("rules"):
            rule = Message(data, span)
            if rule.error or rule.numbers - _KNOWN:
                reason = rule.error.reason if rule.error else "unknown fields"
                problems.add(
                    "data-loss", "ncu-damaged-rule",
                    f"a stored rule result is damaged ({reason}); read as far as it goes",
                    where=f"byte {span[0]}", advice="copy or collect the report again",
                )  # fmt: skip
            rows.extend(_findings(launch, rule, private))
        if len(rows) > MAX_FINDINGS:
            problems.add(
                "data-loss", "ncu-too-many-findings", f"findings after launch {launch} were left out"
            )
            break
    return schema.from_rows("vendor_findings", rows)


def _findings(launch: int, rule: Message, private: bool) -> Iterator[dict[str, Any]]:
    body = rule.message(3)
    if body is None:
        return
    common = {
        "launch_id": launch,
        "rule": rule.text(1),
        "section": rule.text(4),
        "markers": [_marker(one, private) for one in rule.messages(5)],
    }
    for item in body.messages(1):
        if not any(number in item for number in _SHOWN):
            continue
        message, estimate = item.message(1), item.message(10)
        yield {
            **common,
            "title": (message.text(4) if message else None) or rule.text(2),
            "message": message.text(1) or "" if message else None,
            "kind": KINDS.get(message.integer(2) or 0) if message else KINDS[0],
            "estimate_kind": ESTIMATES.get(estimate.integer(1) or 0) if estimate else None,
            "estimate_pct": _double(estimate.integer(2)) if estimate else None,
            "focus_metrics": [_focus(one) for one in item.messages(8)],
        }


def _focus(message: Message) -> dict[str, Any]:
    return {
        "metric": message.text(2),
        "value": _double(message.integer(3)),
        "severity": SEVERITIES.get(message.integer(4) or 0),
        "info": message.text(5),
    }


def _marker(message: Message, private: bool) -> dict[str, Any]:
    file = message.text(6)
    line, address = message.integer(2), message.integer(3)
    return {
        "kind": MARKERS.get(message.integer(1) or 0),
        "file": (file if private else without_user(file)) if file else None,
        "line": line if line is not None and line < 1 << 31 else None,
        "address": address if address is not None and address < 1 << 63 else None,
        "text": message.text(4),
    }


def _double(bits: int | None) -> float | None:
    if bits is None:
        return None
    return float(struct.unpack("<d", bits.to_bytes(8, "little"))[0])
