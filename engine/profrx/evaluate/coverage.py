"""`rules coverage`: which outcomes of each condition the inline tests reach, and which mutants they notice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from profrx.evaluate import trace
from profrx.evaluate.given import batches
from profrx.evaluate.mutate import Mutant, mutants
from profrx.evaluate.outcomes import Outcomes
from profrx.evaluate.params import Owner
from profrx.evaluate.program import Program
from profrx.evaluate.showing import text_of
from profrx.evaluate.testing import judged, outcomes_alone, tool_of
from profrx.language import ast, walk
from profrx_parsers.errors import ProfrxError

if TYPE_CHECKING:
    from profrx.language.pack import Pack

WORDS = {True: "true", False: "false", None: "unknown"}


@dataclass(frozen=True)
class ConditionCoverage:
    """A condition and the outcomes that tests reach: subset of ``true``, ``false``, ``unknown``."""

    text: str
    reached: tuple[str, ...]
    span: ast.Span = ast.NOWHERE

    @property
    def missed(self) -> tuple[str, ...]:
        """Outcomes that no test reaches."""
        return tuple(word for word in WORDS.values() if word not in self.reached)


@dataclass(frozen=True)
class Survivor:
    """A mutant that no test noticed."""

    what: str
    span: ast.Span = ast.NOWHERE


@dataclass(frozen=True)
class Coverage:
    """What the inline tests of one declaration exercise.

    Attributes:
        kind, name: the declaration.
        tests: inline tests that ran.
        conditions: its condition as a whole first, then each part that is no ``and`` / ``or`` / ``not``.
        mutants: how many changed copies were tried.
        survivors: those that all tests let pass.
    """

    kind: str
    name: str
    tests: int
    conditions: tuple[ConditionCoverage, ...] = ()
    mutants: int = 0
    survivors: tuple[Survivor, ...] = field(default=())

    @property
    def killed(self) -> int:
        """Mutants that some test noticed."""
        return self.mutants - len(self.survivors)

    @property
    def outcome_share(self) -> float:
        """Share of the condition outcomes that tests reach, 0..1; 1 without conditions."""
        wanted = len(self.conditions) * len(WORDS)
        return sum(len(c.reached) for c in self.conditions) / wanted if wanted else 1.0

    @property
    def mutation_share(self) -> float:
        """Share of the mutants that tests notice, 0..1; 1 without mutants."""
        return self.killed / self.mutants if self.mutants else 1.0


def coverage(
    pack: Pack, *, only: Iterable[str] = (), params: Mapping[str, Any] | None = None, mutate: bool = True
) -> list[Coverage]:
    """Measure the inline tests of rules, verdicts and guards.

    Args:
        pack: declarations with their tests.
        only: ids to measure; empty = all.
        params: parameter overrides.
        mutate: whether to try mutants.
    """
    program = Program(pack, params or {})
    chosen = set(only)
    return [
        of_owner(program, owner, mutate=mutate)
        for name, owner in program.owners.items()
        if not chosen or name in chosen
    ]


def of_owner(program: Program, owner: Owner, *, mutate: bool = True) -> Coverage:
    """Measure the inline tests of one declaration."""
    tests = tuple(test for test in owner.tests if not test.report)
    kind = type(owner).__name__.lower()
    if not tests:
        return Coverage(kind, owner.name, 0, _untouched(owner))
    reached: dict[str, tuple[set[str], ast.Span]] = {}
    passing: set[int] = set()
    for batch in batches(program.pack, owner.scope, tests, tool_of(program, owner)):
        outcomes = outcomes_alone(program, owner, batch)
        _reach(outcomes, owner, reached)
        passing |= {id(t) for at, t in enumerate(batch.tests) if judged(outcomes, owner, t, at)[1]}
    conditions = tuple(
        ConditionCoverage(text, tuple(word for word in WORDS.values() if word in words), span)
        for text, (words, span) in reached.items()
    )
    tried, survivors = 0, []
    for mutant in mutants(owner) if mutate else ():
        tried += 1
        if not _noticed(program, mutant, passing):
            survivors.append(Survivor(mutant.what, mutant.span))
    return Coverage(kind, owner.name, len(tests), conditions, tried, tuple(survivors))


def _untouched(owner: Owner) -> tuple[ConditionCoverage, ...]:
    return tuple(ConditionCoverage(text_of(when), (), when.span) for when in walk.conditions(owner))


def _reach(outcomes: Outcomes, owner: Owner, reached: dict[str, tuple[set[str], ast.Span]]) -> None:
    """Collect the outcomes of every part of the condition over a batch of tests."""
    evaluator = outcomes.evaluator(owner)
    for when in walk.conditions(owner):
        pending = [trace.trace(evaluator, when)]
        first = True
        while pending:
            step = pending.pop(0)
            if first or step.kind == "leaf":
                words, _ = reached.setdefault(step.text, (set(), step.expr.span))
                words |= {WORDS[value] for value in step.values if value is None or isinstance(value, bool)}
            first = False
            pending.extend(step.parts)


def _noticed(program: Program, mutant: Mutant, passing: set[int]) -> bool:
    """Whether a test that passes on the original fails on a mutant (or the mutant does not even run)."""
    changed = replace_owner(program, mutant.declaration)
    tests = tuple(t for t in mutant.declaration.tests if id(t) in passing)
    tool = tool_of(changed, mutant.declaration)
    try:
        for batch in batches(changed.pack, mutant.declaration.scope, tests, tool):
            outcomes = outcomes_alone(changed, mutant.declaration, batch)
            if not all(judged(outcomes, mutant.declaration, t, at)[1] for at, t in enumerate(batch.tests)):
                return True
    except ProfrxError:
        return True
    return False


def replace_owner(program: Program, owner: Owner) -> Program:
    """Return a program in which one declaration is replaced."""
    pack = program.pack
    if isinstance(owner, ast.Rule):
        pack = replace(pack, rules={**pack.rules, owner.name: owner})
    elif isinstance(owner, ast.Verdict):
        pack = replace(pack, verdicts={**pack.verdicts, owner.name: owner})
    else:
        pack = replace(pack, guards={**pack.guards, owner.name: owner})
    return Program(pack, program.overrides)
