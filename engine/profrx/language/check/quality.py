"""Pass: what a reader of findings and the next author need: tests, citations, fixes, texts."""

from __future__ import annotations

from profrx.language import ast
from profrx.language.check.context import Context, head
from profrx.language.walk import Judge

MAX_TITLE = 80
"""Characters of a title: it is a line in a list."""


def quality(context: Context) -> None:
    """Warnings about missing tests, thresholds without a source, and rules without a fix."""
    for node in context.judges():
        _tests(context, node)
        for param in node.params:
            _cited(context, node, param)
        if len(node.title) > MAX_TITLE or node.title.endswith("."):
            message = f"a title is one line of at most {MAX_TITLE} characters without a full stop"
            span = getattr(node.title, "span", head(node))
            context.report(node, "title", message, span, severity="warning")
        if isinstance(node, ast.Rule):
            _rule(context, node)
    for param in context.pack.params.values():
        if context.wanted(param):
            _cited(context, param, param)


def _tests(context: Context, node: Judge) -> None:
    outcomes = {test.expect.outcome for test in node.tests}
    if isinstance(node, ast.Verdict):
        wanted = [row.name for row in node.rows] + ["unknown"]
    else:
        wanted = ["fired", "not fired", "unknown"]
    missing = [outcome for outcome in wanted if outcome not in outcomes]
    if missing:
        message = f"no test expects {', '.join(missing)}"
        hint = f'add: test "…" {{ given …  expect {missing[0]} }}'
        context.report(node, "missing-test", message, head(node), severity="warning", hint=hint)


def _cited(context: Context, node: ast.Declaration, param: ast.Param) -> None:
    if not param.see and not param.heuristic:
        message = f"the threshold `{param.name}` has no source"
        hint = "name it with `see reference-id`, or write `heuristic` when it is a rule of thumb"
        context.report(node, "uncited-threshold", message, param.span, severity="warning", hint=hint)
    if not param.meaning:
        message = f"`{param.name}` does not say what it means"
        hint = 'add a sentence: param … "share of …"'
        context.report(node, "no-meaning", message, param.span, severity="warning", hint=hint)


def _rule(context: Context, node: ast.Rule) -> None:
    if node.status == "removed":
        return
    if not node.fix:
        message = "a rule that fires says what to do about it"
        context.report(node, "no-fix", message, head(node), severity="warning", hint='add: fix """…"""')
    if not node.cause:
        hint = "name one of the causes, so that findings of one cause are counted once"
        context.report(
            node, "no-cause", "this rule names no cause", head(node), severity="warning", hint=hint
        )
