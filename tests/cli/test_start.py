"""The command line starts light: no verb's help imports a heavy module."""

from __future__ import annotations

import subprocess
import sys

import pytest

from profrx.cli.app import VERBS
from profrx.cli.rules import VERBS as RULE_VERBS

HEAVY = {"pyarrow", "numpy", "pydantic", "jinja2", "lark", "matplotlib", "sqlite_utils", "rich", "google"}
HELP = [[], *([verb] for verb in VERBS), *(["rules", verb] for verb in RULE_VERBS)]

LOADED = """
import sys
from profrx.cli.app import root
try:
    root.main(args={args!r}, prog_name="profrx")
except SystemExit as stop:
    assert not stop.code, stop.code
names = {{name.partition(".")[0] for name in sys.modules}}
print("LOADED", " ".join(sorted(names)))
"""


@pytest.mark.parametrize("words", HELP, ids=lambda words: " ".join(words) or "root")
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    code = LOADED.format(args=[*words, "--help"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shown, _, loaded = done.stdout.rpartition("LOADED ")
    assert "Usage: profrx" in shown
    assert not HEAVY & set(loaded.split())


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, profrx; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & {name.partition(".")[0] for name in done.stdout.split()}


def test_functions_keep_their_names_after_their_modules_are_imported() -> None:
    """``import profrx.diagnose`` must not put the module in the place of the function."""
    code = "import profrx, profrx.diagnose, profrx.inspection; print(callable(profrx.diagnose), profrx.diagnose.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "diagnose"]


def test_every_public_name_exists() -> None:
    import profrx

    for name in profrx.__all__:
        assert getattr(profrx, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        profrx.nonsense  # noqa: B018
