"""Pass: collection actions name options, sections, sets and counters that their tool has.

A rule works without them, and a tool may be newer than the tables here, so what is unknown is a warning. Free text
such as ``option "--section Mine"`` of an option that is known passes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from profrx.language import ast
from profrx.language.check.context import Context
from profrx.language.check.misnamed import meant
from profrx.language.diagnostics import did_you_mean

PROFILERS = (
    "ncu",
    "nsys",
    "rocprofv3",
    "rocprof",
    "rocprof-compute",
    "rocprof-sys",
    "torch",
    "xctrace",
    "bench",
)
"""Programs that `collect` can name."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SECTIONS = _names(
    """
    C2CLink ComputeWorkloadAnalysis InstructionStats LaunchStats MemoryWorkloadAnalysis MemoryWorkloadAnalysis_Chart
    MemoryWorkloadAnalysis_Deprecated MemoryWorkloadAnalysis_Tables NumaAffinity Nvlink Nvlink_Tables Nvlink_Topology
    Occupancy PmSampling PmSampling_WarpStates SchedulerStats SourceCounters SpeedOfLight
    SpeedOfLight_HierarchicalDoubleRooflineChart SpeedOfLight_HierarchicalHalfRooflineChart
    SpeedOfLight_HierarchicalSingleRooflineChart SpeedOfLight_HierarchicalTensorRooflineChart
    SpeedOfLight_RooflineChart Tile WarpStateStats WorkloadDistribution
    """
)
"""Sections of Nsight Compute. Source: its public documentation, and the sections stored in public reports."""

SETS = _names("basic default detailed full nvlink pmsampling roofline source")
"""Section sets of Nsight Compute, of all its versions. Source: its public command-line documentation."""

TRACES = _names(
    """
    cublas cublas-verbose cuda cuda-hw cuda-sw cudnn cusolver cusolver-verbose cusparse cusparse-verbose dx11
    dx11-annotations dx12 dx12-annotations gds mpi none nvtx nvvideo openacc opengl opengl-annotations openmp openxr
    openxr-annotations osrt oshmem python-gil syscall tegra-accelerators ucx vulkan vulkan-annotations wddm
    """
)
"""What `nsys profile --trace` takes. Source: the public user guide of Nsight Systems."""

OPTIONS: Mapping[str, frozenset[str]] = {
    "ncu": _names(
        """
        app-range-id app-replay-buffer app-replay-match app-replay-mode apply-rules cache-control call-stack
        call-stack-type clock-control devices disable-extra-suffixes filter-mode graph-profiling import-sass
        import-source kernel-id kernel-name kernel-name-base kill launch-count launch-skip
        launch-skip-before-match metrics native-include native-exclude nvtx nvtx-exclude nvtx-include
        pm-sampling-buffer-size pm-sampling-interval pm-sampling-max-passes profile-from-start range-filter
        range-replay-options replay-mode rule section section-folder section-folder-recursive set source-folders
        target-processes target-processes-filter verbose warp-sampling-buffer-size warp-sampling-interval
        warp-sampling-max-passes
        """
    ),
    "nsys": _names(
        """
        backtrace capture-range capture-range-end cpu-core-events cpu-core-metrics cpuctxsw cuda-event-trace
        cuda-flush-interval cuda-graph-trace cuda-memory-usage cuda-trace-all-apis cuda-trace-scope
        cuda-um-cpu-page-faults cuda-um-gpu-page-faults cudabacktrace delay duration dx12-gpu-workload
        dx12-wait-calls event-sample export ftrace gpu-metrics-device gpu-metrics-devices gpu-metrics-frequency
        gpu-metrics-set gpuctxsw ib-net-info-devices ib-switch-metrics-device ib-switch-metrics-devices
        isr mpi-impl nic-metrics nvtx-capture nvtx-domain-exclude nvtx-domain-include opengl-gpu-workload
        osrt-backtrace-depth osrt-backtrace-threshold osrt-threshold process-scope python-backtrace
        python-functions-trace python-sampling python-sampling-frequency pytorch sample samples-per-backtrace
        sampling-frequency sampling-period sampling-trigger soc-metrics stats storage-metrics trace
        trace-fork-before-exec vulkan-gpu-workload wddm-additional-events wddm-backtraces xhv-trace
        """
    ),
    "rocprofv3": _names(
        """
        att att-activity att-buffer-size att-consecutive-kernels att-library-path att-perfcounter-ctrl
        att-perfcounters att-serialize-all att-shader-engine-mask att-simd-select att-target-cu collection-period
        collection-period-unit extra-counters group-by-queue hip-compiler-trace hip-runtime-trace hip-trace
        hsa-amd-trace hsa-core-trace hsa-finalizer-trace hsa-image-trace hsa-trace input
        kernel-exclude-regex kernel-include-regex kernel-iteration-range kernel-rename kernel-trace kokkos-trace
        log-level mangled-kernels marker-trace memory-allocation-trace memory-copy-trace minimum-output-data
        output-config output-directory output-file output-format pc-sampling-beta-enabled pc-sampling-interval
        pc-sampling-method pc-sampling-unit pmc pmc-groups preload rccl-trace rocdecode-trace rocjpeg-trace
        runtime-trace scratch-memory-trace selected-regions stats summary summary-groups summary-output-file
        summary-per-domain summary-units sys-trace truncate-kernels
        """
    ),
}
"""Long options with which these programs collect. Source: their public command-line documentation."""

_FLAG = re.compile(r"(?<!\S)--([A-Za-z][\w-]*)")


def collects(context: Context) -> None:
    """Unknown profilers, options, sections, sets, traces; counters that no report holds."""
    for node in (*context.judges(), *context.metrics()):
        for action in node.collect:
            _action(context, node, action)


def _action(context: Context, node: ast.Declaration, action: ast.Collect) -> None:
    tool, kind, value = action.tool, action.kind, action.value
    if tool not in PROFILERS:
        hint = did_you_mean(tool, PROFILERS) or f"known: {', '.join(PROFILERS)}"
        _doubt(context, node, action, f"`{tool}` is no profiler that is known here", hint, "unknown-tool")
        return
    if not value.strip():
        _doubt(context, node, action, f"`collect {tool} {kind}` says nothing to collect", "fill in the text")
        return
    options = OPTIONS.get(tool)
    if kind == "option" and not value.startswith("-"):
        example = f'option "--{value.split("=")[0].strip().split()[0]}"'
        message = "an option is written as on the command line, with its dashes"
        _doubt(context, node, action, message, f"write {example}")
        return
    if options is None:
        return
    for flag in _FLAG.findall(value) if value.startswith("-") else [kind.replace("_", "-")]:
        own = "" if value.startswith("-") else f'; write option "--{flag} …" for one that is newer'
        _known(context, node, action, f"option of {tool}", flag, options, own)
    if value.startswith("-"):
        return
    words = [word for word in re.split(r"[,\s]+", value) if word]
    if (tool, kind) == ("ncu", "section"):
        for word in words:
            own = f'; a section file of your own is collected by option "--section {word}"'
            _known(context, node, action, "section of Nsight Compute", word, SECTIONS, own)
    elif (tool, kind) == ("ncu", "set"):
        for word in words:
            _known(context, node, action, "section set of Nsight Compute", word, SETS)
    elif (tool, kind) == ("ncu", "metrics"):
        for word in words:
            wrong = meant(word)
            if wrong is not None:
                message = f"no report holds `{word}`: {wrong[1]}"
                hint = f"name that counter; `profrx rules show {wrong[0]}` has it in full"
                _doubt(context, node, action, message, hint, "unknown-raw-name")
    elif (tool, kind) == ("nsys", "trace"):
        for word in words:
            _known(context, node, action, "API that nsys traces", word, TRACES)
    elif (tool, kind) == ("rocprofv3", "pmc"):
        _counters(context, node, action, words)


def _counters(context: Context, node: ast.Declaration, action: ast.Collect, words: list[str]) -> None:
    """AMD's counters are many; one that differs from a counter of the catalogue by its case is misspelt."""
    spelt = {name.casefold(): name for name in context.raw_names}
    for word in words:
        name = spelt.get(word.casefold(), word)
        if name != word:
            _doubt(context, node, action, f"counters are told apart by case: `{word}`", f"write {name}")


def _known(
    context: Context,
    node: ast.Declaration,
    action: ast.Collect,
    what: str,
    word: str,
    known: Collection[str],
    otherwise: str = "",
) -> None:
    if word in known:
        return
    cased = next((name for name in known if name.casefold() == word.casefold()), "")
    near = f"did you mean {cased}?" if cased else context.suggest(word, sorted(known))
    few = f"known: {', '.join(sorted(known))}" if len(known) <= 12 else ""
    hint = near or (few + otherwise).removeprefix("; ") or "check its spelling"
    _doubt(context, node, action, f"no {what} is known here by the name `{word}`", hint)


def _doubt(
    context: Context,
    node: ast.Declaration,
    action: ast.Collect,
    message: str,
    hint: str,
    code: str = "unknown-collection",
) -> None:
    context.report(node, code, message, action.span, severity="warning", hint=hint)
