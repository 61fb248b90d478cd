# ruff: noqa: D102 - callbacks are named after their grammar rule, which says what they read
"""Callbacks of the grammar for tests and declarations: statements gathered into nodes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any, cast

from profrx.language import ast
from profrx.language.build import Builder, Item
from profrx.language.diagnostics import Place
from profrx.language.lr import Token
from profrx.language.repairs import EXAMPLES
from profrx.language.text import decode

SHARED = {"title", "version", "scope", "see", "collect", "test"}
JUDGING = SHARED | {"param", "let", "require"}
STATEMENTS = {
    "metric": {
        "unit",
        "meaning",
        "valid",
        "scope",
        "kind",
        "source",
        "collect",
        "see",
        "family",
        "test",
        "deprecated",
    },
    "verdict": JUDGING | {"table", "under"},
    "guard": JUDGING | {"when", "blocks", "because", "severity", "fix"},
    "rule": JUDGING
    | {
        "when",
        "because",
        "cause",
        "under",
        "severity",
        "confidence",
        "estimate",
        "fix",
        "except",
        "evidence",
        "lines",
    }
    | {"suppresses", "since", "status", "applies_to"},
}
REPEATED = {
    "param",
    "let",
    "require",
    "fix",
    "except",
    "evidence",
    "lines",
    "collect",
    "suppresses",
    "see",
    "test",
    "source",
}
EXTENDING = {"source", "collect", "see", "test"}
"""What `extend metric` can add."""
REQUIRED = {
    "metric": ("meaning",),
    "verdict": ("title", "table"),
    "guard": ("title", "when", "blocks", "because"),
    "rule": ("title", "when", "because"),
}


class DeclarationBuilder(Builder):
    """All callbacks: expressions and statements from `Builder`, tests and declarations here."""

    # --- tests ---------------------------------------------------------------------------------------------

    def missing(self, c: list[Any]) -> Item:
        return Item("missing", None, self.span(c))

    def nan(self, c: list[Any]) -> ast.Quantity:
        return ast.Quantity(math.nan, str(c[1]) if len(c) > 1 else "", span=self.span(c))

    def instance(self, c: list[Any]) -> tuple[str, ast.Expr]:
        key = decode(c[0]) if c[0].type == "STRING" else str(c[0])
        return key, c[2]

    def instances(self, c: list[Any]) -> Item:
        members = tuple(child for child in c if isinstance(child, tuple))
        return Item("instances", members, self.span(c))

    def given_node(self, name: str, raw: bool, c: list[Any]) -> Item:
        value = c[-1]
        span = self.span(c)
        if isinstance(value, Item) and value.kind == "instances":
            return Item("given", ast.Given(name, None, raw, value.value, span=span), span)
        given = None if isinstance(value, Item) else value
        return Item("given", ast.Given(name, given, raw, span=span), span)

    def given_metric(self, c: list[Any]) -> Item:
        return self.given_node(str(c[0]), False, c)

    def given_raw(self, c: list[Any]) -> Item:
        return self.given_node(decode(c[1]), True, c)

    def given_context(self, c: list[Any]) -> Item:
        value = decode(c[2]) if c[2].type == "STRING" else str(c[2])
        return Item("context", (str(c[0]), ast.Text(value, span=self.span(c[2:]))), self.span(c))

    def given_report(self, c: list[Any]) -> Item:
        kernel = decode(c[3]) if len(c) > 3 else ""
        return Item("report", (decode(c[1]), kernel), self.span(c))

    def given(self, c: list[Any]) -> list[Item]:
        return [child for child in c if isinstance(child, Item)]

    def outcome(self, c: list[Any]) -> Item:
        if str(c[0]) == "value" and len(c) > 1:
            span = self.span(c[1:])
            return Item("value", ast.Range(c[1], c[-1], span=span), span)
        outcome = ast.Word(" ".join(c))
        outcome.span = self.span(c)
        return Item("outcome", outcome, self.span(c))

    def expect_level(self, c: list[Any]) -> Item:
        return Item(str(c[0]), self.word(c[1]), self.span(c))

    def expect_estimate(self, c: list[Any]) -> Item:
        return Item("estimate", ast.Range(c[1], c[-1], span=self.span(c[1:])), self.span(c))

    def expect_count(self, c: list[Any]) -> Item:
        return Item("count", self.whole(c[1], "a count"), self.span(c))

    def expect(self, c: list[Any]) -> list[Item]:
        items = {child.kind: child for child in c if isinstance(child, Item)}
        value = items.get("value")
        get = {kind: item.value for kind, item in items.items()}
        expect = ast.Expect(
            "value" if value else get["outcome"],
            get.get("severity", ""),
            get.get("confidence", ""),
            get.get("estimate"),
            get.get("value"),
            span=self.span(c),
        )
        return [
            Item("expect", expect, cast(Place, expect.span)),
            *([items["count"]] if "count" in items else []),
        ]

    def test(self, c: list[Any]) -> Item:
        parts: dict[str, list[Any]] = defaultdict(list)
        for child in c:
            for item in child if isinstance(child, list) else []:
                parts[item.kind].append(item.value)
        span = self.span(c)
        if len(parts["expect"]) != 1:
            what = "has no `expect`" if not parts["expect"] else "has more than one `expect`"
            self.report(
                "test-expectation", f"test {c[1]} {what}; every test states exactly one expectation", span
            )
        report, kernel = next(iter(parts["report"]), ("", ""))
        node = ast.Test(
            decode(c[1]),
            tuple(parts["given"]),
            parts["expect"][0] if parts["expect"] else ast.Expect("fired"),
            tuple(parts["context"]),
            report,
            kernel,
            next(iter(parts["count"]), None),
            span=span,
        )
        return Item("test", node, span)

    # --- declarations --------------------------------------------------------------------------------------

    pack_version = pack_requires = lambda self, c: Item(str(c[0]), decode(c[-1]), self.span(c))
    pack_title = pack_include = pack_version
    reference_title = reference_url = pack_version

    def pack_body(self, c: list[Any]) -> Item:
        return Item("body", [child for child in c if isinstance(child, Item)], self.span(c))

    def pack(self, c: list[Any]) -> ast.Pack:
        items = [child for child in c[2:] if isinstance(child, Item)]
        items += [inner for item in items if item.kind == "body" for inner in item.value]
        get = {item.kind: item.value for item in items}
        includes = tuple(item.value for item in items if item.kind == "include")
        return ast.Pack(
            decode(c[1]),
            get.get("version", ""),
            get.get("requires", ""),
            includes,
            get.get("title", ""),
            span=self.span(c),
        )

    def ruleset_entry(self, c: list[Any]) -> tuple[str, int]:
        return self.word(c[0]), self.whole(c[2], "a version") if len(c) > 2 else 1

    def ruleset(self, c: list[Any]) -> ast.Ruleset:
        override = str(c[0]) == "override"
        rules = tuple(child for child in c if isinstance(child, tuple))
        return ast.Ruleset(self.phrase(c[1 + override]), rules, override, span=self.span(c))

    def cause(self, c: list[Any]) -> ast.Cause:
        return ast.Cause(self.word(c[1]), decode(c[2]), span=self.span(c))

    def reference(self, c: list[Any]) -> ast.Reference:
        get = {child.kind: child.value for child in c if isinstance(child, Item)}
        for key in ("title", "url"):
            if not get.get(key):
                message = f"reference {c[1]} has no `{key}`"
                self.report("missing-statement", message, self.span(c[:2]), f"add: {EXAMPLES[key]}")
        return ast.Reference(self.word(c[1]), get.get("title", ""), get.get("url", ""), span=self.span(c))

    def file_param(self, c: list[Any]) -> ast.Param:
        param, *stray = c[0]
        for item in stray:
            self.report("stray-see", "`see` belongs on the line of its param here", item.span)
        return cast(ast.Param, param.value)

    def block(self, c: list[Any]) -> ast.Metric | ast.Verdict | ast.Guard | ast.Rule:
        prefix = str(c[0]) if str(c[0]) in ("override", "extend") else ""
        head = c[1:] if prefix else c
        kind, name = str(head[0]), self.word(head[1])
        items: list[Item] = []
        for child in head[2:]:
            items += child if isinstance(child, list) else [] if isinstance(child, Token) else [child]
        extends = prefix == "extend"
        if extends and kind != "metric":
            message = "only a metric can be extended; a rule, guard or verdict is replaced by `override`"
            self.report("misplaced-statement", message, self.span(c[:1]))
        parts = self._gather(kind, name, items, self.span(head[:2]), extends)
        if extends:
            return self._metric(name, parts, False, self.span(c), extends)
        make: dict[str, Callable[..., ast.Rule | ast.Guard | ast.Verdict | ast.Metric]] = {
            "metric": self._metric,
            "verdict": self._verdict,
            "guard": self._guard,
            "rule": self._rule,
        }
        return make[kind](name, parts, prefix == "override", self.span(c))

    def _gather(
        self, kind: str, name: str, items: list[Item], head: ast.Span, extends: bool
    ) -> dict[str, Any]:
        """Statements by keyword: the value, or the tuple of values of repeatable ones; reports what is off."""
        parts: dict[str, Any] = {}
        for item in items:
            if extends and item.kind not in EXTENDING:
                message = f"`extend metric` adds {', '.join(sorted(EXTENDING))}; `{item.kind}` stays as it is"
                self.report("misplaced-statement", message, item.span)
            elif item.kind not in STATEMENTS[kind]:
                owners = [owner for owner, allowed in STATEMENTS.items() if item.kind in allowed]
                shown = "one_of / first / all" if item.kind == "table" else item.kind
                message = f"`{shown}` belongs in a {' or '.join(owners)}, not in a {kind}"
                self.report("misplaced-statement", message, item.span)
            elif item.kind in REPEATED:
                parts[item.kind] = (*parts.get(item.kind, ()), item.value)
            elif item.kind in parts:
                hint = "join them by `and` or `or`" if item.kind == "when" else ""
                message = f"{kind} {name} has two `{item.kind}`; keep one"
                self.report("duplicate-statement", message, item.span, hint)
            else:
                parts[item.kind] = item.value
        for required in REQUIRED[kind]:
            if required not in parts and not extends:
                shown = "one_of { … }" if required == "table" else required
                hint = self._taken(required, parts) or f"add: {EXAMPLES[required]}"
                self.report("missing-statement", f"{kind} {name} has no `{shown}`", head, hint)
        return parts

    def _taken(self, required: str, parts: dict[str, Any]) -> str:
        """Where a statement went that its author wrote behind another one, which took it."""
        levels = [(word, level) for word in ("severity", "confidence") for level in parts.get(word, ())[-1:]]
        taker = next((word for word, level in levels if level.when is not None), "")
        if not taker and any(one.when is not None for one in parts.get("suppresses", ())):
            taker = "suppresses"
        if required == "when" and taker:
            return f"`when` on the line of `{taker}` is that statement's own: write the other on a line of its own"
        if required == "because" and parts.get("suppresses"):
            return "`because` behind `suppresses` says why it suppresses: write another one for the rule"
        return ""

    def _metric(
        self, name: str, p: dict[str, Any], override: bool, span: ast.Span, extends: bool = False
    ) -> ast.Metric:
        return ast.Metric(
            name,
            p.get("unit", ""),
            p.get("meaning", ""),
            p.get("valid"),
            p.get("scope", "launch"),
            p.get("kind", "number"),
            p.get("source", ()),
            p.get("collect", ()),
            sum(p.get("see", ()), ()),
            p.get("family", ""),
            p.get("test", ()),
            p.get("deprecated", ""),
            override,
            extends,
            span=span,
        )

    def _common(self, name: str, p: dict[str, Any], span: ast.Span) -> dict[str, Any]:
        return {
            "name": name,
            "title": p.get("title", ""),
            "scope": p.get("scope", "launch"),
            "params": p.get("param", ()),
            "lets": p.get("let", ()),
            "tests": p.get("test", ()),
            "see": sum(p.get("see", ()), ()),
            "collect": p.get("collect", ()),
            "version": p.get("version", 1),
            "requires": p.get("require", ()),
            "span": span,
        }

    def _verdict(self, name: str, p: dict[str, Any], override: bool, span: ast.Span) -> ast.Verdict:
        hit, rows = p.get("table", ("one_of", ()))
        under, anyway = p.get("under", ((), False))
        if anyway:
            self.report(
                "misplaced-statement", "`anyway` belongs in a rule: a verdict has no parent to doubt", span
            )
        return ast.Verdict(**self._common(name, p, span), rows=rows, hit=hit, under=under, override=override)

    def _guard(self, name: str, p: dict[str, Any], override: bool, span: ast.Span) -> ast.Guard:
        levels = p.get("severity", (ast.Level("warning"),))
        if (
            len(levels) != 1
            or levels[0].when is not None
            or levels[0].level not in ("info", "warning", "error")
        ):
            self.report(
                "unknown-level",
                "the severity of a guard is info, warning or error, without a condition",
                levels[0].span,
                "write severity info, warning or error",
            )
        return ast.Guard(
            **self._common(name, p, span),
            when=p.get("when", ast.Bool(False)),
            blocks=p.get("blocks", ()),
            because=p.get("because", ""),
            severity=levels[0].level,
            fix=p.get("fix", ()),
            override=override,
        )

    def _rule(self, name: str, p: dict[str, Any], override: bool, span: ast.Span) -> ast.Rule:
        under, anyway = p.get("under", ((), False))
        status, replaced_by = p.get("status", ("stable", ""))
        return ast.Rule(
            **self._common(name, p, span),
            when=p.get("when", ast.Bool(False)),
            because=p.get("because", ""),
            cause=p.get("cause", ""),
            under=under,
            anyway=anyway,
            severity=p.get("severity", ()),
            confidence=p.get("confidence", ()),
            estimate=p.get("estimate"),
            fix=p.get("fix", ()),
            exceptions=p.get("except", ()),
            evidence=p.get("evidence", ()),
            lines=p.get("lines", ()),
            suppresses=p.get("suppresses", ()),
            since=p.get("since", ""),
            status=status,
            replaced_by=replaced_by,
            override=override,
            applies_to=p.get("applies_to", ()),
        )
