"""Readers of Nsight Compute inputs: binary reports, CSV exports, console logs; and of nvprof's CSV."""

from __future__ import annotations

import re

from profrx_parsers.descriptor import Descriptor, Head, Match

MAGIC = b"NVR\x00"
_EXPORT_HEADER = re.compile(
    r'^\ufeff?"?(?:ID"?[,;]"?Process ID|Process ID"?[,;]"?Process Name|Kernel Name"?[,;][^\n]*\n\s*"?(?:#"?[,;]"?)?Address"?[,;])',
    re.MULTILINE,
)
_NVPROF_HEADER = re.compile(r'^"?Device"?,"?Kernel"?,"?Invocations"?,"?(?:Metric|Event) Name', re.MULTILINE)
_NVPROF_LINE = re.compile(r"^==\d+== (?:NVPROF|Profiling (?:result|application))", re.MULTILINE)
_LOG_LINE = re.compile(r"^==(?:PROF|ERROR|WARNING)== ", re.MULTILINE)
_LOG_WORDS = ("ERR_NVGPUCTRPERM", "No kernels were profiled")


def _text(head: Head) -> str:
    if head.data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return head.data.decode("utf-16", "replace")
    return head.data.decode("utf-8", "replace") if b"\0" not in head.data else ""


def _sniff_rep(head: Head) -> Match | None:
    if not head.data.startswith(MAGIC):
        return None
    packing = f" inside {head.packed}" if head.packed else ""
    return Match(f'starts with the magic "NVR"{packing}')


def _sniff_csv(head: Head) -> Match | None:
    if _EXPORT_HEADER.search(_text(head)):
        return Match("has the header row of an Nsight Compute CSV export")
    return None


def _sniff_nvprof(head: Head) -> Match | None:
    text = _text(head)
    if _NVPROF_HEADER.search(text):
        return Match("has the header row of an nvprof CSV export")
    if _NVPROF_LINE.search(text):
        return Match("has lines of nvprof (==PID==)", certain=False)
    return None


def _sniff_log(head: Head) -> Match | None:
    text = _text(head)
    if _EXPORT_HEADER.search(text):
        return None
    if _LOG_LINE.search(text):
        return Match("has lines of the ncu console (==PROF==, ==ERROR==)")
    if any(word in text for word in _LOG_WORDS):
        return Match("holds a message of the ncu console", certain=False)
    return None


DESCRIPTORS: tuple[Descriptor, ...] = (
    Descriptor(
        name="ncu-rep",
        tool="ncu",
        title="Nsight Compute report (.ncu-rep, .ncu-repz)",
        suffixes=(".ncu-rep", ".ncu-repz", ".nsight-cuprof-report"),
        priority=100,
        sniff=_sniff_rep,
        reader="profrx_parsers.ncu.rep:read",
    ),
    Descriptor(
        name="ncu-csv",
        tool="ncu",
        title="Nsight Compute CSV export",
        suffixes=(".csv", ".txt", ".log"),
        priority=110,
        sniff=_sniff_csv,
        reader="profrx_parsers.ncu.csv_export:read",
    ),
    Descriptor(
        name="nvprof-csv",
        tool="ncu",
        title="nvprof CSV export",
        suffixes=(".csv", ".txt", ".log"),
        priority=111,
        sniff=_sniff_nvprof,
        reader="profrx_parsers.ncu.nvprof_csv:read",
    ),
    Descriptor(
        name="ncu-log",
        tool="ncu",
        title="Nsight Compute console log",
        suffixes=(".log", ".out", ".txt"),
        priority=112,
        sniff=_sniff_log,
        reader="profrx_parsers.ncu.log:read",
    ),
)
