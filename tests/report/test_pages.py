"""Whole pages, as snapshots: one file each, updated only with ``--snapshot-update``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from profrx.report.formats import render

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

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
