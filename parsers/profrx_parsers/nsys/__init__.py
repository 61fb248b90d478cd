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


def _sniff_folder(head: Head) -> Match | None:
    for suffix in (".parquet", ".arrow"):
        if f"StringIds{suffix}" in head.members:
            return Match(f"a folder with StringIds{suffix}")
    return None


def _sniff_arrow(head: Head) -> Match | None:
    if head.data.startswith(b"\xff\xff\xff\xff") and b"table_name" in head.data:
        return Match("an Arrow stream that names an exported table")
    return None


def _sniff_csv(head: Head) -> Match | None:
    if b"\0" in head.data or (b"(ns)" not in head.data and b"(%)" not in head.data):
        return None
    from profrx_parsers.nsys.headers import looks_like_header

    for line in head.data.decode("utf-8", "replace").splitlines()[:60]:
        if looks_like_header(line):
            return Match(f'the header "{line[:60]}"')
    return None


def _sniff_qdstrm(head: Head) -> Match | None:
    return Match("named .qdstrm", certain=False) if head.name.lower().endswith(".qdstrm") else None


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
    Descriptor(
        name="nsys-folder",
        tool="nsys",
        title="Nsight Systems parquetdir or arrowdir export",
        suffixes=(),
        priority=220,
        sniff=_sniff_folder,
        reader="profrx_parsers.nsys.arrow_export:read_folder",
        folder=True,
    ),
    Descriptor(
        name="nsys-arrow",
        tool="nsys",
        title="Nsight Systems Arrow export (.arrow)",
        suffixes=(".arrow",),
        priority=230,
        sniff=_sniff_arrow,
        reader="profrx_parsers.nsys.arrow_export:read_stream",
    ),
    Descriptor(
        name="nsys-stats-csv",
        tool="nsys",
        title="CSV of nsys stats",
        suffixes=(".csv",),
        priority=240,
        sniff=_sniff_csv,
        reader="profrx_parsers.nsys.stats_csv:read",
    ),
    Descriptor(
        name="nsys-qdstrm",
        tool="nsys",
        title="Nsight Systems raw stream (.qdstrm; must be imported first)",
        suffixes=(".qdstrm",),
        priority=250,
        sniff=_sniff_qdstrm,
        reader="profrx_parsers.nsys.qdstrm:read",
    ),
)
