"""The default pack as a whole: it loads, its own tests pass, and each declaration is complete."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import pytest

from profrx.evaluate.coverage import coverage
from profrx.evaluate.testing import run_tests
from profrx.language.docs import rules_docs
from profrx.language.pack import load_pack
from profrx.language.select import frozen, select

if TYPE_CHECKING:
    from profrx.language import ast
    from profrx.language.pack import Pack

FOLDERS = {"flowchart", "memory", "compute", "stalls", "occupancy", "launch", "hygiene"}
"""Folders of the rules on kernel counters, one declaration a file."""


@pytest.fixture(scope="module")
def pack() -> Pack:
    return load_pack()


def _own(pack: Pack) -> list[ast.Rule]:
    return [rule for rule in pack.rules.values() if PurePosixPath(rule.span.file).parts[1] in FOLDERS]


def test_pack_loads_without_errors(pack: Pack) -> None:
    assert not [str(d) for d in pack.diagnostics if d.severity == "error"]
    assert len(_own(pack)) >= 60


def test_the_newest_ruleset_holds_every_stable_rule(pack: Pack) -> None:
    """Without it a new rule would change results that were promised to compare: list it, or mark it `preview`."""
    newest = pack.rulesets[max(pack.rulesets)]
    assert dict(newest.rules) == dict(frozen(pack, newest.name).rules)
    unlisted = [rule for name, rule in pack.rules.items() if name not in dict(newest.rules)]
    assert {rule.status for rule in unlisted} <= {"preview", "deprecated", "removed"}
    chosen = select(pack, newest.name)
    assert chosen.rules.keys() == dict(newest.rules).keys()
    assert chosen.diagnostics == pack.diagnostics


def test_the_pages_of_rules_are_current(pack: Pack) -> None:
    """`profrx rules docs -o docs/rules` renews them."""
    folder = Path(__file__).resolve().parents[2] / "docs" / "rules"
    kept = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    pages = rules_docs(pack)
    assert kept.keys() == pages.keys()
    assert not [name for name, text in pages.items() if kept[name] != text]


def test_inline_tests_pass(pack: Pack) -> None:
    report = run_tests(pack)
    assert not report.load_errors
    assert not [(one.declaration, one.test, one.expected, one.got) for one in report.failures]


def test_each_rule_is_complete(pack: Pack) -> None:
    """One rule a file, named like it; with reasons, fixes, exceptions, references, and what to collect."""
    lacking = []
    for rule in _own(pack):
        expected = {test.expect.outcome for test in rule.tests}
        lacking += [
            (rule.name, what)
            for what, there in (
                ("file name", PurePosixPath(rule.span.file).stem == rule.name),
                ("because", rule.because),
                ("fix", rule.fix),
                ("except", rule.exceptions),
                ("see", rule.see),
                ("cause", rule.cause in pack.causes),
                ("references", all(name in pack.references for name in rule.see)),
                ("fired, not fired and unknown tests", expected >= {"fired", "not fired", "unknown"}),
                ("source of its parameters", all(p.see or p.heuristic for p in rule.params)),
                ("meaning of its parameters", all(p.meaning and p.valid for p in rule.params)),
            )
            if not there
        ]
    assert not lacking


def test_each_metric_is_complete(pack: Pack) -> None:
    lacking = [
        name
        for name, metric in pack.metrics.items()
        if not metric.meaning or not (metric.unit or metric.valid or metric.kind)
    ]
    assert not lacking


def test_thresholds_are_noticed(pack: Pack) -> None:
    """Nine in ten changed thresholds and comparisons of the counter rules fail a test."""
    measured = coverage(pack, only=[rule.name for rule in _own(pack)])
    tried = sum(one.mutants for one in measured)
    killed = sum(one.killed for one in measured)
    assert tried > 400
    assert killed >= 0.9 * tried, f"{killed} of {tried}"


def test_each_declaration_has_its_page(pack: Pack) -> None:
    """Pages are written by ``profrx rules docs -o docs/rules``; none is left over, none is missing."""
    pages = {path.stem for path in (Path(__file__).parents[2] / "docs" / "rules").glob("*.md")} - {"index"}
    assert {rule.name for rule in _own(pack)} <= pages
    assert pages <= {*pack.rules, *pack.verdicts, *pack.guards}
