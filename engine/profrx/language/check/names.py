"""Pass: every name that is read stands for something."""

from __future__ import annotations

import re
from collections.abc import Collection

from profrx.language import ast
from profrx.language.check.context import MEMBER_NAMES, NARROW_TO_WIDE, Context, Scope, head
from profrx.language.check.misnamed import meant
from profrx.language.syntax_errors import EXPRESSION_WORDS
from profrx.language.tables import tables
from profrx.language.walk import Judge, children, expressions
from profrx.language.walk import names as expr_names

TOOLS = ("ncu", "nsys", "rocm", "torch", "metal", "bench")
"""Tools whose reports are read; sources also come from the tables ``launch device timeline``."""
TABLES = ("launch", "device", "timeline", "capture", "summary")
LEVELS = {
    "severity": ("info", "low", "medium", "high", "critical"),
    "confidence": ("low", "medium", "high"),
}
STATUSES = ("preview", "stable", "deprecated", "removed")
KINDS = ("number", "text", "instances")
DOMAINS = ("instances", "launches", "kernels", "devices", "streams", "ranges", "ranks", "steps")
OUTCOMES = ("fired", "not fired", "unknown", "skipped", "blocked", "not applicable")
_ID = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_LOCAL = re.compile(r"[a-z_][a-z0-9_]*")


def names(context: Context) -> None:
    """Unknown metrics, params, parents, causes, references, scopes, levels; ids in the wrong spelling."""
    for node in context.judges():
        _judge(context, node)
    for metric in context.metrics():
        _metric(context, metric)
    for param in context.pack.params.values():
        if context.wanted(param):
            _dotted(context, param)
    for ruleset in context.pack.rulesets.values():
        if context.wanted(ruleset):
            for rule, _ in ruleset.rules:
                _known(
                    context,
                    ruleset,
                    "unknown-rule",
                    "rule",
                    rule,
                    context.pack.rules,
                    ruleset.span,
                    "`profrx rules list` names the rules",
                )


def _known(
    context: Context,
    node: ast.Declaration,
    code: str,
    what: str,
    name: str,
    known: Collection[str],
    span: ast.Span,
    hint: str = "",
) -> bool:
    """Report `name` unless it is one of `known`; a word knows its place better than the statement does."""
    if name in known:
        return True
    known = list(known)
    span = getattr(name, "span", span)
    hint = context.suggest(name, known) or hint or (f"known: {', '.join(known)}" if len(known) <= 12 else "")
    context.report(node, code, f"there is no {what} `{name}`", span, hint=hint)
    return False


def _judge(context: Context, node: Judge) -> None:
    pack = context.pack
    if not _ID.fullmatch(node.name):
        hint = f"write {_kebab(node.name)}"
        context.report(node, "bad-name", f"`{node.name}` is not an id in kebab-case", head(node), hint=hint)
    elif node.name in tables().keywords:
        message = f"`{node.name}` is a word of the language and cannot be an id"
        context.report(node, "bad-name", message, head(node), hint=f"write {node.name}-something")
    _known(context, node, "unknown-scope", "scope", node.scope, NARROW_TO_WIDE, node.span)
    scope = context.scope(node)
    for let in node.lets:
        _local_name(context, node, let.name, _at(let.name, let))
        _expression(context, scope.before(let), let.expr)
    for param in node.params:
        _param(context, node, param)
    for _, expr in expressions(node):
        _expression(context, scope, expr)
    for reference in node.see:
        _reference(context, node, reference, node.span)
    for test in node.tests if context.tests else ():
        _test(context, node, test)
    if isinstance(node, ast.Rule | ast.Verdict):
        for parent in node.under:
            table = pack.verdicts.get(parent)
            hint = f"name one of its rows: {', '.join(row.name for row in table.rows[:8])}" if table else ""
            hint = (
                hint
                or "`profrx rules list` names verdicts and rules, `profrx rules show` the rows of a verdict"
            )
            _known(
                context,
                node,
                "unknown-parent",
                "verdict row or rule",
                parent,
                context.parents,
                node.span,
                hint,
            )
    if isinstance(node, ast.Rule):
        _rule(context, node)
    if isinstance(node, ast.Guard):
        for name in node.blocks:
            if "." in name:
                _known(context, node, "unknown-metric", "metric", name, pack.metrics, node.span)
            else:
                _known(
                    context, node, "unknown-rule", "rule", name, {**pack.rules, **pack.verdicts}, node.span
                )
    if isinstance(node, ast.Verdict):
        for row in node.rows:
            if not _ID.fullmatch(row.name):
                hint = f"write {_kebab(row.name)}"
                context.report(
                    node,
                    "bad-name",
                    f"`{row.name}` is not an id in kebab-case",
                    _at(row.name, row),
                    hint=hint,
                )


def _rule(context: Context, node: ast.Rule) -> None:
    pack = context.pack
    if node.cause:
        hint = f'declare it: cause {node.cause} "…"'
        _known(context, node, "unknown-cause", "cause", node.cause, pack.causes, node.span, hint)
    for word, levels in (("severity", node.severity), ("confidence", node.confidence)):
        for level in levels:
            _known(context, node, "unknown-level", word, level.level, LEVELS[word], level.span)
    _known(context, node, "unknown-status", "status", node.status, STATUSES, node.span)
    if node.replaced_by:
        _known(context, node, "unknown-rule", "rule", node.replaced_by, pack.rules, node.span)
    for tool in node.applies_to:
        _known(context, node, "unknown-tool", "tool", tool, TOOLS, node.span)
    for suppressed in node.suppresses:
        _known(context, node, "unknown-rule", "rule", suppressed.rule, pack.rules, suppressed.span)
        if suppressed.rule == node.name:
            context.report(node, "cycle", "a rule cannot suppress itself", suppressed.span)
    for lines in node.lines:
        _name(context, context.scope(node), ast.Name(lines.metric, span=lines.span))


def _metric(context: Context, metric: ast.Metric) -> None:
    _dotted(context, metric)
    _known(context, metric, "unknown-kind", "kind of metric", metric.kind, KINDS, metric.span)
    _known(context, metric, "unknown-scope", "scope", metric.scope, NARROW_TO_WIDE, metric.span)
    for source in metric.sources:
        _known(context, metric, "unknown-tool", "tool or table", source.tool, (*TOOLS, *TABLES), source.span)
        for name in source.names:
            _raw(context, metric, name, source.span)
        if source.formula is not None:
            _expression(context, context.scope(metric), source.formula)
    for reference in metric.see:
        _reference(context, metric, reference, metric.span)
    for test in metric.tests if context.tests else ():
        for given in test.given:
            _input(context, metric, given)
            if not given.raw:
                _known(
                    context, metric, "unknown-metric", "metric", given.name, context.pack.metrics, given.span
                )


def _dotted(context: Context, node: ast.Metric | ast.Param) -> None:
    """Names that every rule can read have a dot, so that no param or let hides them."""
    if "." not in node.name:
        what = "metric" if isinstance(node, ast.Metric) else "param of a file"
        message = f"the name of a {what} is dotted, so that no let hides it"
        owner = context.pack.origin.get((type(node).__name__.lower(), node.name), "")
        hint = f"write {owner if _LOCAL.fullmatch(owner) else 'my'}.{node.name}"
        context.report(node, "bad-name", message, head(node), severity="warning", hint=hint)


def _param(context: Context, node: ast.Declaration, param: ast.Param) -> None:
    _local_name(context, node, param.name, _at(param.name, param))
    for reference in param.see:
        _reference(context, node, reference, param.span)


def _local_name(context: Context, node: ast.Declaration, name: str, span: ast.Span) -> None:
    if not _LOCAL.fullmatch(name):
        hint = f"write {_kebab(name).replace('-', '_')}"
        context.report(
            node, "bad-name", f"`{name}` is not a name in snake_case without dots", span, hint=hint
        )
    elif name in EXPRESSION_WORDS:
        message = f"`{name}` is a word of the language and cannot be declared"
        context.report(node, "bad-name", message, span, hint="choose another name")
    elif name in MEMBER_NAMES:
        message = f"`{name}` names a member inside `over instances` and cannot be declared"
        context.report(node, "bad-name", message, span, hint="choose another name")


def _reference(context: Context, node: ast.Declaration, name: str, span: ast.Span) -> None:
    hint = f'declare it: reference {name} {{ title "…" url "…" }}'
    _known(context, node, "unknown-reference", "reference", name, context.pack.references, span, hint)


def _kebab(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).replace("_", "-").replace(".", "-").lower()


def _expression(context: Context, scope: Scope, expr: ast.Expr) -> None:
    """Check the names of an expression, with `key`, `index`, `value` where a member is evaluated."""
    pending = [(expr, scope)]
    while pending:
        node, here = pending.pop()
        match node:
            case ast.Name():
                _name(context, here, node)
            case ast.Raw():
                _raw(context, here.owner, node.name, node.span)
            case ast.Fired():
                _known(context, here.owner, "unknown-rule", "rule", node.rule, context.pack.rules, node.span)
            case ast.Aggregate():
                _known(context, here.owner, "unknown-domain", "domain", node.domain, DOMAINS, node.span)
                if node.domain == "instances" and not node.raw:
                    _name(context, here, ast.Name(node.metric, span=node.span))
                elif node.raw:
                    _raw(context, here.owner, node.metric, node.span)
                inner = here.inside()
                pending += [(part, inner) for part in (node.expr, node.where) if part is not None]
            case _:
                pending += [(part, here) for part in children(node)]


def _name(context: Context, scope: Scope, node: ast.Name) -> None:
    name = node.name
    if (scope.members and name in MEMBER_NAMES) or scope.find(name) is not None:
        return
    owner = scope.owner
    if name in MEMBER_NAMES:
        message = f"`{name}` names a member and means something only inside `F(… over instances …)`"
        context.report(owner, "unknown-name", message, node.span)
        return
    if name in DOMAINS:
        hint = f"members are named behind `over`: mean(launch.duration over {name})"
        context.report(owner, "unknown-name", f"`{name}` is no value", node.span, hint=hint)
        return
    if isinstance(owner, ast.Rule | ast.Verdict | ast.Guard) and any(let.name == name for let in owner.lets):
        context.report(
            owner, "unknown-name", f"`{name}` is read above its `let`", node.span, hint="move the let up"
        )
        return
    wrong = meant(name)
    logical = wrong[0] if wrong else context.raw_names.get(name, "")
    if wrong or logical:
        why = f"no report holds `{name}`: {wrong[1]}" if wrong else f"`{name}` is a vendor's name"
        hint = (
            f"did you mean {logical}?"
            if wrong
            else f'write {logical}, or raw "{name}" for exactly this counter'
        )
        context.report(owner, "unknown-metric", why, node.span, hint=hint)
        return
    if "__" in name:
        hint = f'quote a vendor\'s name: raw "{name}", with its unit behind it'
        context.report(owner, "unknown-metric", f"there is no metric `{name}`", node.span, hint=hint)
        return
    code, what = ("unknown-metric", "metric") if "." in name else ("unknown-name", "param, let or metric")
    context.report(
        owner, code, f"there is no {what} `{name}`", node.span, hint=context.suggest(name, scope.known())
    )


def _raw(context: Context, owner: ast.Declaration, name: str, span: ast.Span) -> None:
    wrong = meant(name)
    if wrong is not None:
        message = f"no report holds `{name}`: {wrong[1]}"
        context.report(owner, "unknown-raw-name", message, span, hint=f"did you mean {wrong[0]}?")


def _input(context: Context, node: Judge | ast.Metric, given: ast.Given) -> None:
    """The value of an input is a constant."""
    values = [value for _, value in given.instances or ()] + [given.value]
    for value in values:
        for name in expr_names(value) if value is not None else ():
            absent = name.name.lower() in ("null", "none", "na", "unknown", "undefined", "nil")
            hint = f"write {given.name} missing" if absent else "write a number with its unit, or a text"
            message = f"`{name.name}` is no value that a test can give"
            context.report(node, "unknown-name", message, name.span, hint=hint)


def _at(name: str, node: ast.Node) -> ast.Span:
    """The place of a name, or of what it names."""
    span: ast.Span = getattr(name, "span", node.span)
    return span


def _test(context: Context, node: Judge, test: ast.Test) -> None:
    known = {param.name for param in node.params}
    lets = {let.name: let for let in node.lets}
    for given in test.given:
        _input(context, node, given)
        if not given.raw and given.name in lets:
            read = ", ".join(dict.fromkeys(name.name for name in expr_names(lets[given.name].expr)))
            message = f"`{given.name}` is a let; a test gives what it is computed from"
            context.report(node, "unknown-name", message, given.span, hint=f"give {read or 'metrics'}")
        elif not given.raw and given.name not in known and given.name not in context.pack.params:
            _name(context, Scope(context.pack, node), ast.Name(given.name, span=given.span))
    expect = test.expect
    if expect.outcome not in OUTCOMES:
        rows = [row.name for row in node.rows] if isinstance(node, ast.Verdict) else []
        outcomes = [*rows, "unknown"] if rows else list(OUTCOMES)
        _known(context, node, "unknown-outcome", "outcome", expect.outcome, outcomes, expect.span)
    for word, level in (("severity", expect.severity), ("confidence", expect.confidence)):
        if level:
            _known(context, node, "unknown-level", word, level, LEVELS[word], expect.span)
