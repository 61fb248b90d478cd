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
