"""`archive report`: one Markdown page over everything an archive holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from profrx.archive.queries import QUERIES
from profrx.escape import code, markdown
from profrx.report import numbers

if TYPE_CHECKING:
    from profrx.archive.store import Archive

TOP = 15
"""Rows of each table on the page; the rest is a query away."""

Cell = Callable[[dict[str, Any]], str]


def page(archive: Archive, *, top: int = TOP) -> str:
    """Return the page. Sections without rows say so: an empty table is an answer, a missing one is not."""
    ask = {name: archive.query(named.sql).to_pylist() for name, named in QUERIES.items() if name != "reports"}
    status = dict(
        (r["status"], r["n"])
        for r in archive.query("SELECT status, count(*) AS n FROM reports GROUP BY status").to_pylist()
    )
    total = archive.query(
        "SELECT sum(base_time_ns) AS ns, sum(launches) AS launches, sum(findings) AS findings FROM reports WHERE status = 'ok'"
    ).to_pylist()[0]
    parts = [
        "# What these reports say together",
        _overview(status, total, ask["devices"]),
        "## The fixes worth most",
        "Time saved is the middle of each estimate, over all reports; of several findings with one cause on one kernel "
        "only the largest counts. Fixes of the same kernel overlap, so the rows do not add up.",
        _table(
            ask["fixes"][:top],
            ("Fix", lambda r: markdown(r["title"])),
            ("Cause", lambda r: markdown(r["cause"])),
            ("Saves", lambda r: _time(r["saved_ns"])),
            ("Range", lambda r: f"{_time(r['saved_low_ns'])} – {_time(r['saved_high_ns'])}"),
            ("Of all time", lambda r: _share(r["share"])),
            ("Found on", lambda r: f"{r['subjects']:,}"),
            ("Reports", lambda r: f"{r['reports']:,}"),
            empty="No finding with an estimate of run time saved.",
        ),
        "## The kernels that cost most",
        _table(
            ask["kernels"][:top],
            ("Kernel", lambda r: code(r["kernel_short"] or "?", cell=True, limit=60)),
            ("Device", lambda r: markdown(r["device"] or "unknown")),
            ("Time", lambda r: _time(r["duration_ns"])),
            ("Launches", lambda r: f"{r['launches'] or 0:,}"),
            ("Reports", lambda r: f"{r['reports']:,}"),
            ("Verdict", lambda r: markdown(r["verdict"] or "unknown")),
            ("Worst finding", lambda r: markdown(r["worst_finding"] or "–")),
            empty="No kernel with a time.",
        ),
        "## What cannot be judged, and what to collect",
        _table(
            ask["unknown"][:top],
            ("Rule", lambda r: code(r["rule"], cell=True)),
            ("Reports", lambda r: f"{r['reports']:,}"),
            ("Collect", lambda r: code(_first(r["collect"]), cell=True) if _first(r["collect"]) else "–"),
            empty="Every rule could be judged in every report.",
        ),
        "## Quality of the measurements",
        _table(
            ask["quality"][:top],
            ("Tool", lambda r: markdown(f"{r['tool']} {r['tool_version']}")),
            ("Clocks", lambda r: markdown(r["clocks"])),
            ("Driver recorded", lambda r: "yes" if r["driver_known"] else "no"),
            ("Reports", lambda r: f"{r['reports']:,}"),
            empty="No readable report.",
        ),
        _table(
            ask["problems"][:top],
            ("Problem", lambda r: code(r["code"], cell=True)),
            ("Severity", lambda r: markdown(r["severity"])),
            ("Reports", lambda r: f"{r['reports']:,}"),
            ("What to do", lambda r: markdown(r["advice"] or "–")),
            empty="No problem was met while reading.",
        ),
        _table(
            ask["blocked"][:top],
            ("Guard", lambda r: code(r["guard"], cell=True)),
            ("Blocked", lambda r: code(r["rule"], cell=True)),
            ("Reports", lambda r: f"{r['reports']:,}"),
            ("Why", lambda r: markdown(r["reason"])),
            empty="No guard forbade a conclusion.",
        ),
        "## Stored vendor results that today's rules contradict",
        _table(
            ask["vendor"][:top],
            ("Vendor's rule", lambda r: markdown(r["title"] or r["rule"])),
            ("Results", lambda r: f"{r['results']:,}"),
            ("Why we differ", lambda r: markdown(r["comment"] or "–")),
            empty="None.",
        ),
        "## Inputs without a result",
        _table(
            ask["failed"][:top],
            ("Input", lambda r: code(r["uri"], cell=True, limit=90)),
            ("What happened", lambda r: markdown(f"{r['message']} [{r['code']}]")),
            ("Next step", lambda r: markdown(r["next_step"] or "–")),
            empty="None.",
            more=len(ask["failed"]) - top,
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _overview(status: dict[str, int], total: dict[str, Any], devices: list[dict[str, Any]]) -> str:
    ok = status.get("ok", 0)
    counted = [
        numbers.plural(ok, "report") + " judged",
        numbers.plural(total["launches"] or 0, "launch", "launches"),
        numbers.plural(total["findings"] or 0, "finding"),
        f"{_time(total['ns'])} of measured time" if total["ns"] else "no time measured",
    ]
    lines = [f"{', '.join(counted)}."]
    if failed := status.get("failed", 0):
        lines.append(f"{numbers.plural(failed, 'input')} could not be read.")
    if aside := status.get("quarantined", 0):
        lines.append(f"{numbers.plural(aside, 'input')} set aside because reading broke the process.")
    if devices:
        named = ", ".join(f"{markdown(d['name'] or 'unknown')} ({d['reports']:,})" for d in devices[:6])
        lines.append(f"Devices: {named}.")
    return " ".join(lines)


def _table(rows: Sequence[dict[str, Any]], *columns: tuple[str, Cell], empty: str, more: int = 0) -> str:
    if not rows:
        return empty
    head = "| " + " | ".join(name for name, _ in columns) + " |"
    line = "|" + "---|" * len(columns)
    body = ["| " + " | ".join(cell(row) for _, cell in columns) + " |" for row in rows]
    tail = [f"\n{more:,} more: `profrx archive query ARCHIVE failed`."] if more > 0 else []
    return "\n".join([head, line, *body, *tail])


def _time(ns: float | None) -> str:
    if ns is None:
        return "unknown"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def _share(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.1%}"


def _first(collect: str | None) -> str:
    import json

    options = json.loads(collect) if collect else []
    return str(options[0]) if options else ""
