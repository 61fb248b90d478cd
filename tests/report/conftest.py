"""Findings with fixed values, so that every writer is tested on the same page."""

from __future__ import annotations

import pytest

from profrx.report import model as m

KERNEL = "void matmul_naive<float, 16>(const float*, const float*, float*, int)"
SHORT = "matmul_naive"
HOSTILE = (
    "evil|`kernel` <script>alert(1)</script>\n# head\x1b[31m [x](javascript:alert(1)) ‮ *b* $x$ &amp; ]]>"
)


def one_kernel(kernel: str = KERNEL, short: str = SHORT) -> m.ReportFindings:
    own = {"kernel": kernel, "short": short}
    roofs = [
        m.Roof(name="FP32", kind="compute", value=6.2e13, unit="FLOP/s"),
        m.Roof(name="DRAM", kind="memory", value=4.8e12, unit="B/s"),
    ]
    point = m.RooflinePoint(
        **own, launch_id=0, precision="fp32", flop_per_s=4.2e12, bytes_per_s=2.1e12, intensity=2.0, ridge=12.9,
        compute_share=0.068, memory_share=0.4375, roofs=roofs,
    )  # fmt: skip
    finding = m.Finding(
        rank=1, rule="uncoalesced-global-access", rule_version=2, parameters_hash="ab12", cause="global-access-pattern",
        title="Global memory accesses are not coalesced", severity="high", confidence="high", scope="launch",
        subject=m.Subject(**own, launches=[0, 1, 2, 5]), time_share=1.0,
        saving=m.Saving(kind="global", low=0.3, high=0.5), score=0.4,
        evidence=[
            m.Evidence(
                metric="excess", value=62.0, unit="%", threshold=10.0, margin=5.2, provenance="derived",
                label=">= min_excess", source="global.sectors_excess / global.sectors",
            ),
            m.Evidence(metric="dram.bytes", value=3.2e9, unit="B"),
        ],
        locations=[m.Location(file="src/mat|mul.cu", line=12, share=0.4, metric="global.sectors_excess")],
        because="62% of the sectors are not needed; see `a[i]`.", fix=["Let neighbours touch neighbours.", "Stage in shared."],
        exceptions=["Gathers stay as they are."], collect=[m.Collect(tool="ncu", option="--section SourceCounters")],
        references=[m.Link(title="Guide", url="https://docs.nvidia.com/x#y"), m.Link(title="Bad", url="javascript:alert(1)")],
        explains=["stall-long-scoreboard"],
    )  # fmt: skip
    local = m.Finding(
        rank=2, rule="l2-compression", cause="l2-compression", title="Compression does not help", severity="low",
        confidence="medium", scope="launch", subject=m.Subject(**own, launches=[0]), time_share=1.0,
        saving=m.Saving(kind="local", low=0.0, high=0.2), because="It fails.",
    )  # fmt: skip
    return m.ReportFindings(
        source=f"captures/{short}.ncu-rep", sha256="0" * 64, format="ncu-rep", tool="ncu", tool_version="2025.3.1",
        base_time="profiled kernel time", base_time_ns=2.31e6, devices=[{"name": "NVIDIA H200", "arch": "sm_90"}],
        conditions=m.Conditions(
            facts={"Device": "NVIDIA H200 (sm_90)", "Tool": "Nsight Compute 2025.3.1", "Clocks": "not locked"},
            missing=["driver version"], warnings=["Clocks were not locked."],
        ),
        problems=[
            m.Problem(severity="warning", code="ncu-over-100-percent", message="percentages exceed 100", count=3),
            m.Problem(severity="info", code="ncu-repeated-metric", message="not shown on the page"),
        ],
        kernels=[m.KernelRow(**own, launches=4, duration_ns=2.31e6, time_share=1.0)],
        verdicts=[
            m.VerdictOf(**own, launches=[0], verdict="units-first", table="latency-first", title="The busy unit first"),
            m.VerdictOf(
                **own, launches=[0], verdict="memory-bound", table="speed-of-light", title="Memory-bound",
                because="Memory works at 92%, compute at 34%.",
            ),
        ],
        summary=m.Summary(
            sol=[
                m.SolNumber(**own, launch_id=0, metric="sm.throughput", label="SM", value=34.2),
                m.SolNumber(**own, launch_id=0, metric="memory.throughput", label="Memory", value=92.0),
                m.SolNumber(**own, launch_id=0, metric="l1.throughput", label="L1", value=None),
            ],
            stalls=[
                m.Stall(**own, launch_id=0, reason="long_scoreboard", share=0.61, cycles=12.2, meaning="waiting for data"),
                m.Stall(**own, launch_id=0, reason="wait", share=0.1, cycles=2.0, meaning="a fixed latency"),
            ],
            roofline=[point, point.model_copy(update={"precision": "fp64", "flop_per_s": None})],
            path=[m.PathStep(**own, question="Is the GPU busy at all?", answer="Cannot be told: `nsys profile app`.")],
        ),
        findings=[finding, local],
        unknown=[
            m.Unknown(
                rule="bank-conflicts", title="Shared-memory bank conflicts", missing=["shared.conflicts"], subjects=1,
                collect=[m.Collect(tool="ncu", option="--section MemoryWorkloadAnalysis_Tables")],
            ),
            m.Unknown(rule="no-way", title="Cannot be collected", missing=["x"], subjects=1),
        ],
        blocked=[
            m.Blocked(rule=rule, guard="too-short", reason="3.1 us is too short.", subjects=1, kernels=["scale"])
            for rule in ("tail-effect", "small-grid")
        ],
        vendor=[
            m.VendorFinding(
                **own, rule="CPIStall", title="Long Scoreboard", estimate_pct=43.2, estimate_kind="global",
                agreement="agrees", comment="finding 1",
            )
        ],
    )  # fmt: skip


def several_kernels() -> m.ReportFindings:
    report = one_kernel()
    other = one_kernel("add(float*)", "add")
    report.kernels = [
        m.KernelRow(kernel=KERNEL, short=SHORT, launches=4, duration_ns=2.31e6, time_share=0.7),
        m.KernelRow(kernel="add(float*)", short="add", launches=1200, duration_ns=None, time_share=None),
    ]
    report.findings += [f.model_copy(update={"rank": f.rank + 2, "time_share": 0.3}) for f in other.findings]
    report.summary.sol += other.summary.sol
    report.summary.stalls += other.summary.stalls
    report.summary.roofline += other.summary.roofline
    report.source = "captures/run.ncu-rep"
    return report


def wrap(*reports: m.ReportFindings) -> m.Findings:
    return m.Findings(
        version="9.9.9", pack={"profrx": "2026.1", "digest": "0123456789abcdef"}, reports=list(reports)
    )


@pytest.fixture
def findings() -> m.Findings:
    """One report of one kernel."""
    return wrap(one_kernel())


@pytest.fixture
def many() -> m.Findings:
    """A report of two kernels and an input that could not be read."""
    found = wrap(several_kernels())
    found.failed = [
        m.FailedInput(
            source="captures/no.ncu-rep",
            code="input-empty",
            message="the file is empty",
            next_step="copy it again",
        )
    ]
    return found


@pytest.fixture
def hostile() -> m.Findings:
    """Every name in the report is an attack."""
    report = one_kernel(HOSTILE, HOSTILE)
    report.source = HOSTILE
    report.findings[0].locations[0].file = HOSTILE
    report.findings[0].because = HOSTILE
    report.findings[0].title = HOSTILE
    report.conditions.facts["Device"] = HOSTILE
    report.problems[0].message = HOSTILE
    report.vendor[0].title = HOSTILE
    return wrap(report)


@pytest.fixture
def empty() -> m.Findings:
    """A report that holds nothing."""
    return wrap(m.ReportFindings(source="captures/empty.ncu-rep", format="ncu-rep", tool="ncu"))
