"""Pass: the fields of texts name something, in a format that its type can be shown in."""

from __future__ import annotations

from profrx.language import ast
from profrx.language.check.context import Context, Scope
from profrx.language.check.types import Type, Typer
from profrx.language.template import NUMBER, Field, fields
from profrx.language.units import NONE, UnitError, unit
from profrx.language.walk import Judge


def templates(context: Context) -> None:
    """Unknown names and unreadable formats in `because`, `fix`, `except` and the sentences of rows."""
    for node in context.judges():
        if id(node) in context.broken:
            continue
        scope, typer = context.scope(node), Typer(context, node)
        for word, text, span in _texts(node):
            for field in fields(text):
                _field(context, node, scope, typer, f"{word}: ", field, span)


def _texts(node: Judge) -> list[tuple[str, str, ast.Span]]:
    if isinstance(node, ast.Verdict):
        return [(f"row {row.name}", row.because, getattr(row.because, "span", row.span)) for row in node.rows]
    texts = [("because", node.because), *(("fix", text) for text in node.fix)]
    if isinstance(node, ast.Rule):
        texts += [("except", text) for text in node.exceptions]
    return [(word, text, getattr(text, "span", node.span)) for word, text in texts]


def _field(
    context: Context, node: Judge, scope: Scope, typer: Typer, where: str, field: Field, span: ast.Span
) -> None:
    if field.problem:
        context.report(node, "template", where + field.problem, span)
        return
    if scope.find(field.name) is None:
        hint = context.suggest(field.name, scope.known()) or "texts can name params, lets and metrics"
        context.report(node, "template-name", f"{where}there is no `{field.name}`", span, hint=hint)
        return
    problem = format_problem(field.spec, typer.name(ast.Name(field.name), scope))
    if problem:
        shown = f"{{{field.name}:{field.spec}}}"
        context.report(node, "template", f"{where}`{shown}`: {problem}", span)


def format_problem(spec: str, type_: Type) -> str:
    """Why a value of this type cannot be shown in this format; nothing when it can."""
    if not spec or type_.kind == "any":
        return ""
    if type_.kind != "number":
        return f"{type_} has no number format"
    if spec.startswith("plural"):
        return "" if 2 <= len(spec.split()) <= 3 else "write {n:plural block blocks}"
    match = NUMBER.fullmatch(spec)
    if match is None:
        return "a format is .1f, .3g, .0% or one of them with a unit, such as .1f us"
    if match[3] == "%":
        if match[4]:
            return "`%` is already the unit"
        return "" if type_.dimension in (NONE, None) else f"{type_} is no percentage"
    if match[4]:
        try:
            wanted = unit(match[4])
        except UnitError as error:
            return f"`{match[4]}` is not a unit" + (f"; {error.hint}" if error.hint else "")
        if type_.dimension is not None and wanted.dimension != type_.dimension:
            return f"{type_} cannot be shown in {match[4]}"
    return ""
