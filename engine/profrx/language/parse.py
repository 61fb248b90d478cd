"""`parse`: the text of a rule file in, its syntax tree and what is wrong with it out."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken, VisitError

from profrx.language import ast
from profrx.language.build_blocks import DeclarationBuilder
from profrx.language.diagnostics import Diagnostic, Lines
from profrx.language.scan import MAX_DECLARATION, MAX_FILE, Chunk, split

GRAMMAR = Path(__file__).with_name("grammar.lark")


class RuleSyntaxError(ValueError):
    """Raised by `parse`: the file has errors, all of them in `diagnostics`."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        self.diagnostics = diagnostics
        super().__init__("\n".join(map(str, diagnostics)))


@dataclass(frozen=True)
class Parsed:
    """What could be read of a file, and what could not."""

    file: ast.File
    diagnostics: tuple[Diagnostic, ...] = ()


class _Local(threading.local):
    """One parser a thread: lark binds the callbacks to one builder."""

    def __init__(self) -> None:
        self.builder = DeclarationBuilder(Lines("", ""))
        self.lark = Lark(
            GRAMMAR.read_text("utf-8"),
            parser="lalr",
            lexer="contextual",
            start=["declaration", "expr"],
            keep_all_tokens=True,
            maybe_placeholders=False,
            transformer=cast(Any, self.builder),
        )


@cache
def _local() -> _Local:
    return _Local()


def parse(text: str, file: str = "<text>") -> ast.File:
    """Return the syntax tree of `text`.

    Raises:
        RuleSyntaxError: with every mistake found; `read` gives what is whole beside the mistakes.
    """
    parsed = read(text, file)
    errors = tuple(d for d in parsed.diagnostics if d.severity == "error")
    if errors:
        raise RuleSyntaxError(errors)
    return parsed.file


def parse_expr(text: str, file: str = "<text>") -> ast.Expr:
    """Return the tree of one expression, for the command line and tests."""
    local = _local()
    lines = Lines(text, file)
    local.builder.map, local.builder.offset, local.builder.problems = lines, 0, []
    try:
        return cast(ast.Expr, local.lark.parse(text, start="expr"))
    except UnexpectedInput as error:
        raise RuleSyntaxError((_explain(error, lines, 0),)) from None


def read(text: str, file: str = "<text>") -> Parsed:
    """Return every declaration of `text` that is whole, and a diagnostic for each mistake."""
    if len(text) > MAX_FILE:
        message = f"the file has {len(text)} characters; at most {MAX_FILE} are read"
        return Parsed(ast.File(()), (Diagnostic("file-too-large", message, ast.Span(file, 1, 1, 1, 1)),))
    lines = Lines(text, file)
    chunks, problems = split(lines)
    declarations: list[ast.Declaration] = []
    for chunk in chunks:
        declaration, found = _declaration(lines, chunk)
        problems += found
        if declaration is not None and not any(d.severity == "error" for d in found):
            declarations.append(declaration)
    return Parsed(ast.File(tuple(declarations), span=lines.span(0, len(text))), tuple(problems))


def _declaration(lines: Lines, chunk: Chunk) -> tuple[ast.Declaration | None, list[Diagnostic]]:
    head = " ".join(lines.text[chunk.start : chunk.start + 200].split(None, 2)[:2]).rstrip("{")
    if chunk.end - chunk.start > MAX_DECLARATION:
        message = (
            f"this declaration has {chunk.end - chunk.start} characters; at most {MAX_DECLARATION} are read"
        )
        span = lines.span(chunk.start, chunk.start + len(head))
        return None, [Diagnostic("declaration-too-large", message, span, subject=head)]
    local = _local()
    builder = local.builder
    builder.map, builder.offset, builder.problems = lines, chunk.start, []
    try:
        node = cast(
            ast.Declaration, local.lark.parse(lines.text[chunk.start : chunk.end], start="declaration")
        )
    except UnexpectedInput as error:
        return None, [replace(_explain(error, lines, chunk.start), subject=head)]
    except VisitError as error:
        raise error.orig_exc from None
    return node, [replace(problem, subject=head) for problem in builder.problems]


def _explain(error: UnexpectedInput, lines: Lines, offset: int) -> Diagnostic:
    """The first mistake of a chunk."""
    at = (error.pos_in_stream or 0) + offset
    expected: tuple[str, ...] = ()
    if isinstance(error, UnexpectedToken):
        expected = tuple(sorted(error.expected or ()))
        token = error.token
        shown = str(token)
        if token.type == "$END":
            at = offset + (getattr(token, "end_pos", None) or 0)
            return Diagnostic(
                "unexpected-end", "the declaration ends too early", lines.span(at, at), expected=expected
            )
        span = lines.span(at, at + len(shown))
        return Diagnostic("syntax", f"unexpected {shown[:40]!r}", span, expected=expected)
    if isinstance(error, UnexpectedCharacters):
        expected = tuple(sorted(error.allowed or ()))
        return Diagnostic(
            "syntax", f"unexpected {lines.text[at : at + 1]!r}", lines.span(at, at + 1), expected=expected
        )
    assert isinstance(error, UnexpectedEOF)
    return Diagnostic("unexpected-end", "the declaration ends too early", lines.span(at, at))
