"""``profrx rules test``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import click

from profrx.cli import options
from profrx.cli.exits import Exit
from profrx.cli.output import choose, emit
from profrx.cli.rules.check import chosen as named
from profrx.cli.rules.check import declared_in, load

if TYPE_CHECKING:
    from profrx.evaluate.testing import TestReport, TestResult

FORMATS: dict[str, tuple[str, ...]] = {"text": (".txt",), "json": (".json",), "junit": (".xml",)}


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option(
    "--rule", "only", multiple=True, metavar="ID", help="Only the tests of this declaration; repeatable."
)
@click.option("--root", type=click.Path(path_type=Path), help="Folder that report paths in tests start from.")
@options.PARAMS
@options.format_option("text", "json", "junit")
@options.OUTPUT
def test(
    paths: tuple[str, ...],
    only: tuple[str, ...],
    root: Path | None,
    params: tuple[str, ...],
    format_: str | None,
    output: str | None,
) -> Exit:
    """Run the tests that stand in rule files or packs; without PATHS, those of the default pack.

    Exits with 1 when a test fails or a declaration does not load. A failed test shows its condition with every value.
    """
    from profrx.evaluate.testing import TestReport, run_tests

    kind = choose(format_, output, FORMATS, "text")
    pack, files = load(paths)
    chosen = named(pack, only) or (declared_in(pack, files) if files is not None else ())
    report = run_tests(pack, only=chosen, params=options.parse_params(params), root=root)
    if files is not None and not chosen:
        report = TestReport((), report.load_errors)
    emit({"text": _text, "json": _json, "junit": _junit}[kind](report), output)
    return Exit.CLEAN if report.passed else Exit.FINDINGS


def _text(report: TestReport) -> str:
    lines = [f"does not load: {error}" for error in report.load_errors]
    for one in report.failures:
        lines.append(f"FAILED {_place(one)}{one.kind} {one.declaration}: {one.test}")
        lines.append(f"  expected {one.expected}")
        lines.append(f"  got      {one.got}")
        lines += [f"    {line}" for line in one.detail]
    passed = len(report.results) - len(report.failures)
    counted = f"{passed} passed, {len(report.failures)} failed"
    lines.append(f"{counted}, {len(report.load_errors)} did not load" if report.load_errors else counted)
    return "\n".join(lines)


def _place(one: TestResult) -> str:
    return f"{one.span.file}:{one.span.line}:{one.span.column}: " if one.span.file else ""


def _json(report: TestReport) -> str:
    rows = [{**asdict(one), "span": {"file": one.span.file, "line": one.span.line}} for one in report.results]
    return json.dumps(
        {
            "schema": "profrx.rule-tests/1",
            "passed": report.passed,
            "load_errors": report.load_errors,
            "tests": rows,
        },
        indent=2,
    )


def _junit(report: TestReport) -> str:
    suite = ET.Element(
        "testsuite",
        name="profrx rules",
        tests=str(len(report.results) + len(report.load_errors)),
        failures=str(len(report.failures)),
        errors=str(len(report.load_errors)),
    )
    for one in report.results:
        case = ET.SubElement(suite, "testcase", classname=f"{one.kind}.{one.declaration}", name=one.test)
        if not one.passed:
            failure = ET.SubElement(case, "failure", message=f"expected {one.expected}, got {one.got}")
            failure.text = "\n".join(one.detail)
    for error in report.load_errors:
        case = ET.SubElement(suite, "testcase", classname="load", name=error[:200])
        ET.SubElement(case, "error", message=error)
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True)
