"""``profrx rules list``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from profrx.cli import options
from profrx.cli.exits import Exit
from profrx.cli.output import choose, emit

if TYPE_CHECKING:
    from profrx.language.pack import Pack

FORMATS: dict[str, tuple[str, ...]] = {"text": (".txt",), "json": (".json",)}


@click.command("list")
@options.PACKS
@click.option("--metrics", is_flag=True, help="List the metrics of the catalogue instead.")
@options.format_option("text", "json")
@options.OUTPUT
def list_rules(packs: tuple[str, ...], metrics: bool, format_: str | None, output: str | None) -> Exit:
    """List the rules of the default pack and of yours, or with --metrics the metric catalogue."""
    kind = choose(format_, output, FORMATS, "text")
    pack = options.load_packs(packs)
    rows = _metrics(pack) if metrics else _rules(pack)
    if kind == "json":
        emit(json.dumps(rows, indent=2), output)
        return Exit.CLEAN
    from profrx.report.grid import grid

    header = list(rows[0]) if rows else ["rule"]
    emit(grid(header, [[str(v) for v in row.values()] for row in rows], widest=90), output)
    return Exit.CLEAN


def _rules(pack: Pack) -> list[dict[str, Any]]:
    return [
        {
            "rule": rule.name,
            "cause": rule.cause,
            "scope": rule.scope,
            "version": rule.version,
            "status": rule.status,
            "pack": pack.origin.get(("rule", rule.name), ""),
            "title": rule.title,
        }
        for rule in pack.rules.values()
    ]


def _metrics(pack: Pack) -> list[dict[str, Any]]:
    return [
        {
            "metric": metric.name,
            "unit": metric.unit,
            "scope": metric.scope,
            "tools": ", ".join(sorted({source.tool for source in metric.sources})),
            "meaning": metric.meaning,
        }
        for metric in pack.metrics.values()
    ]
