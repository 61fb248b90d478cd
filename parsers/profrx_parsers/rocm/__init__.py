"""Readers of AMD ROCm inputs: rocprof v1 and v2, rocprofv3, rocpd, rocprof-compute."""

from __future__ import annotations

from profrx_parsers.descriptor import Descriptor
from profrx_parsers.rocm import inputs, sniff

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
    Descriptor(
        "rocpd", "rocm", "rocpd database of rocprofv3", (".db",), 330, sniff.rocpd, f"{_PACKAGE}.rocpd:read"
    ),
    Descriptor(
        "rocprof-v1-db",
        "rocm",
        "rocprof v1 database",
        (".db",),
        340,
        sniff.v1_database,
        f"{_PACKAGE}.v1db:read",
    ),
    Descriptor(
        "rpd", "rocm", "rocmProfileData database", (".rpd", ".rpd.gz"), 350, sniff.rpd, f"{_PACKAGE}.rpd:read"
    ),
    Descriptor(
        "rocprofv3-json", "rocm", "rocprofv3 JSON", (".json",), 360, sniff.v3_json, f"{_PACKAGE}.v3json:read"
    ),
    Descriptor(
        "rocprof-v1-json",
        "rocm",
        "rocprof v1 chrome trace",
        (".json",),
        370,
        sniff.v1_json,
        f"{_PACKAGE}.v1json:read",
    ),
    Descriptor(
        "rocprof-input",
        "rocm",
        "rocprof counter request (not a report)",
        (".txt",),
        380,
        inputs.sniff_request,
        f"{_PACKAGE}.inputs:read_request",
    ),
    Descriptor(
        "rocm-pftrace",
        "rocm",
        "perfetto trace of ROCm tools (refused)",
        (".pftrace",),
        390,
        inputs.sniff_pftrace,
        f"{_PACKAGE}.inputs:read_pftrace",
    ),
)
