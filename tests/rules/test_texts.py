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
