"""`format_text`: one layout for all rule files; comments and the author's line breaks inside a statement stay.

Two spaces a level, a line for each statement and each row, one space between words, at most one blank line,
exactly one around a block that takes several lines. Formatting twice changes nothing; the tree never changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast

from profrx.language import ast
from profrx.language.build import Item
from profrx.language.build_blocks import DeclarationBuilder
from profrx.language.diagnostics import Lines, Place
from profrx.language.lr import Driver, Token
from profrx.language.parse import parse
from profrx.language.scan import split

WIDTH = 110
"""A block on one line in the source stays on one line up to this many characters."""

_NUMBER = re.compile(r"([\d_.]+(?:[eE][+-]?\d+)?)[ \t]*(.*)", re.DOTALL)
_CALLS = ("NAME", "FIRED", "LEAST", "GREATEST")


def format_text(text: str, file: str = "<text>") -> str:
    """Return `text` in canonical layout.

    Raises:
        RuleSyntaxError: the text has mistakes; nothing is formatted then.
    """
    parse(text, file)
    lines = Lines(text, file)
    out: list[str] = []
    end, previous_long, first = 0, False, True
    for chunk in split(lines)[0]:
        tokens: list[Token] = []
        layout = _Layout(lines)
        Driver(layout, tokens).parse(text, chunk.start, chunk.end, "declaration")
        gap = _gap(text[end : tokens[0].start], first)
        body = _declaration(text, tokens, layout)
        if gap.trailing:
            out[-1] += f"  {gap.trailing}"
        if not first and (previous_long or len(body) > 1 or gap.blank_before):
            out.append("")
        out += gap.own
        if gap.own and gap.blank_after:
            out.append("")
        out += body
        end, previous_long, first = tokens[-1].end, len(body) > 1, False
    tail = _gap(text[end:] + "\n", first)
    if tail.trailing:
        out[-1] += f"  {tail.trailing}"
    if tail.own:
        out += ["", *tail.own] if out else tail.own
    return "".join(line.rstrip() + "\n" for line in out)


class _Layout(DeclarationBuilder):
    """Notes where statements and rows begin, and which minus is a sign."""

    def __init__(self, lines: Lines) -> None:
        super().__init__(lines)
        self.starts: set[int] = set()
        self.signs: set[int] = set()

    def block(self, c: list[Any]) -> ast.Metric | ast.Verdict | ast.Guard | ast.Rule:
        """Note the statements of a block."""
        items = [item for child in c for item in (child if isinstance(child, list) else [child])]
        self.starts |= {item.span.at[1] for item in items if isinstance(item, Item)}
        return super().block(c)

    def table(self, c: list[Any]) -> Item:
        """Note the rows of a table."""
        self.starts |= {cast(Place, row.span).at[1] for row in c if isinstance(row, ast.Row)}
        return super().table(c)

    def pack_body(self, c: list[Any]) -> Item:
        """Note the statements of a pack."""
        self.starts |= {item.span.at[1] for item in c if isinstance(item, Item)}
        return super().pack_body(c)

    def unary(self, c: list[Any]) -> Any:
        """Note a sign."""
        if c[0].type == "MINUS":
            self.signs.add(c[0].start)
        return super().unary(c)


@dataclass(frozen=True)
class _Gap:
    """What stands between two tokens.

    Attributes:
        trailing: a comment on the line of the first token.
        own: comments on lines of their own, with "" for a blank line between them.
        broken: the second token is on a later line.
        blank_before, blank_after: a blank line before the first comment (or at all), after the last.
    """

    trailing: str = ""
    own: tuple[str, ...] = ()
    broken: bool = False
    blank_before: bool = False
    blank_after: bool = False


def _gap(text: str, first: bool = False) -> _Gap:
    head, *rest = text.split("\n")
    if first:
        head, rest = "", [head, *rest]
    middle = [_comment(line) for line in rest[:-1]]
    own = "\n".join(middle).strip("\n")
    kept = tuple(re.sub(r"\n\n+", "\n\n", own).split("\n")) if own else ()
    blank = [not line for line in middle] or [False]
    return _Gap(_comment(head), kept, bool(rest), blank[0], blank[-1])


def _comment(line: str) -> str:
    """A comment begins with ``# ``; what is indented behind that stays so."""
    body = line.strip()
    return f"# {body[1:]}" if body.startswith("#") and body[1:2] not in ("", " ", "#", "!") else body


def _declaration(text: str, tokens: list[Token], layout: _Layout) -> list[str]:
    """The lines of one declaration."""
    writer = _Writer(layout.signs)
    one_line = "\n" not in text[tokens[0].start : tokens[-1].end]
    for number, token in enumerate(tokens):
        gap = _gap(text[tokens[number - 1].end : token.start]) if number else _Gap()
        writer.put(token, gap, token.start in layout.starts and not one_line)
    if one_line and layout.starts and len(writer.lines[0]) > WIDTH:
        writer = _Writer(layout.signs)
        for token in tokens:
            writer.put(token, _Gap(), token.start in layout.starts)
    return writer.lines


class _Writer:
    """Puts tokens into lines.

    Attributes:
        depth: open braces.
        broken: for each open brace, whether what follows it began a new line: the closing one does too then.
    """

    def __init__(self, signs: set[int]) -> None:
        self.lines = [""]
        self.signs = signs
        self.depth = 0
        self.broken: list[bool] = []
        self.previous: Token | None = None

    def put(self, token: Token, gap: _Gap, starts: bool) -> None:
        """Add one token after the comments before it."""
        closing, opened = token.type == "RBRACE", self.previous is not None and self.previous.type == "LBRACE"
        if gap.trailing:
            self.lines[-1] += f"  {gap.trailing}"
        new_line = starts or gap.broken
        if opened:
            self.broken[-1] = new_line
        if closing:
            self.depth -= 1
            new_line = self.broken.pop() or bool(gap.trailing or gap.own)
        level = self.depth + (1 if closing or not starts else 0)
        if new_line and self.previous is not None:
            if gap.blank_before and not opened and (starts or gap.own):
                self.lines.append("")
            self.lines += ["  " * level + comment for comment in gap.own]
            if gap.own and gap.blank_after and starts:
                self.lines.append("")
            self.lines.append("  " * (self.depth if closing else level))
        elif self.previous is not None and self.apart(token):
            self.lines[-1] += " "
        first, *rest = _shown(token).split("\n")
        self.lines[-1] += first
        self.lines += ["  " * (self.depth + 1) + line if line else "" for line in rest]
        if token.type == "LBRACE":
            self.depth += 1
            self.broken.append(False)
        self.previous = token

    def apart(self, token: Token) -> bool:
        """Whether a space stands between the last token and this one."""
        previous = cast(Token, self.previous)
        if (
            token.type in ("COMMA", "RPAR", "COLON")
            or previous.type == "LPAR"
            or previous.start in self.signs
        ):
            return False
        return token.type != "LPAR" or previous.type not in _CALLS


def _shown(token: Token) -> str:
    """A token as written, numbers and blocks of text in their one layout."""
    if token.type == "QUANTITY":
        match = _NUMBER.fullmatch(token)
        return f"{match[1]} {match[2]}" if match else str(token)
    if token.type == "STRING" and "\n" in token:
        body = [line.strip() for line in token[3:-3].strip().split("\n")]
        return '"""' + "\n".join(line for n, line in enumerate(body) if line or body[n - 1]) + '"""'
    return str(token)
