"""What every timeline metric means: unit, meaning, when it is null. The tables and their page are made from this."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """One column of a timeline table.

    Attributes:
        name: column, with its unit as suffix where the unit is not a plain count or ratio.
        unit: ``ratio``, ``ns``, ``B``, ``B/s``, ``count``.
        meaning: what it is, with the formula.
        null: when a capture cannot tell; empty = never.
        fold: how devices are folded into the report: ``share`` (mean weighted by window), ``sum``, ``max``, ``mean``.
    """

    name: str
    unit: str
    meaning: str
    null: str = ""
    fold: str = "share"


_CALLS = "no API calls in the capture"
_RANGES = "no ranges in the capture"
_KERNELS = "no kernels"
_PAIRED = "fewer than two ranks, or no collective in common"
_RECUR = "fewer than two ranks, or fewer than four collectives in common"


def _m(name: str, meaning: str, null: str = "", fold: str = "") -> Metric:
    unit = (
        "B/s" if name.endswith("_bytes_per_s") else "B" if name.endswith("_bytes") else "ns" if name.endswith("_ns")
        else "ratio" if name.endswith(("_share", "_ratio", "_mean", "_per_kernel")) else "count"
    )  # fmt: skip
    if not fold:
        fold = "sum" if unit in ("count", "B") else "share"
    return Metric(name, unit, meaning, null, fold)


METRICS: tuple[Metric, ...] = (
    _m("window_ns", "time from the first to the last GPU operation", fold="max"),
    _m("session_ns", "length of the profiling session", "the format does not record it", fold="max"),
    _m("busy_ns", "time in which at least one GPU operation ran: union of intervals", fold="sum"),
    _m("busy_share", "busy_ns / window_ns"),
    _m("busy_settled_share", "busy_ns / (window_ns - gaps of set-up): how busy the GPU is once it runs"),
    _m("busy_session_share", "busy_ns / session_ns", "session_ns is null"),
    _m("kernel_share", "time in which a kernel ran (union) / window_ns"),
    _m("gap_share", "1 - busy_share: time in which no GPU operation ran"),
    _m("gap_count", "number of gaps"),
    _m("gap_longest_ns", "longest gap", fold="max"),
    _m("gap_longest_share", "longest gap / window_ns", fold="max"),
    _m("gap_median_ns", "median gap", "no gap"),
    _m("low_phase_share", "longest stretch of thirtieths of the window in which the GPU is busy less than half of the time / window_ns", fold="max"),
    _m("low_phase_start_ns", "where that stretch begins", "no such stretch", fold="max"),
    _m("low_phase_end_ns", "where it ends", "no such stretch", fold="max"),
    _m("operation_count", "kernels, copies, sets and graph launches"),
    _m("concurrency_mean", "sum of operation times / busy_ns: 1 = one after another"),
    _m("overlap_share", "time in which two or more operations ran / busy_ns"),
    _m("stream_count", "streams (per process) that were used"),
    _m("idle_unknown_share", "gaps before operations without an API call / window_ns"),
    _m("idle_queue_share", "gaps before operations that were already submitted / window_ns", _CALLS),
    _m("idle_profiler_share", "parts of gaps in which the profiler itself worked, taken off their other reason / window_ns", _CALLS),
    _m("idle_first_share", "gaps of set-up: before the first kernel, before first launches, and before 90 % of the kernels were seen once / window_ns", _CALLS),
    _m("idle_allocation_share", "gaps spent half or more in allocation and free calls / window_ns", _CALLS),
    _m("idle_copy_share", "gaps spent half or more in copy calls / window_ns", _CALLS),
    _m("idle_sync_share", "gaps that began while the host waited for the device, each at most as long as the work waited for / window_ns", _CALLS),
    _m("idle_launch_share", "other gaps up to 50 us (three usual pauses between launches where that is more, at most 200 us): the host submits as fast as it can / window_ns", _CALLS),
    _m("idle_host_share", "all other gaps: the host was busy elsewhere / window_ns", _CALLS),
    _m("idle_outside_ranges_share", "host gaps of 5 ms or more, the part that no range of the process covers / window_ns", f"{_RANGES}, or they hold less than half of the kernel time"),
    _m("kernel_count", "kernels, without those hidden in graphs"),
    _m("graph_launch_count", "CUDA graphs traced as one item"),
    _m("graph_share", "time of such graphs / time of kernels and graphs (sum)", _KERNELS),
    _m("kernel_mean_ns", "mean kernel duration", _KERNELS),
    _m("kernel_median_ns", "median kernel duration", _KERNELS),
    _m("short_kernel_count_share", "kernels under 10 us / kernels", _KERNELS),
    _m("kernel_top_share", "time of the kernel that takes most / kernel time (sum)", _KERNELS),
    _m("matmul_share", "kernel time (sum) in matrix products, by kernel_classes.csv", _KERNELS),
    _m("attention_share", "the same for attention", _KERNELS),
    _m("convolution_share", "the same for convolutions", _KERNELS),
    _m("elementwise_share", "the same for elementwise kernels", _KERNELS),
    _m("communication_share", "the same for collective communication", _KERNELS),
    _m("library_share", "kernel time (sum) in tuned libraries / kernel time", _KERNELS),
    _m("fusable_elementwise_share", "sum over runs of n neighbouring elementwise kernels of one stream: (n - 1) / n of their time / window_ns"),
    _m("comm_exposed_share", "communication not covered by other kernels / window_ns"),
    _m("comm_overlap_share", "communication covered by other kernels / communication", "no communication"),
    _m("comm_pairwise_share", "the part of comm_exposed_share in kernels that send or receive: between two ranks, or all to all"),
    _m("comm_sharded_share", "the part of comm_exposed_share in kernels that gather or scatter"),
    _m("comm_small_share", "communication kernels under 50 us (without the wait for the last rank, where that is known), where no longer kernel runs, with the gaps before them that are no longer than a launch takes (see idle_launch_share; up to 200 us between two of them); of the rank they cost most / window_ns"),
    _m("comm_small_count", "communication kernels under 50 us"),
    _m("underfilled_share", "time in which a kernel with fewer blocks than 90 % of the compute units ran alone, communication left out / window_ns", "grid or device unknown"),
    _m("underfilled_fill_share", "blocks / compute units during that time (mean)", "no such time"),
    _m("underfilled_count", "such kernels, the longest first, that make up half of that time", "grid or device unknown", fold="max"),
    _m("copy_count", "copies, without migrations"),
    _m("copy_share", "time in copies (union) / window_ns"),
    _m("copy_bytes", "bytes copied"),
    _m("host_copy_share", "time in copies between host and device (union) / window_ns"),
    _m("copy_exposed_share", "host copies not covered by kernels / window_ns"),
    _m("copy_overlap_share", "host copies covered by kernels / host copies", "no such copies"),
    _m("copy_saving_share", "min(host copies, kernels), each where the other does not run / window_ns: most that overlap can save"),
    _m("pageable_copy_share", "time in copies from or to pageable memory (union) / window_ns"),
    _m("pageable_copy_count", "such copies"),
    _m("pageable_copy_bytes", "their bytes"),
    _m("pageable_bandwidth_bytes_per_s", "bytes / time (sum) of pageable copies", "none"),
    _m("pinned_bandwidth_bytes_per_s", "bytes / time (sum) of pinned copies", "none"),
    _m("set_share", "time in memory sets (union) / window_ns"),
    _m("set_count", "memory sets"),
    _m("blocking_set_share", "host time in calls that set pinned or managed memory and wait (union) / window_ns"),
    _m("blocking_set_count", "such sets"),
    _m("migration_count", "migrations of managed memory"),
    _m("migration_share", "time in migrations (union) / window_ns"),
    _m("migration_bytes", "bytes migrated"),
    *(
        metric
        for name, what in (
            ("sync", "calls that wait for the device"),
            ("allocation", "calls that allocate or free and may wait for the device"),
            ("copy", "copy and set calls"),
            ("launch", "launch calls"),
        )
        for metric in (
            _m(f"{name}_call_share", f"time inside {what} (union per process, mean over processes) / window_ns", _CALLS),
            _m(f"{name}_call_count", f"{what}", _CALLS),
        )
    ),
    _m("syncs_per_kernel", "sync_call_count / kernels", _CALLS),
    _m("launch_latency_median_ns", "start of the kernel - start of its call, median", _CALLS),
    _m("launch_call_median_ns", "duration of the launch call, median", _CALLS),
    _m("launch_bound_share", "the same as idle_launch_share", _CALLS),
    _m("launch_longer_count_share", "kernels shorter than their launch call / kernels with a call", _CALLS),
    _m("kernels_without_call_count", "kernels whose call is not in the capture", _CALLS),
    _m("range_count", "user ranges and framework operations"),
    _m("outside_ranges_share", "kernel time (sum) launched outside every range", f"{_RANGES}, or {_CALLS}"),
    _m("idle_dataloader_share", "gaps covered by ranges named after data loading / window_ns", _RANGES),
    _m("optimizer_kernel_count_share", "kernels launched inside ranges named after an optimizer / kernels", f"{_RANGES}, or {_CALLS}"),
    _m("optimizer_window_share", "time of those ranges (union) / window_ns", _RANGES),
    _m("optimizer_kernel_mean_ns", "mean duration of those kernels", "no such range"),
    _m("optimizer_busy_share", "time of those kernels (union) / window_ns", "no such range"),
    _m("small_between_share", "stretches of kernels and sets under 10 us between kernels at least 5 times longer on the same stream, gaps of up to 10 us each included / window_ns"),
    _m("small_between_count", "operations in them"),
    _m("module_load_share", "time in module loading calls / window_ns", _CALLS),
    _m("first_step_ratio", "first duration / median of the later ones, of the repeated range that takes most time", f"{_RANGES} repeats three times"),
    _m("first_step_excess_share", "first duration of that range inside the window - median of the later ones / window_ns", f"{_RANGES} repeats three times"),
    _m("memory_peak_share", "largest live sum of recorded device allocations / device memory", "no allocations recorded"),
    _m("memory_growth_share", "live bytes at the end minus at one third of the window / live bytes at the end", "no allocations recorded"),
    _m("late_allocation_count", "device allocations after one third of the window", "no allocations recorded"),
    _m("rank_count", "processes with GPU work", fold="max"),
    _m("rank_spread_share", "(largest - smallest kernel time without communication over ranks) / largest", "fewer than two ranks", fold="max"),
    _m("rank_excess_share", "(largest - mean kernel time without communication over ranks) / largest: what the largest would lose if all did the same work", "fewer than two ranks", fold="max"),
    _m("collective_count", "collectives in which all ranks took part, paired by name and order, that end on all of them at once; 0 with a single rank", "more than 4096 ranks", fold="max"),
    _m("comm_wait_share", "communication not covered by other kernels that waits for the last rank (mean over ranks) / window_ns", _PAIRED, fold="max"),
    _m("busy_useful_share", "busy_share - comm_wait_share: busy with more than waiting for another rank", _PAIRED, fold="max"),
    _m("rank_wait_share", "recurring waits: the longest uncovered wait of each such collective for its last rank, the first left out, none longer than the third longest for that rank, set-up and the profiler's own work taken off / time from the first to the last of them", _RECUR, fold="max"),
    _m("rank_wait_compute_share", "part of rank_wait_share in which the last rank computed longer than the one that waits", _RECUR, fold="max"),
    _m("rank_wait_host_share", "part in which its GPU was idle for longer: host, waits, copies, allocations, unknown", _RECUR, fold="max"),
    _m("rank_wait_launch_share", "part in which it was idle for longer at the pace of launches or of the device", _RECUR, fold="max"),
    _m("rank_late_share", "part of rank_wait_share which is for the one rank waited for most", "no recurring wait", fold="max"),
    _m("rank_late_device_id", "device of that rank", "no recurring wait, or device unknown", fold="max"),
    _m("rank_late_idle_share", "idle share of that rank's window beyond the mean of the others", "no recurring wait", fold="max"),
    _m("device_turns_share", "(time in which any device of a process works - time of its busiest one) / window_ns: lost by taking turns", "no process with several devices", fold="max"),
    _m("device_count", "devices with GPU work", fold="max"),
    _m("process_device_count", "most devices with GPU work that one process uses", fold="max"),
    _m("device_spread_share", "(largest - smallest kernel time without communication over devices) / largest", "one device, or several processes", fold="max"),
    _m("peer_copy_count", "copies between devices", "directions of copies unknown", fold="max"),
    _m("layer_count", "ranges named alike but for a number (steps left out), of the kind that takes most time; 0 when fewer than four", _RANGES, fold="max"),
    _m("layer_spread_ratio", "largest / smallest GPU time of these", "fewer than four", fold="max"),
    _m("layer_share", "GPU time of these / window_ns", "fewer than four", fold="max"),
    _m("directive_data_share", "host time in data constructs of OpenACC (union) / window_ns", "the format keeps no constructs", fold="max"),
    _m("directive_data_count", "such constructs", "the format keeps no constructs", fold="max"),
    _m("api_call_count", "API calls of a capture without GPU work", "the capture holds GPU work", fold="max"),
    _m("sampled_active_share", "mean of the sampled GR Active: any engine at work", "the capture holds GPU work, or no GPU metrics", fold="max"),
    _m("sampled_sm_share", "mean of the sampled SMs Active", "the capture holds GPU work, or no GPU metrics", fold="max"),
    _m("loss_count", "kinds of loss of events: damage met by the reader, or losses the recorder admits", fold="max"),
    _m("events_lost_share", "events the file counts but does not hold / events it counts", "some were lost, the count is unknown", fold="max"),
    _m("recorder_doubt_count", "processes with GPU work of which the recorder doubts that it saw everything, or that its clock was right", "the format keeps no diagnostics", fold="max"),
    _m("profiler_share", "time in the profiler's own work inside the window (union, largest of the processes) / window_ns", "not recorded", fold="max"),
    _m("clock_disorder_share", "kernels that start before their launch call does / kernels with a call", _CALLS, fold="max"),
    _m("unmatched_launch_count", "launch calls without error whose work is not in the capture; calls that record a graph left out", _CALLS, fold="max"),
    _m("unmatched_launch_share", "these / launch calls", _CALLS, fold="max"),
    _m("flagged_memory_count", "Direct3D 12 memory operations that heap type, page property or flags make slow", "a binary report of Windows", fold="max"),
    _m("flagged_memory_ns", "time in their calls (union)", "a binary report of Windows", fold="max"),
    _m("flagged_memory_share", "flagged_memory_ns / session_ns", "a binary report of Windows", fold="max"),
    _m("zeroed_memory_count", "those that clear memory at creation", "a binary report of Windows", fold="max"),
    _m("wrong_way_memory_count", "those that read memory made for writing, or write memory made for reading", "a binary report of Windows", fold="max"),
)  # fmt: skip

BY_NAME = {metric.name: metric for metric in METRICS}

KERNEL_METRICS: tuple[Metric, ...] = (
    _m("launch_count", "launches"),
    _m("comm_launch_count", "launches if the kernel's class is communication, else 0"),
    _m("kernel_time_ns", "sum of durations", fold="sum"),
    _m("kernel_time_share", "of the kernel time of the report"),
    _m("window_share", "sum of durations / (window_ns x devices with GPU work)"),
    _m("mean_ns", "mean duration"),
    _m("median_ns", "median duration"),
    _m("p95_ns", "95th percentile of durations"),
    _m("min_ns", "shortest"),
    _m("max_ns", "longest"),
    _m("variation_ratio", "standard deviation / mean", "one launch"),
    _m("first_ratio", "first duration / median of the others", "one launch"),
    _m("blocks_median_count", "blocks of the grid, median", "not recorded"),
    _m("launch_latency_ns", "start of the kernel - start of its call, median", _CALLS),
    _m("fill_ratio", "blocks / compute units, median", "grid or device unknown"),
)

RANGE_METRICS: tuple[Metric, ...] = (
    _m("launch_count", "kernels launched directly or indirectly inside"),
    _m("kernel_time_ns", "their time (sum)", fold="sum"),
    _m("gpu_busy_ns", "their time (union)", fold="sum"),
    _m("gpu_window_share", "gpu_busy_ns / window_ns"),
    _m("kernel_mean_ns", "mean duration of these kernels", _KERNELS),
    _m("idle_ns", "gaps before these kernels", fold="sum"),
    _m(
        "idle_late_ns",
        "the same without gaps in which they had been submitted already, or the profiler worked; mean over devices with GPU work",
        fold="sum",
    ),
    _m(
        "sibling_count",
        "ranges named alike but for a number, this one among them; steps left out; 0 when fewer than four, or when another row stands for them",
    ),
    _m(
        "sibling_ratio",
        "GPU time of this one over all steps / median of its kind",
        "fewer than four, or not the row that stands for them",
    ),
    _m(
        "sibling_fence_ratio",
        "the same / (upper quartile + 1.5 quartile ranges)",
        "fewer than four, or not the row that stands for them",
    ),
    _m(
        "sibling_excess_share",
        "GPU time beyond the median of its kind / window_ns",
        "fewer than four, or not the row that stands for them",
    ),
    _m(
        "sibling_comm_share",
        "communication kernels launched in it over all steps / all communication (sums of durations)",
        "no communication, fewer than four, or not the row that stands for them",
    ),
    _m(
        "sibling_compute_share",
        "other kernels launched in it over all steps / all others (sums of durations)",
        "no other kernels, fewer than four, or not the row that stands for them",
    ),
)
