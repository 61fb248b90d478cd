"""Every format is well-formed, also when every name in the report is an attack."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from markdown_it import MarkdownIt

from profrx.report import json as findings_json
from profrx.report.formats import SUFFIXES, render, write_markdown
from profrx.report.model import Findings
from profrx_parsers.errors import UsageError

CASES = ["findings", "many", "hostile", "empty"]


@pytest.fixture(params=CASES)
def found(request: pytest.FixtureRequest) -> Findings:
    value: Findings = request.getfixturevalue(request.param)
    return value


def shipped(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(findings_json.schema_file(name).read_text(encoding="utf-8"))
    return schema


def markdown_html(text: str) -> str:
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(text)


def test_markdown_tables_have_as_many_cells_as_their_header(found: Findings) -> None:
    for table in re.findall(r"<table>.*?</table>", markdown_html(render(found, "md")), re.DOTALL):
        rows = [len(re.findall(r"<t[hd]", row)) for row in re.findall(r"<tr>.*?</tr>", table, re.DOTALL)]
        assert len(set(rows)) == 1


def test_markdown_lines_of_a_table_stay_in_the_table(found: Findings) -> None:
    """A line that starts with a pipe belongs to a table: a cell that broke out would leave it as text."""
    html = re.sub(r"<(pre|table)>.*?</\1>", "", markdown_html(render(found, "md")), flags=re.DOTALL)
    assert not re.search(r"^(<p>)?\|", html, re.MULTILINE)


def test_names_cannot_become_markup_in_markdown(hostile: Findings) -> None:
    html = markdown_html(render(hostile, "md"))
    assert "<script" not in html
    assert 'href="javascript' not in html
    assert "<h1>head" not in html
    assert html.count("<h1>") == 1


def test_rule_sentences_keep_their_code(findings: Findings) -> None:
    assert "<code>a[i]</code>" in markdown_html(render(findings, "md"))


class Checker(HTMLParser):
    """Counts tags, and fails on anything that would load or run something."""

    VOID = frozenset({"meta", "br", "link", "img", "input", "path", "use"})

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            if name in ("href", "src", "xlink:href"):
                assert (value or "").startswith(("https://", "http://", "#")), value
            if name == "src":
                raise AssertionError("nothing is loaded")
        if tag not in ("meta", "br"):
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in ("meta", "br"):
            self.stack.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.stack, tag
        assert self.stack.pop() == tag


def test_html_is_balanced_and_loads_nothing(found: Findings) -> None:
    page = render(found, "html")
    checker = Checker()
    checker.feed(page)
    assert not checker.stack
    assert "script" not in checker.seen
    assert "link" not in checker.seen
    assert "default-src 'none'" in page


def test_html_ids_are_unique(many: Findings) -> None:
    many.reports = many.reports * 2
    ids = re.findall(r'\bid="([^"]+)"', render(many, "html"))
    assert len(ids) == len(set(ids)) > 0
    for target in re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', render(many, "html")):
        assert (target[0] or target[1]) in ids


def test_json_validates_against_the_shipped_schema(found: Findings) -> None:
    schema = shipped("findings-1")
    jsonschema.Draft202012Validator.check_schema(schema)
    data = json.loads(render(found, "json"))
    jsonschema.validate(data, schema)
    assert data["schema"] == "profrx.findings/1"
    assert Findings.model_validate(data) == found


def outline(schema: dict) -> dict[str, tuple[list[str], list[str]]]:  # type: ignore[type-arg]
    """Fields and required fields per model: the part that no version of pydantic words differently."""
    parts = {"": schema, **schema["$defs"]}
    return {
        name: (sorted(of.get("properties", {})), sorted(of.get("required", []))) for name, of in parts.items()
    }


@pytest.mark.parametrize("name", list(findings_json.SCHEMAS))
def test_shipped_schemas_are_those_of_the_models(name: str) -> None:
    """To renew the files: ``python -c "from profrx.report.json import write_schemas; write_schemas()"``."""
    assert outline(shipped(name)) == outline(findings_json.schema(name))
    jsonschema.Draft202012Validator.check_schema(shipped(name))


def test_json_has_no_nan_and_no_control_characters(hostile: Findings) -> None:
    hostile.reports[0].base_time_ns = float("nan")
    text = render(hostile, "json")
    assert json.loads(text)["reports"][0]["base_time_ns"] is None
    assert text.isascii()
    assert "\x1b" not in text


def test_sarif_has_what_code_scanning_needs(found: Findings) -> None:
    log = json.loads(render(found, "sarif"))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["message"]["text"]
        (location,) = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9\-._~%/:]+", uri), uri
        assert location["physicalLocation"].get("region", {"startLine": 1})["startLine"] >= 1


def test_sarif_points_at_the_source_line(findings: Findings) -> None:
    result = json.loads(render(findings, "sarif"))["runs"][0]["results"][0]
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "src/mat%7Cmul.cu"}, "region": {"startLine": 12}}
    assert result["level"] == "error"


def test_sarif_keeps_an_alert_the_same_when_only_numbers_change(findings: Findings) -> None:
    before = json.loads(render(findings, "sarif"))["runs"][0]["results"][0]["partialFingerprints"]
    findings.reports[0].findings[0].saving.high = 0.9  # type: ignore[union-attr]
    findings.reports[0].findings[0].subject.launches = [77]
    assert json.loads(render(findings, "sarif"))["runs"][0]["results"][0]["partialFingerprints"] == before


def test_junit_counts_what_it_lists(found: Findings) -> None:
    root = ET.fromstring(render(found, "junit"))
    assert root.tag == "testsuites"
    cases = root.findall(".//testcase")
    assert int(root.get("tests", "-1")) == len(cases)
    assert int(root.get("failures", "-1")) == len(root.findall(".//failure"))
    assert int(root.get("errors", "-1")) == len(root.findall(".//error"))


@pytest.mark.parametrize(("fail_on", "failures"), [(None, 2), ("low", 2), ("medium", 1), ("critical", 0)])
def test_junit_fails_at_the_asked_severity(findings: Findings, fail_on: str | None, failures: int) -> None:
    root = ET.fromstring(render(findings, "junit", fail_on=fail_on))
    assert len(root.findall(".//failure")) == failures


def test_text_holds_no_control_characters(hostile: Findings) -> None:
    text = render(hostile, "text")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    coloured = render(hostile, "text", color=True)
    assert "\x1b[31m [x]" not in coloured


def test_top_limits_the_page_but_not_the_data(many: Findings) -> None:
    assert "3 more with `--top 4`" in render(many, "md", top=1)
    assert json.loads(render(many, "json", top=1))["reports"][0]["findings"][3]["rank"] == 4


def test_an_unknown_format_is_a_usage_error(findings: Findings) -> None:
    with pytest.raises(UsageError, match="pdf"):
        render(findings, "pdf")


def test_markdown_writes_its_picture_beside_it(findings: Findings, tmp_path) -> None:  # type: ignore[no-untyped-def]
    written = write_markdown(findings, tmp_path / "my page.md")
    assert [path.name for path in written] == ["my page.md", "my page-roofline.svg"]
    assert "](my%20page-roofline.svg)" in written[0].read_text(encoding="utf-8")
    assert "```text" not in written[0].read_text(encoding="utf-8")
    ET.fromstring(written[1].read_text(encoding="utf-8"))


def test_every_suffix_belongs_to_one_format() -> None:
    endings = [ending for of in SUFFIXES.values() for ending in of]
    assert len(endings) == len(set(endings))


@pytest.mark.parametrize(
    "source",
    ["/home/alice/runs/k/report.ncu-rep", "C:\\Users\\alice\\k\\report.ncu-rep", "~alice/k/report.ncu-rep"],
)
@pytest.mark.parametrize("format_", ["md", "html", "text"])
def test_pages_do_not_name_the_user_of_the_machine(findings: Findings, source: str, format_: str) -> None:
    findings.reports[0].source = source
    page = render(findings, format_)
    assert "alice" not in page
    assert "k/report.ncu-rep" in page
