"""Recognises console logs of ncu that hold no metrics and answers them: what went wrong and what to do about it.

A log with a table in it is handed to the CSV reader. Nothing here guesses counters that the driver did not give.
Source: messages of the tool in public logs, and NVIDIA's public page on ERR_NVGPUCTRPERM.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from profrx_parsers.ncu import _export, _text_table, csv_export
from profrx_parsers.problems import ProblemLog, Severity

if TYPE_CHECKING:
    from profrx_parsers.report import Report, Wanted
    from profrx_parsers.source import Source

_TIMELINE = "a timeline needs no counters: nsys profile still shows kernels, copies and gaps"


@dataclass(frozen=True)
class Known:
    """A message of the tool that is understood.

    Attributes:
        pattern: what the log says.
        severity, code, message, advice: the row that answers it.
    """

    pattern: re.Pattern[str]
    severity: Severity
    code: str
    message: str
    advice: str


KNOWN = (
    Known(
        re.compile(r"ERR_NVGPUCTRPERM|permission to access NVIDIA GPU Performance Counters", re.IGNORECASE),
        "error", "ncu-no-counter-permission", "the driver refused access to the GPU performance counters",
        "run as administrator, or give CAP_SYS_ADMIN (containers too: --cap-add=SYS_ADMIN), or let an administrator "
        "write 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' to a file in /etc/modprobe.d and reload the "
        "driver or reboot; without that no counter is readable, but " + _TIMELINE,
    ),
    Known(
        re.compile(r"No kernels were profiled", re.IGNORECASE),
        "error", "ncu-no-kernels-profiled", "no kernel was profiled",
        "check --kernel-name, --launch-skip, --nvtx-include and --target-processes all, and that the application "
        "launches kernels; try once without any filter",
    ),
    Known(
        re.compile(r"(?:Received|received) signal|was killed|Killed\b|terminated by signal|The application (?:was )?(?:terminated|crashed)"),
        "error", "ncu-target-killed", "the application was killed while it was profiled",
        "replay multiplies memory and time: profile one launch (--launch-skip N --launch-count 1), use --set basic, "
        "or --replay-mode application; look for out-of-memory messages of the system",
    ),
    Known(
        re.compile(r"LibraryNotFound|Cuda driver is not compatible|ERR_NVCMPGPU|Profiling is not supported on (?:this )?device", re.IGNORECASE),
        "error", "ncu-unsupported-device", "the tool does not support this driver or device",
        "use a version of Nsight Compute that supports the device and driver; " + _TIMELINE,
    ),
    Known(
        re.compile(r"Another (?:instance|profiler)|ERR_NVGPU(?:CTR)?BUSY|already in use by another|ResourceUnavailable|DriverResourceUnavailable", re.IGNORECASE),
        "error", "ncu-counters-in-use", "another profiler holds the performance counters",
        "stop other profilers and monitoring agents (DCGM) on the machine and profile again",
    ),
    Known(
        re.compile(r"An error (?:was reported by|occurred in) the driver|Failed to (?:profile|prepare)|==ERROR== .*(?:InternalError|Unknown ?Error)", re.IGNORECASE),
        "error", "ncu-driver-error", "the driver reported an error while a kernel was profiled",
        "run the application without the profiler first, then with compute-sanitizer; update the driver",
    ),
    Known(
        re.compile(r"==ERROR== The application returned an error code"),
        "warning", "ncu-application-failed", "the application ended with an error code",
        "results behind the failure are missing; make the application run cleanly without the profiler",
    ),
    Known(
        re.compile(r"unmodified GPU clocks"),
        "warning", "ncu-clocks-not-locked", "clocks were not locked: times vary between runs",
        "lock them (--clock-control base, or nvidia-smi -lgc) before comparing times",
    ),
    Known(
        re.compile(r"Backing up device memory in system memory|Kernel replay might be slow", re.IGNORECASE),
        "info", "ncu-slow-replay", "device memory was saved to the host between passes",
        "use --replay-mode application when the run repeats exactly",
    ),
)  # fmt: skip
_PROFILED = re.compile(r'^==PROF== Profiling "(.*?)"')
_REPORT = re.compile(r"^==PROF== Report: (.*)$")


def read(source: Source, wanted: Wanted) -> Report:
    """Read a log: an empty report with one problem per understood message. Never raises for its content."""
    text = _text_table.text_of(source)
    tables, _ = _text_table.sections(text, csv_export.is_header, ProblemLog())
    if any(table.rows for table in tables):
        return csv_export.read(source, wanted)
    problems = ProblemLog()
    kernels: list[str] = []
    written = False
    for at, line in enumerate(text.splitlines(), 1):
        started = _PROFILED.match(line)
        if started:
            kernels.append(started[1])
        written = written or bool(_REPORT.match(line))
        for known in KNOWN:
            if known.pattern.search(line[:2000]):
                problems.add(
                    known.severity, known.code, known.message, where=f"line {at}", advice=known.advice
                )
    if written:
        problems.add(
            "info", "ncu-log-names-report", "the log says that a report was written",
            advice="give that .ncu-rep file: a console log holds no metrics",
        )  # fmt: skip
    if not any(problem.severity == "error" for problem in problems):
        problems.add(
            "warning", "ncu-log-without-metrics", "this is a console log of ncu without any table of metrics",
            advice="give the .ncu-rep file, or run ncu with --csv --page raw",
        )  # fmt: skip
    options: dict[str, Any] = {"kernels_attempted": len(kernels)} if kernels else {}
    return _export.report(
        source, wanted, _export.Collected(), problems, form="ncu-log", options=options, tables={}, private={}
    )
