"""The guide for rule authors is run from top to bottom: files are written, commands are run, output is compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from profrx.language.pack import load_pack
from profrx.language.settings import load_settings

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "rules-guide.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(line: str, folder: Path) -> tuple[int, str]:
    """Run a command line of the guide; the words are plain, no shell is needed."""
    words = line.split()
    assert words[0] == "profrx"
    environment = os.environ | {"PROFRX_CACHE_DIR": str(folder / ".cache"), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-m", "profrx", *words[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_every_snippet_of_the_guide_does_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    commands = 0
    for kind, name, body in BLOCK.findall(GUIDE):
        if kind in ("rule", "settings"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(body, "utf-8")
            continue
        assert kind == "console", kind
        for part in body.split("$ ")[1:]:
            line, *expected = part.strip().split("\n")
            code, out = run(line, tmp_path)
            at = 0
            for wanted in expected:
                found = out.find(wanted.strip(), at)
                assert found >= 0, f"$ {line}\n{out}\nlacks: {wanted}"
                at = found + len(wanted.strip())
            fails = any("error[" in wanted for wanted in expected)
            assert code == (1 if fails else 0) or "coverage" in line, f"$ {line}\n{out}"
            commands += 1
    assert commands >= 15
    assert (tmp_path / "pages" / "reused-loads.md").is_file()
    assert load_settings(tmp_path / "profrx.toml").suppressions[0].rule == "reused-loads"


def test_the_metric_of_the_guide_is_one_that_no_shipped_rule_reads() -> None:
    from profrx.language.check.usage import _read

    pack = load_pack(plugins=False)
    judges = [*pack.rules.values(), *pack.verdicts.values(), *pack.guards.values()]
    assert not any("l1.global_load_hit_rate" in _read(node) for node in judges)


def test_rules_of_the_guide_are_in_canonical_layout() -> None:
    from profrx.language.format import format_text

    for kind, name, body in BLOCK.findall(GUIDE):
        if kind == "rule":
            assert format_text(body, name) == body, name
