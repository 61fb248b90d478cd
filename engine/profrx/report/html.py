"""The one-page reports as one HTML file: no network, no script, light and dark, roofline drawn in."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from profrx import escape
from profrx.report import numbers
from profrx.report.markdown import NAME_LIMIT, TEMPLATES, estimate
from profrx.report.page import pages, shown

if TYPE_CHECKING:
    from jinja2 import Environment

    from profrx.report.model import Findings


def render(findings: Findings, *, top: int | None = None) -> str:
    """Return all pages in one document."""
    from profrx.report.roofline import inline_svg

    made = pages(findings, top)
    text: str = (
        _environment()
        .get_template("page.html.j2")
        .render(
            title=escape.clean(made[0].title if len(made) == 1 else f"profrx: {len(made)} reports"),
            pages=made,
            pictures=[inline_svg(page.roofline, prefix=f"r{i}-") for i, page in enumerate(made)],
            failed=[one.model_copy(update={"source": shown(one.source)}) for one in findings.failed],
            style=(TEMPLATES / "page.css").read_text(encoding="utf-8"),
        )
    )
    return text


@cache
def _environment() -> Environment:
    from jinja2 import FileSystemLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    made = SandboxedEnvironment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters.update(prose=_prose, cut=lambda text: escape.middle_cut(escape.clean(text), NAME_LIMIT))
    made.globals.update(plural=numbers.plural, estimate=estimate)
    return made


def _finalize(value: object) -> object:
    """Take the power from control and direction-changing characters; markup and blanks stay as they are."""
    if hasattr(value, "__html__") or not isinstance(value, str) or not value.strip():
        return value
    lead = value[: len(value) - len(value.lstrip(" "))]
    tail = value[len(value.rstrip(" ")) :]
    return f"{lead}{escape.clean(value)}{tail}"


def _prose(text: object) -> object:
    """Return a rule's sentence: backtick spans become code, all else is escaped."""
    from markupsafe import Markup

    pieces = [
        Markup("<code>{}</code>").format(part) if is_code else Markup.escape(part)
        for is_code, part in escape.code_spans(text)
    ]
    return Markup("").join(pieces)
