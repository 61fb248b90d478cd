"""Is the GPU busy at all? Metrics of a timeline, for every tool that records one.

`timeline_metrics(report)` gives one wide table per scope; `busy_summary(report)` the answer for a page's first
question, and `kernels_worth_profiling(report)` which kernels deserve a closer look, with the command.
"""

from __future__ import annotations

from profrx.timeline.metrics import SCOPES, timeline_metrics
from profrx.timeline.summary import busy_summary, kernels_worth_profiling

__all__ = ["SCOPES", "busy_summary", "kernels_worth_profiling", "timeline_metrics"]
