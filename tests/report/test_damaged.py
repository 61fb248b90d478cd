"""A damaged input is read again from a whole copy before anything is collected anew: the page says so first."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest

from profrx.diagnose import diagnose
from profrx.evaluate.explain import explain
from profrx.report import damage, explained
from profrx.report import model as m
from profrx.report.formats import render
from profrx.report.page import page
from profrx.report.scarce import EVERYTHING
from profrx.report.views import gaps


@pytest.fixture(scope="module", params=[0.3, 0.6])
def cut(
    request: pytest.FixtureRequest, fixtures: Path, tmp_path_factory: pytest.TempPathFactory
) -> m.Findings:
    """A report cut where its copy broke off: before its speed-of-light numbers, and behind them."""
    packed = fixtures / "ncu/strided-load/report.ncu-repz"
    whole = pa.input_stream(str(packed), compression="zstd").read()
    path = tmp_path_factory.mktemp("cut") / "cut.ncu-rep"
    path.write_bytes(whole[: int(len(whole) * request.param)])
    return diagnose([path])


def test_the_first_sentences_are_to_copy_again(cut: m.Findings) -> None:
    shown = page(cut.reports[0])
    assert damage.STEP in shown.lede
    assert "ollect more" not in shown.lede
    assert "`" not in shown.lede, "no command to collect before that"


@pytest.mark.parametrize("format_", ["md", "text", "html"])
def test_commands_come_after_it(cut: m.Findings, format_: str) -> None:
    made = " ".join(render(cut, format_).split())
    rest = made[made.index("Data of this report is lost, and") :]
    assert damage.STEP in rest
    assert "Collect with" not in made
    assert "Nothing collects" not in made
    if "these lines to judge" in rest:
        assert rest.index(damage.STEP) < rest.index("If that does not help, collect with")


def test_lost_metrics_are_not_asked_for_one_by_one(fixtures: Path, tmp_path: Path) -> None:
    """The other kernels of the report have them, so their sections were collected: names are all that is left to ask."""
    whole = pa.input_stream(str(fixtures / "ncu/large-27/report.ncu-repz"), compression="zstd").read()
    path = tmp_path / "cut.ncu-rep"
    path.write_bytes(whole[: int(len(whole) * 0.7)])
    (report,) = diagnose([path]).reports
    commands = [gap.command for gap in gaps(report) if gap.command]
    assert any(len(one.option) > 300 for one in gaps(report))
    assert commands == [(EVERYTHING,)]
    assert max(map(len, render(diagnose([path]), "text").split("\n"))) < 200


def test_explaining_says_it_before_any_option(fixtures: Path, tmp_path: Path) -> None:
    whole = pa.input_stream(str(fixtures / "ncu/strided-load/report.ncu-repz"), compression="zstd").read()
    path = tmp_path / "cut.ncu-rep"
    path.write_bytes(whole[: int(len(whole) * 0.3)])
    told = explained.render([explain(path, "fp32-pipe-limit")], "text")
    assert told.index(damage.STEP) < told.index("collect with")
    assert damage.STEP not in explained.render(
        [explain(fixtures / "ncu/style-basic/report.ncu-repz")], "text"
    )


def test_json_says_it_too(cut: m.Findings) -> None:
    assert json.loads(render(cut, "json"))["reports"][0]["next_step"] == damage.STEP


def test_sarif_says_that_data_is_lost(cut: m.Findings) -> None:
    (run,) = json.loads(render(cut, "sarif"))["runs"]
    told = run["invocations"][0]["toolExecutionNotifications"]
    lost = [one for one in cut.reports[0].problems if one.severity in ("data-loss", "error")]
    assert len(told) == len(lost) > 0
    for one, problem in zip(told, lost, strict=True):
        assert one["level"] == "warning"
        assert f"[{problem.code}]" in one["message"]["text"]
        assert damage.STEP in one["message"]["text"]
        uri = one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert uri.endswith("cut.ncu-rep")


def test_junit_says_that_data_is_lost(cut: m.Findings) -> None:
    (suite,) = ET.fromstring(render(cut, "junit"))
    assert suite[-1].tag == "system-out", "behind the cases, where the schema of JUnit has it"
    lines = (suite[-1].text or "").split("\n")
    assert lines[-1] == damage.STEP
    lost = [one for one in cut.reports[0].problems if one.severity in ("data-loss", "error")]
    assert all(f"[{one.code}]" in line for one, line in zip(lost, lines[:-1], strict=True))


def test_a_whole_report_loses_nothing_in_ci_formats(fixtures: Path) -> None:
    found = diagnose([fixtures / "ncu/style-basic/report.ncu-repz"])
    assert json.loads(render(found, "sarif"))["runs"][0]["invocations"][0]["toolExecutionNotifications"] == []
    assert not ET.fromstring(render(found, "junit")).findall("./testsuite/system-out")


def test_a_whole_report_says_nothing_of_it(fixtures: Path) -> None:
    found = diagnose([fixtures / "ncu/style-basic/report.ncu-repz"])
    assert found.reports[0].next_step == ""
    for format_ in ("md", "text", "html"):
        assert damage.STEP not in render(found, format_)
    assert "Collect with" in render(found, "md")


@pytest.mark.parametrize(
    ("severity", "code", "said"),
    [
        ("data-loss", "ncu-truncated-item", True),
        ("data-loss", "a-code-of-another-reader", True),
        ("error", "csv-unreadable", True),
        ("warning", "ncu-over-100-percent", False),
        ("info", "ncu-no-line-info", False),
        ("data-loss", "nsys-recorder-lost", False),
        ("data-loss", "nsys-too-large", False),
    ],
)
def test_only_what_a_copy_can_repair_counts(severity: str, code: str, said: bool) -> None:
    problem = m.Problem.model_validate({"severity": severity, "code": code, "message": "x"})
    assert bool(damage.next_step([problem])) is said
