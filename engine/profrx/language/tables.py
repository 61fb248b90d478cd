"""LALR(1) tables of the grammar: made by lark from `grammar.lark`, kept as `grammar.json`, loaded without lark.

Loading plain JSON takes a few milliseconds, needs no cache folder and unpickles nothing. After a change of the
grammar run ``python -m profrx.language.tables``; a test compares the two files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

GRAMMAR = Path(__file__).with_name("grammar.lark")
STORED = Path(__file__).with_name("grammar.json")
WORD_TERMINALS = ("NAME", "ID", "WORD")
"""Terminals that a word can be; the grammar lets at most one of them stand in any one place."""


@dataclass(frozen=True)
class Production:
    """A grammar rule as the parser needs it.

    Attributes:
        callback: method of the builder; empty when the children are spliced into the parent.
        size: how many symbols it takes off the stack.
        origin: the nonterminal it makes.
        single: a lone child stands for itself, without a call.
        splices: some child is spliced.
    """

    callback: str
    size: int
    origin: str
    single: bool
    splices: bool


@dataclass(frozen=True)
class Tables:
    """What drives the parser.

    Attributes:
        actions: per state, terminal -> next state, or ``~production`` to reduce.
        gotos: per state, nonterminal -> next state.
        productions: by number.
        starts: start symbol -> state.
        ends: start symbol -> state in which it is complete.
        keywords: word -> terminal.
        operators: punctuation -> terminal.
        words: per state, the word terminal that it accepts, or nothing.
        readings: per state, what most words are at a glance: keyword -> terminal, the word terminal, and the sign
            that no such word contains (None: look closer).
        lone: numbers of productions that give one child another name.
        chains: memory of `Driver.chain`; as many entries as the grammar has such places.
    """

    actions: tuple[dict[str, int], ...]
    gotos: tuple[dict[str, int], ...]
    productions: tuple[Production, ...]
    starts: dict[str, int]
    ends: dict[str, int]
    keywords: dict[str, str]
    operators: dict[str, str]
    words: tuple[str, ...]
    readings: tuple[tuple[dict[str, str], str, str | None], ...]
    lone: frozenset[int]
    chains: dict[tuple[int, int, str], int]


@cache
def tables() -> Tables:
    """The tables of the shipped grammar."""
    stored = json.loads(STORED.read_text("utf-8"))
    actions = tuple(stored["actions"])
    words = tuple(next((word for word in WORD_TERMINALS if word in state), "") for state in actions)
    productions = tuple(Production(*fields) for fields in stored["productions"])
    return Tables(
        actions,
        tuple(stored["gotos"]),
        productions,
        stored["starts"],
        stored["ends"],
        stored["keywords"],
        stored["operators"],
        words,
        tuple(_reading(row, word, stored["keywords"]) for row, word in zip(actions, words, strict=True)),
        frozenset(
            number
            for number, production in enumerate(productions)
            if production.single and production.size == 1
        ),
        {},
    )


def _reading(
    row: dict[str, int], word: str, keywords: dict[str, str]
) -> tuple[dict[str, str], str, str | None]:
    if "UNIT" in row:
        return {}, "", None
    here = {text: terminal for text, terminal in keywords.items() if terminal in row}
    return here, word, {"ID": ".", "NAME": "-"}.get(word)


def lark_parser(**options: Any) -> Any:
    """The grammar in lark itself: makes the tables, and is what tests compare this parser with."""
    from lark import Lark

    return Lark(
        GRAMMAR.read_text("utf-8"),
        parser="lalr",
        lexer="contextual",
        start=["declaration", "expr"],
        keep_all_tokens=True,
        maybe_placeholders=False,
        **options,
    )


def generate() -> dict[str, Any]:
    """Compute the content of `grammar.json`; states are numbered from the start symbols on, so it is always the same.

    Raises:
        ValueError: some place of the grammar accepts two kinds of words, which no lexer could tell apart.
    """
    parser = lark_parser()
    table = parser.parser.parser._parse_table
    rules = sorted(set(parser.rules), key=lambda rule: (rule.origin.name, rule.order, str(rule.expansion)))
    numbers = {rule: number for number, rule in enumerate(rules)}
    states = _reached(table)
    actions: list[dict[str, int]] = [{} for _ in states]
    gotos: list[dict[str, int]] = [{} for _ in states]
    for old, state in states.items():
        for symbol, (action, argument) in sorted(table.states[old].items()):
            if action.name == "Reduce":
                actions[state][symbol] = ~numbers[argument]
            elif symbol == symbol.upper():
                actions[state][symbol] = states[argument]
            else:
                gotos[state][symbol] = states[argument]
        if sum(word in actions[state] for word in WORD_TERMINALS) > 1:
            raise ValueError(f"state {state} accepts two kinds of words: {sorted(actions[state])}")
    literals = {t.pattern.value: t.name for t in parser.terminals if t.pattern.type == "str"}
    return {
        "actions": actions,
        "gotos": gotos,
        "productions": [_production(rule) for rule in rules],
        "starts": {symbol: states[state] for symbol, state in sorted(table.start_states.items())},
        "ends": {symbol: states[state] for symbol, state in sorted(table.end_states.items())},
        "keywords": {text: name for text, name in sorted(literals.items()) if text[0].isalpha()},
        "operators": {text: name for text, name in sorted(literals.items()) if not text[0].isalpha()}
        | dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), "COMPARE"),
    }


def _reached(table: Any) -> dict[int, int]:
    """lark's state numbers -> ours, in the order in which the states are reached."""
    states: dict[int, int] = {}
    pending = [table.start_states[symbol] for symbol in sorted(table.start_states)]
    while pending:
        old = pending.pop(0)
        if old in states:
            continue
        states[old] = len(states)
        row = sorted(table.states[old].items())
        pending += [argument for _, (action, argument) in row if action.name == "Shift"]
    return states


def _production(rule: Any) -> list[Any]:
    name = rule.origin.name
    inline = name.startswith("_")
    callback = "" if inline else str(rule.alias or name)
    single = bool(rule.options.expand1 and not rule.alias)
    splices = any(not symbol.is_term and symbol.name.startswith("_") for symbol in rule.expansion)
    return [callback, len(rule.expansion), name, single, splices]


def dumps(stored: dict[str, Any]) -> str:
    """The text of `grammar.json`: one state or production a line, to keep differences readable."""
    parts = []
    for key, value in stored.items():
        if isinstance(value, list):
            rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in value)
            parts.append(f'"{key}": [\n{rows}\n]')
        else:
            parts.append(f'"{key}": {json.dumps(value, separators=(",", ":"))}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    STORED.write_text(dumps(generate()), "utf-8")
