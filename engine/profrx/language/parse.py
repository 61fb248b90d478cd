"""`parse`: the text of a rule file in, its syntax tree and what is wrong with it out.

A mistake costs the statement it stands in: parsing goes on at the next statement, and at the next declaration, so
that one run shows all mistakes. A declaration with a mistake is left out of the tree.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import cast

from profrx.language import ast
from profrx.language.build_blocks import DeclarationBuilder
from profrx.language.diagnostics import MAX_ERRORS, Diagnostic, Lines, too_many
from profrx.language.lr import Driver, Unexpected
from profrx.language.recover import next_statement
from profrx.language.scan import (
    MAX_DECLARATION,
    MAX_DECLARATIONS,
    MAX_FILE,
    MAX_TOKENS,
    Chunk,
    split,
)
from profrx.language.syntax_errors import explain


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


class _Reader(threading.local):
    """One builder and driver a thread: connecting them costs more than a small file."""

    def __init__(self) -> None:
        self.builder = DeclarationBuilder(Lines("", ""))
        self.driver = Driver(self.builder)


_READER = _Reader()


def parse(text: str, file: str = "<text>") -> ast.File:
    """Return the syntax tree of `text`.

    Raises:
        RuleSyntaxError: with every mistake found; `read` gives what is whole beside the mistakes.
    """
    parsed = read(text, file)
    if parsed.diagnostics:
        raise RuleSyntaxError(parsed.diagnostics)
    return parsed.file


def parse_expr(text: str, file: str = "<expression>") -> ast.Expr:
    """Return the tree of one expression, for the command line and tests.

    Raises:
        RuleSyntaxError: it is none.
    """
    lines = Lines(text, file)
    builder = DeclarationBuilder(lines)
    if len(text) > MAX_DECLARATION:
        raise RuleSyntaxError((_too_large(lines, Chunk(0, len(text)), "this expression"),))
    try:
        expr = cast(ast.Expr, Driver(builder).parse(text, 0, len(text), "expr"))
    except Unexpected as stop:
        raise RuleSyntaxError((explain(stop, lines),)) from None
    if builder.problems:
        raise RuleSyntaxError(tuple(builder.problems))
    return expr


def read(text: str, file: str = "<text>", tests: bool = True) -> Parsed:
    """Return every declaration of `text` that is whole, and a diagnostic for each mistake.

    Without `tests`, an inline test is passed over as long as its brackets and strings are closed: the tree has none,
    and what is wrong inside one is not noticed unless its declaration has a mistake elsewhere.
    """
    if len(text) > MAX_FILE:
        message = f"the file has {len(text)} characters; at most {MAX_FILE} are read"
        place = ast.Span(file, 1, 1, 1, 1)
        return Parsed(
            ast.File(()), (Diagnostic("file-too-large", message, place, hint="split it into several files"),)
        )
    lines = Lines(text, file)
    chunks, problems = split(lines)
    if len(chunks) > MAX_DECLARATIONS:
        message = f"the file has {len(chunks)} declarations; the first {MAX_DECLARATIONS} are read"
        place = lines.span(chunks[MAX_DECLARATIONS].start, chunks[MAX_DECLARATIONS].start + 1)
        problems.append(Diagnostic("file-too-large", message, place, hint="split it into several files"))
        del chunks[MAX_DECLARATIONS:]
    builder, driver = _READER.builder, _READER.driver
    builder.map, driver.tokens = lines, 0
    declarations: list[ast.Declaration] = []
    for chunk in chunks:
        driver.tests = tests
        declaration, found = _declaration(lines, chunk, builder, driver)
        if found and not tests:
            driver.tests = True  # what is wrong is told from the whole text
            declaration, found = _declaration(lines, chunk, builder, driver)
        problems += found
        if declaration is not None and not found:
            declarations.append(declaration)
        if driver.tokens > MAX_TOKENS or len(problems) > MAX_ERRORS:
            problems.append(_give_up(lines, chunk, driver.tokens))
            break
    return Parsed(ast.File(tuple(declarations), span=lines.span(0, len(text))), _once(problems))


def _once(problems: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The scanner and the parser both stop at an open string: the parser knows in which declaration."""
    known = {(one.code, one.span) for one in problems if one.subject}
    return tuple(one for one in problems if one.subject or (one.code, one.span) not in known)


def _give_up(lines: Lines, chunk: Chunk, tokens: int) -> Diagnostic:
    place = lines.span(chunk.start, chunk.start)
    if tokens > MAX_TOKENS:
        message = f"the file has more than {MAX_TOKENS} words and signs; the rest is not read"
        return Diagnostic("file-too-large", message, place, hint="split it into several files")
    return too_many(place)


def _too_large(lines: Lines, chunk: Chunk, what: str) -> Diagnostic:
    message = f"{what} has {chunk.end - chunk.start} characters; at most {MAX_DECLARATION} are read"
    return Diagnostic("declaration-too-large", message, lines.span(chunk.start, chunk.start + 1))


def _declaration(
    lines: Lines, chunk: Chunk, builder: DeclarationBuilder, driver: Driver
) -> tuple[ast.Declaration | None, list[Diagnostic]]:
    """One declaration, with as many of its mistakes as can be told apart."""
    text = lines.text
    subject = " ".join(text[chunk.start : chunk.start + 200].split(None, 2)[:2]).rstrip("{")
    if chunk.end - chunk.start > MAX_DECLARATION:
        return None, [replace(_too_large(lines, chunk, "this declaration"), subject=subject)]
    builder.problems = []
    builder.depths.clear()
    syntax: list[Diagnostic] = []
    node: ast.Declaration | None = None
    try:
        node = driver.parse(text, chunk.start, chunk.end, "declaration")
    except Unexpected as first:
        stop: Unexpected | None = first
        while stop is not None:
            syntax.append(explain(stop, lines))
            again = next_statement(stop, lines, chunk, driver) if len(syntax) < MAX_ERRORS else None
            stop = None
            if again is not None:
                try:
                    driver.resume(text, again.at, chunk.end, again.states, again.values)
                except Unexpected as following:
                    stop = following
    problems = builder.problems
    if syntax:
        problems = syntax + [problem for problem in problems if problem.code != "missing-statement"]
    return node, [replace(problem, subject=problem.subject or subject) for problem in problems]
