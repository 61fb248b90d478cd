"""Schema ``profrx.findings/1``: what ``profrx diagnose`` found, as pydantic models.

Additions are allowed in later versions, nothing is renamed. Null means "unknown" everywhere. Shares are
0..1. Numbers of evidence are in base units (ns, B, Hz; percentages as they are named by `unit`).
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA = "profrx.findings/1"
Severity = Literal["info", "low", "medium", "high", "critical"]
SEVERITIES: tuple[Severity, ...] = ("info", "low", "medium", "high", "critical")
Confidence = Literal["low", "medium", "high"]
CONFIDENCES: tuple[Confidence, ...] = ("low", "medium", "high")


class Model(BaseModel):
    """Base: no unknown keys, so that a typing slip cannot hide."""

    model_config = ConfigDict(extra="forbid")


class Problem(Model):
    """A row of the import log."""

    severity: Literal["info", "warning", "data-loss", "error"]
    code: str
    message: str
    where: str = ""
    count: int = 1
    advice: str = ""


class Evidence(Model):
    """One value that decided a finding or a verdict.

    `threshold` and `margin` are null where the value was not compared. `margin` is the distance to the
    threshold relative to it (signed, positive = beyond it). `provenance`: ``exact`` (stored in the report),
    ``derived`` (a formula over stored values), ``estimated`` (a model), ``parameter``.
    """

    metric: str
    value: float | str | None
    unit: str | None = None
    threshold: float | str | None = None
    margin: float | None = None
    provenance: str = "exact"
    label: str = ""
    source: str = ""
    """The raw counter or formula the value came from."""


class Location(Model):
    """A source line and its share of the counter or samples."""

    file: str
    line: int
    share: float | None = None
    metric: str = ""


class Subject(Model):
    """What a finding is about: a kernel's launches, a stream, a range, a rank, or the whole report."""

    kernel: str | None = None
    short: str | None = None
    launches: list[int] = Field(default_factory=list)
    name: str | None = None
    """Name of the subject when it is no kernel (stream, range, rank, report)."""


class Saving(Model):
    """Share of the subject's own run time that could go away, as a range."""

    kind: Literal["global", "local"]
    low: float
    high: float


class Collect(Model):
    """How to obtain what is missing: a tool and the exact option."""

    tool: str
    option: str
    """E.g. ``--section SourceCounters``."""


class Link(Model):
    """A reference."""

    title: str
    url: str


class Finding(Model):
    """One fired rule on one subject (launches of one kernel with the same outcome are one finding)."""

    rank: int
    rule: str
    rule_version: int = 1
    parameters_hash: str = ""
    cause: str
    title: str
    severity: Severity
    confidence: Confidence
    scope: str
    subject: Subject
    time_share: float | None = None
    saving: Saving | None = None
    score: float | None = None
    """Middle of a global saving x time_share x confidence (high 1, medium 0.7, low 0.4); null when unknown."""
    evidence: list[Evidence] = Field(default_factory=list)
    locations: list[Location] = Field(default_factory=list)
    because: str = ""
    fix: list[str] = Field(default_factory=list)
    exceptions: list[str] = Field(default_factory=list)
    collect: list[Collect] = Field(default_factory=list)
    references: list[Link] = Field(default_factory=list)
    explains: list[str] = Field(default_factory=list)
    """Rules whose findings this one stands behind (suppressed symptoms), with the reason in `because`."""
    same_cause_as: str | None = None
    """Rule of the better-ranked finding with the same cause on the same subject: this one adds no saving to it."""
    vendor: dict[str, Any] | None = None


class VerdictOf(Model):
    """The row of a decision table that holds for a kernel's launches; `verdict` is ``unknown`` when none is certain."""

    kernel: str
    short: str
    launches: list[int]
    verdict: str
    table: str = ""
    title: str = ""
    because: str = ""
    guard: str | None = None
    """Guard that holds for the heaviest of these launches: the verdict is no answer there, though rules go on from it."""
    doubt: str = ""
    """That guard's sentence, and what it says to do."""
    time_share: float | None = None
    evidence: list[Evidence] = Field(default_factory=list)

    @property
    def answer(self) -> str:
        """The verdict where it is an answer, else ``unknown``."""
        return "unknown" if self.guard else self.verdict


class Unknown(Model):
    """A rule that could not be judged for some subjects, and what to collect."""

    rule: str
    title: str = ""
    missing: list[str] = Field(default_factory=list)
    reasons: list[str] = Field(default_factory=list)
    subjects: int = 0
    collect: list[Collect] = Field(default_factory=list)


class Coverage(Model):
    """How much of the pack a report could answer."""

    rules: int
    """Rules of the report's tool that have a subject in it."""
    judged: int
    """Those of them that were decided for at least one subject: fired, not fired, or passed over with their parent."""


class Blocked(Model):
    """A rule that a guard blocked for some subjects."""

    rule: str
    guard: str
    reason: str
    """The guard's sentence, with the numbers of the first of these subjects."""
    subjects: int = 0
    kernels: list[str] = Field(default_factory=list)
    """Short names of the kernels among them, each once, the first first; at most 20."""


class Suppressed(Model):
    """A finding that the settings accept for now."""

    rule: str
    title: str = ""
    kernel: str | None = None
    short: str | None = None
    reason: str
    expires: str | None = None
    """Last day on which it holds, ISO 8601; null = until it is taken out."""


class SolNumber(Model):
    """One speed-of-light number of a kernel."""

    kernel: str
    short: str
    launch_id: int | None = None
    metric: str
    label: str
    value: float | None
    unit: str = "%"


class Stall(Model):
    """One stall reason of a kernel: share of the cycles between two issues, and cycles per issue."""

    kernel: str
    short: str
    launch_id: int | None = None
    reason: str
    share: float | None
    cycles: float | None = None
    meaning: str = ""


class Roof(Model):
    """One ceiling."""

    name: str
    kind: Literal["compute", "memory"]
    value: float | None
    unit: str
    """FLOP/s or B/s."""
    source: str = ""


class RooflinePoint(Model):
    """Where a kernel stands against one compute roof and the DRAM roof."""

    kernel: str
    short: str
    launch_id: int | None = None
    precision: str
    """fp16, fp32, fp64, tensor."""
    flop_per_s: float | None
    bytes_per_s: float | None
    intensity: float | None
    """FLOP per DRAM byte."""
    ridge: float | None
    """Intensity at which the roofs meet."""
    compute_share: float | None
    memory_share: float | None
    no_work: str = ""
    """Why the counted operations are no arithmetic of the kernel: ``constants`` (set by multiply-adds) or ``conversions``
    (half precision taken as single); empty where they are, or where it cannot be told."""
    roofs: list[Roof] = Field(default_factory=list)


class PathStep(Model):
    """One step of the way through the flowchart for a kernel."""

    kernel: str
    short: str
    question: str
    answer: str


class Summary(Model):
    """The one-page numbers. Lists hold the kernels in order of time, the heaviest first (at most ten)."""

    busy: dict[str, Any] | Literal["unknown"] = "unknown"
    sol: list[SolNumber] = Field(default_factory=list)
    stalls: list[Stall] = Field(default_factory=list)
    roofline: list[RooflinePoint] = Field(default_factory=list)
    path: list[PathStep] = Field(default_factory=list)


class Conditions(Model):
    """Under which conditions the report was taken; `missing` names what it does not record."""

    facts: dict[str, str] = Field(default_factory=dict)
    missing: list[str] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)


class KernelRow(Model):
    """One kernel of the report: how often, how long."""

    kernel: str
    short: str
    launches: int
    duration_ns: float | None
    time_share: float | None
    verdict: str = ""
    """Of its launches, joined by commas; ``unknown`` also where a guard forbids the answer."""


class VendorFinding(Model):
    """A stored vendor result beside ours."""

    kernel: str
    short: str
    rule: str
    title: str
    estimate_pct: float | None = None
    estimate_kind: str | None = None
    agreement: str = ""
    """agrees, differs, not judged, older rule."""
    comment: str = ""


class ReportFindings(Model):
    """Everything about one input."""

    source: str
    sha256: str | None = None
    format: str
    tool: str | None = None
    tool_version: str | None = None
    base_time: str | None = None
    """What `time_share` refers to."""
    base_time_ns: float | None = None
    devices: list[dict[str, Any]] = Field(default_factory=list)
    conditions: Conditions = Field(default_factory=Conditions)
    problems: list[Problem] = Field(default_factory=list)
    next_step: str = ""
    """What to do before anything that is unknown is collected again: the input is damaged. Empty when it is not."""
    kernels: list[KernelRow] = Field(default_factory=list)
    summary: Summary = Field(default_factory=Summary)
    verdicts: list[VerdictOf] = Field(default_factory=list)
    findings: list[Finding] = Field(default_factory=list)
    coverage: Coverage | None = None
    unknown: list[Unknown] = Field(default_factory=list)
    blocked: list[Blocked] = Field(default_factory=list)
    suppressed: list[Suppressed] = Field(default_factory=list)
    vendor: list[VendorFinding] = Field(default_factory=list)


class Ranked(Model):
    """One line of the ranking over all inputs: one per cause and kernel, best saving first."""

    rank: int
    source: str
    rule: str
    cause: str
    title: str
    kernel: str | None = None
    severity: Severity
    time_share: float | None = None
    saving: Saving | None = None
    score: float | None = None


class FailedInput(Model):
    """An input that could not be read."""

    source: str
    code: str
    message: str
    next_step: str = ""


class Findings(Model):
    """The whole result of one call."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    schema_: str = Field(default=SCHEMA, alias="schema")
    version: str = ""
    """Of profrx."""
    pack: dict[str, str] = Field(default_factory=dict)
    reports: list[ReportFindings] = Field(default_factory=list)
    ranking: list[Ranked] = Field(default_factory=list)
    failed: list[FailedInput] = Field(default_factory=list)
