"""`sysinfo.csv` of a workload folder: the GPU and the facts about the capture that may be shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from profrx_parsers.rocm.agents import Agent, from_sysinfo
from profrx_parsers.rocm.csvread import Csv

if TYPE_CHECKING:
    from profrx_parsers.problems import ProblemLog

PRIVATE = ("command", "hostname", "host_name", "workload_name", "cpu_model", "host_cpu", "sbios")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DATE = re.compile(
    r"[A-Z][a-z]{2} (?:(?P<first>\d{1,2}) )?(?P<month>[A-Z][a-z]{2}) (?:(?P<day>\d{1,2}) )?(?:(?P<year>\d{4}) )?"
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2}):(?P<second>\d{2})(?: (?P<half>AM|PM))?(?: (?P<late>\d{4}))? "
    r"\((?P<zone>[A-Z]+)\)"
)
"""``Tue Dec 2 10:04:36 2025 (UTC)`` and ``Thu 21 Mar 2024 04:16:46 PM (CDT)``, as the tool's releases write it."""


def read(files: Sequence[Csv], log: ProblemLog, *, private: bool) -> tuple[Agent, dict[str, Any]]:
    """Return the agent and keyword facts for `ReportInfo`; an empty agent when there is no usable file."""
    row: dict[str, str] = {}
    for file in files[:1]:
        rows = _rows(file, log)
        row = rows[0] if rows else {}
    if not row:
        log.add(
            "info",
            "rocm-no-sysinfo",
            "there is no sysinfo.csv: architecture, clocks and unit counts are unknown",
            advice="keep sysinfo.csv beside the counters",
        )
        return Agent(), {}
    facts: dict[str, Any] = {
        "runtime_version": _known(row, "rocm_version", "host_rocmver"),
        "captured_at": parse_date(_known(row, "timestamp", "date")),
        "driver": _known(row, "amd_gpu_kernel_version"),
        "platform": _known(row, "linux_distro", "host_distro"),
        "options": {
            k: v for k in ("ip_blocks", "compute_partition", "memory_partition") if (v := _known(row, k))
        },
    }
    if private:
        facts["private"] = {k: row[k] for k in PRIVATE if row.get(k)}
    return from_sysinfo(row), facts


def _rows(file: Csv, log: ProblemLog) -> list[dict[str, str]]:
    import pyarrow as pa

    from profrx_parsers.rocm.csvread import read_csv

    table = read_csv(file, log, lambda name: pa.string()).slice(0, 16)
    return [{k: v or "" for k, v in row.items()} for row in table.to_pylist()]


def _known(row: dict[str, str], *names: str) -> str | None:
    return next((row[n] for n in names if row.get(n, "") not in ("", "NA", "N/A")), None)


def parse_date(text: str | None) -> str | None:
    """Turn ``Tue Dec  2 10:04:36 2025 (UTC)`` into ISO 8601; None when the zone is not UTC or it is no date."""
    found = _DATE.fullmatch(" ".join((text or "").split()))
    if not found or found["zone"] != "UTC" or found["month"] not in _MONTHS:
        return None
    hour = int(found["hour"])
    if half := found["half"]:
        hour = hour % 12 + (12 if half == "PM" else 0)
    try:
        moment = datetime(
            int(found["year"] or found["late"] or 0),
            _MONTHS.index(found["month"]) + 1,
            int(found["day"] or found["first"] or 0),
            hour,
            int(found["minute"]),
            int(found["second"]),
            tzinfo=UTC,
        )
    except ValueError:
        return None
    return moment.isoformat()
