"""Fixtures of the nsys tests: every report with nsys' own export of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

ROOT = Path(__file__).resolve().parents[3]
CASES = sorted(path.parent.name for path in (ROOT / "fixtures/nsys").glob("*/report.nsys-rep"))


@pytest.fixture(scope="session")
def export(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Unpack the SQLite export of a case once."""
    folder = tmp_path_factory.mktemp("exports")

    def unpack(case: str) -> Path:
        path = folder / f"{case}.sqlite"
        if not path.exists():
            with pa.CompressedInputStream(
                pa.OSFile(str(ROOT / f"fixtures/nsys/{case}/export.sqlite.zst")), "zstd"
            ) as packed:
                path.write_bytes(packed.read())
        return path

    return unpack


@pytest.fixture
def query() -> Iterator[Callable[..., list[tuple[object, ...]]]]:
    """Ask a database by SQL, independently of the reader under test."""
    held: list[sqlite3.Connection] = []

    def ask(path: Path, sql: str) -> list[tuple[object, ...]]:
        held.append(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True))
        return held[-1].execute(sql).fetchall()

    yield ask
    for connection in held:
        connection.close()
