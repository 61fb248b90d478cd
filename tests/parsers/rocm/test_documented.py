"""Every problem that the ROCm readers can report is documented."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DOC = (ROOT / "docs" / "rocm.md").read_text(encoding="utf-8")


def reported() -> set[str]:
    found: set[str] = set()
    for path in (ROOT / "parsers" / "profrx_parsers" / "rocm").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add" and len(node.args) >= 3:
                found |= {c.value for c in ast.walk(node.args[1]) if isinstance(c, ast.Constant)}
                found |= codes_of_names(path, node.args[1])
    return {code for code in found if isinstance(code, str)}


def codes_of_names(path: Path, node: ast.expr) -> set[str]:
    """Codes chosen by a conditional expression that was given a name first."""
    if not isinstance(node, ast.Name):
        return set()
    text = path.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.strip().startswith(f"{node.id} = "))
    return set(re.findall(r'"((?:rocm|rocpd|csv|json|sqlite)-[a-z0-9-]+)"', line))


def test_problems_are_documented() -> None:
    listed = set(re.findall(r"^\| `([a-z0-9-]+)` \|", DOC, re.MULTILINE))
    assert reported() == listed
