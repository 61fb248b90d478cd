"""Readers of Nsight Systems inputs: the binary report, its exports, `nsys stats` CSV."""

from __future__ import annotations

from profrx_parsers.descriptor import Descriptor, Head, Match

_BANNER = b"NVIDIA Tegra Profiler Report"


def _sniff_rep(head: Head) -> Match | None:
    return Match(f'starts with "{_BANNER.decode()}"') if head.data.startswith(_BANNER) else None


_SQLITE = b"SQLite format 3\x00"
_EXPORT_TABLES = (b"StringIds", b"CUPTI_ACTIVITY_KIND", b"TARGET_INFO", b"META_DATA_EXPORT", b"NVTX_EVENTS")


def _sniff_sqlite(head: Head) -> Match | None:
    if not head.data.startswith(_SQLITE):
        return None
    for table in _EXPORT_TABLES:
        if table in head.data:
            return Match(f"an SQLite database with the table name {table.decode()} on its first page")
    return Match("an SQLite database", certain=False)


DESCRIPTORS: tuple[Descriptor, ...] = (
    Descriptor(
        name="nsys-rep",
        tool="nsys",
        title="Nsight Systems report (.nsys-rep, .qdrep)",
        suffixes=(".nsys-rep", ".qdrep"),
        priority=200,
        sniff=_sniff_rep,
        reader="profrx_parsers.nsys.rep:read",
    ),
    Descriptor(
        name="nsys-sqlite",
        tool="nsys",
        title="Nsight Systems SQLite export (.sqlite)",
        suffixes=(".sqlite",),
        priority=210,
        sniff=_sniff_sqlite,
        reader="profrx_parsers.nsys.sqlite:read",
    ),
)
