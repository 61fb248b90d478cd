"""How to repair what stopped the parser: what authors who come from other languages write, and what is written here.

Each entry looks at what was found, what could have stood there and what was read before. The first that fits gives
the sentence; none is needed for the message, which names the place and what was expected anyway.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from profrx.language.lr import Token, Unexpected
from profrx.language.recover import statement_words

SIGNS = {
    "≥": "write >=",
    "≤": "write <=",
    "≠": "write !=",
    "×": "write *",
    "·": "write *",
    "÷": "write /",
    "−": "write a plain -",
    "–": "write a plain -",
    "—": "write a plain -",
    "…": "a range is written lo .. hi",
    "\N{NO-BREAK SPACE}": "this is a no-break space: write a plain one",
    "\N{ZERO WIDTH SPACE}": "there is an invisible character here: delete it",
    "\N{ZERO WIDTH NO-BREAK SPACE}": "there is an invisible character here: delete it",
} | dict.fromkeys("“”„‟″«»‘’", 'strings are written in straight double quotes: "…"')
"""Signs that a word processor or another language puts in the place of ours."""

WORDS = {
    "like": 'write matches glob "*gemm*", or matches "RE2"',
    "contains": 'write matches glob "*gemm*", or matches "RE2"',
    "startswith": 'write matches glob "gemm*"',
    "between": "write lo <= x <= hi, or x in lo .. hi",
    "xor": "write (a and not b) or (b and not a)",
    "mod": "there is no remainder of a division",
    "as": "`as` names evidence only; a value is named by `let name = …`",
    "is": "write ==; whether a value is there is known(x)",
    "equals": "write ==; whether a value is there is known(x)",
}
"""Words that stand between two values in other languages."""

EXAMPLES = {
    "title": 'title "The problem in one line"',
    "when": "when sm.throughput < 30 %",
    "because": 'because "Compute is at {sm.throughput:.0%}."',
    "blocks": "blocks some-rule, metric cache.l2_hit_rate",
    "meaning": 'meaning "share of the peak that was used"',
    "table": 'one_of { low "Low" when sm.throughput < 30 %  high "High" when sm.throughput >= 30 % }',
    "url": 'url "https://…"',
}
"""Statements that a block must have, as they are written."""


@dataclass(frozen=True)
class Stop:
    """The place where the parser stopped, as the entries below look at it.

    Attributes:
        stop: of the parser.
        text: the word or sign at the place; `found` is its terminal.
        source: the whole file.
    """

    stop: Unexpected
    text: str
    source: str

    @property
    def found(self) -> str:
        """The terminal that was found."""
        return self.stop.found.type

    @property
    def expected(self) -> frozenset[str]:
        """Terminals that could have stood there."""
        return frozenset(self.stop.expected)

    @cached_property
    def before(self) -> list[Token]:
        """Tokens that are still on the stack, the last one first."""
        return [value for value in reversed(self.stop.values) if isinstance(value, Token)]

    @cached_property
    def last(self) -> str:
        """The terminal right before, when that is a token still."""
        value = self.stop.values[-1] if self.stop.values else None
        return value.type if isinstance(value, Token) else ""

    @cached_property
    def statement(self) -> str:
        """The word that began the statement, as far as it is still open."""
        words = statement_words()
        return next((str(token) for token in self.before if token in words or token == "test"), "")

    @cached_property
    def block(self) -> str:
        """``rule``, ``verdict``…: the kind of the block around the place."""
        kinds = ("metric", "verdict", "guard", "rule")
        return next((str(token) for token in reversed(self.before) if token in kinds), "")

    @cached_property
    def name(self) -> str:
        """The token right before, as written."""
        return str(self.before[0]) if self.before else ""

    def following(self, size: int) -> str:
        """What stands behind the beginning of the place."""
        start = self.stop.found.start
        return self.source[start : start + size]


def repair(stop: Unexpected, text: str, source: str) -> str:
    """The sentence that says what to write; empty when nothing special is known."""
    at = Stop(stop, text, source)
    return next((sentence for entry in ENTRIES for sentence in entry(at) if sentence), "")


def _signs(at: Stop) -> Iterator[str]:
    yield SIGNS.get(at.following(1), "")
    if (sign := at.following(1)) not in SIGNS and sign.isalpha() and not sign.isascii():
        yield f"`{sign}` is {unicodedata.name(sign, 'no plain letter').lower()}: names are plain letters a to z"
    if at.text in WORDS and not at.expected & {"STRING", "ID"}:
        yield WORDS[at.text]
    if at.following(2) in ("//", "/*") or at.following(3) in ("-- ", "---"):
        yield "comments begin with #"
    if at.following(1) == "?":
        yield "write if c then a else b; a default for what is missing is x ?? d"
    if at.last == "STAR" and at.found == "STAR":
        yield "powers are written as products"
    if at.name == "<" and at.following(1) == ">":
        yield "write !="
    if at.found in ("UNIT", "?") and re.match(r"%\s*[\w(]", at.following(20)):
        yield "`%` is a unit: it follows a number; there is no remainder of a division"
    if fraction := re.match(r"\.\d+", at.following(20)):
        yield f"write 0{fraction[0]}"
    if at.found == "COMMA" and re.match(r",\d{3}(?!\d)", at.following(5)):
        yield "digits are grouped by _: 1_000"


def _colons(at: Stop) -> Iterator[str]:
    if at.found != "COLON":
        return
    if "EQUAL" in at.expected:
        yield "write ="
    elif at.stop.values and isinstance(at.stop.values[-1], Token) and at.name in statement_words():
        yield f"a statement is its word and what belongs to it, without a colon: {EXAMPLES.get(at.name, at.name)}"


def _ids(at: Stop) -> Iterator[str]:
    """An id stands here."""
    if "ID" not in at.expected:
        return
    if at.found == "STRING":
        plain = at.text.strip('"')
        if at.statement == "see":
            yield 'write the id of a reference, and declare it: reference my-guide { title "…" url "…" }'
        if at.statement == "source":
            yield f"name the tool first: source ncu {at.text}"
        if plain.isascii():
            slug = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
            yield f"an id is written without quotes: {slug or 'my-id'}"
    if at.found == "LBRACE" and at.last in ("RULE", "GUARD", "VERDICT", "REFERENCE"):
        yield f"it has an id: {at.name} my-id {{"


def _texts(at: Stop) -> Iterator[str]:
    """Only a text can stand here."""
    if at.expected != {"STRING"}:
        return
    if at.last == "TEST":
        yield 'a test has a name: test "what it shows" { given … expect fired }'
    if at.last == "GLOB" and at.found == "LPAR":
        yield 'write it without brackets: matches glob "*gemm*"'
    if at.name == "requires" or at.last == "ENGINE":
        yield 'write requires engine ">=0.1"'
    yield "texts are written in double quotes"


def _names(at: Stop) -> Iterator[str]:
    """A name ends sooner than its author meant."""
    rest = re.match(r"[./-]\w[\w.-]*", at.following(80))
    if rest is None or not at.before:
        return
    if at.before[0].end != at.stop.found.start:
        return
    whole = at.name + rest[0]
    if rest[0].startswith("-") and at.expected == {"EQUAL"}:
        yield f"names of params and lets have no dash: {whole.replace('-', '_')}"
    if rest[0].startswith("/") and at.expected == {"LBRACE"}:
        yield f"names have no slash: {whole.replace('/', '-')}"
    if rest[0].startswith("-") and at.expected == {"LBRACE"}:
        yield f"names of metrics are dotted and have no dash: {whole.replace('-', '_')}"
    if rest[0].startswith(".") and at.statement == "blocks":
        yield f"a metric is blocked by: blocks metric {whole}"
    if rest[0].startswith(".") and at.statement == "under":
        yield "a parent is a row of a verdict or a rule; conditions on metrics stand in `when`"
    if rest[0].startswith(".") and at.last == "ID":
        yield f"an id has no dots: {whole.replace('.', '-')}"


def _params(at: Stop) -> Iterator[str]:
    if at.statement == "param" or at.name in statement_words():
        if at.found == "STRING" and at.statement in ("see", "param") and "HEURISTIC" in at.expected:
            yield 'the meaning stands before the source: param x = 30 % in 0 % .. 100 % "meaning" see reference-id'
        if at.expected == {"EQUAL"} and at.text == "in":
            yield f"a param has a default before its range: param {at.name} = 30 % in 0 % .. 100 %"
    if at.statement == "see" and at.found == "STRING":
        yield 'the meaning of a param stands before its source: param x = 30 % "meaning" see reference-id'
    if at.found == "COMPARE" and at.following(2) == "==" and "EQUAL" in at.expected:
        yield "write = to give a value"


def _ranges(at: Stop) -> Iterator[str]:
    if "DOTS" in at.expected and at.found != "$END" and not at.expected & {"RBRACE", "TITLE"}:
        yield "a range is written lo .. hi"
    if at.following(1) == "[":
        if at.last == "IN":
            yield "a set is written in { a, b }, a range in lo .. hi"
        yield "lists are written in braces: { a, b }"


def _tables(at: Stop) -> Iterator[str]:
    if at.expected <= {"WHEN", "STRING"} and "WHEN" in at.expected:
        if at.text == "else":
            yield "each row has its condition; in `first { … }` the last one can be `when true`"
        yield 'a row is written: row-id "Title" when CONDITION """text"""'
    if "TITLE" in at.expected:
        if at.text == "if":
            yield "conditions are written: when sm.throughput < 30 %"
        if at.text == "else":
            yield "`else` belongs to an expression: let x = if c then a else b"
        if at.block == "verdict" and re.match(r"[\w-]+\s+\"|[\w-]+\s+when\b", at.following(80)):
            yield 'rows stand in a table: one_of { row-id "Title" when CONDITION … }'


def _statements(at: Stop) -> Iterator[str]:
    if "ELSE" in at.expected or "THEN" in at.expected:
        yield "`if` has three parts: if c then a else b"
    if "AS" in at.expected and at.found == "STRING" and at.statement == "evidence":
        yield f"write as {at.text}"
    if at.statement == "source" and "EQUAL" in at.expected and "STRING" in at.expected:
        if at.text == "raw" or at.following(1) == "(" or "__" not in at.text:
            yield 'a raw name is quoted: source ncu "name"; a formula stands behind =: source ncu = raw "a" + raw "b"'
        else:
            yield f'a raw name is quoted: source ncu "{at.text}"'
    if at.expected == {"LBRACE"} and at.statement == "test":
        yield 'a test stands in braces: test "…" { given … expect fired }'
    if at.expected == {"NUMBER"}:
        if at.statement == "version":
            yield "the version of a rule is a whole number: version 2"
        yield "write a whole number"
    if at.expected == {"ENGINE"}:
        yield 'write requires engine ">=0.1"'
    if "VALUE" in at.expected and at.found in ("NUMBER", "QUANTITY"):
        yield f"a test of a metric expects a value: expect value {at.text}"


def _declarations(at: Stop) -> Iterator[str]:
    if at.expected == {"$END"}:
        if at.found == "RBRACE":
            yield "this `}` closes nothing: drop it"
        if at.found in ("COMMA", "?") and at.following(1) in ",;":
            yield "nothing stands between declarations: drop it"
    if at.text in ("import", "from", "use", "load") and "RULE" in at.expected:
        yield "nothing is imported: the files of a pack are read together"


Entry = Callable[[Stop], Iterator[str]]
ENTRIES: tuple[Entry, ...] = (
    _signs,
    _colons,
    _declarations,
    _ids,
    _names,
    _params,
    _tables,
    _texts,
    _ranges,
    _statements,
)
