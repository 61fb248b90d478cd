"""Pass: names that are declared and never read, declared twice, or hide another; use of what is deprecated."""

from __future__ import annotations

from collections.abc import Iterator

from profrx.language import ast
from profrx.language.check.context import Context
from profrx.language.template import fields
from profrx.language.walk import Judge, expressions, names, nodes, templates


def usage(context: Context) -> None:
    """Unused, shadowed, duplicate and deprecated names."""
    for node in context.judges():
        _shadowed(context, node)
        if id(node) not in context.broken:  # else a misspelt name leaves the right one unread
            _unused(context, node)
        _deprecated(context, node)
    _ids(context)
    _promises(context)
    read = {name for owner in _all(context) for name in _read(owner)}
    for param in context.pack.params.values():
        if context.wanted(param) and param.name not in read:
            context.report(
                param,
                "unused-name",
                f"no rule reads `{param.name}`",
                param.span,
                severity="warning",
                hint="drop it",
            )
    for metric in context.metrics():
        for _, expr in expressions(metric):
            _deprecated_metrics(context, metric, expr)


def _all(context: Context) -> Iterator[Judge]:
    yield from context.pack.rules.values()
    yield from context.pack.verdicts.values()
    yield from context.pack.guards.values()


def _read(node: Judge) -> set[str]:
    """Every name that a declaration reads, in expressions, templates and `lines`."""
    found = {name.name for _, expr in expressions(node) for name in names(expr)}
    found |= {name.name for let in node.lets for name in names(let.expr)}
    found |= {field.name for _, text in templates(node) for field in fields(text)}
    if isinstance(node, ast.Rule):
        found |= {lines.metric for lines in node.lines}
    return found


def _unused(context: Context, node: Judge) -> None:
    read = _read(node)
    for kind, declared in (("param", node.params), ("let", node.lets)):
        for one in declared:
            if one.name not in read:
                message = f"{kind} `{one.name}` is never read"
                context.report(
                    node, "unused-name", message, one.span, severity="warning", hint="use it or drop it"
                )


def _shadowed(context: Context, node: Judge) -> None:
    seen: dict[str, str] = {}
    for kind, declared in (("param", node.params), ("let", node.lets)):
        for one in declared:
            if one.name in seen:
                message = f"{kind} `{one.name}` hides the {seen[one.name]} of the same name"
                context.report(node, "shadowed-name", message, one.span, hint="rename one of them")
            elif one.name in context.pack.metrics:
                message = f"{kind} `{one.name}` hides the metric of the same name"
                context.report(node, "shadowed-name", message, one.span, severity="warning", hint="rename it")
            seen[one.name] = kind


def _ids(context: Context) -> None:
    """Verdict rows and rules are named in one place, `under`: their ids must differ."""
    rules = context.pack.rules
    owners: dict[str, str] = {}
    for verdict in context.pack.verdicts.values():
        for row in verdict.rows:
            span = getattr(row.name, "span", row.span)
            other = owners.get(row.name) or ("a rule" if row.name in rules else "")
            if other and context.wanted(verdict):
                message = f"the id `{row.name}` is already that of {other}"
                context.report(verdict, "duplicate-id", message, span, hint="rename one of them")
            owners[row.name] = f"a row of {verdict.name}"


def _promises(context: Context) -> None:
    """A ruleset names a version; the rule that is there must be that one."""
    for ruleset in context.pack.rulesets.values():
        for name, version in ruleset.rules if context.wanted(ruleset) else ():
            rule = context.pack.rules.get(name)
            if rule is not None and rule.version != version:
                message = f"rule `{name}` is at version {rule.version}, not {version}"
                hint = f"write {name} version {rule.version}, or begin a newer ruleset"
                span = getattr(name, "span", ruleset.span)
                context.report(ruleset, "ruleset-version", message, span, hint=hint)


def _deprecated(context: Context, node: Judge) -> None:
    rules = context.pack.rules
    for let in node.lets:
        _deprecated_metrics(context, node, let.expr)
    for _, expr in expressions(node):
        _deprecated_metrics(context, node, expr)
        for part in nodes(expr):
            if isinstance(part, ast.Fired):
                _retired(context, node, part.rule, part.span)
    if isinstance(node, ast.Rule | ast.Verdict):
        for parent in node.under:
            _retired(context, node, parent, getattr(parent, "span", node.span))
    if isinstance(node, ast.Rule):
        if node.status in ("deprecated", "removed") and not node.replaced_by:
            message = f"a {node.status} rule names its successor"
            span = getattr(node.status, "span", node.span)
            hint = f"write: status {node.status} replaced_by other-rule"
            context.report(node, "no-successor", message, span, severity="warning", hint=hint)
        if node.replaced_by in rules and rules[node.replaced_by].status == "removed":
            context.report(
                node, "removed-rule", f"its successor `{node.replaced_by}` is removed itself", node.span
            )


def _retired(context: Context, node: Judge, name: str, span: ast.Span) -> None:
    rule = context.pack.rules.get(name)
    if rule is None or rule.status not in ("deprecated", "removed"):
        return
    hint = f"use {rule.replaced_by}" if rule.replaced_by else ""
    message = f"rule `{name}` is {rule.status}"
    if rule.status == "removed":
        context.report(node, "removed-rule", message, span, hint=hint)
    else:
        context.report(node, "deprecated-use", message, span, severity="warning", hint=hint)


def _deprecated_metrics(context: Context, node: ast.Declaration, expr: ast.Expr) -> None:
    for name in names(expr):
        metric = context.pack.metrics.get(name.name)
        if metric is not None and metric.deprecated:
            message = f"metric `{name.name}` is deprecated"
            context.report(
                node, "deprecated-use", message, name.span, severity="warning", hint=metric.deprecated
            )
