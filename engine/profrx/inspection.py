"""``inspect``: what a file is, what it holds, what is wrong with it, which rules it can support."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, Field

from profrx.report.model import Collect, Conditions, Model, Problem

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from profrx_parsers.report import Report

SCHEMA = "profrx.inspection/1"


class TableRows(Model):
    """A table that this kind of input can hold."""

    name: str
    rows: int
    one_row_is: str = ""


class RuleSupport(Model):
    """A rule that the report cannot judge for any of its subjects."""

    rule: str
    title: str = ""
    missing: list[str] = Field(default_factory=list)
    collect: list[Collect] = Field(default_factory=list)


class Inspection(Model):
    """What one input is and holds. Null means the input does not say."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    schema_: str = Field(default=SCHEMA, alias="schema")
    source: str
    sha256: str | None = None
    format: str
    title: str = ""
    """What a person calls the format."""
    why: str
    """Why this reader was chosen."""
    tool: str | None = None
    tool_version: str | None = None
    captured_at: str | None = None
    conditions: Conditions = Field(default_factory=Conditions)
    options: dict[str, Any] = Field(default_factory=dict)
    private: dict[str, Any] = Field(default_factory=dict)
    devices: list[dict[str, Any]] = Field(default_factory=list)
    tables: list[TableRows] = Field(default_factory=list)
    problems: list[Problem] = Field(default_factory=list)
    rules_supported: list[str] = Field(default_factory=list)
    """Rules that this report can judge for at least one subject."""
    rules_unsupported: list[RuleSupport] = Field(default_factory=list)


def inspect(
    path: str | os.PathLike[str], *, packs: Sequence[str] = (), private: bool = False, rules: bool = True
) -> Inspection:
    """Read `path` as far as it goes and return what it is and holds.

    Every table is decoded once, so `problems` is complete. With `rules`, the rules of the default pack and of
    `packs` are tried to see which of them the report can support.

    Raises:
        InputError: the container is unreadable.
        RuleError: a pack is wrong.
    """
    from profrx.summary.conditions import conditions
    from profrx_parsers import schema
    from profrx_parsers.registry import open_report, readers
    from profrx_parsers.report import Wanted

    report = open_report(path, Wanted(private=private))
    info = report.info
    found = Inspection(
        source=info.source,
        sha256=info.sha256,
        format=info.format,
        title=readers()[info.format].title if info.format in readers() else "",
        why=info.why,
        tool=info.tool,
        tool_version=info.tool_version,
        captured_at=info.captured_at,
        conditions=conditions(report),
        options=info.options,
        private=info.private,
        devices=devices(report),
    )
    for name, fields in schema.TABLES.items():
        if report.has(name) and name != "problems":
            doc = (fields.metadata or {}).get(b"doc", b"").decode()
            found.tables.append(TableRows(name=name, rows=len(report.table(name)), one_row_is=doc))
    if rules:
        _support(found, report, packs)
    found.problems = problems(report)
    return found


def devices(report: Report) -> list[dict[str, Any]]:
    """Return the rows of `devices` without the columns that hold nothing."""
    rows = report.table("devices").to_pylist()
    return [{key: value for key, value in row.items() if value is not None} for row in rows]


def problems(report: Report) -> list[Problem]:
    """Return the import log as it is now."""
    return [Problem(**vars(row)) for row in report.problems]


def _support(found: Inspection, report: Report, packs: Sequence[str]) -> None:
    from profrx.language.pack import load_pack
    from profrx.summary.support import support

    can, cannot = support(report, load_pack(packs, tests=False))
    found.rules_supported = can
    found.rules_unsupported = [
        RuleSupport(rule=one.rule, title=one.title, missing=one.missing, collect=one.collect)
        for one in cannot
    ]
