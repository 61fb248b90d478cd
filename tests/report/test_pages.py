"""Whole pages, as snapshots: one file each, updated only with ``--snapshot-update``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from profrx.report import text
from profrx.report.formats import render

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

    from profrx.report.model import Findings

FORMATS = {"md": "md", "text": "txt", "html": "html", "json": "json", "sarif": "sarif", "junit": "xml"}


def text_file(suffix: str) -> type[SingleFileSnapshotExtension]:
    return type(
        "TextFile", (SingleFileSnapshotExtension,), {"_write_mode": WriteMode.TEXT, "file_extension": suffix}
    )


@pytest.mark.parametrize("format_", ["md", "text", "json", "sarif", "junit"])
@pytest.mark.parametrize("case", ["findings", "many", "empty"])
def test_page(request: pytest.FixtureRequest, snapshot: SnapshotAssertion, case: str, format_: str) -> None:
    page = render(request.getfixturevalue(case), format_)
    assert page == snapshot(extension_class=text_file(FORMATS[format_]))


@pytest.mark.parametrize("format_", list(FORMATS))
def test_the_same_findings_give_the_same_bytes(request: pytest.FixtureRequest, format_: str) -> None:
    found = request.getfixturevalue("many")
    assert render(found, format_) == render(found, format_)


@pytest.mark.parametrize("width", [20, 60, 110])
def test_commands_are_never_broken(findings: Findings, width: int) -> None:
    """Whatever the width, a command stands whole on one line, to be copied."""
    command = "ncu --set full --kernel-name scale --launch-skip 3 --launch-count 1 -o scale APPLICATION"
    report = findings.reports[0]
    report.conditions.warnings.append(f"Profile one steady launch: `{command}` and read on.")
    lines = text.render(findings, width=width).split("\n")
    assert sum(command in line for line in lines) == 1
    assert all(len(line) <= width for line in lines if line.startswith("* Clocks"))
