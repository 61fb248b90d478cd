"""Sentences of the shipped rules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

RULES = Path(__file__).resolve().parents[2] / "rules" / "profrx_rules"
TWICE = re.compile(r"\{([a-z_.0-9]+)(:[^{}]*)?\} \{\1:plural ")
"""``{n:plural block blocks}`` writes the number, too: before it stands no second one."""


@pytest.mark.parametrize("file", sorted(RULES.rglob("*.rule")), ids=lambda file: file.stem)
def test_counts_are_written_once(file: Path) -> None:
    assert not TWICE.search(file.read_text(encoding="utf-8"))


def test_one_is_not_many() -> None:
    from profrx.language.pack import load_pack
    from profrx.language.template import render

    because = load_pack().rules["small-grid"].because
    values = {"launch.grid": 1.0, "device.sms": 132.0, "idle": 0.99}
    assert render(because, lambda name: (values.get(name), "")).startswith("1 block for")


BARE = re.compile(r"\{[a-z_.0-9]+:[^{}]*\} blocks? \(")


@pytest.mark.parametrize("limiter", ["barriers", "registers", "shared-memory"])
def test_one_block_that_fits_is_no_plural(limiter: str) -> None:
    text = (RULES / "occupancy" / f"occupancy-limited-by-{limiter}.rule").read_text(encoding="utf-8")
    assert "{fits:plural block blocks}" in text
    assert not BARE.search(text)


def test_a_short_window_is_not_shown_as_zero() -> None:
    from profrx.language.pack import load_pack
    from profrx.language.template import render

    because = load_pack().rules["rocm-gpu-idle"].because
    values = {"timeline.busy_share": (0.04, ""), "timeline.window_ns": (1_300_909.0, "ns")}
    assert "window of 1.3 ms," in render(because, values.__getitem__)


def test_a_leaning_verdict_leaves_the_order_to_the_second_table() -> None:
    """From 60 % on, "latency-first" sends to the busy unit: the first table must not send elsewhere."""
    text = (RULES / "flowchart" / "speed-of-light.rule").read_text(encoding="utf-8")
    leaning = re.findall(r'leaning-\w+ "[^\n]*\n\s+"""(.+?)"""', text)
    assert len(leaning) == 2
    assert not any("before" in sentence for sentence in leaning)


def test_a_full_interface_is_not_told_to_take_more(fixtures: Path) -> None:
    """A plain stream at over 90 % of the DRAM peak can only move fewer bytes."""
    from profrx.diagnose import diagnose

    [report] = diagnose([fixtures / "ncu" / "dram-stream" / "report.ncu-repz"]).reports
    [finding] = [f for f in report.findings if f.rule == "dram-bandwidth-limit"]
    assert len(finding.fix) >= 2
    assert not any("in flight" in fix or "n/a" in fix for fix in finding.fix)


def test_one_more_block_has_a_number_and_a_kernel_of_ones_own_no_library(fixtures: Path) -> None:
    """65,536 registers in parts of 16,384 for four schedulers, blocks of 128 threads: one more block needs fewer."""
    from profrx.diagnose import diagnose

    [report] = diagnose([fixtures / "ncu" / "occupancy-registers" / "report.ncu-repz"]).reports
    [finding] = [f for f in report.findings if f.rule == "occupancy-limited-by-registers"]
    assert re.match(
        r"Save \d+ registers per thread: with \d+ instead of \d+, \d blocks fit instead of \d", finding.fix[0]
    )
    assert not any("comes with" in fix or "n/a" in fix for fix in finding.fix)
