"""The syntax tree of `.rule` files: plain frozen dataclasses with spans.

`parse` builds it, `print` writes it back (parse(print(tree)) equals tree, spans aside), `check` judges it,
`profrx.evaluate` runs it. Nothing here knows Arrow or reports. Spans never take part in equality. One module,
so that the whole language can be seen at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Span:
    """A place in a rule file: 1-based lines and columns, `end` exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


NOWHERE = Span("", 0, 0, 0, 0)


class Word(str):
    """An id, name, level or text as the parser read it: a plain string that knows its place."""

    span: Span = NOWHERE


@dataclass(frozen=True, kw_only=True)
class Node:
    """Base of all nodes."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


# --- expressions -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Quantity(Node):
    """A number with a unit as written: ``30 %``, ``1.5 us``, ``4``. `unit` is empty for a bare number."""

    value: float
    unit: str = ""


@dataclass(frozen=True)
class Text(Node):
    """A string literal used as a value."""

    value: str


@dataclass(frozen=True)
class Bool(Node):
    """``true`` or ``false``."""

    value: bool


@dataclass(frozen=True)
class Name(Node):
    """A logical metric (``dram.throughput``), a `let`, a `param`, or ``key`` / ``value`` inside an aggregate."""

    name: str


@dataclass(frozen=True)
class Raw(Node):
    """A vendor's own metric name: ``raw "dram__bytes_read.sum"``, with its unit when it has none by itself."""

    name: str
    unit: str = ""


@dataclass(frozen=True)
class Unary(Node):
    """``not x`` or ``-x``."""

    op: Literal["not", "-"]
    operand: Expr


@dataclass(frozen=True)
class Binary(Node):
    """Arithmetic, logic, default: ``+ - * / and or ??``."""

    op: Literal["+", "-", "*", "/", "and", "or", "??"]
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Compare(Node):
    """A chain: ``30 % <= x < 60 %`` has three operands and two operators."""

    operands: tuple[Expr, ...]
    ops: tuple[Literal["<", "<=", ">", ">=", "==", "!="], ...]


@dataclass(frozen=True)
class In(Node):
    """``x in {a, b, c}`` or ``x in lo .. hi`` (both ends included)."""

    operand: Expr
    items: tuple[Expr, ...]
    is_range: bool


@dataclass(frozen=True)
class Matches(Node):
    """``x matches "regex"`` (RE2, unanchored) or ``x matches glob "…"`` (whole string)."""

    operand: Expr
    pattern: str
    glob: bool = False


@dataclass(frozen=True)
class If(Node):
    """``if c then a else b``; an unknown condition gives unknown unless both arms agree."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True)
class Call(Node):
    """A built-in function: ``min max abs ceil floor sqrt log2 clamp known amdahl``."""

    function: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Choice(Node):
    """``least("registers": a, "shared memory": b)`` / ``greatest(…)``: the label(s) of the extreme, ties joined."""

    function: Literal["least", "greatest"]
    labels: tuple[str, ...]
    values: tuple[Expr, ...]


@dataclass(frozen=True)
class Aggregate(Node):
    """``sum(value over instances "m" where key matches "…")`` or ``mean(launch.duration over launches)``.

    Attributes:
        function: sum mean median min max count p5 p25 p75 p95 p99 share any all topshare key_of_max.
        expr: what is aggregated, evaluated per member.
        domain: instances, launches, kernels, devices, streams, ranges, ranks, steps.
        metric: raw or logical metric name for domain ``instances``; empty otherwise.
        where: filter per member, or None.
    """

    function: str
    expr: Expr
    domain: str
    metric: str = ""
    where: Expr | None = None
    raw: bool = False
    """`metric` was quoted: a vendor's raw name, not a logical one."""


@dataclass(frozen=True)
class Fired(Node):
    """``fired(rule-id)``: outcome of another rule on the same subject, three-valued."""

    rule: str


Expr = (
    Quantity
    | Text
    | Bool
    | Name
    | Raw
    | Unary
    | Binary
    | Compare
    | In
    | Matches
    | If
    | Call
    | Choice
    | Aggregate
    | Fired
)


@dataclass(frozen=True)
class Range(Node):
    """``lo .. hi``."""

    low: Expr
    high: Expr


# --- shared parts of declarations ------------------------------------------------------------------------


@dataclass(frozen=True)
class Param(Node):
    """A named threshold: ``param low = 30 % in 0 % .. 100 % "meaning" see reference-id``."""

    name: str
    default: Expr
    valid: Range | None = None
    meaning: str = ""
    see: tuple[str, ...] = ()
    heuristic: bool = False


@dataclass(frozen=True)
class Let(Node):
    """``let name = expr``: evaluated once per subject, visible below it."""

    name: str
    expr: Expr


@dataclass(frozen=True)
class Collect(Node):
    """How to get what is missing: ``collect ncu section "SourceCounters"``."""

    tool: str
    kind: str
    value: str


@dataclass(frozen=True)
class Level(Node):
    """One line of ``severity`` / ``confidence``: a level and the condition it holds under (None = otherwise)."""

    level: str
    when: Expr | None = None


@dataclass(frozen=True)
class Estimate(Node):
    """``estimate global LOW .. HIGH``: share of the subject's run time saved; one expression = a point."""

    kind: Literal["global", "local"]
    low: Expr
    high: Expr | None = None


@dataclass(frozen=True)
class Evidence(Node):
    """``evidence expr as "label"``: an extra line of evidence."""

    expr: Expr
    label: str = ""


@dataclass(frozen=True)
class Lines(Node):
    """``lines metric top 5``: the source lines that hold most of a metric's instances."""

    metric: str
    top: int = 5


@dataclass(frozen=True)
class Suppresses(Node):
    """``suppresses rule-id because "…"``: when both fire on a subject, the other becomes evidence of this one."""

    rule: str
    because: str
    when: Expr | None = None


@dataclass(frozen=True)
class Given(Node):
    """One input of a test: a metric or raw name and its value; None = missing; NaN is a Quantity of nan."""

    name: str
    value: Expr | None
    raw: bool = False
    instances: tuple[tuple[str, Expr], ...] | None = None


@dataclass(frozen=True)
class Expect(Node):
    """What a test expects: an outcome (``fired``, ``not fired``, ``unknown``, ``skipped``, ``blocked``) or a row name."""

    outcome: str
    severity: str = ""
    confidence: str = ""
    estimate: Range | None = None
    value: Range | None = None
    """For tests of metrics (outcome ``value``): the range the value lies in; low == high for one value."""


@dataclass(frozen=True)
class Test(Node):
    """``test "name" { given … expect … }``; with `report` it runs on a real file."""

    name: str
    given: tuple[Given, ...]
    expect: Expect
    context: tuple[tuple[str, Expr], ...] = ()
    report: str = ""
    kernel: str = ""
    count: int | None = None


# --- declarations ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pack(Node):
    """``pack "name" version "1.2.0" requires engine ">=0.1"`` with rulesets and includes."""

    name: str
    version: str
    requires: str = ""
    includes: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True)
class Ruleset(Node):
    """``ruleset "2026.1" { rule-id version 1, … }``: a frozen selection."""

    name: str
    rules: tuple[tuple[str, int], ...]
    override: bool = False


@dataclass(frozen=True)
class Cause(Node):
    """``cause dram-bandwidth "meaning"``: one entry of the vocabulary."""

    name: str
    meaning: str


@dataclass(frozen=True)
class Reference(Node):
    """``reference id { title "…" url "…" }``."""

    name: str
    title: str
    url: str


@dataclass(frozen=True)
class MetricSource(Node):
    """Where a tool keeps a logical metric.

    Attributes:
        tool: ncu, nsys, rocm, torch, timeline, launch (columns of the launches table)…
        names: raw names tried in order, the first present wins per subject.
        formula: expression instead of names; exactly one of the two is given.
        arch: inclusive range of compute capability / gfx number, or None.
        version: inclusive range of tool versions as strings, or None.
        unit: unit of the raw value when it differs from the metric's.
    """

    tool: str
    names: tuple[str, ...] = ()
    formula: Expr | None = None
    arch: tuple[str, str] | None = None
    version: tuple[str, str] | None = None
    unit: str = ""


@dataclass(frozen=True)
class Metric(Node):
    """A logical metric: unit, valid range, meaning, sources, how to collect it."""

    name: str
    unit: str
    meaning: str
    valid: Range | None = None
    scope: str = "launch"
    kind: Literal["number", "text", "instances"] = "number"
    sources: tuple[MetricSource, ...] = ()
    collect: tuple[Collect, ...] = ()
    see: tuple[str, ...] = ()
    family: str = ""
    tests: tuple[Test, ...] = ()
    deprecated: str = ""
    override: bool = False
    extends: bool = False
    """``extend metric``: adds sources, collection hints and tests to the metric that is there already."""


@dataclass(frozen=True)
class Row(Node):
    """One row of a ``one_of`` table: a verdict's name, its condition, its sentence."""

    name: str
    when: Expr
    because: str = ""
    title: str = ""


@dataclass(frozen=True)
class Verdict(Node):
    """``verdict name { param… let… one_of { row when …  … } }``: exactly one row holds for known inputs."""

    name: str
    title: str
    scope: str
    rows: tuple[Row, ...]
    hit: Literal["one_of", "first", "all"] = "one_of"
    params: tuple[Param, ...] = ()
    lets: tuple[Let, ...] = ()
    under: tuple[str, ...] = ()
    tests: tuple[Test, ...] = ()
    see: tuple[str, ...] = ()
    collect: tuple[Collect, ...] = ()
    version: int = 1
    override: bool = False
    requires: tuple[Expr, ...] = ()
    """``require low < high``: what the parameters must satisfy, whoever sets them."""


@dataclass(frozen=True)
class Guard(Node):
    """``guard name { when … blocks rule-or-metric, … because "…" }``: a measurement is invalid for conclusions."""

    name: str
    title: str
    scope: str
    when: Expr
    blocks: tuple[str, ...]
    because: str
    severity: str = "warning"
    params: tuple[Param, ...] = ()
    lets: tuple[Let, ...] = ()
    fix: tuple[str, ...] = ()
    tests: tuple[Test, ...] = ()
    see: tuple[str, ...] = ()
    collect: tuple[Collect, ...] = ()
    version: int = 1
    override: bool = False
    requires: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Rule(Node):
    """``rule id { … }``: when it fires, there is a finding."""

    name: str
    title: str
    scope: str
    when: Expr
    because: str
    cause: str = ""
    under: tuple[str, ...] = ()
    anyway: bool = False
    """``under … anyway``: evaluate also when the parent is unknown."""
    params: tuple[Param, ...] = ()
    lets: tuple[Let, ...] = ()
    severity: tuple[Level, ...] = ()
    confidence: tuple[Level, ...] = ()
    estimate: Estimate | None = None
    fix: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    lines: tuple[Lines, ...] = ()
    collect: tuple[Collect, ...] = ()
    suppresses: tuple[Suppresses, ...] = ()
    see: tuple[str, ...] = ()
    tests: tuple[Test, ...] = ()
    version: int = 1
    since: str = ""
    status: Literal["preview", "stable", "deprecated", "removed"] = "stable"
    replaced_by: str = ""
    override: bool = False
    applies_to: tuple[str, ...] = ()
    """Tools the rule can apply to; empty = any that supplies its metrics. Others are `not applicable`."""
    requires: tuple[Expr, ...] = ()


Declaration = Pack | Ruleset | Cause | Reference | Metric | Param | Verdict | Guard | Rule


@dataclass(frozen=True)
class File(Node):
    """One `.rule` file, in order. Comments are kept by the formatter from the token stream, not here."""

    declarations: tuple[Declaration, ...]
