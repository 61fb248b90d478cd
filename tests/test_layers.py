"""Imports point one way, and no module grows beyond reading."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    "profrx": ROOT / "engine" / "profrx",
    "profrx_parsers": ROOT / "parsers" / "profrx_parsers",
    "profrx_rules": ROOT / "rules" / "profrx_rules",
}
MAY_IMPORT = {
    "profrx": {"profrx", "profrx_parsers", "profrx_rules"},
    "profrx_parsers": {"profrx_parsers"},
    "profrx_rules": set[str](),
}
MAX_LINES = 600
REASON_LINES = 400
MODULES = [(name, path) for name, folder in PACKAGES.items() for path in sorted(folder.rglob("*.py"))]


@cache
def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("package", list(PACKAGES))
def test_imports_point_one_way(package: str) -> None:
    for name, path in MODULES:
        if name == package:
            ours = {module.partition(".")[0] for module in imported(path)} & set(PACKAGES)
            assert ours <= MAY_IMPORT[package], path


def test_the_command_line_is_imported_by_nothing_but_itself() -> None:
    users = {
        str(path.relative_to(ROOT))
        for _, path in MODULES
        if any(name.startswith("profrx.cli") for name in imported(path)) and "cli" not in path.parts
    }
    assert users <= {"engine/profrx/__main__.py"}


def test_no_vendor_software_is_imported() -> None:
    vendor = {"ncu_report", "nsys", "cuda", "pynvml", "cupti"}
    for _, path in MODULES:
        assert not {name.partition(".")[0] for name in imported(path)} & vendor, path


def test_modules_stay_readable() -> None:
    for _, path in MODULES:
        text = path.read_text(encoding="utf-8")
        lines = len(text.splitlines())
        assert lines <= MAX_LINES, path
        if lines > REASON_LINES:
            docstring = ast.get_docstring(ast.parse(text)) or ""
            assert len(docstring.splitlines()) > 1, (
                f"{path} has over {REASON_LINES} lines and does not say why"
            )
