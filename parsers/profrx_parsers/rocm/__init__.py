"""Readers of AMD ROCm inputs: rocprof v1 and v2, rocprofv3, rocpd, rocprof-compute."""

from __future__ import annotations

from profrx_parsers.descriptor import Descriptor
from profrx_parsers.rocm import sniff

_PACKAGE = "profrx_parsers.rocm"

DESCRIPTORS: tuple[Descriptor, ...] = (
    Descriptor(
        "rocprof-compute",
        "rocm",
        "rocprof-compute (omniperf) workload folder",
        (),
        300,
        sniff.workload,
        f"{_PACKAGE}.workload:read",
        folder=True,
    ),
    Descriptor(
        "rocprof-folder",
        "rocm",
        "folder of rocprof output files",
        (),
        310,
        sniff.outputs,
        f"{_PACKAGE}.outputs:read",
        folder=True,
    ),
    Descriptor(
        "rocm-csv",
        "rocm",
        "CSV of rocprof, rocprofv2, rocprofv3 or rocprof-compute",
        (".csv",),
        320,
        sniff.csv_file,
        f"{_PACKAGE}.csvfile:read",
    ),
)
