"""Findings as SARIF 2.1.0, for code scanning: an alert per finding, on its source lines where they are known.

Source: OASIS SARIF 2.1.0 (sections 3.27 result, 3.28 location, 3.49 reportingDescriptor,
3.58 notification).
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from profrx.escape import clean, prose
from profrx.report import damage, numbers

if TYPE_CHECKING:
    from profrx.report.model import Finding, Findings, ReportFindings

LEVELS = {"info": "note", "low": "note", "medium": "warning", "high": "error", "critical": "error"}
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(findings: Findings) -> str:
    """Return one SARIF run over all reports."""
    rules: dict[str, dict[str, Any]] = {}
    results = []
    for report in findings.reports:
        for one in report.findings:
            rules.setdefault(one.rule, _rule(one))
            results.append(_result(report, one, list(rules).index(one.rule)))
    driver = {
        "name": "profrx",
        "version": findings.version or "0",
        "rules": list(rules.values()),
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not findings.failed,
                "toolExecutionNotifications": _failures(findings) + _losses(findings),
            }
        ],
        "results": results,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=True)


def _rule(one: Finding) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": one.rule,
        "shortDescription": {"text": clean(one.title)},
        "defaultConfiguration": {"level": LEVELS[one.severity]},
        "properties": {"cause": one.cause, "version": one.rule_version},
    }
    if one.fix:
        steps = "\n".join(f"* {clean(text)}" for text in one.fix)
        found["help"] = {"text": steps, "markdown": "\n".join(f"* {prose(text)}" for text in one.fix)}
    if one.references:
        link = one.references[0]
        if link.url.startswith(("https://", "http://")):
            found["helpUri"] = quote(clean(link.url), safe=":/?#&=%+,;@~-._")
    return found


def _result(report: ReportFindings, one: Finding, index: int) -> dict[str, Any]:
    name = one.subject.kernel or one.subject.name or report.source
    saved = ""
    if one.saving is not None and one.saving.kind == "global":
        saved = f" Saves {numbers.share_range(one.saving.low, one.saving.high)} of its run time."
    fix = f" {one.fix[0]}" if one.fix else ""
    short = one.subject.short or ("" if one.scope == "report" else one.subject.name) or ""
    where = f" ({short})" if short else ""
    text = clean(f"{one.title}{where}. {one.because}{saved}{fix}", 4000)
    places = [
        _place(place.file, place.line, name) for place in one.locations if place.file and place.line > 0
    ] or [_place(report.source, None, name)]
    return {
        "ruleId": one.rule,
        "ruleIndex": index,
        "level": LEVELS[one.severity],
        "message": {"text": text},
        "locations": places[:1],
        "relatedLocations": [{"id": i + 1, **place} for i, place in enumerate(places[1:])],
        "partialFingerprints": {"profrx/subject/v1": _print(one.rule, name)},
        "rank": round(min(max((one.score or 0.0) * 100, 0.0), 100.0), 3),
        "properties": {
            "cause": one.cause,
            "confidence": one.confidence,
            "timeShare": one.time_share,
            "saving": one.saving.model_dump() if one.saving else None,
            "report": clean(report.source),
        },
    }


def _place(file: str, line: int | None, name: str) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri(file)}}
    if line is not None:
        physical["region"] = {"startLine": line}
    return {
        "physicalLocation": physical,
        "logicalLocations": [{"fullyQualifiedName": clean(name), "kind": "function"}],
    }


def uri(path: str) -> str:
    """Return a path as a URI reference: percent-encoded, absolute ones with the file scheme.

    >>> uri("src/a b.cu"), uri("/home/x/a.cu")
    ('src/a%20b.cu', 'file:///home/x/a.cu')
    """
    plain = path.replace("\\", "/").encode("utf-8", "replace").decode()
    if len(plain) > 1 and plain[1] == ":" and plain[0].isalpha():
        return "file:///" + quote(plain, safe="/:")
    return ("file://" if plain.startswith("/") else "") + quote(plain, safe="/")


def _print(rule: str, name: str) -> str:
    """Keep an alert the same over runs: rule and kernel, not times, launches or places of the report."""
    return hashlib.sha256(f"{rule}\0{name}".encode("utf-8", "replace")).hexdigest()[:32]


def _failures(findings: Findings) -> list[dict[str, Any]]:
    return [
        _notification("error", one.source, f"{one.message} [{one.code}] {one.next_step}")
        for one in findings.failed
    ]


def _losses(findings: Findings) -> list[dict[str, Any]]:
    """Say what damage took from a report: without it, an alert that is not there looks like a clean kernel."""
    return [
        _notification("warning", report.source, f"{loss}. {report.next_step}")
        for report in findings.reports
        for loss in damage.losses(report.problems)
    ]


def _notification(level: str, source: str, text: str) -> dict[str, Any]:
    return {
        "level": level,
        "message": {"text": clean(text.strip(), 4000)},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri(source)}}}],
    }
