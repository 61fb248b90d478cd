"""Settings files, suppressions, frozen rulesets, lock files."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import pytest

from profrx.evaluate.program import Program
from profrx.language.pack import load_pack
from profrx.language.select import compare_lock, lock, select, unmet
from profrx.language.settings import Suppressions, load_settings
from profrx_parsers.errors import UsageError

from .conftest import assembled

GOOD = """
packs = ["rules", "/abs"]
ruleset = "2026.1"
[params]
"speed-of-light.high" = "65 %"
"low.x" = 3
"tail.x" = [{ value = "5 %", kernel = "*gemm*" }, { value = "8 %", arch = "9.0 .. 10.0" }]
[[suppress]]
rule = "tail-*"
kernel = "*reduce*"
reason = "accepted"
expires = 2027-01-31
[[suppress]]
rule = "other"
reason = "noise"
"""
DAY = datetime.date(2026, 11, 29)


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "profrx.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_whole_file(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, GOOD))
    assert settings.packs == (tmp_path / "rules", Path("/abs"))
    assert settings.ruleset == "2026.1"
    assert settings.params["tail.x"][1] == {"value": "8 %", "arch": "9.0 .. 10.0"}
    assert settings.suppressions[0].expires == datetime.date(2027, 1, 31)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pakcs = []", "did you mean packs"),
        ("packs = 3", "a list of texts"),
        ("a = = b", "no TOML"),
        ('[[suppress]]\nrule = "x"', "no reason"),
        ('[[suppress]]\nreason = "x"', "no rule"),
        ('[[suppress]]\nrule = "x"\nreason = "y"\nexpires = "2027-01-31"', "without quotes"),
        ('[[suppress]]\nrule = "x"\nreason = "y"\nkernell = "z"', "did you mean kernel"),
        ("suppress = 3", "[[suppress]]"),
        ("[params]\na = true", "a number or a text"),
        ('[params]\na = [{ vlaue = "5 %" }]', "did you mean value"),
        ('[params]\na = [{ arch = "9.0" }]', "no value"),
        ("preview = 1", "true or false"),
        ("ruleset = 1", "a text"),
        ("a = " + "[" * 5000, "no TOML"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_settings(write(tmp_path, text))
    assert message in f"{caught.value.message} {caught.value.next_step}"


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        load_settings(tmp_path / "nope.toml")


def test_suppressions_expire_and_are_counted(tmp_path: Path) -> None:
    entries = load_settings(write(tmp_path, GOOD)).suppressions
    run = Suppressions(entries, DAY)
    assert run.find("tail-effect", "my_reduce_kernel", "a.ncu-rep") is entries[0]
    assert run.find("tail-effect", "gemm", "a.ncu-rep") is None
    assert run.unused() == [entries[1]]
    later = Suppressions(entries, datetime.date(2027, 2, 1))
    assert later.find("tail-effect", "my_reduce_kernel") is None
    assert Suppressions(entries, datetime.date(2027, 1, 31)).find("tail-effect", "my_reduce_kernel")


def test_rulesets_keep_what_they_promise(rule_text: Callable[..., str]) -> None:
    text = (
        rule_text("one")
        + rule_text("two")
        + rule_text("old").replace("\n  cause", "\n  status removed replaced_by two\n  cause")
    )
    pack = assembled(
        text, 'ruleset "a" { one version 1 } ruleset "b" { one version 2 } ruleset "c" { old, nope }'
    )
    assert list(select(pack, "a").rules) == ["one"]
    assert [d.code for d in select(pack, "b").diagnostics] == ["ruleset-version"]
    assert [d.code for d in select(pack, "c").diagnostics] == ["removed-rule", "unknown-rule"]
    assert select(pack, "c").diagnostics[0].hint == "use two"
    assert [d.code for d in select(pack, "d").diagnostics] == ["unknown-ruleset"]
    assert list(select(pack).rules) == ["one", "two"]


def test_preview_rules_wait_to_be_asked_for(rule_text: Callable[..., str]) -> None:
    pack = assembled(
        rule_text("new").replace("\n  cause", "\n  status preview\n  cause"), 'ruleset "a" { new version 1 }'
    )
    assert not select(pack).rules
    assert list(select(pack, preview=True).rules) == ["new"]
    assert list(select(pack, "a").rules) == ["new"]


def test_lock_files_see_meaning_not_layout(rule_text: Callable[..., str]) -> None:
    locked = lock(assembled(rule_text()))
    assert compare_lock(assembled("# comment\n" + rule_text().replace("  ", " ")), locked) == []
    changed = rule_text().replace("30 %", "31 %")
    assert compare_lock(assembled(changed), locked) == ["low-compute changed without a new version"]
    newer = changed.replace("\n  cause", "\n  version 2\n  cause")
    assert compare_lock(assembled(newer), locked) == ["low-compute went from version 1 to 2"]
    assert compare_lock(assembled(rule_text("other")), locked) == ["low-compute is gone", "other is new"]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"rules": 3}', '{"rules": {"a": 3}}'])
def test_no_lock_file(text: str) -> None:
    with pytest.raises(ValueError, match="no lock file"):
        compare_lock(assembled(), text)


def test_require_is_judged_for_other_values() -> None:
    text = """verdict v { title "V"
      param low = 30 % in 0 % .. 100 % "x" heuristic  param high = 70 % in 0 % .. 100 % "x" heuristic
      require low <= high
      one_of { a-low when sm.throughput < low  b-mid when low <= sm.throughput <= high  c-high when sm.throughput > high }
    }"""
    pack = assembled(text)
    verdict = pack.verdicts["v"]
    assert unmet(pack.params, verdict, {}) == []
    assert unmet(pack.params, verdict, {"low": 0.5}) == []
    assert unmet(pack.params, verdict, {"low": 0.7}) == []
    assert unmet(pack.params, verdict, {"low": 0.8}) == ["low <= high"]


@pytest.mark.parametrize("value", ["80 %", [{"value": "80 %", "kernel": "*gemm*"}]])
def test_whoever_sets_parameters_is_told(value: object) -> None:
    pack = load_pack(plugins=False)
    with pytest.raises(UsageError, match="requires") as caught:
        assert Program(pack, {"speed-of-light.low": value}).params
    assert caught.value.code == "parameter-requirement"
    assert Program(pack, {"speed-of-light.low": "25 %"}).params
