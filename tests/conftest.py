"""Fixtures that every test may use."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """The project's own captured inputs."""
    return ROOT / "fixtures"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Real public files that are not part of the project; tests that want them skip without."""
    folder = ROOT.parent / "shared" / "corpus"
    if not folder.is_dir():
        pytest.skip("the public corpus is not beside the checkout (../shared/corpus)")
    return folder
