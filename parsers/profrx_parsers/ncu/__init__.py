"""Readers of Nsight Compute inputs: binary reports, CSV exports, console logs; and of nvprof's CSV."""

from __future__ import annotations

from profrx_parsers.descriptor import Descriptor, Head, Match

MAGIC = b"NVR\x00"


def _sniff_rep(head: Head) -> Match | None:
    if not head.data.startswith(MAGIC):
        return None
    packing = f" inside {head.packed}" if head.packed else ""
    return Match(f'starts with the magic "NVR"{packing}')


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
)
