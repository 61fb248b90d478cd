"""What the vendor's own rules stored in the report, beside our findings: agreement, and the reason for a difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from profrx.report.model import VendorFinding

if TYPE_CHECKING:
    from profrx.report.model import ReportFindings
    from profrx_parsers.report import Report

LIMIT = 40
"""Stored results kept, those of the heaviest kernels first."""

CAUSES: dict[str, frozenset[str]] = {
    "UncoalescedGlobalAccess": frozenset({"global-access-pattern"}),
    "MemoryCacheAccessPattern": frozenset({"global-access-pattern", "data-reuse", "register-spilling"}),
    "UncoalescedSharedAccess": frozenset({"shared-bank-conflicts", "shared-bandwidth"}),
    "SharedMemoryConflicts": frozenset({"shared-bank-conflicts"}),
    "MemoryApertureUsage": frozenset({"system-memory", "peer-memory"}),
    "MemoryL2Compression": frozenset({"l2-compression"}),
    "LocalMemoryUsage": frozenset({"register-spilling", "unoptimised-build"}),
    "ThreadDivergence": frozenset({"warp-divergence", "partial-warps"}),
    "TheoreticalOccupancy": frozenset({"occupancy"}),
    "AchievedOccupancy": frozenset({"occupancy", "workload-imbalance", "tail-effect", "small-grid"}),
    "Occupancy": frozenset({"occupancy", "workload-imbalance", "tail-effect", "small-grid"}),
    "WorkloadImbalance": frozenset({"workload-imbalance", "tail-effect", "small-grid"}),
    "FPInstructions": frozenset({"non-fused-fp", "unoptimised-build"}),
    "SOLFPRoofline": frozenset({"fp64-pipe", "fp32-pipe", "near-roofline"}),
    "SlowPipeLimiter": frozenset({"fp64-pipe", "xu-pipe", "fp16-pipe"}),
    "HighPipeUtilization": frozenset(
        {"fp64-pipe", "fp32-pipe", "fp16-pipe", "tensor-pipe", "xu-pipe", "alu-pipe"}
    ),
    "IssueSlotUtilization": frozenset({"issue-slots", "instruction-latency", "memory-latency", "occupancy"}),
}
"""Stored rule -> causes of ours that say the same."""

TITLES: dict[tuple[str, str], frozenset[str]] = {
    ("LaunchConfiguration", "Block Size"): frozenset({"block-size", "partial-warps"}),
    ("LaunchConfiguration", "Small Grid"): frozenset({"small-grid"}),
    ("LaunchConfiguration", "Tail Effect"): frozenset({"tail-effect"}),
}
"""For rules with several results the title decides."""

STALLS = {
    "barrier": {"barrier"},
    "branch resolving": {"warp-divergence"},
    "drain": {"memory-latency", "global-access-pattern"},
    "imc miss": {"constant-cache"},
    "lg throttle": {"global-access-pattern", "register-spilling", "memory-latency", "atomics"},
    "long scoreboard": {
        "memory-latency",
        "dram-bandwidth",
        "global-access-pattern",
        "system-memory",
        "data-reuse",
    },
    "math pipe throttle": {"fp64-pipe", "fp32-pipe", "fp16-pipe", "tensor-pipe", "alu-pipe", "xu-pipe"},
    "membar": {"memory-fence"},
    "mio throttle": {"shared-bank-conflicts", "shared-bandwidth", "xu-pipe"},
    "no instruction": {"instruction-cache", "small-grid"},
    "short scoreboard": {"shared-bank-conflicts", "shared-bandwidth", "xu-pipe"},
    "sleeping": {"barrier"},
    "tex throttle": {"l1-bandwidth"},
    "wait": {"instruction-latency"},
}
"""Stall reason in a stored title -> causes that a stall of that kind comes from."""

VERDICTS = {
    "Latency Issue": {"latency-bound", "balanced", "leaning-compute", "leaning-memory"},
    "Small Grid": {"latency-bound", "leaning-compute", "leaning-memory", "balanced"},
    "High Compute Throughput": {"compute-bound", "leaning-compute"},
    "High Memory Throughput": {"memory-bound", "leaning-memory"},
    "Balanced Throughput": {"balanced", "leaning-compute", "leaning-memory", "saturated"},
    "High Throughput": {"saturated", "compute-bound", "memory-bound"},
}
"""Title of the stored bottleneck verdict -> verdicts of the flowchart that do not contradict it."""

CHANGED = {
    "LaunchConfiguration": ("2025.1", "the tail effect was tied to achieved occupancy before 2025.1"),
    "HighPipeUtilization": (
        "2025.1",
        "pipes were measured over active instead of elapsed cycles before 2025.1",
    ),
    "SlowPipeLimiter": ("2025.1", "pipes were measured over active instead of elapsed cycles before 2025.1"),
    "CPIStallBarrier": ("2021.1", "one rule per stall reason; one rule for all since"),
    "Occupancy": ("2022.4", "split into theoretical and achieved occupancy since"),
}
"""Stored rule -> first version whose logic differs, and how."""

SYMPTOMS = frozenset({("HighPipeUtilization", "Low Utilization")})
"""Stored results that say a unit is idle without saying why."""
SMALL_PCT = 5.0
SPEAKING = frozenset({"optimization", "warning"})


def beside(report: Report, found: ReportFindings) -> list[VendorFinding]:
    """Return the stored results that advise something, one per kernel, rule and title, heaviest kernel first."""
    if not report.has("vendor_findings"):
        return []
    table = report.table("vendor_findings")
    if not len(table):
        return []
    launches = report.table("launches").select(["launch_id", "kernel", "kernel_short"]).to_pydict()
    names = {
        i: (k or s or "", s or k or "")
        for i, k, s in zip(launches["launch_id"], launches["kernel"], launches["kernel_short"], strict=True)
    }
    order = {row.kernel: i for i, row in enumerate(found.kernels)}
    best: dict[tuple[str, str, str], dict[str, Any]] = {}
    columns = ["launch_id", "rule", "title", "kind", "estimate_kind", "estimate_pct"]
    for row in table.select(columns).to_pylist():
        if row["kind"] not in SPEAKING:
            continue
        kernel, short = names.get(row["launch_id"], ("", ""))
        key = (kernel, row["rule"] or "", row["title"] or "")
        if key not in best or (row["estimate_pct"] or 0) > (best[key]["estimate_pct"] or 0):
            best[key] = {**row, "short": short}
    ranked = sorted(
        best.items(), key=lambda item: (order.get(item[0][0], 1 << 30), -(item[1]["estimate_pct"] or 0))
    )
    shown = [_compare(key, row, found, report.info.tool_version) for key, row in ranked[:LIMIT]]
    _attach(shown, found)
    return shown


def _attach(shown: list[VendorFinding], found: ReportFindings) -> None:
    """Put beside each finding the stored result of its kernel that agrees with it: global estimates first, then large."""
    ordered = sorted(shown, key=lambda one: one.estimate_kind != "global")
    for finding in found.findings:
        for one in ordered:
            same = one.agreement == "agrees" and one.kernel == finding.subject.kernel
            if same and finding.cause in _causes(one.rule, one.title):
                finding.vendor = one.model_dump(include={"rule", "title", "estimate_pct", "estimate_kind"})
                break


def _compare(
    key: tuple[str, str, str], row: dict[str, Any], found: ReportFindings, version: str | None
) -> VendorFinding:
    kernel, rule, title = key
    agreement, comment = _judge(kernel, rule, title, found, row)
    changed = CHANGED.get(rule)
    if agreement == "differs" and changed and version and _older(version, changed[0]):
        agreement, comment = "older rule", changed[1]
    return VendorFinding(
        kernel=kernel,
        short=row["short"],
        rule=rule,
        title=title,
        estimate_pct=row["estimate_pct"],
        estimate_kind=row["estimate_kind"],
        agreement=agreement,
        comment=comment,
    )


def _judge(kernel: str, rule: str, title: str, found: ReportFindings, row: dict[str, Any]) -> tuple[str, str]:
    if rule == "SOLBottleneck":
        return _verdict(kernel, title, found)
    causes = _causes(rule, title)
    if not causes:
        return "not judged", "no rule here says the same"
    ours = [f for f in found.findings if f.subject.kernel == kernel]
    same = next((f for f in ours if f.cause in causes), None)
    if same is not None:
        return "agrees", f"finding {same.rank}, {same.rule}"
    first = f"; first here: {ours[0].title}" if ours else ""
    return "differs", f"{_reason(rule, title, row)}{first}"


def _causes(rule: str, title: str) -> frozenset[str]:
    """Return the causes of ours that say the same as a stored result."""
    return TITLES.get((rule, title)) or CAUSES.get(rule) or _stall(rule, title)


def _reason(rule: str, title: str, row: dict[str, Any]) -> str:
    """Why a stored result that nothing here repeats need not worry the reader."""
    if (rule, title) in SYMPTOMS or rule in ("IssueSlotUtilization", "CPIStall"):
        return "a symptom, not a cause"
    if row["estimate_kind"] == "global" and (row["estimate_pct"] or 0) < SMALL_PCT:
        return "its own estimate is small"
    if row["estimate_kind"] == "local":
        return "its estimate is of one unit, not of run time"
    return "no rule here fired for it"


def _verdict(kernel: str, title: str, found: ReportFindings) -> tuple[str, str]:
    ours = {v.verdict for v in found.verdicts if v.kernel == kernel} - {"unknown"}
    fitting = VERDICTS.get(title)
    if not ours or not fitting:
        return "not judged", ""
    words = ", ".join(sorted(ours))
    return ("agrees", words) if ours & fitting else ("differs", f"{words} by the flowchart's thresholds")


def _stall(rule: str, title: str) -> frozenset[str]:
    if not rule.startswith("CPIStall"):
        return frozenset()
    words = title.lower().replace("_", " ").replace("'", "")
    return next((frozenset(causes) for reason, causes in STALLS.items() if reason in words), frozenset())


def _older(version: str, than: str) -> bool:
    def parts(text: str) -> tuple[int, ...]:
        return tuple(int(p) for p in text.split(".")[:2] if p.isdigit())

    return parts(version) < parts(than)
