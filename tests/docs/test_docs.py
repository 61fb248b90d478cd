"""What exists is documented, and what is documented exists."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from profrx.cli.app import VERBS, root
from profrx.cli.rules import VERBS as RULE_VERBS
from profrx.report.formats import SUFFIXES
from profrx_parsers import schema

ROOT = Path(__file__).resolve().parents[2]
CLI = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
ERRORS = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
RAISED = {"InputError", "UsageError", "RuleError", "InternalError"}


def command(words: list[str]) -> click.Command:
    found: click.Command = root
    for word in words:
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), word)
        assert inner is not None, f"profrx {' '.join(words)} does not exist"
        found = inner
    return found


def raised_codes() -> set[str]:
    """Codes of all errors that the packages raise with a literal code."""
    found: set[str] = set()
    for folder in ("engine", "parsers"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.Call) or not node.args:
                    continue
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                first = node.args[0]
                if name in RAISED and isinstance(first, ast.Constant) and isinstance(first.value, str):
                    found.add(first.value)
    return found


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_verb_is_documented(verb: str) -> None:
    assert f"`profrx {verb}" in CLI
    assert command([verb]).get_short_help_str()


@pytest.mark.parametrize("verb", list(RULE_VERBS))
def test_every_verb_of_rules_is_documented(verb: str) -> None:
    assert f"`rules {verb}" in CLI


@pytest.mark.parametrize(
    "verb", [[v] for v in VERBS if v != "rules"] + [["rules", v] for v in RULE_VERBS], ids=" ".join
)
def test_every_option_is_documented(verb: list[str]) -> None:
    def options(of: click.Command) -> set[str]:
        if isinstance(of, click.Group):
            return {
                name
                for sub in of.list_commands(click.Context(of))
                for name in options(of.get_command(click.Context(of), sub) or of)
            }
        return {p.opts[0] for p in of.params if isinstance(p, click.Option)} - {"--help"}

    missing = {name for name in options(command(verb)) if name.split("/")[0] not in CLI}
    assert not missing


def test_every_option_has_a_help_text() -> None:
    for verb in VERBS:
        for parameter in command([verb]).params:
            if isinstance(parameter, click.Option):
                assert parameter.help, (verb, parameter.name)


def test_every_table_is_documented() -> None:
    block = CLI[CLI.index("<!-- tables -->") : CLI.index("<!-- /tables -->")]
    assert re.findall(r"^\| `(\w+)`", block, re.MULTILINE) == list(schema.TABLES)


def test_every_format_is_documented() -> None:
    for name, endings in SUFFIXES.items():
        assert f"| `{name}` | `{endings[0]}` |" in CLI


def test_every_error_code_is_a_heading() -> None:
    headings = set(re.findall(r"^### ([a-z0-9-]+)$", ERRORS, re.MULTILINE))
    assert raised_codes() <= headings


def test_no_error_code_is_documented_twice() -> None:
    headings = re.findall(r"^### ([a-z0-9-]+)$", ERRORS, re.MULTILINE)
    assert len(headings) == len(set(headings))


def shell_lines(text: str) -> list[str]:
    blocks = re.findall(r"```(?:bash|console)\n(.*?)```", text, re.DOTALL)
    inline = re.findall(r"`(profrx [^`]+)`", text)
    return [line for block in blocks for line in block.splitlines() if line.strip()] + inline


@pytest.mark.parametrize("line", [x for x in shell_lines(README) if "profrx " in x])
def test_every_command_of_the_readme_exists(line: str) -> None:
    for part in re.split(r"&&|;", line):
        words = shlex.split(part)
        names = [i for i, word in enumerate(words) if word.rpartition("/")[2] == "profrx"]
        if not names:
            continue
        rest = words[names[0] + 1 :]
        path: list[str] = []
        while isinstance(command(path), click.Group) and rest and not rest[0].startswith("-"):
            path.append(rest.pop(0))
        found = command(path)
        known = {name for p in found.params for name in p.opts} | {"--help"}
        assert {word.partition("=")[0] for word in rest if word.startswith("-")} <= known


def test_the_readme_names_files_that_exist() -> None:
    for path in re.findall(r"(?:fixtures|docs)/[\w./-]+", README):
        assert (ROOT / path).exists(), path


def test_the_readme_has_exactly_two_set_up_commands() -> None:
    assert re.findall(r"<!-- command: (\w+) -->", README) == ["try", "test"]
    assert README.count("python3 -m venv") == 2


def test_the_python_example_of_the_readme_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert "gather_strided" in capsys.readouterr().out


def test_the_python_example_of_archives_runs_as_a_script(fixtures: Path, tmp_path: Path) -> None:
    """In a file of its own: processes that it starts import it again."""
    text = (ROOT / "docs" / "archive.md").read_text(encoding="utf-8")
    code = next(code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "batch(" in code)
    assert "/data/reports" in code
    script = tmp_path / "lab.py"
    reports = fixtures / "ncu/strided-load"
    script.write_text(
        code.replace("/data/reports", str(reports)) + "\n    print(slow.to_pylist())\n", encoding="utf-8"
    )
    ran = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "gather_strided" in ran.stdout


@pytest.mark.parametrize("link", re.findall(r"\]\(([\w./-]+)\)", README + CLI + ERRORS))
def test_links_lead_somewhere(link: str) -> None:
    assert (ROOT / link).exists() or (ROOT / "docs" / link).exists()


def problem_codes() -> set[str]:
    """Codes of all rows that readers write to the import log with a literal severity and code."""
    severities = {"info", "warning", "data-loss", "error"}
    found: set[str] = set()
    for path in (ROOT / "parsers").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or len(node.args) < 3:
                continue
            severity, code = node.args[0], node.args[1]
            if (
                isinstance(severity, ast.Constant)
                and severity.value in severities
                and isinstance(code, ast.Constant)
                and re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", str(code.value))
            ):
                found.add(str(code.value))
    return found


def test_every_problem_code_is_documented() -> None:
    listed = set(
        re.findall(r"^\| `([a-z0-9-]+)` \| (?:info|warning|data-loss|error) \|", ERRORS, re.MULTILINE)
    )
    assert problem_codes() <= listed


def test_the_example_page_has_the_parts_of_a_page_made_today() -> None:
    """Words and numbers move with the rules; the parts and the verdict must not."""
    import profrx

    shown = (ROOT / "docs" / "example" / "page.md").read_text(encoding="utf-8")
    made = profrx.render(
        profrx.diagnose([ROOT / "fixtures" / "ncu" / "matmul-naive" / "report.ncu-repz"]), "md"
    )
    parts = {
        "## Verdict",
        "## Speed of light",
        "## Top stall reasons",
        "## Roofline",
        "## Top fix",
        "## Findings",
    }
    for page in (shown, made):
        assert parts <= set(page.splitlines())
    assert shown.splitlines()[0] == made.splitlines()[0]
    assert (ROOT / "docs" / "example" / "page-roofline.svg").exists()
