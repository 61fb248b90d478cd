"""Imports point one way, and no module grows beyond reading."""

from __future__ import annotations

import ast
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
MODULES = [(name, path) for name, folder in PACKAGES.items() for path in sorted(folder.rglob("*.py"))]


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize(("package", "path"), MODULES, ids=lambda v: v.name if isinstance(v, Path) else v)
def test_imports_point_one_way(package: str, path: Path) -> None:
    ours = {name.partition(".")[0] for name in imported(path)} & set(PACKAGES)
    assert ours <= MAY_IMPORT[package]


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


@pytest.mark.parametrize("path", [path for _, path in MODULES], ids=lambda p: p.name)
def test_modules_stay_readable(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MAX_LINES
    if len(lines) > 400:
        docstring = ast.get_docstring(ast.parse("\n".join(lines))) or ""
        assert len(docstring.splitlines()) > 1, "a module over 400 lines says why in its docstring"
