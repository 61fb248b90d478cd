"""Which rules of a pack take part: frozen rulesets, the lifecycle, and a lock file that says what was used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from profrx.language import ast
from profrx.language.diagnostics import Diagnostic, did_you_mean
from profrx.language.pack import Pack
from profrx.language.printer import expr_text, to_text
from profrx.language.walk import Judge


def select(pack: Pack, ruleset: str = "", preview: bool = False) -> Pack:
    """The pack with the rules of a frozen ruleset, or with all that are not retired.

    Rules in preview take part only when asked for, or when the ruleset names them; removed ones never do, and a
    `removed` rule that a ruleset names is an error with its successor. A ruleset that asks for a version that is
    not there is an error, too: what it promised cannot be kept.
    """
    if not ruleset:
        kept = {
            name: rule
            for name, rule in pack.rules.items()
            if rule.status != "removed" and (preview or rule.status != "preview")
        }
        return replace(pack, rules=kept)
    wanted = pack.rulesets.get(ruleset)
    if wanted is None:
        hint = did_you_mean(ruleset, pack.rulesets) or f"known: {', '.join(pack.rulesets) or 'none'}"
        unknown = Diagnostic("unknown-ruleset", f"there is no ruleset {ruleset!r}", hint=hint)
        return replace(pack, rules={}, diagnostics=(*pack.diagnostics, unknown))
    rules: dict[str, ast.Rule] = {}
    problems: list[Diagnostic] = []
    for name, version in wanted.rules:
        rule = pack.rules.get(name)
        problem = _promise(wanted, name, version, rule)
        if problem is not None:
            problems.append(problem)
        elif rule is not None:
            rules[name] = rule
    return replace(pack, rules=rules, diagnostics=(*pack.diagnostics, *problems))


def _promise(frozen: ast.Ruleset, name: str, version: int, rule: ast.Rule | None) -> Diagnostic | None:
    subject = f"ruleset {frozen.name}"
    if rule is None:
        return Diagnostic("unknown-rule", f"there is no rule `{name}`", frozen.span, subject=subject)
    if rule.status == "removed":
        hint = f"use {rule.replaced_by}" if rule.replaced_by else ""
        return Diagnostic(
            "removed-rule", f"rule `{name}` is removed", frozen.span, hint=hint, subject=subject
        )
    if rule.version != version:
        message = f"rule `{name}` is at version {rule.version}, not {version}"
        hint = "use the release of the pack that holds this version, or a newer ruleset"
        return Diagnostic("ruleset-version", message, frozen.span, hint=hint, subject=subject)
    return None


def frozen(pack: Pack, name: str, only: Container[str] | None = None) -> ast.Ruleset:
    """A ruleset of every stable rule at its version, by id; `only` = those of these ids."""
    stable = [rule for rule in pack.rules.values() if rule.status == "stable"]
    chosen = sorted((rule.name, rule.version) for rule in stable if only is None or rule.name in only)
    return ast.Ruleset(name, tuple(chosen))


def lock(pack: Pack) -> str:
    """A lock file: everything that a result depends on, as JSON that two runs can compare."""
    content = {
        "schema": "profrx.lock/1",
        "packs": [{"name": header.name, "version": header.version} for header in pack.packs],
        "files": {
            name: hashlib.sha256(text.encode()).hexdigest() for name, text in sorted(pack.files.items())
        },
        "rules": {
            name: {"version": node.version, "sha256": digest(node)}
            for name, node in sorted(_judges(pack).items())
        },
    }
    return json.dumps(content, indent=2) + "\n"


def compare_lock(pack: Pack, locked: str) -> list[str]:
    """What differs from a lock file, one sentence each; nothing when the pack is the one that was locked.

    Raises:
        ValueError: the text is no lock file.
    """
    try:
        before: dict[str, Any] = json.loads(locked)["rules"]
        pairs = {name: (entry["version"], entry["sha256"]) for name, entry in before.items()}
    except (json.JSONDecodeError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise ValueError("this is no lock file of profrx") from error
    now = {name: (node.version, digest(node)) for name, node in _judges(pack).items()}
    differences = [f"{name} is new" for name in now if name not in pairs]
    differences += [f"{name} is gone" for name in pairs if name not in now]
    for name in now.keys() & pairs.keys():
        if now[name] != pairs[name]:
            same_version = now[name][0] == pairs[name][0]
            what = (
                "changed without a new version"
                if same_version
                else f"went from version {pairs[name][0]} to {now[name][0]}"
            )
            differences.append(f"{name} {what}")
    return sorted(differences)


def digest(node: Judge) -> str:
    """SHA-256 of a declaration in canonical form, without its tests: layout and comments do not count."""
    return hashlib.sha256(to_text(replace(node, tests=())).encode()).hexdigest()


def _judges(pack: Pack) -> dict[str, Judge]:
    return {**pack.verdicts, **pack.guards, **pack.rules}


def unmet(shared: Mapping[str, ast.Param], node: Judge, values: Mapping[str, float]) -> list[str]:
    """Which `require` of a declaration do not hold when some of its parameters have other values.

    `shared` are the file-level parameters; `values` are in base units, by name.
    """
    from profrx.language.check.context import Scope
    from profrx.language.check.formula import Compiler, constant

    exact = {name: Fraction(repr(float(value))) for name, value in values.items()}
    compiler, scope = Compiler(at=exact), Scope(Pack(params=shared), node, node.lets, node.params)
    return [
        expr_text(demand) for demand in node.requires if constant(compiler.condition(demand, scope)) is False
    ]
