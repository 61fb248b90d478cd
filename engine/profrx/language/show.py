"""Diagnostics as text with the source line and a caret range, as JSON, and as SARIF 2.1.0."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from profrx.language.ast import Span
from profrx.language.diagnostics import Diagnostic

DOCS = "docs/errors.md"
"""Where codes are explained: each is an anchor there."""
WIDTH = 120
_RANK = {"error": 0, "warning": 1, "note": 2}
_SARIF_LEVEL = {"error": "error", "warning": "warning", "note": "note"}


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """By file, line and column; the same one only once."""
    unique = dict.fromkeys(diagnostics)
    return sorted(unique, key=lambda d: (d.span.file, d.span.line, d.span.column, _RANK[d.severity], d.code))


def to_text(diagnostics: Iterable[Diagnostic], files: Mapping[str, str]) -> str:
    """One paragraph for each diagnostic, and a line that counts them.

    `files` maps file names to their text; a diagnostic of a file that is not there shows no source line.
    """
    ordered = in_order(diagnostics)
    named = {diagnostic.span.file for diagnostic in ordered}
    lines = {name: text.split("\n") for name, text in files.items() if name in named}
    paragraphs = [_paragraph(d, lines) for d in ordered]
    return "\n\n".join([*paragraphs, summary(ordered)]) + "\n"


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """``2 errors, 1 warning``."""
    counts = dict.fromkeys(_RANK, 0)
    for diagnostic in diagnostics:
        counts[diagnostic.severity] += 1
    parts = [f"{n} {severity}{'s' * (n != 1)}" for severity, n in counts.items() if n]
    return ", ".join(parts) if parts else "no mistakes found"


def _paragraph(diagnostic: Diagnostic, files: Mapping[str, list[str]]) -> str:
    span = diagnostic.span
    place = f"{span.file}:{span.line}:{span.column}: " if span.file else ""
    about = f"\n  in: {diagnostic.subject}" if diagnostic.subject else ""
    head = f"{place}{diagnostic.severity}[{diagnostic.code}]: {_visible(diagnostic.message)}"
    excerpt = _excerpt(span, files.get(span.file, []))
    expected = f"\n  expected: {', '.join(diagnostic.expected[:8])}" if diagnostic.expected else ""
    hint = f"\n  help: {_visible(diagnostic.help)}" if diagnostic.help else ""
    return f"{head}{excerpt}{expected}{hint}{about}\n  see: {DOCS}#{diagnostic.code}"


def _excerpt(span: Span, lines: list[str]) -> str:
    """The line of a span and a line of carets under it; long lines are cut around the place."""
    if not 1 <= span.line <= len(lines):
        return ""
    line = lines[span.line - 1].rstrip("\r")
    start = min(span.column - 1, len(line))
    end = min(span.end_column - 1, len(line)) if span.end_line == span.line else len(line)
    first = max(0, start - WIDTH // 2) if len(line) > WIDTH else 0
    shown = _visible(line[first : first + WIDTH])
    carets = " " * (start - first) + "^" * max(1, min(end, first + WIDTH) - start)
    number = str(span.line)
    left = "…" if first else " "
    return f"\n  {number} |{left}{shown}\n  {' ' * len(number)} | {carets}"


def _visible(text: str) -> str:
    """Tabs as one blank, and no control characters that a terminal would obey."""
    return "".join(c if c.isprintable() else " " if c == "\t" else "�" for c in text)


def to_json(diagnostics: Iterable[Diagnostic]) -> str:
    """A list of objects, schema ``profrx.diagnostics/1``."""
    rows = [
        {
            "severity": d.severity,
            "code": d.code,
            "message": d.message,
            "file": d.span.file,
            "line": d.span.line,
            "column": d.span.column,
            "end_line": d.span.end_line,
            "end_column": d.span.end_column,
            "help": d.help,
            "expected": list(d.expected),
            "subject": d.subject,
            "docs": f"{DOCS}#{d.code}",
        }
        for d in in_order(diagnostics)
    ]
    return (
        json.dumps({"schema": "profrx.diagnostics/1", "diagnostics": rows}, indent=2, ensure_ascii=False)
        + "\n"
    )


def to_sarif(diagnostics: Iterable[Diagnostic]) -> str:
    """A SARIF 2.1.0 log with one run."""
    ordered = in_order(diagnostics)
    codes = sorted({d.code for d in ordered})
    driver = {
        "name": "profrx rules check",
        # no helpUri: SARIF wants an absolute one there
        "rules": [{"id": code, "help": {"text": f"see {DOCS}#{code}"}} for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(d, codes) for d in ordered],
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return (
        json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)
        + "\n"
    )


def _result(d: Diagnostic, codes: list[str]) -> dict[str, Any]:
    text = f"{d.message}; {d.help}" if d.help else d.message
    result: dict[str, Any] = {
        "ruleId": d.code,
        "ruleIndex": codes.index(d.code),
        "level": _SARIF_LEVEL[d.severity],
        "message": {"text": text},
    }
    if d.span.file:
        region = {
            "startLine": d.span.line,
            "startColumn": d.span.column,
            "endLine": d.span.end_line,
            "endColumn": d.span.end_column,
        }
        location = {"artifactLocation": {"uri": d.span.file}, "region": region}
        result["locations"] = [{"physicalLocation": location}]
    return result
