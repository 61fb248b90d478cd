"""Summary-only inputs: what sums over kernels can say, and what they cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from profrx.diagnose import diagnose
from profrx.language.pack import load_pack
from profrx.timeline import timeline_metrics
from profrx.timeline.classes import DEFAULT
from profrx.timeline.summarised import kernel_rows
from profrx_parsers import open_report, schema


def row(kernel: str, statistic: str, value: float, count: int | None, unit: str = "ns") -> dict[str, object]:
    return {
        "kernel": kernel,
        "metric": "kernel.duration",
        "statistic": statistic,
        "value": value,
        "count": count,
        "unit": unit,
    }


def test_sums_and_means_complete_each_other() -> None:
    table = schema.from_rows(
        "summaries",
        [
            row("a", "sum", 300.0, 3),
            row("b", "mean", 50.0, 2),
            row("b", "stddev", 5.0, 2),
            row("b", "share", 25.0, 2, "%"),
            {
                "metric": "api.duration",
                "statistic": "sum",
                "value": 9e9,
                "count": 1,
                "unit": "ns",
                "text": "hipMemcpy",
            },
        ],
    )
    rows = {r["subject"]: r for r in kernel_rows(table, DEFAULT)}
    assert list(rows) == ["a", "b"], "longest first; calls are no kernels"
    assert (rows["a"]["mean_ns"], rows["b"]["kernel_time_ns"]) == (100.0, 100.0)
    assert (rows["a"]["kernel_time_share"], rows["b"]["kernel_time_share"]) == (0.75, 0.25)
    assert (rows["a"]["variation_ratio"], rows["b"]["variation_ratio"]) == (None, 0.1)


def test_what_only_a_trace_knows_stays_unknown(fixtures: Path) -> None:
    tables = timeline_metrics(open_report(fixtures / "rocm" / "v1" / "results.stats.csv"))
    whole = tables["report"].to_pylist()[0]
    assert (whole["kernel_count"], whole["kernel_mean_ns"]) == (3, pytest.approx(112_000 / 3))
    assert whole["kernel_top_share"] == pytest.approx(102 / 112)
    assert whole["busy_share"] is None
    assert whole["window_ns"] is None
    assert tables["kernel"].column("first_ratio").null_count == 2


def test_a_hot_kernel_is_named_from_sums_alone(fixtures: Path) -> None:
    report = diagnose(
        [fixtures / "rocm" / "v1" / "results.stats.csv"], pack=load_pack(plugins=False)
    ).reports[0]
    assert [f.rule for f in report.findings] == ["rocm-hot-kernel"]


def test_sums_of_the_largest_public_summary(corpus: Path) -> None:
    """Its own percentages are shares of its own total: the first kernel has 84 %."""
    tables = timeline_metrics(open_report(corpus / "rocm" / "v1_gunrock" / "results.stats.csv"))
    shares = tables["kernel"].column("kernel_time_share").to_pylist()
    assert shares[0] == pytest.approx(0.8425, abs=5e-5)
    assert sum(shares) == pytest.approx(1)
