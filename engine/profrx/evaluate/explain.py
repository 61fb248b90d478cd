"""`explain`: why a rule fired, did not, or could not tell, for each launch. Schema ``profrx.explain/1``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

from profrx.evaluate import collect, evidence, trace
from profrx.evaluate.closer import closer_evaluator, lookup
from profrx.evaluate.frames import frames_of, only_kernel
from profrx.evaluate.lacking import NOT_COLLECTED, not_computable
from profrx.evaluate.lacking import missing as names_missing
from profrx.evaluate.outcomes import FIRED, NOT_APPLICABLE, OUTCOMES, Outcomes, guard_mask, run
from profrx.evaluate.program import Program, wanted_metrics
from profrx.evaluate.unjudged import blame
from profrx.language import ast, walk
from profrx.language.template import render
from profrx.report import damage
from profrx.report.model import Collect, Evidence, Model
from profrx_parsers.errors import UsageError

if TYPE_CHECKING:
    from profrx.evaluate.params import Owner
    from profrx.language.pack import Pack
    from profrx_parsers.report import Report

SCHEMA = "profrx.explain/1"
LIMIT = 200
"""Subjects explained per declaration; the rest is counted."""


class SubjectReason(Model):
    """The outcome of one declaration on one subject (or on all launches of a kernel alike) and its reason."""

    kernel: str | None = None
    short: str | None = None
    subject: str | None = None
    launches: list[int] = Field(default_factory=list)
    outcome: str
    """fired, not fired, unknown, skipped, blocked, not applicable; of a verdict: the row, or unknown."""
    reason: str = ""
    deciding: list[Evidence] = Field(default_factory=list)
    """The comparisons that settled it, the first one first, with value, threshold and margin."""
    missing: list[str] = Field(default_factory=list)
    why_missing: list[str] = Field(default_factory=list)
    collect: list[Collect] = Field(default_factory=list)
    symptom_of: str = ""
    """The rule whose finding this one is part of, where it was suppressed."""
    tree: list[str] = Field(default_factory=list)
    """The evaluated condition, one line per part."""


class Explained(Model):
    """One declaration on one report."""

    rule: str
    kind: Literal["rule", "verdict", "guard"]
    title: str
    scope: str
    counts: dict[str, int] = Field(default_factory=dict)
    """Outcome -> number of subjects."""
    subjects: list[SubjectReason] = Field(default_factory=list)


class Explanation(Model):
    """The whole answer for one report."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    schema_: str = Field(default=SCHEMA, alias="schema")
    source: str
    next_step: str = ""
    """What to do before anything that is missing is collected: the input is damaged. Empty when it is not."""
    explained: list[Explained] = Field(default_factory=list)


def explain(
    path: str | os.PathLike[str] | Report,
    rules: str | Iterable[str] | None = None,
    *,
    pack: Pack | None = None,
    params: Mapping[str, Any] | None = None,
    kernel: str | None = None,
    limit: int = LIMIT,
) -> Explanation:
    """Explain the outcome of rules, verdicts or guards on a report.

    Args:
        path: a report file or folder, or an open report.
        rules: one id or several; each launch is explained. None = everything, launches of a kernel with one
            outcome together.
        pack: the rules; None = the default pack.
        params: parameter overrides.
        kernel: glob on the kernel's name.
        limit: subjects explained per declaration.

    Raises:
        InputError: the report cannot be read.
        UsageError: no declaration has that id.
    """
    from profrx_parsers.registry import open_report
    from profrx_parsers.report import Report, Wanted

    if pack is None:
        from profrx.language.pack import load_pack

        pack = load_pack(tests=False)
    program = Program(pack, params or {})
    ids = [rules] if isinstance(rules, str) else list(rules or program.order)
    for name in ids:
        if name not in program.owners and name not in program.rows:
            raise _unknown_id(program, name)
    report = path if isinstance(path, Report) else open_report(path, Wanted(metrics=wanted_metrics(pack)))
    frames = frames_of(report)
    outcomes = run(program, only_kernel(frames, kernel) if kernel else frames)
    present = collect.present(report)
    found = [
        explained(outcomes, program.owners[program.rows.get(n, n)], present, rules is not None, limit)
        for n in dict.fromkeys(ids)
    ]
    step = damage.next_step(report.problems)
    return Explanation(source=report.info.source, next_step=step, explained=found)


def _unknown_id(program: Program, name: str) -> UsageError:
    from profrx.language.diagnostics import did_you_mean

    hint = did_you_mean(name, [*program.owners, *program.rows])
    return UsageError(
        "unknown-rule", f"no rule is called {name!r}", next_step=hint or "`profrx rules list` lists them"
    )


def explained(
    outcomes: Outcomes, declaration: Owner, present: collect.Present, each: bool, limit: int = LIMIT
) -> Explained:
    """Explain one declaration: `each` launch, or launches of a kernel with one outcome together.

    In the second case what the tool does not supply is counted only.
    """
    kind: Literal["rule", "verdict", "guard"] = (
        "rule"
        if isinstance(declaration, ast.Rule)
        else "verdict"
        if isinstance(declaration, ast.Verdict)
        else "guard"
    )
    found = Explained(rule=declaration.name, kind=kind, title=declaration.title, scope=declaration.scope)
    frame = outcomes.frames.get(declaration.scope)
    if frame is None or not frame.rows:
        found.counts = {"not applicable": 0}
        return found
    words = words_of(outcomes, declaration)
    names, first, tally = np.unique(words, return_index=True, return_counts=True)
    found.counts = {str(names[i]): int(tally[i]) for i in np.argsort(first)}
    rows = np.arange(frame.rows)
    groups = rows if each else frame.groups
    codes = np.unique(words, return_inverse=True)[1]
    keys = groups * (int(codes.max()) + 1) + codes
    _, lead, where = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(lead, kind="stable")
    if not each:
        order = order[words[lead[order]] != OUTCOMES[NOT_APPLICABLE]]
    order = order[:limit]
    if not order.size:
        return found
    leads = lead[order]
    view = _View(outcomes, declaration, leads, present)
    subjects = frame.subjects.take(leads.tolist()).to_pylist()
    ids = frame.column("subject_id").to_numpy()
    for at, group in enumerate(order.tolist()):
        reason = view.reason(at, str(words[leads[at]]))
        reason.kernel, reason.short = subjects[at]["kernel"], subjects[at]["kernel_short"]
        reason.subject = subjects[at]["subject"]
        reason.launches = ids[where == group].tolist() if frame.scope == "launch" else []
        found.subjects.append(reason)
    return found


def words_of(outcomes: Outcomes, declaration: Owner) -> Any:
    """Return the outcome per subject in words (object array)."""
    from profrx.evaluate.fixture_tests import outcome_words

    return outcome_words(outcomes, declaration, outcomes.frames.scopes[declaration.scope]).astype(str)


class _View:
    """A declaration seen on some subjects."""

    def __init__(self, outcomes: Outcomes, declaration: Owner, rows: Any, present: collect.Present) -> None:
        self.outcomes = outcomes
        self.declaration = declaration
        self.rows = rows
        self.present = present
        self.evaluator = closer_evaluator(outcomes, declaration, rows)
        self.steps = [trace.trace(self.evaluator, when) for when in walk.conditions(declaration)]

    def reason(self, at: int, outcome: str) -> SubjectReason:
        found = SubjectReason(outcome=outcome)
        if outcome == "skipped":
            found.reason = self._parent(at)
            return found
        if outcome == "blocked":
            found.reason = self._guard(at)
            return found
        if outcome == "not applicable":
            found.reason = f"{self.outcomes.frames.tool} does not supply what this rule judges"
            return found
        steps = self.steps
        if isinstance(self.declaration, ast.Verdict) and outcome != "unknown":
            index = next(i for i, row in enumerate(self.declaration.rows) if row.name == outcome)
            steps = [steps[index]]
        if outcome == "unknown":
            self._fill_unknown(found, at)
        for step in steps:
            if outcome == "unknown" and step.values[at] is not None:
                continue
            facts = [trace.fact(self.evaluator, leaf, at) for leaf in trace.deciding(step, at)]
            found.deciding += [evidence.compared(self.evaluator, fact, at) for fact in facts]
            if not found.reason:
                found.reason = "; ".join(fact.text for fact in facts)
        found.tree = [line for step in self.steps for line in trace.written(self.evaluator, step, at)]
        if isinstance(self.declaration, ast.Rule) and outcome == "fired":
            found.symptom_of = self._symptom(int(self.rows[at]))
        return found

    def _parent(self, at: int) -> str:
        row = int(self.rows[at])
        told = []
        for parent in self.outcomes.program.parents(self.declaration):
            above = self.outcomes.program.owners[parent.owner]
            if isinstance(above, ast.Verdict) and above.scope == self.declaration.scope:
                held = int(self.outcomes.held[parent.owner][row])
                got = above.rows[held].name if held >= 0 else "another row"
                told.append(f"{parent.row} does not hold ({above.name} is {got})")
            else:
                told.append(f"{parent.row or parent.owner} did not fire")
        return "; ".join(told)

    def _guard(self, at: int) -> str:
        row = int(self.rows[at])
        told = []
        for guard in self.outcomes.program.guards_of(self.declaration.name):
            if guard_mask(self.outcomes, guard, self.declaration.scope)[row]:
                text = guard.title
                if guard.scope == self.declaration.scope:
                    text = render(guard.because, lookup(closer_evaluator(self.outcomes, guard, [row]), 0))
                told.append(f"guard {guard.name}: {text}")
        return "; ".join(told)

    def _fill_unknown(self, found: SubjectReason, at: int) -> None:
        """Name what is missing, in the rule's own condition or in its unknown ancestors."""
        row = np.asarray([int(self.rows[at])])
        blamed: list[tuple[Any, Any]] = [(self.declaration, row)]
        if isinstance(self.declaration, ast.Rule):
            blamed = list(blame(self.outcomes, self.declaration, row))
        parents = []
        missing: dict[str, str] = {}
        for declaration, part in blamed:
            view = (
                self
                if declaration is self.declaration
                else _View(self.outcomes, declaration, part, self.present)
            )
            where = at if view is self else 0
            if view is not self:
                parents.append(declaration.name)
            for step in view.steps:
                found.why_missing += not_computable(view.evaluator, step, where)
                for name, (kind, text) in names_missing(view.evaluator, step, where).items():
                    missing[name] = kind
                    found.why_missing.append(text)
        found.why_missing = list(dict.fromkeys(found.why_missing))
        found.missing = list(missing)
        absent = [name for name, kind in missing.items() if kind in NOT_COLLECTED]
        tool = self.outcomes.frames.tool
        found.collect = collect.for_metrics(self.outcomes.program.pack, absent, tool, self.present)
        if absent and not found.collect:
            found.collect = collect.options(self.declaration.collect, tool, self.present)
        found.reason = "missing: " + ", ".join(missing) if missing else "; ".join(found.why_missing)
        if parents:
            found.reason = f"{', '.join(parents)} is unknown" + (f" ({found.reason})" if found.reason else "")

    def _symptom(self, row: int) -> str:
        fired = self.outcomes.fired.get(self.declaration.name)
        if fired is None or self.outcomes.codes[self.declaration.name][row] != FIRED:
            return ""
        return fired.symptom_of(int(fired.rows.searchsorted(row)))
