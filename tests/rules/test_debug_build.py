"""Debug builds: what real reports execute, counted by opcode, told apart without a gap in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from profrx.diagnose import diagnose
from profrx_parsers.registry import open_report

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

pytestmark = pytest.mark.corpus


def _generic_only(table: pa.Table) -> bool:
    """Whether a report's loads and stores are generic throughout, and registers copies half of all it executes."""
    counts: dict[str, float] = {}
    for metric, key, value in zip(*(table[c].to_pylist() for c in ("metric", "key", "value")), strict=True):
        if metric == "sass__inst_executed_per_opcode":
            counts[key] = counts.get(key, 0.0) + value
    spaces = sum(counts.get(k, 0) for k in ("LDG", "STG", "LDS", "STS", "LDL", "STL"))
    return bool(counts) and spaces == 0 and counts.get("MOV", 0) > sum(counts.values()) * 0.4


def test_every_debug_build_is_named_and_no_other(corpus: Path) -> None:
    paths = sorted((corpus / "ncu").glob("*.ncu-rep"))
    expected = {path.stem for path in paths if _generic_only(open_report(path).table("instances"))}
    reports = zip(paths, diagnose(paths).reports, strict=True)
    named = {path.stem for path, report in reports if any(f.rule == "debug-build" for f in report.findings)}
    assert len(expected) >= 3
    assert named == expected
