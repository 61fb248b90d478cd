"""The page over a whole archive."""

from __future__ import annotations


def test_the_overview_counts_in_words() -> None:
    from profrx.archive.page import _overview

    none = {"launches": 1, "findings": 0, "ns": None}
    said = _overview({"ok": 1, "failed": 1}, none, [])
    assert said.startswith(
        "1 report judged, 1 launch, 0 findings, no time measured. 1 input could not be read."
    )
    assert "set aside" not in said
    both = _overview({"ok": 1, "quarantined": 2}, none, [])
    assert both.endswith(" 2 inputs set aside because reading broke the process.")
    assert "could not be read" not in both
    many = {"launches": 1200, "findings": 2, "ns": 5e6}
    assert (
        _overview({"ok": 2}, many, [])
        == "2 reports judged, 1,200 launches, 2 findings, 5 ms of measured time."
    )
