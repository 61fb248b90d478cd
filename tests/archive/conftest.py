"""Small real reports under many names, and a batch that reads them with a misbehaving reader."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def small_reports(fixtures: Path) -> list[Path]:
    """The smallest of the project's own reports."""
    found = sorted((fixtures / "ncu").glob("*/report.ncu-repz"), key=lambda p: p.stat().st_size)[:3]
    assert found, "no report below fixtures/ncu"
    return found


@pytest.fixture
def many(small_reports: list[Path], tmp_path: Path) -> Callable[..., Path]:
    """Make a folder of `count` reports; names may be given for the first ones."""

    def make(count: int, *names: str, folder: str = "reports") -> Path:
        target = tmp_path / folder
        target.mkdir()
        for n in range(count):
            name = names[n] if n < len(names) else f"r{n:03}"
            shutil.copyfile(small_reports[n % len(small_reports)], target / f"{name}.ncu-repz")
        return target

    return make


@pytest.fixture
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers read with `poison.analyse`."""
    monkeypatch.syspath_prepend(str(HERE))
    sys.modules.pop("poison", None)
    import poison

    monkeypatch.setattr("profrx.archive.run.analyse", poison.analyse)
