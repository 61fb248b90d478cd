"""The guide for rule authors is run from top to bottom: files are written, commands are run, output is compared."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import cast

import pytest

from profrx.language.pack import load_pack
from profrx.language.settings import load_settings

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "rules-guide.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(line: str) -> tuple[int, str]:
    """Run a command line of the guide in this process; the words are plain, no shell is needed."""
    from profrx.cli.app import run as command

    words = line.split()
    assert words[0] == "profrx"
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), pytest.raises(SystemExit) as stop:
        command(words[1:])
    out.flush()
    return int(stop.value.code or 0), cast(io.BytesIO, out.buffer).getvalue().decode("utf-8")


def test_every_snippet_of_the_guide_does_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
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
            code, out = run(line)
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
