"""Collection options as one types them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from profrx.report.commands import lines, option, together
from profrx.report.formats import render
from profrx.report.model import Collect

if TYPE_CHECKING:
    from profrx.report.model import Findings


@pytest.mark.parametrize(
    ("options", "command"),
    [
        (["ncu --section A", "ncu --section B"], "ncu --section A --section B"),
        (["ncu --metrics a,b --section S", "ncu --metrics b,c"], "ncu --metrics a,b,c --section S"),
        (
            ["rocprofv3 --hip-trace --kernel-trace", "rocprofv3 --kernel-trace --pmc A B"],
            "rocprofv3 --hip-trace --kernel-trace --pmc A B",
        ),
        (
            ["rocprofv3 --pmc A B", "rocprofv3 --kernel-trace --pmc C", "rocprofv3 --pmc B"],
            "printf 'pmc: A B\\npmc: C\\n' > counters.txt && rocprofv3 --kernel-trace -i counters.txt",
        ),
        (["ncu --set full", "nsys profile --trace cuda"], "ncu --set full and nsys profile --trace cuda"),
        (["nsys profile --trace cuda,nvtx", "nsys profile --trace cuda"], "nsys profile --trace cuda,nvtx"),
    ],
)
def test_together(options: list[str], command: str) -> None:
    assert together(options) == command


@pytest.mark.parametrize(
    ("tool", "typed"),
    [("ncu", "ncu --x y"), ("nsys", "nsys profile --x y"), ("rocprofv3", "rocprofv3 --x y")],
)
def test_option(tool: str, typed: str) -> None:
    assert option(Collect(tool=tool, option="--x y")) == typed


@pytest.mark.parametrize(
    ("options", "typed"),
    [
        (["ncu --section A"], ["ncu --section A -o report APPLICATION"]),
        (["ncu --set full -o mine"], ["ncu --set full -o mine APPLICATION"]),
        (["nsys profile --trace cuda"], ["nsys profile --trace cuda -o run APPLICATION"]),
        (["rocprofv3 --att"], ["rocprofv3 --att -d run -- APPLICATION"]),
        (
            ["rocprof-compute profile --block SQ"],
            ["rocprof-compute profile --block SQ --name run -- APPLICATION"],
        ),
        (
            ["ncu --a", "nsys profile --b"],
            ["ncu --a -o report APPLICATION", "nsys profile --b -o run APPLICATION"],
        ),
        (["mytool --flag"], ["mytool --flag"]),
        (["mytool --flag APPLICATION"], ["mytool --flag APPLICATION"]),
        ([], []),
    ],
)
def test_a_command_is_complete(options: list[str], typed: list[str]) -> None:
    assert lines(options) == typed


def run(script: list[str], tool: str, folder: Path) -> list[str]:
    """Type lines into a shell in which `tool` writes down its arguments, and return those."""
    note = f'{tool}() {{ printf "%s\\n" "$@" > arguments; }}'
    subprocess.run(["bash", "-c", "\n".join([note, *script])], cwd=folder, check=True, timeout=20)
    return (folder / "arguments").read_text().split("\n")[:-1]


def test_a_long_command_is_broken_and_still_one(tmp_path: Path) -> None:
    options = [f"ncu --section Section{at}WithALongName" for at in range(9)]
    typed = lines(options)
    assert len(typed) > 1
    assert max(map(len, typed)) <= 100
    assert run(typed, "ncu", tmp_path) == [
        *" ".join(options).replace("ncu ", "").split(" "),
        "-o",
        "report",
        "APPLICATION",
    ]
    assert run([f"  {line}" for line in typed], "ncu", tmp_path)[-1] == "APPLICATION", (
        "indented, as text shows it"
    )


def test_groups_of_counters_are_lines_of_a_file(tmp_path: Path) -> None:
    typed = lines(["rocprofv3 --pmc A[0] B", "rocprofv3 --kernel-trace --pmc C's", "rocprofv3 --pmc B"])
    assert max(map(len, typed)) <= 100
    arguments = ["--kernel-trace", "-i", "counters.txt", "-d", "run", "--", "APPLICATION"]
    assert run(typed, "rocprofv3", tmp_path) == arguments
    assert (tmp_path / "counters.txt").read_text() == "pmc: A[0] B\npmc: C's\n"


@pytest.mark.parametrize("format_", ["md", "text", "html"])
def test_pages_show_the_lines(findings: Findings, format_: str) -> None:
    collect = [Collect(tool="ncu", option=f"--section Section{at}WithA`LongName") for at in range(9)]
    findings.reports[0].unknown[0].collect = collect
    shown = [line.strip() for line in re.sub("<[^>]*>", "", render(findings, format_)).split("\n")]
    assert "Section8WithA" in "".join(shown)
    assert any(line.endswith("-o report APPLICATION") for line in shown)
    assert sum(line.endswith("\\") for line in shown) >= 2
    if format_ == "md":
        assert sum(line.startswith("```") for line in shown) % 2 == 0
