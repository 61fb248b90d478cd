"""docs/timeline-metrics.md and the metric catalogue of the pack say what the code says."""

from __future__ import annotations

import re
from pathlib import Path

from profrx.timeline.catalogue import KERNEL_METRICS, METRICS, RANGE_METRICS
from profrx.timeline.page import page

ROOT = Path(__file__).resolve().parents[2]


def test_page_is_up_to_date() -> None:
    written = (ROOT / "docs/timeline-metrics.md").read_text()
    assert written == page(), "write it again: python -m profrx.timeline.page > docs/timeline-metrics.md"


def test_every_metric_is_in_the_pack() -> None:
    text = (ROOT / "rules/profrx_rules/timeline/metrics.rule").read_text()
    declared = set(re.findall(r"^metric ([\w.]+) \{", text, re.MULTILINE))
    expected = {f"timeline.{m.name}" for m in METRICS}
    expected |= {f"timeline.kernel.{m.name}" for m in KERNEL_METRICS} | {
        f"timeline.range.{m.name}" for m in RANGE_METRICS
    }
    assert declared == expected
