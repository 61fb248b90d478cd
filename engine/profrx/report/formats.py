"""The output formats of `diagnose`: name, suffixes, writer. Writers are imported on first use."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profrx_parsers.errors import UsageError

if TYPE_CHECKING:
    from profrx.report.model import Findings

SUFFIXES: dict[str, tuple[str, ...]] = {
    "text": (".txt",),
    "md": (".md", ".markdown"),
    "html": (".html", ".htm"),
    "json": (".json",),
    "sarif": (".sarif", ".sarif.json"),
    "junit": (".xml",),
}
"""Format -> suffixes of a file that has it; `choose` asks the longer suffix first."""

_WRITERS = {
    "text": "profrx.report.text:render",
    "md": "profrx.report.markdown:render",
    "html": "profrx.report.html:render",
    "json": "profrx.report.json:render",
    "sarif": "profrx.report.sarif:render",
    "junit": "profrx.report.junit:render",
}


def render(findings: Findings, format_: str = "md", *, top: int | None = None, **options: Any) -> str:
    """Return the findings in one of the formats of `SUFFIXES`.

    Args:
        findings: what `diagnose` returned.
        format_: text, md, html, json, sarif or junit.
        top: rows of the ranked table (text, md, html); json, sarif and junit always hold everything.
        options: further options of one writer (`color` and `width` of text, `pictures` of md, `fail_on` of junit).

    Raises:
        UsageError: no such format.
    """
    if format_ not in _WRITERS:
        raise UsageError(
            "usage-format", f"no format is called {format_!r}", next_step="one of: " + ", ".join(_WRITERS)
        )
    module, _, name = _WRITERS[format_].partition(":")
    writer = getattr(importlib.import_module(module), name)
    if format_ in ("text", "md", "html"):
        options["top"] = top
    text: str = writer(findings, **options)
    return text


def write_markdown(findings: Findings, target: Path, *, top: int | None = None) -> list[Path]:
    """Write a Markdown page and, beside it, an SVG roofline per report that has one; return what was written.

    Pictures are called after the page: ``page.md`` has ``page-roofline.svg``, from the second report on
    ``page-roofline-2.svg``.
    """
    from profrx.report.roofline import svg

    pictures: dict[int, tuple[Path, str]] = {}
    for number, report in enumerate(findings.reports):
        drawn = svg(report.summary.roofline)
        if drawn:
            tail = f"-{number + 1}" if number else ""
            pictures[number] = (target.with_name(f"{target.stem}-roofline{tail}.svg"), drawn)
    names = {number: path.name for number, (path, _) in pictures.items()}
    text = render(findings, "md", top=top, pictures=names.get)
    target.write_text(text, encoding="utf-8")
    for path, drawn in pictures.values():
        path.write_text(drawn, encoding="utf-8")
    return [target, *(path for path, _ in pictures.values())]
