"""A folder of output files of one rocprof run: rocprofv3 CSV families, JSON and databases, rocprof v1 results.

One run often lies there in several forms. Dispatches come from the CSV files when there are any, else from rocpd,
else from rocprofv3's JSON, else from v1's database or chrome trace; v1 keeps API calls and copies only in the last two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from profrx_parsers.descriptor import Head
from profrx_parsers.errors import InputError
from profrx_parsers.problems import ProblemLog
from profrx_parsers.rocm import build, members, rocminfo, rocpd, sniff, v1db, v1json, v3json
from profrx_parsers.rocm.capture import add_tables, generation
from profrx_parsers.rocm.jsonfile import records
from profrx_parsers.rocm.sqlitefile import Database
from profrx_parsers.source import Source, open_source

if TYPE_CHECKING:
    from profrx_parsers.report import Report, Wanted

_SNIFFS = {"rocpd": sniff.rocpd, "v3": sniff.v3_json, "v1-db": sniff.v1_database, "v1-json": sniff.v1_json}


def read(source: Source, wanted: Wanted) -> Report:
    """Read all files of the folder as one report."""
    from profrx_parsers.source import _members

    log = ProblemLog()
    names = _members(source.path)
    found = members.tables(source, names, log)
    tool = generation(found[0].file.header) if found else None
    parts = build.Parts(build.info(source, "rocprof-folder", tool=tool), log, wanted)
    kinds = _classify(source, names, log)
    listing = [n for n in names if n.endswith("sysinfo.txt")][:1]
    if listing and not any(t.kind in ("agents", "sysinfo") for t in found):
        parts.agents.extend(
            rocminfo.from_text(members.head_text(source.path / listing[0], rocminfo.MAX_BYTES))
        )
    add_tables(parts, found)
    _add_others(parts, kinds)
    return build.build(parts)


def _classify(folder: Source, names: tuple[str, ...], log: ProblemLog) -> dict[str, list[Source]]:
    kinds: dict[str, list[Source]] = {kind: [] for kind in _SNIFFS}
    for name in names:
        if not name.lower().endswith((".db", ".json", ".json.gz")):
            continue
        member = members.source_of(folder, name, log)
        if member is None:
            continue
        head: Head = open_source(member.path)[1]
        for kind, matches in _SNIFFS.items():
            if matches(head):
                kinds[kind].append(member)
                break
    return kinds


def _add_others(parts: build.Parts, kinds: dict[str, list[Source]]) -> None:
    try:
        if kinds["rocpd"] and not parts.dispatches:
            parts.info.tool = "rocprofv3"
            rocpd.add(parts, [Database(s, parts.log) for s in kinds["rocpd"]])
        elif kinds["v3"] and not parts.dispatches:
            parts.info.tool = "rocprofv3"
            v3json.add(parts, kinds["v3"])
        elif kinds["v1-db"]:
            v1db.add(parts, Database(kinds["v1-db"][0], parts.log), kernels=not parts.dispatches)
        elif kinds["v1-json"]:
            events, _ = records(kinds["v1-json"][0], b"traceEvents", parts.log)
            v1json.add(parts, events, kernels=not parts.dispatches)
    except InputError as err:
        parts.log.add(
            "data-loss", "rocm-unreadable-member", f"{err.message}: it was left out", where=err.where
        )
