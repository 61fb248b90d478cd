"""`sysinfo.csv` of a workload folder: the GPU and the facts about the capture that may be shown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from profrx_parsers.rocm.agents import Agent, from_sysinfo
from profrx_parsers.rocm.csvread import Csv

if TYPE_CHECKING:
    from profrx_parsers.problems import ProblemLog

PRIVATE = ("command", "hostname", "host_name", "workload_name", "cpu_model", "host_cpu", "sbios")
_DATES = ("%a %b %d %H:%M:%S %Y", "%a %d %b %Y %I:%M:%S %p")


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
        "options": {k: row[k] for k in ("ip_blocks", "compute_partition", "memory_partition") if row.get(k)},
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
    if not text or "(" not in text:
        return None
    stamp, _, zone = text.partition("(")
    if zone.strip(") ") != "UTC":
        return None
    words = " ".join(stamp.split())
    for form in _DATES:
        try:
            return datetime.strptime(words, form).replace(tzinfo=UTC).isoformat()
        except ValueError:
            continue
    return None
