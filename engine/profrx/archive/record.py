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
    from profrx.report.model import ReportFindings

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


def report_id(uri: str) -> str:
    """Return the key of the report at `uri`: stable, so that writing twice changes nothing."""
    return hashlib.sha256(uri.encode("utf-8", "surrogateescape")).hexdigest()[:24]


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
                "because": v.because,
            }
            for n, v in enumerate(found.verdicts)
        ],
        "findings": [_finding(f, found.base_time_ns) for f in found.findings],
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


def _finding(finding: Any, base_ns: float | None) -> dict[str, Any]:
    saving = finding.saving
    saved = None
    if saving and saving.kind == "global" and finding.time_share is not None and base_ns is not None:
        saved = (saving.low + saving.high) / 2 * finding.time_share * base_ns
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
        "kernel": finding.subject.kernel,
        "kernel_short": finding.subject.short,
        "subject": finding.subject.name,
        "launches": len(finding.subject.launches),
        "time_share": finding.time_share,
        "saving_kind": saving.kind if saving else None,
        "saving_low": saving.low if saving else None,
        "saving_high": saving.high if saving else None,
        "score": finding.score,
        "saved_ns": saved,
        "because": finding.because,
        "fix": finding.fix[0] if finding.fix else None,
        "detail": finding.model_dump_json(exclude={"because", "fix"}, exclude_defaults=True),
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
