"""Numbers that were worked out by hand from nsys' own exports of public reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from profrx.timeline import timeline_metrics
from profrx_parsers.registry import open_report

NCAR = "nsys/NCAR__GPU_workshop__07_HandsOnMPASA_MW_baseline.nsys-rep"


@pytest.mark.corpus
def test_busy_of_both_windows_and_the_longest_gap(corpus: Path) -> None:
    """Busy 0.51 from the first to the last operation, 0.08 of the session; the longest gap takes 82 ms."""
    row = timeline_metrics(open_report(corpus / NCAR))["report"].to_pylist()[0]
    assert row["busy_share"] == pytest.approx(0.51, abs=0.005)
    assert row["busy_session_share"] == pytest.approx(0.08, abs=0.005)
    assert row["gap_longest_ns"] == pytest.approx(82e6, abs=1e6)


@pytest.mark.corpus
def test_waiting_is_most_of_the_call_time(corpus: Path) -> None:
    """cuCtxSynchronize is 61 % of the API time, although the vendor's rule, which knows runtime calls only, is silent."""
    calls = open_report(corpus / NCAR).table("api_calls").to_pylist()
    spent: dict[str, int] = {}
    for one in calls:
        spent[one["name"]] = spent.get(one["name"], 0) + one["end_ns"] - one["start_ns"]
    assert spent["cuCtxSynchronize"] / sum(spent.values()) == pytest.approx(0.61, abs=0.01)
