"""rocprof v1 `results.json`: a chrome trace whose every value is text and whose `ts` is cut to microseconds.

Exact times stand in `args.BeginNs` / `args.EndNs`. Process ids are synthetic; what a track is says its
``process_name`` record, whose `pid` is a number where the events have text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from profrx_parsers.problems import ProblemLog
from profrx_parsers.rocm import build, rocminfo, rows
from profrx_parsers.rocm.dispatches import concat
from profrx_parsers.rocm.headers import fact_of, plain
from profrx_parsers.rocm.jsonfile import records
from profrx_parsers.rocm.tables import numbered

if TYPE_CHECKING:
    from profrx_parsers.report import Report, Wanted
    from profrx_parsers.source import Source


def read(source: Source, wanted: Wanted) -> Report:
    """Read the trace. Raises `InputError` when no event can be decoded."""
    log = ProblemLog()
    events, rest = records(source, b"traceEvents", log)
    info = build.info(source, "rocprof-v1-json", tool="rocprof")
    parts = build.Parts(info, log, wanted)
    other = rest.get("otherData")
    if isinstance(other, dict):
        parts.agents = rocminfo.from_other_data(other)
    add(parts, events, kernels=True)
    return build.build(parts)


def add(parts: build.Parts, events: list[Any], *, kernels: bool) -> None:
    """Add dispatches (when `kernels`), calls and copies to a report in the making."""
    tracks = {
        _key(e.get("pid")): str(e["args"].get("name", ""))
        for e in events
        if isinstance(e, dict) and e.get("name") == "process_name" and isinstance(e.get("args"), dict)
    }
    links = _links(events)
    groups: dict[str, list[dict[str, Any]]] = {"kernels": [], "hip": [], "hsa": [], "copies": []}
    lost = 0
    for event in events:
        if not isinstance(event, dict) or event.get("ph") != "X":
            continue
        args = event.get("args")
        if not isinstance(args, dict) or "BeginNs" not in args:
            lost += 1
            continue
        kind = _kind(tracks.get(_key(event.get("pid")), ""), args)
        if kind:
            groups[kind].append({**args, "correlation": _linked(event, links)})
    if lost:
        parts.log.add(
            "warning", "rocm-event-without-time", "events without exact times were left out", count=lost
        )
    if kernels and groups["kernels"]:
        parts.dispatches.append(_dispatches(parts, groups["kernels"]))
    calls = [(groups[d], d) for d in ("hip", "hsa") if groups[d]]
    if calls:
        parts.loaders["api_calls"] = lambda: numbered(
            [rows.api_calls(_columns(g), d) for g, d in calls], "api_calls", "call_id"
        )
    if groups["copies"]:
        keys = build.device_rows(concat(parts.dispatches))[0] if parts.dispatches else []
        got = _columns(groups["copies"])
        device = [keys.index(n) if (n := _int(d)) in keys else None for d in got["dev-id"]]
        parts.loaders["copies"] = lambda: numbered([rows.copies(got, device)], "copies", "copy_id")


def _links(events: list[Any]) -> dict[tuple[str, str, int], int]:
    """Number the flows: both ends of an arrow (host call, device work) get the same id.

    An arrow ends at the start of the device work and begins in the middle of its host call, in microseconds.
    """
    return {
        place: e["id"]
        for e in events
        if isinstance(e, dict) and e.get("ph") in ("s", "t") and isinstance(e.get("id"), int)
        if (place := _place(e, _int(e.get("ts"))))
    }


def _linked(event: dict[str, Any], links: dict[tuple[str, str, int], int]) -> int | None:
    begin, end = _int(event["args"].get("BeginNs")), _int(event["args"].get("EndNs"))
    if begin is None or end is None:
        return None
    middle = (begin + end) // 2000
    for time in (begin // 1000, middle, middle - 1, middle + 1):
        place = _place(event, time)
        if place and place in links:
            return links[place]
    return None


def _place(event: dict[str, Any], time: int | None) -> tuple[str, str, int] | None:
    return None if time is None else (str(event.get("pid")), str(event.get("tid")), time)


def _key(pid: Any) -> str:
    return str(pid)


def _int(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _kind(track: str, args: dict[str, Any]) -> str | None:
    if "HIP API" in track:
        return "hip"
    if "HSA API" in track:
        return "hsa"
    if track == "COPY":
        return "copies"
    if track.startswith("GPU Barriers"):
        return None
    if track.startswith("GPU") or "KernelName" in args:
        return "kernels"
    return "copies" if str(args.get("Name", "")).startswith("Copy") else None


def _dispatches(parts: build.Parts, found: list[dict[str, Any]]) -> Any:
    names = {
        "Name": "KernelName",
        "dev-id": "gpu-id",
        "stream-id": "Stream_Id",
        "correlation": "Correlation_Id",
    }
    skip = {"Data", "DurationNs", "args", "roctx-range"}
    columns: dict[str, list[Any]] = {}
    for source in dict.fromkeys(k for args in found for k in args):
        name = names.get(source, source)
        if source in skip or name in columns:
            continue
        values = [args.get(source) for args in found]
        wanted = parts.wanted.metrics
        if fact_of(name) is None:
            if (wanted is not None and name not in wanted) or plain(name).endswith("ns"):
                continue
            values = [_float(v) for v in values]
        columns[name] = values
    return rows.dispatches(columns, "traceEvents", parts.log)


def _float(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _columns(found: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {
        name: [args.get(name) for args in found]
        for name in ("Name", "BeginNs", "EndNs", "pid", "tid", "dev-id", "stream-id", "Data", "correlation")
    }
