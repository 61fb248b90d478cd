"""Packs: folders, files, overrides, extensions, broken declarations, the cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from profrx.language import cache
from profrx.language.pack import PackError, load_pack

from .conftest import CATALOGUE


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PROFRX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("PROFRX_NO_CACHE", raising=False)
    return tmp_path / "cache" / "rules"


@pytest.fixture
def folder(tmp_path: Path, rule_text: Callable[..., str]) -> Path:
    root = tmp_path / "pack"
    (root / "sub").mkdir(parents=True)
    (root / "catalogue.rule").write_text(CATALOGUE, "utf-8")
    (root / "sub" / "one.rule").write_text(rule_text("one"), "utf-8")
    (root / ".hidden.rule").write_text("broken {", "utf-8")
    (root / "notes.txt").write_text("not a rule", "utf-8")
    return root


def test_a_folder_is_read_with_its_subfolders(folder: Path) -> None:
    pack = load_pack([folder], default=False)
    assert list(pack.rules) == ["one"]
    assert not pack.diagnostics
    assert pack.origin["rule", "one"] == "pack"
    assert pack.rules["one"].span.file.endswith("sub/one.rule")


def test_links_out_of_a_pack_are_left_alone(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.rule"
    outside.write_text('cause outside "x"', "utf-8")
    (folder / "link.rule").symlink_to(outside)
    assert "outside" not in load_pack([folder], default=False).causes


def test_missing_and_empty_paths(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="does not exist"):
        load_pack([tmp_path / "nope"], default=False)
    with pytest.raises(PackError, match="holds no"):
        load_pack([tmp_path], default=False)


def test_an_id_is_taken_once_unless_overridden(
    folder: Path, tmp_path: Path, rule_text: Callable[..., str]
) -> None:
    more = tmp_path / "more.rule"
    more.write_text(rule_text("one").replace("A rule", "Another"), "utf-8")
    pack = load_pack([folder, more], default=False)
    assert pack.rules["one"].title == "A rule"
    assert [d.code for d in pack.diagnostics] == ["duplicate-id"]
    more.write_text(
        rule_text("one").replace("A rule", "Another").replace("rule one", "override rule one"), "utf-8"
    )
    pack = load_pack([folder, more], default=False)
    assert pack.rules["one"].title == "Another"
    assert not pack.diagnostics


def test_a_metric_can_be_extended_from_anywhere(folder: Path) -> None:
    (folder / "a_first.rule").write_text('extend metric dram.bytes { source rocm "FETCH_SIZE" KiB }', "utf-8")
    sources = load_pack([folder], default=False).metrics["dram.bytes"].sources
    assert [(s.tool, s.names, s.unit) for s in sources] == [
        ("ncu", ("dram__bytes.sum",), ""),
        ("rocm", ("FETCH_SIZE",), "KiB"),
    ]


def test_broken_declarations_are_left_out_with_all_that_needs_them(
    folder: Path, rule_text: Callable[..., str]
) -> None:
    (folder / "bad.rule").write_text(
        'metric m.bad { unit % meaning "m" source ncu = dram.bytes }\n'
        + rule_text("needs-bad", "and m.bad > 3 %")
        + rule_text("wrong-unit", "and launch.duration > 3 B"),
        "utf-8",
    )
    pack = load_pack([folder], default=False)
    assert list(pack.rules) == ["one"]
    assert {d.subject for d in pack.diagnostics} == {"metric m.bad", "rule needs-bad", "rule wrong-unit"}
    unchecked = load_pack([folder], default=False, checked=False)
    assert {"needs-bad", "wrong-unit"} <= unchecked.rules.keys()
    assert not unchecked.diagnostics


def test_a_second_load_comes_from_the_cache_and_is_equal(
    folder: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load_pack([folder], default=False)
    assert len(list(own_cache.iterdir())) == 2
    monkeypatch.setattr("profrx.language.pack.read", lambda *_: pytest.fail("parsed again"))
    monkeypatch.setattr("profrx.language.check.without_broken", lambda *_: pytest.fail("checked again"))
    second = load_pack([folder], default=False)
    assert second == first
    one, two = first.rules["one"], second.rules["one"]
    assert (one.span.line, one.when.span.column) == (two.span.line, two.when.span.column)
    assert two.params[0].see[0].span.line == one.params[0].see[0].span.line  # type: ignore[attr-defined]


def test_the_whole_default_pack_survives_the_cache() -> None:
    assert load_pack(plugins=False) == load_pack(plugins=False)


def test_changed_content_is_read_again(folder: Path) -> None:
    load_pack([folder], default=False)
    path = folder / "sub" / "one.rule"
    path.write_text(path.read_text("utf-8").replace("A rule", "Changed"), "utf-8")
    assert load_pack([folder], default=False).rules["one"].title == "Changed"


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00", b"not msgpack at all", b"\x81\xa1x\x91\x91\xcd\xff\xff", b"\x80", b"\xdf\xff\xff\xff\xff"],
)
def test_a_damaged_cache_is_a_miss(folder: Path, own_cache: Path, content: bytes) -> None:
    first = load_pack([folder], default=False)
    (stored,) = own_cache.glob("*.mpk")
    stored.write_bytes(content)
    assert load_pack([folder], default=False) == first


def test_a_file_that_others_can_write_is_not_trusted(folder: Path, own_cache: Path) -> None:
    load_pack([folder], default=False)
    (stored,) = own_cache.glob("*.mpk")
    stored.chmod(0o666)
    assert cache.load("x", {}) is None
    assert not cache._own(stored)


def test_packs_with_mistakes_are_not_kept(folder: Path, own_cache: Path) -> None:
    (folder / "bad.rule").write_text("rule x {", "utf-8")
    load_pack([folder], default=False)
    assert not own_cache.exists()


def test_an_unwritable_cache_is_no_failure(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("x", "utf-8")
    monkeypatch.setenv("PROFRX_CACHE_DIR", str(blocked))
    assert load_pack([folder], default=False).rules


def test_no_cache_when_not_wanted(folder: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROFRX_NO_CACHE", "1")
    load_pack([folder], default=False)
    assert not own_cache.exists()


def test_the_default_pack_has_no_errors() -> None:
    assert [str(d) for d in load_pack(plugins=False).diagnostics] == []


def test_a_broken_pack_does_not_spoil_the_cache_of_others(
    folder: Path, tmp_path: Path, own_cache: Path
) -> None:
    bad = tmp_path / "bad.rule"
    bad.write_text("rule x {", "utf-8")
    pack = load_pack([folder, bad], default=False)
    assert [d.code for d in pack.diagnostics] == ["unexpected-end"]
    assert len(list(own_cache.glob("*.mpk"))) == 1
    assert not list(own_cache.glob("*.ok"))
    assert [d.code for d in load_pack([folder, bad], default=False).diagnostics] == ["unexpected-end"]


def test_includes_restrict_a_pack(folder: Path, rule_text: Callable[..., str]) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "two.rule").write_text(rule_text("two"), "utf-8")
    header = folder / "pack.rule"
    header.write_text('pack "p" version "1" { include "sub/" include "catalogue.rule" }', "utf-8")
    pack = load_pack([folder], default=False)
    assert list(pack.rules) == ["one"]
    assert not pack.diagnostics
    assert pack.packs[0].name == "p"


@pytest.mark.parametrize("part", ["/etc/", "../x", "https://example.org/", "C:/x", "~/x", "nothing/"])
def test_includes_stay_inside(folder: Path, part: str) -> None:
    (folder / "pack.rule").write_text(f'pack "p" {{ include "catalogue.rule" include "{part}" }}', "utf-8")
    assert [d.code for d in load_pack([folder], default=False).diagnostics] == ["bad-include"]


@pytest.mark.parametrize(
    ("demand", "fits"),
    [
        (">=0.1", True),
        (">=0.1,<2", True),
        (">=99", False),
        ("==0.1.0", True),
        ("!=0.1", False),
        ("newest", False),
        (">0.0.9", True),
    ],
)
def test_a_pack_for_another_engine_is_left_out(folder: Path, demand: str, fits: bool) -> None:
    (folder / "pack.rule").write_text(f'pack "p" requires engine "{demand}"', "utf-8")
    pack = load_pack([folder], default=False)
    assert bool(pack.rules) == fits
    assert [d.code for d in pack.diagnostics] == ([] if fits else ["engine-version"])


def test_a_path_given_twice_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings name a pack that the command line names, too."""
    monkeypatch.chdir(folder.parent)
    pack = load_pack([folder, "pack", f"{folder}/sub/.."], default=False)
    assert list(pack.rules) == ["one"]
    assert not pack.diagnostics


def test_a_ruleset_replaces_another_only_when_it_says_so(folder: Path, tmp_path: Path) -> None:
    (folder / "sets.rule").write_text('ruleset "2026.1" { one version 1 }', "utf-8")
    later = tmp_path / "later.rule"
    later.write_text('ruleset "2026.1" { one version 1, two version 1 }', "utf-8")
    pack = load_pack([folder, later], default=False, checked=False)
    (clash,) = pack.diagnostics
    assert (clash.code, clash.span.file) == ("duplicate-id", str(later))
    assert "override" in clash.help
    assert [name for name, _ in pack.rulesets["2026.1"].rules] == ["one"]
    later.write_text('override ruleset "2026.1" { one version 1, two version 1 }', "utf-8")
    pack = load_pack([folder, later], default=False, checked=False)
    assert [name for name, _ in pack.rulesets["2026.1"].rules] == ["one", "two"]
    assert not pack.diagnostics
    (folder / "sets.rule").write_text('ruleset "a" { one } ruleset "a" { one }', "utf-8")
    assert [d.code for d in load_pack([folder], default=False).diagnostics] == ["duplicate-id"]
    (folder / "sets.rule").write_text('override ruleset "b" { one }', "utf-8")
    assert [d.code for d in load_pack([folder], default=False).diagnostics] == ["override-nothing"]
