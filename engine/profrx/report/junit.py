"""Findings as JUnit XML: what CI systems show as tests. A suite is a report, a case a rule on a kernel."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from profrx.escape import clean
from profrx.report import damage, numbers
from profrx.report.model import SEVERITIES

if TYPE_CHECKING:
    from profrx.report.model import Finding, Findings, ReportFindings

DEFAULT_FAIL_ON = "low"


def render(findings: Findings, *, fail_on: str | None = None) -> str:
    """Return the suites. A finding fails its case when it is at or above `fail_on` (unset: any but ``info``).

    Rules that could not be judged are skipped cases, unreadable inputs are errors. What damage took from a report
    is the output of its suite.
    """
    least = SEVERITIES.index(fail_on or DEFAULT_FAIL_ON)
    suites = ET.Element("testsuites", name="profrx")
    total = failed = errors = 0
    for report in findings.reports:
        suite, cases, failures = _suite(report, least)
        suites.append(suite)
        total, failed = total + cases, failed + failures
    for one in findings.failed:
        suite = ET.SubElement(suites, "testsuite", name=_xml(one.source), tests="1", failures="0", errors="1")
        case = ET.SubElement(suite, "testcase", classname="profrx.input", name=_xml(one.source))
        ET.SubElement(case, "error", type=one.code, message=_xml(one.message)).text = _xml(one.next_step)
        total, errors = total + 1, errors + 1
    suites.attrib |= {"tests": str(total), "failures": str(failed), "errors": str(errors)}
    ET.indent(suites)
    out = io.BytesIO()
    ET.ElementTree(suites).write(out, encoding="utf-8", xml_declaration=True)
    return out.getvalue().decode()


def _suite(report: ReportFindings, least: int) -> tuple[ET.Element, int, int]:
    suite = ET.Element("testsuite", name=_xml(report.source))
    failures = 0
    for one in report.findings:
        case = ET.SubElement(suite, "testcase", classname=_xml(f"profrx.{one.rule}"), name=_xml(_name(one)))
        body = _body(one)
        if SEVERITIES.index(one.severity) >= least:
            failures += 1
            ET.SubElement(case, "failure", type=one.severity, message=_xml(one.title)).text = body
        else:
            ET.SubElement(case, "system-out").text = body
    for gap in report.unknown:
        case = ET.SubElement(
            suite, "testcase", classname=_xml(f"profrx.{gap.rule}"), name=_xml(gap.title or gap.rule)
        )
        ET.SubElement(case, "skipped", message=_xml("not judged: " + ", ".join(gap.missing or gap.reasons)))
    if lost := damage.losses(report.problems):
        lines = [*lost, report.next_step] if report.next_step else lost
        ET.SubElement(suite, "system-out").text = "\n".join(_xml(line) for line in lines)
    cases = len(report.findings) + len(report.unknown)
    suite.attrib |= {
        "tests": str(cases),
        "failures": str(failures),
        "errors": "0",
        "skipped": str(len(report.unknown)),
        "time": f"{(report.base_time_ns or 0) / 1e9:.9f}",
    }
    return suite, cases, failures


def _name(one: Finding) -> str:
    return one.subject.short or one.subject.name or one.subject.kernel or one.scope


def _body(one: Finding) -> str:
    lines = [one.because]
    if one.saving is not None and one.saving.kind == "global":
        saving = one.saving
        lines.append(
            f"Saves {numbers.share_range(saving.low, saving.high)} ({numbers.speedup_range(saving.low, saving.high)})."
        )
    lines += [f"Fix: {text}" for text in one.fix]
    lines += [f"At {place.file}:{place.line}" for place in one.locations[:5]]
    return "\n".join(_xml(line) for line in lines if line)


def _xml(text: str) -> str:
    """Return text without the characters that XML 1.0 cannot hold."""
    return "".join(c for c in clean(text, 4000) if c not in "\ufffe\uffff")
