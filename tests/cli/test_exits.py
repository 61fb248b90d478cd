"""Exit codes and usage errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from profrx.cli.exits import Exit, first

if TYPE_CHECKING:
    from conftest import Run


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ([], Exit.CLEAN),
        ([Exit.FINDINGS, Exit.UNREADABLE], Exit.UNREADABLE),
        ([Exit.NOTHING, Exit.FINDINGS], Exit.FINDINGS),
        ([Exit.FINDINGS, Exit.USAGE], Exit.USAGE),
        ([Exit.NOTHING], Exit.NOTHING),
    ],
)
def test_the_first_code_that_applies_wins(held: list[Exit], expected: Exit) -> None:
    assert first(held) is expected


def test_fail_on_compares_severity(profrx: Run, report: Path) -> None:
    assert profrx("diagnose", report, "--format", "json").code == 0
    assert profrx("diagnose", report, "--format", "json", "--fail-on", "high").code == 1


def test_a_kernel_glob_that_matches_nothing_leaves_nothing_to_analyse(profrx: Run, report: Path) -> None:
    for verb in ("diagnose", "explain"):
        ran = profrx(verb, report, "--kernel", "no_such_kernel*")
        assert ran.code == 4
        assert "no kernel matches 'no_such_kernel*' [kernel-unmatched]" in ran.err
        ran = profrx(verb, report, "--kernel", "gather_*")
        assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["diagnos"], "did you mean 'diagnose'"),
        (["diagnose"], "Missing argument"),
        (["diagnose", "x", "--format", "pdf"], "'pdf'"),
        (["diagnose", "x", "-o", "page.docx"], "usage-suffix"),
        (["diagnose", "x", "--param", "novalue"], "usage-param"),
        (["diagnose", "x", "--top", "0"], "--top"),
        (["diagnose", "x", "--pack", "/no/such/pack"], "pack-unreadable"),
        (["tables", "x", "--table", "lauches"], "did you mean 'launches'"),
        (["tables", "x", "--table", "launches", "--columns", "krnel"], "did you mean 'kernel'"),
        (["rules", "show", "uncoalesced-global-acces"], "did you mean 'uncoalesced-global-access'"),
        (["rules", "lst"], "did you mean 'list'"),
    ],
    ids=lambda v: "-".join(v) if isinstance(v, list) else "",
)
def test_usage_errors_exit_with_2(profrx: Run, words: list[str], part: str) -> None:
    ran = profrx(*words)
    assert ran.code == 2
    assert part in ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err


def test_more_is_logged_when_asked_for(profrx: Run, report: Path) -> None:
    assert profrx("diagnose", report).err == ""
    told = profrx("-v", "diagnose", report).err.splitlines()
    assert [line.partition(":")[0] for line in told] == ["info", "info"]
    assert "ncu-rep" in told[0]
    assert "judged in" in told[1]
    more = profrx("-vv", "diagnose", report).err
    assert "info ncu-repeated-metric: " in more
    assert profrx("diagnose", report).err == "", "not for the next call in this process"


def test_unknown_parameter_is_a_usage_error(profrx: Run, report: Path) -> None:
    ran = profrx("diagnose", report, "--param", "no-such-rule.limit=5 %")
    assert ran.code == 2
    assert "unknown-parameter" in ran.err
    ran = profrx("diagnose", report, "--param", "speed-of-light.hihg=65 %")
    assert ran.code == 2
    assert "did you mean 'speed-of-light.high'?" in ran.err


def test_a_parameter_changes_the_verdict(profrx: Run, report: Path) -> None:
    """The kernel's memory side is at 92 % of peak by the report; with the limit above, memory is not busy."""
    assert "memory-bound" in profrx("diagnose", report, "--format", "md").out.splitlines()[0]
    ran = profrx("diagnose", report, "--format", "md", "--param", "speed-of-light.high=95 %")
    assert "memory-bound" not in ran.out.splitlines()[0]


def test_unwritable_output_is_told_in_one_line(profrx: Run, tmp_path: Path, report: Path) -> None:
    ran = profrx("diagnose", report, "-o", tmp_path / "no" / "such" / "folder" / "page.md")
    assert ran.code == 2
    assert "output-unwritable" in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_a_closed_pipe_is_no_error(report: Path) -> None:
    code = f"{sys.executable} -m profrx tables {report} --table metrics --format csv | head -n 1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {code}"], capture_output=True, text=True)
    assert "launch_id" in done.stdout
    assert done.stderr == ""


def test_binary_output_goes_to_a_pipe(report: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "profrx",
        "tables",
        str(report),
        "--table",
        "launches",
        "--format",
        "arrow",
    ]
    import pyarrow as pa

    table = pa.ipc.open_file(subprocess.run(words, capture_output=True, check=True).stdout).read_all()
    assert table.column("kernel_short").to_pylist() == ["gather_strided"]


def test_version(profrx: Run) -> None:
    import profrx as package

    assert profrx("--version").out.strip() == f"profrx {package.__version__}"


def test_a_defect_is_one_line_unless_a_traceback_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from profrx.cli import app

    def broken(*_args: object, **_kwargs: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(app.root, "main", broken)
    monkeypatch.delenv("PROFRX_TRACEBACK", raising=False)
    with pytest.raises(SystemExit) as stop:
        app.run([])
    assert stop.value.code == Exit.INTERNAL
    assert "planted [internal]" in capsys.readouterr().err
    monkeypatch.setenv("PROFRX_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        app.run([])


SETTINGS = """
[params]
"speed-of-light.high" = "95 %"

[[suppress]]
rule = "uncoalesced-*"
kernel = "gather_*"
reason = "known, ticket 12"

[[suppress]]
rule = "tail-effect"
reason = "not needed any more"
"""


def test_a_settings_file_sets_parameters_and_accepts_findings(
    profrx: Run, report: Path, tmp_path: Path
) -> None:
    import json

    file = tmp_path / "house.toml"
    file.write_text(SETTINGS, encoding="utf-8")
    before = json.loads(profrx("diagnose", report, "--format", "json").out)["reports"][0]
    ran = profrx("diagnose", report, "--settings", file, "--format", "json")
    after = json.loads(ran.out)["reports"][0]
    assert "uncoalesced-global-access" in {f["rule"] for f in before["findings"]}
    assert "uncoalesced-global-access" not in {f["rule"] for f in after["findings"]}
    assert [(s["rule"], s["reason"]) for s in after["suppressed"]] == [
        ("uncoalesced-global-access", "known, ticket 12")
    ]
    assert [f["rank"] for f in after["findings"]] == list(range(1, len(after["findings"]) + 1))
    assert "suppression of tail-effect covered nothing" in ran.err
    leading = {v["verdict"] for v in after["verdicts"] if v["table"] == "speed-of-light"}
    assert leading != {v["verdict"] for v in before["verdicts"] if v["table"] == "speed-of-light"}
    again = profrx(
        "diagnose", report, "--settings", file, "--param", "speed-of-light.high=70 %", "--format", "json"
    )
    assert {
        v["verdict"]
        for v in json.loads(again.out)["reports"][0]["verdicts"]
        if v["table"] == "speed-of-light"
    } != leading


def test_accepted_findings_do_not_fail_the_call(profrx: Run, report: Path, tmp_path: Path) -> None:
    file = tmp_path / "house.toml"
    file.write_text(SETTINGS, encoding="utf-8")
    assert profrx("diagnose", report, "--fail-on", "high").code == 1
    ran = profrx(
        "diagnose",
        report,
        "--settings",
        file,
        "--param",
        "speed-of-light.high=70 %",
        "--fail-on",
        "high",
        "--format",
        "md",
    )
    assert ran.code == 0
    assert "## Accepted for now" in ran.out


def test_a_suppression_that_is_over_covers_nothing(profrx: Run, report: Path, tmp_path: Path) -> None:
    file = tmp_path / "house.toml"
    file.write_text('[[suppress]]\nrule = "*"\nreason = "then"\nexpires = 2001-01-31\n', encoding="utf-8")
    ran = profrx("diagnose", report, "--settings", file, "--fail-on", "high")
    assert ran.code == 1
    assert "ended on 2001-01-31" in ran.err


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("not toml [", "settings"),
        ('rulset = "x"', "did you mean ruleset"),
        ('ruleset = "1999.1"', "unknown-ruleset"),
    ],
)
def test_wrong_settings_are_usage_errors(
    profrx: Run, report: Path, tmp_path: Path, text: str, part: str
) -> None:
    file = tmp_path / "house.toml"
    file.write_text(text, encoding="utf-8")
    ran = profrx("diagnose", report, "--settings", file)
    assert ran.code == 2
    assert part in ran.err
