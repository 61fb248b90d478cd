"""The compact result of one report: what a worker sends back and the archive stores.

Everything is plain dictionaries and lists of rows keyed by table, so that it pickles small and writes
without further thought. `rows_of` flattens a `ReportFindings`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from profrx.report.model import Finding, ReportFindings

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Record:
    """One report, ready to be stored.

    Attributes:
        uri: its address.
        report: the row of `reports`.
        tables: rows per child table, without `report_id`.
        stored: Arrow bytes for judging again, or None.
        wanted_hash: which metrics `stored` holds.
    """

    uri: str
    report: dict[str, Any]
    tables: dict[str, Rows] = field(default_factory=dict)
    metrics: list[tuple[int, str, str | None, float]] = field(default_factory=list)
    """(kernel_row, logical metric, unit, median)."""
    stored: bytes | None = None
    wanted_hash: str = ""


def key_of(text: str) -> int:
    """Return 63 bits of a digest: a key that depends on nothing but `text`."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def report_id(uri: str) -> int:
    """Return the key of the report at `uri`: stable, so that writing twice changes nothing."""
    return key_of(uri)


def failed(uri: str, status: str, code: str, message: str, next_step: str, facts: dict[str, Any]) -> Record:
    """Return the record of an input that gave no result; `status` is ``failed`` or ``quarantined``."""
    return Record(uri, {**facts, "status": status, "code": code, "message": message, "next_step": next_step})


def rows_of(found: ReportFindings) -> tuple[dict[str, Any], dict[str, Rows]]:
    """Flatten what `diagnose` says of one report into the archive's tables."""
    top = found.findings[0] if found.findings else None
    busy = found.summary.busy
    report = {
        "status": "ok",
        "format": found.format,
        "tool": found.tool,
        "tool_version": found.tool_version,
        "base_time": found.base_time,
        "base_time_ns": found.base_time_ns,
        "busy": None if busy == "unknown" else _json(busy),
        "findings": len(found.findings),
        "top_rule": top.rule if top else None,
        "top_cause": top.cause if top else None,
        "top_score": top.score if top else None,
    }
    tables: dict[str, Rows] = {
        "verdicts": [
            {
                "row": n,
                "kernel": v.kernel,
                "kernel_short": v.short,
                "table_name": v.table,
                "verdict": v.verdict,
                "launches": len(v.launches),
                "time_share": v.time_share,
                "because": f"{v.because} {v.doubt}".rstrip(),
            }
            for n, v in enumerate(found.verdicts)
        ],
        "findings": _findings(found),
        "unknowns": [
            {
                "row": n,
                "rule": u.rule,
                "title": u.title,
                "subjects": u.subjects,
                "missing": _json(u.missing),
                "collect": _json([f"{c.tool} {c.option}" for c in u.collect]),
            }
            for n, u in enumerate(found.unknown)
        ],
        "blocked": [
            {"row": n, "rule": b.rule, "guard": b.guard, "reason": b.reason, "subjects": b.subjects}
            for n, b in enumerate(found.blocked)
        ],
        "problems": [
            {
                "row": n,
                "severity": p.severity,
                "code": p.code,
                "message": p.message,
                "place": p.where,
                "count": p.count,
                "advice": p.advice,
            }
            for n, p in enumerate(found.problems)
        ],
        "vendor_findings": [
            {
                "row": n,
                "kernel": v.kernel,
                "kernel_short": v.short,
                "rule": v.rule,
                "title": v.title,
                "estimate_pct": v.estimate_pct,
                "estimate_kind": v.estimate_kind,
                "agreement": v.agreement,
                "comment": v.comment,
            }
            for n, v in enumerate(found.vendor)
        ],
    }
    return report, tables


def _findings(found: ReportFindings) -> Rows:
    """Flatten findings; of those with one cause on one subject the one that saves most counts."""
    rows = [_finding(f, found.base_time_ns) for f in found.findings]
    best: dict[tuple[Any, Any], dict[str, Any]] = {}
    for row in rows:
        if row["saved_ns"] is not None:
            first = best.setdefault((row["cause"], row["kernel"] or row["subject"]), row)
            if row["saved_ns"] > first["saved_ns"]:
                best[row["cause"], row["kernel"] or row["subject"]] = row
    for row in best.values():
        row["counted"] = 1
    return rows


def _finding(finding: Finding, base_ns: float | None) -> dict[str, Any]:
    saving = finding.saving
    low = high = None
    if saving and saving.kind == "global" and finding.time_share is not None and base_ns is not None:
        low, high = (end * finding.time_share * base_ns for end in (saving.low, saving.high))
    return {
        "rank": finding.rank,
        "rule": finding.rule,
        "rule_version": finding.rule_version,
        "parameters_hash": finding.parameters_hash,
        "cause": finding.cause,
        "title": finding.title,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "scope": finding.scope,
        "kernel_id": None,
        "kernel": finding.subject.kernel,
        "kernel_short": finding.subject.short,
        "subject": finding.subject.name,
        "launches": len(finding.subject.launches),
        "time_share": finding.time_share,
        "saving_kind": saving.kind if saving else None,
        "saving_low": saving.low if saving else None,
        "saving_high": saving.high if saving else None,
        "score": finding.score,
        "saved_low_ns": low,
        "saved_ns": None if low is None or high is None else (low + high) / 2,
        "saved_high_ns": high,
        "counted": 0,
        "because": finding.because,
        "fix": finding.fix[0] if finding.fix else None,
        "detail": finding.model_dump_json(exclude={"because", "fix"}, exclude_defaults=True),
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
