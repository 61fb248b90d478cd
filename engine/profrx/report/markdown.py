"""The one-page report as Markdown (CommonMark with GitHub's tables), to be pasted into a pull request.

Escaping is the default, not a habit: every value a template prints goes through `finalize`, and only the
filters below may hand out text that is Markdown already (`Safe`).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from profrx import escape
from profrx.report import numbers
from profrx.report.page import pages, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jinja2 import Environment

    from profrx.report.model import Findings, Link, VendorFinding

TEMPLATES = Path(__file__).parent / "templates"
NAME_LIMIT = 90
"""Longer kernel names are cut in the middle; the details hold them up to `escape.MAX_NAME`."""


class Safe(str):
    """Text that is Markdown already."""

    __slots__ = ()


def render(
    findings: Findings, *, top: int | None = None, pictures: Callable[[int], str | None] | None = None
) -> str:
    """Return the pages of all reports, one after the other.

    Args:
        findings: what was found.
        top: rows of the ranked table.
        pictures: number of a report -> address of its roofline picture; without it, a text chart stands there.
    """
    from profrx.report.textplot import chart

    template = _environment().get_template("page.md.j2")
    out = []
    for number, page in enumerate(pages(findings, top)):
        address = pictures(number) if pictures else None
        plot = "" if address else chart(page.roofline)
        text = template.render(
            page=page,
            picture=quote(address) if address else "",
            chart=plot.replace("`", "'"),
            dash=numbers.NOTHING,
        )
        out.append(_tidy(text))
    if findings.failed:
        out.append(_failed(findings))
    return "\n\n---\n\n".join(out) + "\n"


def _failed(findings: Findings) -> str:
    lines = ["## Could not be read", ""]
    for one in findings.failed:
        step = f" ({escape.markdown(one.next_step)})" if one.next_step else ""
        lines.append(
            f"* {escape.code(shown(one.source))}: {escape.markdown(one.message)} {escape.markdown(f'[{one.code}]')}{step}"
        )
    return "\n".join(lines)


@cache
def _environment() -> Environment:
    from jinja2 import FileSystemLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    made = SandboxedEnvironment(
        loader=FileSystemLoader(TEMPLATES),
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    made.filters.update(
        code=lambda text: Safe(escape.code(text)),
        code_cell=lambda text: Safe(escape.code(text, cell=True, limit=NAME_LIMIT)),
        prose=lambda text: Safe(escape.prose(text)),
        link=_link,
        block=_block,
        safe_markdown=Safe,
        join=lambda parts, by: Safe(by.join(escape.markdown(part) for part in parts)),
    )
    made.globals.update(plural=numbers.plural, estimate=estimate)
    return made


def _finalize(value: Any) -> str:
    if isinstance(value, Safe):
        return value
    text = str(value)
    # Blanks and separators that a template prints itself are not names.
    return text if not text.strip(" \n·,;") else escape.markdown(text)


def _block(lines: Sequence[str]) -> Safe:
    """Return lines of a command as a code block inside a list item; nothing in them can close it."""
    held = (escape.clean(line.strip()).replace("`", "'") for line in lines)
    shown = (
        f"    {one}" if line.startswith(" ") else f"  {one}" for line, one in zip(lines, held, strict=True)
    )
    return Safe("\n".join(["", "  ```sh", *shown, "  ```", ""]))


def _link(link: Link) -> Safe:
    """Return a link; only web addresses become one."""
    title = escape.markdown(link.title)
    if not link.url.startswith(("https://", "http://")):
        return Safe(title)
    return Safe(f"[{title}](<{quote(escape.clean(link.url), safe=':/?#&=%+,;@~-._')}>)")


def estimate(found: VendorFinding) -> str:
    """Return a vendor's estimate: ``34 % local``."""
    if found.estimate_pct is None:
        return numbers.NOTHING
    return f"{numbers.quantity(found.estimate_pct, '%')} {found.estimate_kind or ''}".strip()


def _tidy(text: str) -> str:
    """Take trailing blanks away and fold runs of empty lines outside code blocks into one."""
    out: list[str] = []
    fenced = False
    for line in text.split("\n"):
        line = line.rstrip()
        if line.startswith("```"):
            fenced = not fenced
        if not line and not fenced and (not out or not out[-1]):
            continue
        out.append(line)
    return "\n".join(out).strip()
