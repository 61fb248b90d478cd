"""`rules test`: tests beside the rules, run by evaluating all of a declaration's tests in one pass.

An inline test judges a declaration by itself, as if its parent held and no guard did; one that expects
``skipped`` or ``blocked`` takes parents and guards into account. A test on a report file runs the whole pack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profrx.evaluate import trace
from profrx.evaluate.closer import look_closer
from profrx.evaluate.evidence import smallest_margin
from profrx.evaluate.findings import NARROW_MARGIN
from profrx.evaluate.given import Batch, batches, default_tool
from profrx.evaluate.group import CONFIDENCE_WEIGHT, severity_of
from profrx.evaluate.metrics import Metrics
from profrx.evaluate.operators import spread
from profrx.evaluate.outcomes import LEVELS, OUTCOMES, Outcomes, judge_alone, run
from profrx.evaluate.params import Owner, constant
from profrx.evaluate.program import Program
from profrx.language import ast, walk
from profrx_parsers.errors import ProfrxError

if TYPE_CHECKING:
    from profrx.evaluate.fixture_tests import Reports
    from profrx.language.pack import Pack

SLACK = 1e-6
"""Relative slack at the ends of an expected range."""

ESTIMATE_SLACK = 0.005
"""Absolute slack of an expected estimate: tests write whole percents."""

Declaration = ast.Rule | ast.Verdict | ast.Guard | ast.Metric


@dataclass(frozen=True)
class TestResult:
    """What came of one test.

    Attributes:
        kind, declaration: e.g. ``rule`` and its id.
        test: the test's name.
        passed: whether everything it states holds.
        expected, got: in the words of the rule file.
        detail: the evaluated condition tree, for failed tests.
        span: where the test stands.
    """

    __test__ = False

    kind: str
    declaration: str
    test: str
    passed: bool
    expected: str
    got: str
    detail: tuple[str, ...] = ()
    span: ast.Span = ast.NOWHERE


@dataclass(frozen=True)
class TestReport:
    """All results of a run, in the pack's order."""

    __test__ = False

    results: tuple[TestResult, ...] = ()
    load_errors: tuple[str, ...] = field(default=())
    """Declarations that did not load: a run with any has failed."""

    @property
    def failures(self) -> list[TestResult]:
        """Results of the tests that did not pass."""
        return [one for one in self.results if not one.passed]

    @property
    def passed(self) -> bool:
        """Whether everything loaded and every test passed."""
        return not self.load_errors and not self.failures


def run_tests(
    pack: Pack,
    *,
    only: Iterable[str] = (),
    params: Mapping[str, Any] | None = None,
    root: Path | None = None,
) -> TestReport:
    """Run the tests of a pack.

    Args:
        pack: declarations with their tests.
        only: ids of the declarations to test; empty = all.
        params: parameter overrides.
        root: folder that paths of ``given report "…"`` start from; else the rule file's folders upwards.
    """
    from profrx.evaluate.fixture_tests import Reports

    program = Program(pack, params or {})
    chosen = set(only)
    reports = Reports(program, root)
    results: list[TestResult] = []
    tables: list[Mapping[str, Declaration]] = [pack.metrics, pack.guards, pack.verdicts, pack.rules]
    for table in tables:
        for name, declaration in table.items():
            if declaration.tests and (not chosen or name in chosen):
                results.extend(of_declaration(program, declaration, reports))
    errors = tuple(str(d) for d in pack.diagnostics if d.severity == "error")
    return TestReport(tuple(results), errors)


def of_declaration(
    program: Program, declaration: Declaration, reports: Reports | None = None
) -> list[TestResult]:
    """Run the tests of one declaration, in file order."""
    found: dict[int, TestResult] = {}
    scope = declaration.scope
    try:
        for batch in batches(program.pack, scope, declaration.tests, tool_of(program, declaration)):
            if isinstance(declaration, ast.Metric):
                made = [_metric_result(batch, declaration, at) for at in range(len(batch.tests))]
            else:
                made = _owner_results(program, declaration, batch)
            found.update({id(test): result for test, result in zip(batch.tests, made, strict=True)})
        for test in declaration.tests:
            if test.report and reports is not None:
                found[id(test)] = reports.result(declaration, test)
    except ProfrxError as err:
        return [result(declaration, test, False, f"error: {err}") for test in declaration.tests]
    return [found[id(test)] for test in declaration.tests if id(test) in found]


def tool_of(program: Program, declaration: Declaration) -> str:
    """Return the tool that a declaration's tests are about unless they say."""
    if isinstance(declaration, ast.Metric):
        tools = [s.tool for s in declaration.sources]
        return tools[0] if tools else "ncu"
    applies = declaration.applies_to if isinstance(declaration, ast.Rule) else ()
    return default_tool(program.pack.metrics, sorted(program.metrics_read(declaration)), applies)


def result(
    declaration: Declaration, test: ast.Test, passed: bool, got: str, detail: tuple[str, ...] = ()
) -> TestResult:
    """Build a result in the words of the rule file."""
    return TestResult(
        type(declaration).__name__.lower(),
        declaration.name,
        test.name,
        passed,
        expected_text(test),
        got,
        () if passed else detail,
        test.span,
    )


def expected_text(test: ast.Test) -> str:
    """Return what a test expects, as written."""
    expect = test.expect
    parts = [expect.outcome]
    if expect.value is not None:
        parts.append(_range_text(expect.value))
    for name, value in (("severity", expect.severity), ("confidence", expect.confidence)):
        if value:
            parts.append(f"{name} {value}")
    if expect.estimate is not None:
        parts.append(f"estimate {_range_text(expect.estimate)}")
    if test.count is not None:
        parts.append(f"count {test.count}")
    return " ".join(parts)


def _range_text(span: ast.Range) -> str:
    from profrx.evaluate.showing import text_of

    low, high = text_of(span.low), text_of(span.high)
    return low if low == high else f"{low} .. {high}"


def within(value: float | None, span: ast.Range, slack: float = 0.0) -> bool:
    """Whether a value lies in an expected range, with a relative slack of `SLACK` and an absolute one."""
    low, high = constant(span.low), constant(span.high)
    if value is None or low is None or high is None:
        return False
    return low - SLACK * abs(low) - slack <= value <= high + SLACK * abs(high) + slack


# --- metrics ---------------------------------------------------------------------------------------------


def _metric_result(batch: Batch, metric: ast.Metric, at: int) -> TestResult:
    test = batch.tests[at]
    metrics = next(iter(batch.family.values()))
    if metric.kind == "instances":
        return result(metric, test, False, "an instanced metric has no value of its own")
    value = metrics.column(metric.name)[at].as_py()
    if value is None:
        reason = metrics.reason(metric.name, at)
        text = f"unknown ({reason.kind}: {reason.text})" if reason else "unknown"
        return result(metric, test, test.expect.outcome == "unknown", text)
    from profrx.evaluate.quantity import from_base

    shown = f"value {from_base(value, metric.unit):.9g} {metric.unit}" if isinstance(value, float) else value
    expect = test.expect
    passed = expect.value is not None and isinstance(value, float) and within(value, expect.value)
    return result(metric, test, passed or expect.outcome == "known", shown)


# --- rules, verdicts, guards -----------------------------------------------------------------------------


def _owner_results(program: Program, declaration: Owner, batch: Batch) -> list[TestResult]:
    alone = outcomes_alone(program, declaration, batch)
    whole = None
    if any(test.expect.outcome in ("skipped", "blocked") for test in batch.tests):
        whole = run(program, batch.frames, family=_fresh(batch.family), only=program.ancestors(declaration))
    found = []
    for at, test in enumerate(batch.tests):
        use = whole if whole is not None and test.expect.outcome in ("skipped", "blocked") else alone
        got, passed = judged(use, declaration, test, at)
        detail = () if passed else tree(use, declaration, at)
        found.append(result(declaration, test, passed, got, detail))
    return found


def _fresh(family: dict[int, Metrics]) -> dict[int, Metrics]:
    """The same given values without what guards blocked before."""
    fresh: dict[int, Metrics] = {}
    for metrics in family.values():
        Metrics(metrics.pack, metrics.frame, given=metrics.given, family=fresh)
    return fresh


def outcomes_alone(program: Program, declaration: Owner, batch: Batch) -> Outcomes:
    """Judge a declaration on a batch as if its parents held and no guard did."""
    outcomes = Outcomes(batch.frames, program, family=batch.family)
    pending, order = [declaration.name], []
    while pending:
        name = pending.pop()
        if name in order or name not in program.owners:
            continue
        order.append(name)
        for expr in walk.evaluated(program.owners[name]):
            pending += [node.rule for node in walk.nodes(expr) if isinstance(node, ast.Fired)]
    for name in reversed(order):
        judge_alone(outcomes, program.owners[name])
    return outcomes


def judged(outcomes: Outcomes, declaration: Owner, test: ast.Test, at: int) -> tuple[str, bool]:
    """Return what came out for a test and whether it is what the test states."""
    expect = test.expect
    if isinstance(declaration, ast.Guard):
        mask = outcomes.guards.get(declaration.name)
        got = outcomes.guard_outcome(declaration, at) if mask is not None else "unknown"
        return got, got == expect.outcome
    if isinstance(declaration, ast.Verdict):
        return _judged_row(outcomes, declaration, expect, at)
    codes = outcomes.codes.get(declaration.name)
    got = OUTCOMES[int(codes[at])] if codes is not None else "not applicable"
    if got != expect.outcome:
        return got, False
    if got != "fired":
        return got, True
    return _judged_details(outcomes, declaration, expect, at)


def _judged_row(outcomes: Outcomes, verdict: ast.Verdict, expect: ast.Expect, at: int) -> tuple[str, bool]:
    truths = {row.name: outcomes.truth[verdict.name, row.name][at].as_py() for row in verdict.rows}
    held = [name for name, true in truths.items() if true]
    got = ", ".join(held) or ("unknown" if None in truths.values() else "no row")
    if verdict.hit == "one_of" and len(held) > 1:
        return got, False
    return got, expect.outcome in held or (expect.outcome == got and not held)


def _judged_details(outcomes: Outcomes, rule: ast.Rule, expect: ast.Expect, at: int) -> tuple[str, bool]:
    fired = outcomes.fired[rule.name]
    row = int(fired.rows.searchsorted(at))
    low, high = float(fired.low[row]), float(fired.high[row])
    known = low == low
    severity, confidence = int(fired.severity[row]), int(fired.confidence[row])
    if confidence >= 0:
        shown_confidence = LEVELS["confidence"][confidence]
    else:
        closer = look_closer(outcomes, rule, [at])
        margin = smallest_margin(closer.evaluator, closer.step, 0)
        shown_confidence = "low" if margin is not None and margin < NARROW_MARGIN else "medium"
    if severity >= 0:
        shown_severity = LEVELS["severity"][severity]
    else:  # as if the subject took all of the time
        ranked = known and rule.estimate is not None and rule.estimate.kind == "global"
        shown_severity = severity_of(
            (low + high) / 2 * CONFIDENCE_WEIGHT[shown_confidence] if ranked else None, low
        )
    got = "fired"
    passed = True
    if expect.severity:
        got += f" severity {shown_severity}"
        passed &= expect.severity == shown_severity
    if expect.confidence:
        got += f" confidence {shown_confidence}"
        passed &= expect.confidence == shown_confidence
    if expect.estimate is not None:
        got += f" estimate {low:.2%} .. {high:.2%}" if known else " estimate unknown"
        passed &= known and all(within(end, expect.estimate, ESTIMATE_SLACK) for end in (low, high))
    return got, passed


def tree(outcomes: Outcomes, declaration: Owner, at: int) -> tuple[str, ...]:
    """Return the evaluated condition tree of a row, lets with their values below it."""
    scoped = outcomes.frames.get(declaration.scope)
    if scoped is None or at >= scoped.rows:
        return ()
    lines: list[str] = []
    if isinstance(declaration, ast.Verdict):
        for row in declaration.rows:
            probe = replace(declaration, rows=(row,))
            closer = look_closer(outcomes, probe, [at])
            lines += [f"{row.name}:", *("  " + t for t in trace.written(closer.evaluator, closer.step, 0))]
    else:
        closer = look_closer(outcomes, declaration, [at])
        lines += trace.written(closer.evaluator, closer.step, 0)
    evaluator = closer.evaluator
    for let in declaration.lets:
        one = trace.Step("leaf", ast.Name(let.name), let.name, [None])
        lines.append(f"let {trace.fact(evaluator, one, 0).text}")
    for name in sorted(outcomes.program.metrics_read(declaration)):
        if outcomes.program.pack.metrics[name].kind == "instances":
            continue
        value = spread(evaluator.value(ast.Name(name)), evaluator.rows)[0]
        if not value.is_valid:
            reason = evaluator.metrics.reason(name, 0)
            lines.append(f"metric {name} is unknown" + (f": {reason.text}" if reason else ""))
        else:
            one = trace.Step("leaf", ast.Name(name), name, [None])
            lines.append(f"metric {trace.fact(evaluator, one, 0).text}")
    return tuple(lines)
