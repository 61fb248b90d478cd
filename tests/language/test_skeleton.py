"""Skeletons pass the check and the tests that stand in them, whatever they are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from profrx.evaluate.testing import run_tests
from profrx.language.check import check
from profrx.language.format import format_text
from profrx.language.pack import load_pack
from profrx.language.skeleton import KINDS, skeleton


@pytest.mark.parametrize("name", ["long-waits", "x", "a-b-c-2"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_skeleton_is_sound(kind: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.rule"
    path.write_text(skeleton(name, kind), "utf-8")
    pack = load_pack([path], checked=False)
    assert [str(d) for d in check(pack, [str(path)])] == []
    declared = {
        n
        for t in (pack.rules, pack.guards, pack.verdicts, pack.metrics)
        for n, d in t.items()
        if d.span.file == str(path)
    }
    assert len(declared) == 1
    report = run_tests(pack, only=declared)
    assert report.results
    assert report.passed, [(r.test, r.expected, r.got) for r in report.failures]
    assert format_text(path.read_text("utf-8")) == path.read_text("utf-8")
