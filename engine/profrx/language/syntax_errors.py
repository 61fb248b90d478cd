"""From a stopped parser to a sentence: what stood there, what could have, what the author probably meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from profrx.language.diagnostics import Diagnostic, Lines, did_you_mean
from profrx.language.lr import Token, Unexpected
from profrx.language.recover import statement_words, swallowed
from profrx.language.repairs import repair
from profrx.language.scan import KEYWORDS
from profrx.language.tables import tables
from profrx.language.units import unit_hint

_NUMBER_BEFORE = re.compile(r"(?<![\w.-])\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?[ \t]*$")
_SHOWN = {
    "STRING": "a string",
    "NUMBER": "a number",
    "QUANTITY": "a number",
    "NAME": "a name",
    "ID": "an id",
    "WORD": "a version",
    "UNIT": "a unit",
    "COMPARE": "a comparison",
    "$END": "the end",
}
_FOREIGN = {
    "=": "`==` compares; `=` gives a value to a param, let or test input",
    "!": "write `not`",
    "&": "write `and`",
    "|": "write `or`",
    ";": "statements need no semicolon",
    "'": "strings are written in double quotes",
    "`": "strings are written in double quotes",
    "^": "powers are written as products",
    "]": "lists are written in braces: { a, b }",
    "$": "parameters and metrics are written by their bare name",
    "%": "`%` is a unit: it follows a number",
}


EXPRESSION_WORDS = ("fired", "greatest", "least", "raw")
"""Words that begin a value of their own, so that no param or let can be read by such a name."""


def explain(stop: Unexpected, lines: Lines) -> Diagnostic:
    """The diagnostic for the place where the parser stopped."""
    found = stop.found
    place = lines.span(found.start, max(found.end, found.start + (found.type != "$END")))
    if stop.deep:
        return Diagnostic(
            "too-deep", "brackets are nested too deeply here", place, hint="name the parts with `let`"
        )
    expected = _expected(stop.expected)
    word = swallowed(stop, lines)
    if word is not None and found.type != "$END":
        message = f"the expression before `{word}` is not complete"
        return Diagnostic("syntax", message, lines.span(word.start, word.end), expected=("a value",))
    taken = stop.values[-1] if stop.values else None
    if stop.expected in (("LPAR",), ("STRING",)) and isinstance(taken, Token) and taken in EXPRESSION_WORDS:
        return Diagnostic(
            "syntax",
            f"`{taken}` is a word of the language: it wants {'`(`' if stop.expected == ('LPAR',) else 'a string'} behind it",
            lines.span(taken.start, taken.end),
            hint="give a param or let of this name another one",
            expected=expected,
        )
    if found.type == "$END":
        unclosed = _unclosed(stop.values)
        if unclosed is not None:
            message = "this `{` is never closed"
            return Diagnostic(
                "unexpected-end", message, lines.span(unclosed.start, unclosed.end), expected=expected
            )
        end = len(lines.text[: found.start].rstrip())
        return Diagnostic(
            "unexpected-end", "the declaration stops here", lines.span(end, end + 1), expected=expected
        )
    text = _word_at(lines.text, found.start) or str(found)
    words = {w for w, terminal in tables().keywords.items() if terminal in stop.expected}
    if _is_unit_place(stop, lines, text, words):
        place = lines.span(found.start, found.start + len(text))
        hint = "a unit is written without quotes" if found.type == "STRING" else unit_hint(text)
        if re.fullmatch(r"[xob]\w*", text) and lines.text[: found.start].endswith("0"):
            hint = "numbers are decimal"
        return Diagnostic("unknown-unit", f"`{text}` is not a unit", place, hint=hint)
    if found == '"':
        hint = 'close it with " on the same line, or use """ for several lines'
        return Diagnostic("unclosed-string", "this string is not closed", place, hint=hint)
    double = lines.text[max(0, found.start - 1) : found.start + 2]
    foreign = found.type in ("?", "EQUAL", "UNIT") and not any(pair in double for pair in ("=>", "=<", ":="))
    hint = repair(stop, text, lines.text) or (_FOREIGN.get(found[:1], "") if foreign else "")
    if text[:1].isalpha():
        place = lines.span(found.start, found.start + len(text))
        hint = hint or did_you_mean(text, words)
        if not hint and text in statement_words():
            hint = f"`{text}` begins a statement; what stands before it is not complete"
    hint = hint or _missing(stop, lines, text)
    return Diagnostic("syntax", f"unexpected `{text[:40]}`", place, hint=hint, expected=expected)


def _missing(stop: Unexpected, lines: Lines, text: str) -> str:
    """What is perhaps lacking before the place."""
    start = stop.found.start
    pair = lines.text[max(0, start - 1) : start + 2]
    if pair[:2] in ("=>", "=<") or pair[1:] in ("=>", "=<"):
        return "write >= or <="
    if pair[1:] == ":=" or pair[:2] == ":=":
        return "write ="
    if stop.expected == ("GLOBAL", "LOCAL"):
        return "write `global` for a share of the run time, `local` for a share of one unit's time"
    if "COMMA" in stop.expected and (text[:1].isalnum() or text[:1] in "_-"):
        return "perhaps a comma is missing before it"
    return ""


def _unclosed(values: Sequence[Any]) -> Any:
    """The last `{` of what was read that has no `}`; None when there is none."""
    closed = 0
    for value in reversed(values):
        if value == "}":
            closed += 1
        elif value == "{":
            if not closed:
                return value
            closed -= 1
    return None


def _is_unit_place(stop: Unexpected, lines: Lines, text: str, words: set[str]) -> bool:
    """Whether a unit belongs here: nothing else does, or a word follows a number on its line."""
    if stop.expected == ("UNIT",):
        return True
    before = lines.text[max(0, stop.found.start - 48) : stop.found.start]
    if text in tables().keywords or not text[:1].isalpha() or not _NUMBER_BEFORE.search(before):
        return False
    return "mean" in unit_hint(text) or not did_you_mean(text, words)


def _word_at(text: str, at: int) -> str:
    end = at
    while end < len(text) and end - at < 60 and (text[end].isalnum() or text[end] in "_.-/"):
        end += 1
    return text[at:end].rstrip(".-/")


def _expected(terminals: tuple[str, ...]) -> tuple[str, ...]:
    """Terminals as an author reads them; a whole class by its name."""
    names = set(terminals)
    shown: list[str] = []
    if names >= {"RULE", "METRIC", "PACK"}:
        shown.append("a declaration (rule, verdict, guard, metric, param, cause, reference, ruleset, pack)")
        names -= {tables().keywords[word] for word in (*KEYWORDS, "override", "extend")}
    if names >= {"TITLE", "WHEN", "BECAUSE"}:
        shown.append("a statement")
        names -= {tables().keywords[word] for word in statement_words()}
    if names >= {"NAME", "NUMBER", "LPAR"}:
        shown.append("a value")
        names -= {
            "NAME",
            "NUMBER",
            "QUANTITY",
            "LPAR",
            "STRING",
            "TRUE",
            "FALSE",
            "RAW",
            "FIRED",
            "LEAST",
            "GREATEST",
        }
        names -= {"MINUS", "NOT", "IF"}
    if names >= {"PLUS", "STAR"}:
        shown.append("an operator")
        names -= {"PLUS", "MINUS", "STAR", "SLASH", "DEFAULT", "COMPARE", "AND", "OR", "IN", "MATCHES"}
    literal = {terminal: text for text, terminal in (tables().keywords | tables().operators).items()}
    for name in sorted(names):
        text = _SHOWN.get(name) or f"`{literal.get(name, name)}`"
        if text not in shown:
            shown.append(text)
    return tuple(shown)
