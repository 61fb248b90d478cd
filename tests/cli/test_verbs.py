"""Each verb on real reports: every format of it, read back."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import profrx as package
from profrx_parsers import schema

if TYPE_CHECKING:
    from conftest import Run


@pytest.mark.parametrize("table", ["launches", "metrics", "vendor_findings", "devices", "problems", "copies"])
def test_tables_in_every_format_hold_the_same_rows(
    profrx: Run, report: Path, tmp_path: Path, table: str
) -> None:
    expected = package.tables(report, table)
    base = ["tables", report, "--table", table]
    for suffix in ("csv", "json", "parquet", "arrow"):
        assert profrx(*base, "-o", tmp_path / f"t.{suffix}").code == 0
    whole = repr(expected.to_pydict())  # as text, so that NaN equals NaN
    assert repr(pq.read_table(tmp_path / "t.parquet").to_pydict()) == whole
    assert repr(pa.ipc.open_file(tmp_path / "t.arrow").read_all().to_pydict()) == whole
    rows = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert len(rows) == len(expected)
    assert all(list(row) == schema.TABLES[table].names for row in rows)
    lines = list(csv.reader(io.StringIO((tmp_path / "t.csv").read_text(encoding="utf-8"))))
    assert lines[0] == schema.TABLES[table].names
    assert len(lines) - 1 == len(expected)


def test_tables_lists_the_tables(profrx: Run, report: Path) -> None:
    out = profrx("tables", report).out
    assert "launches" in out
    assert "1" in out.split("launches")[1].split()[0]


def test_tables_text_is_cut_and_says_so(profrx: Run, report: Path) -> None:
    ran = profrx("tables", report, "--table", "metrics", "--columns", "metric,value,unit")
    assert len(ran.out.splitlines()) < 50
    assert "first 40 rows" in ran.err
    assert len(profrx("tables", report, "--table", "metrics", "--rows", "45").out.splitlines()) >= 46


def test_tables_of_a_damaged_report_say_so(profrx: Run, report: Path, tmp_path: Path) -> None:
    packed = report.read_bytes()
    cut = tmp_path / "cut.ncu-repz"
    cut.write_bytes(packed[: len(packed) // 2])
    for words in ([], ["--table", "metrics", "-o", tmp_path / "m.parquet"]):
        ran = profrx("tables", cut, *words)
        assert ran.code == 0
        assert ran.err.startswith("note: data is lost: ")
        assert "--table problems" in ran.err
        assert profrx("-q", "tables", cut, *words).err == ""
        assert "is lost" not in profrx("tables", report, *words).err
    listed = profrx("tables", cut, "--table", "problems")
    assert "data-loss" in listed.out
    assert listed.err == ""


def test_tables_keep_the_column_order_asked_for(profrx: Run, report: Path) -> None:
    rows = json.loads(
        profrx(
            "tables", report, "--table", "launches", "--columns", "grid_x,kernel_short", "--format", "json"
        ).out
    )
    assert list(rows[0]) == ["grid_x", "kernel_short"]


def test_inspect_as_json(profrx: Run, report: Path) -> None:
    found = json.loads(profrx("inspect", report, "--format", "json").out)
    assert found["schema"] == "profrx.inspection/1"
    assert found["format"] == "ncu-rep"
    assert "magic" in found["why"]
    assert found["devices"][0]["name"] == "NVIDIA H200"
    assert {"name": "launches", "rows": 1}.items() <= {
        k: v for t in found["tables"] for k, v in t.items() if t["name"] == "launches"
    }.items()
    assert len(found["rules_supported"]) > 20


def test_inspect_names_the_sections_to_add(profrx: Run, fixtures: Path) -> None:
    ran = profrx("inspect", fixtures / "ncu" / "style-section" / "report.ncu-repz")
    assert "--section SourceCounters" in ran.out
    assert "uncoalesced-global-access" in ran.out
    full = json.loads(
        profrx("inspect", fixtures / "ncu" / "strided-load" / "report.ncu-repz", "--format", "json").out
    )
    assert "uncoalesced-global-access" in full["rules_supported"]


def test_inspect_of_several_files_is_an_array(profrx: Run, report: Path) -> None:
    assert len(json.loads(profrx("inspect", "--no-rules", report, report, "--format", "json").out)) == 2


@pytest.mark.parametrize("suffix", ["md", "html", "json", "sarif", "xml", "txt"])
def test_diagnose_takes_the_format_from_the_suffix(
    profrx: Run, report: Path, tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / f"page.{suffix}"
    ran = profrx("diagnose", report, "-o", out)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    text = out.read_text(encoding="utf-8")
    starts = {
        "md": "# `gather_strided`",
        "html": "<!doctype html>",
        "json": "{",
        "sarif": "{",
        "xml": "<?xml",
        "txt": "gather_strided",
    }
    assert text.startswith(starts[suffix])
    if suffix == "xml":
        ET.fromstring(text)
    if suffix == "md":
        assert (tmp_path / "page-roofline.svg").exists()


def test_diagnose_names_the_planted_cause_and_its_line(profrx: Run, report: Path) -> None:
    found = json.loads(profrx("diagnose", report, "--format", "json").out)["reports"][0]
    first = found["findings"][0]
    assert first["cause"] == "global-access-pattern"
    assert first["locations"][0]["file"].endswith("strided_load.cu")
    sarif = json.loads(profrx("diagnose", report, "--format", "sarif").out)
    place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["region"]["startLine"] == first["locations"][0]["line"]


def test_diagnose_of_several_reports_keeps_their_order(profrx: Run, fixtures: Path, report: Path) -> None:
    other = fixtures / "ncu" / "dram-stream" / "report.ncu-repz"
    found = json.loads(profrx("diagnose", other, report, "--format", "json").out)
    assert [one["source"] for one in found["reports"]] == [str(other), str(report)]


def test_explain_gives_the_deciding_comparison(profrx: Run, report: Path) -> None:
    out = profrx("explain", report, "--rule", "uncoalesced-global-access").out
    assert "FIRED" in out
    assert "min_excess" in out
    found = json.loads(
        profrx("explain", report, "--rule", "uncoalesced-global-access", "--format", "json").out
    )
    assert found["explained"][0]["subjects"][0]["outcome"] == "fired"


def test_explain_of_what_is_missing_names_the_option(profrx: Run, fixtures: Path) -> None:
    out = profrx(
        "explain",
        fixtures / "ncu" / "style-section" / "report.ncu-repz",
        "--rule",
        "uncoalesced-global-access",
    ).out
    assert "UNKNOWN" in out
    assert "--section SourceCounters" in out


def test_rules_list_and_show(profrx: Run) -> None:
    names = [row["rule"] for row in json.loads(profrx("rules", "list", "--format", "json").out)]
    assert len(names) >= 20
    assert len(names) == len(set(names))
    shown = profrx("rules", "show", "uncoalesced-global-access").out
    assert shown.startswith("# ")
    assert "rule uncoalesced-global-access {" in shown


def test_rules_show_takes_the_name_that_param_takes(profrx: Run) -> None:
    ran = profrx("rules", "show", "speed-of-light.high")
    assert ran.code == 0
    assert "param high = " in ran.out
    assert "rules/" not in ran.err
    assert profrx("rules", "show", "speed-of-light.hgih").code == 2


RULE = """
rule slow-launch {
  title "The launch is long"
  severity low
  cause near-roofline
  scope launch
  param limit = 1 ms in 0 ms .. 1 s "longer is slow"
  when launch.duration > limit
  because "It takes {launch.duration:.1f us}."
  fix "Make it shorter."
  test "long" { given launch.duration = 2 ms expect fired }
  test "short" { given launch.duration = 1 us expect not fired }
  test "missing" { given launch.duration missing expect unknown }
}
"""


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    folder = tmp_path / "house"
    folder.mkdir()
    (folder / "slow.rule").write_text(RULE, encoding="utf-8")
    return folder


def test_a_pack_of_ones_own(profrx: Run, pack: Path, report: Path) -> None:
    assert profrx("rules", "test", pack).out.strip().endswith("3 passed, 0 failed")
    ran = profrx("diagnose", report, "--pack", pack, "--param", "slow-launch.limit=1 us", "--format", "json")
    rules = [one["rule"] for one in json.loads(ran.out)["reports"][0]["findings"]]
    assert "slow-launch" in rules
    assert "slow-launch" not in profrx("diagnose", report, "--pack", pack, "--format", "json").out


def test_a_frozen_ruleset_can_be_written_and_used(profrx: Run, pack: Path, report: Path) -> None:
    (pack / "new.rule").write_text(
        RULE.replace("slow-launch", "new-one").replace("severity low", "status preview"), encoding="utf-8"
    )
    written = profrx("rules", "freeze", "house-1", pack)
    assert (written.code, written.out.split()) == (
        0,
        ["ruleset", '"house-1"', "{", "slow-launch", "version", "1,", "}"],
    )
    (pack / "sets.rule").write_text(written.out, encoding="utf-8")
    assert profrx("rules", "check", pack).code == 0
    ran = profrx(
        "diagnose",
        report,
        "--pack",
        pack,
        "--ruleset",
        "house-1",
        "--param",
        "limit=1 us",
        "--format",
        "json",
    )
    assert {one["rule"] for one in json.loads(ran.out)["reports"][0]["findings"]} == {"slow-launch"}


def test_a_bare_number_for_a_percentage_is_an_error_that_shows_both_spellings(
    profrx: Run, report: Path, tmp_path: Path
) -> None:
    ran = profrx("diagnose", report, "--param", "speed-of-light.high=65")
    assert ran.code == 2
    assert "write 65 % or 0.65 ratio" in ran.err
    file = tmp_path / "profrx.toml"
    file.write_text('[params]\n"speed-of-light.high" = 0.65\n', encoding="utf-8")
    ran = profrx("diagnose", report, "--settings", file)
    assert ran.code == 2
    assert "write 65 % or 0.65 ratio" in ran.err


def test_a_failing_rule_test_exits_with_1(profrx: Run, pack: Path) -> None:
    file = pack / "slow.rule"
    file.write_text(RULE.replace("1 us expect not fired", "3 ms expect not fired"), encoding="utf-8")
    ran = profrx("rules", "test", pack)
    assert ran.code == 1
    assert "expected not fired" in ran.out
    suite = ET.fromstring(profrx("rules", "test", pack, "--format", "junit").out)
    assert suite.get("failures") == "1"


def test_mistakes_in_a_pack_are_told_with_their_place(profrx: Run, pack: Path, report: Path) -> None:
    file = pack / "slow.rule"
    file.write_text(RULE.replace("launch.duration > limit", "launch.duratoin > limit"), encoding="utf-8")
    ran = profrx("rules", "check", pack)
    assert ran.code == 1
    assert f"{file}:" in ran.out
    assert "launch.duration" in ran.out
    assert json.loads(profrx("rules", "check", pack, "--format", "sarif").out)["version"] == "2.1.0"
    file.write_text(RULE + "\nrule broken {", encoding="utf-8")
    ran = profrx("diagnose", report, "--pack", pack)
    assert ran.code == 2
    assert "pack-errors" in ran.err


def test_fmt_is_idempotent_and_checks(profrx: Run, pack: Path) -> None:
    file = pack / "slow.rule"
    file.write_text(RULE.replace("  severity", "      severity"), encoding="utf-8")
    assert profrx("rules", "fmt", "--check", pack).code == 1
    assert profrx("rules", "fmt", pack).code == 0
    once = file.read_text(encoding="utf-8")
    assert profrx("rules", "fmt", "--check", pack).code == 0
    assert file.read_text(encoding="utf-8") == once


def test_fmt_goes_on_after_a_file_that_is_no_text(profrx: Run, tmp_path: Path) -> None:
    binary, file = tmp_path / "a.rule", tmp_path / "b.rule"
    binary.write_bytes(b"rule a\xff { }")
    file.write_text("# \n" + RULE.replace("  severity", "      severity"), encoding="utf-8")
    ran = profrx("rules", "fmt", "--check", binary, file)
    assert ran.code == 2
    assert "byte 6: this is not UTF-8 text [not-utf8]" in ran.err
    assert f"would change {file}" in ran.out


def test_private_facts_stay_in_the_report_unless_asked_for(profrx: Run, corpus: Path) -> None:
    path = next((corpus / "ncu").glob("2025.1.0.0_GH200*"))
    for verb in (
        ["diagnose", path, "--format", "json"],
        ["diagnose", path, "--format", "md"],
        ["inspect", path],
    ):
        out = profrx(*verb).out
        assert "silu-triton" not in out, verb
        assert "172.26." not in out, verb
    assert "silu-triton.py" in profrx("diagnose", path, "--format", "md", "--private").out


def test_new_rule_passes_its_own_check_tests_and_layout(profrx: Run, tmp_path: Path) -> None:
    file = tmp_path / "long-waits.rule"
    assert profrx("rules", "new", "long-waits", "-o", file).code == 0
    assert profrx("rules", "check", "--strict", file).code == 0
    assert profrx("rules", "test", file).out.strip() == "3 passed, 0 failed"
    assert profrx("rules", "fmt", "--check", file).code == 0
    assert profrx("rules", "coverage", file, "--fail-under", "100").code == 0
    assert profrx("rules", "new", "long-waits", "-o", file).code == 2
    assert profrx("rules", "new", "Bad Name").code == 2


@pytest.mark.parametrize(
    ("words", "name"),
    [(["inspect"], "inspection-1"), (["explain"], "explain-1"), (["diagnose"], "findings-1")],
)
def test_json_results_validate_against_their_schema(
    profrx: Run, report: Path, words: list[str], name: str
) -> None:
    import jsonschema

    from profrx.report.json import schema_file

    schema = json.loads(schema_file(name).read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(profrx(*words, report, "--format", "json").out), schema)


def test_explain_of_a_metric_shows_formula_and_inputs(profrx: Run, report: Path) -> None:
    found = json.loads(profrx("explain", report, "--metric", "roofline.intensity", "--format", "json").out)
    assert found["schema"] == "profrx.metric/1"
    (value,) = found["values"]
    inputs = {one["name"]: one["value"] for one in value["inputs"]}
    assert value["provenance"] == "derived"
    assert value["value"] == pytest.approx(
        (inputs["flops.fp32"] + inputs["flops.fp64"]) / inputs["dram.bandwidth"]
    )
    out = profrx("explain", report, "--metric", "dram.throughput").out
    assert "stored as gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed" in out


def test_explain_of_a_missing_metric_says_what_was_looked_for(profrx: Run, fixtures: Path) -> None:
    path = fixtures / "ncu" / "style-section" / "report.ncu-repz"
    out = profrx("explain", path, "--metric", "stall.wait").out
    assert "unknown" in out
    assert "smsp__average_warp" in out
    assert "--section WarpStateStats" in out
    ran = profrx("explain", path, "--metric", "stall.wiat")
    assert ran.code == 2
    assert "did you mean stall.wait" in ran.err


def test_rules_docs_writes_a_page_per_rule(profrx: Run, pack: Path, tmp_path: Path) -> None:
    out = tmp_path / "pages"
    assert profrx("rules", "docs", pack, "-o", out).code == 0
    assert {path.name for path in out.iterdir()} == {"index.md", "slow-launch.md"}
    assert "The launch is long" in (out / "slow-launch.md").read_text(encoding="utf-8")
    assert "# " in profrx("rules", "docs", "--rule", "uncoalesced-global-access").out
    assert profrx("rules", "docs", "--rule", "nonsense").code == 2


def test_rules_lock_notices_a_changed_rule(profrx: Run, pack: Path, tmp_path: Path) -> None:
    file = tmp_path / "profrx.lock"
    assert profrx("rules", "lock", pack, "-o", file).code == 0
    assert profrx("rules", "lock", pack, "--check", file).code == 0
    (pack / "slow.rule").write_text(RULE.replace("> limit", ">= limit"), encoding="utf-8")
    ran = profrx("rules", "lock", pack, "--check", file)
    assert ran.code == 1
    assert "slow-launch changed without a new version" in ran.out
    assert profrx("rules", "lock", pack, "--check", pack / "slow.rule").code == 2
