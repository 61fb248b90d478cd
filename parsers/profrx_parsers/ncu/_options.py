"""Collection options read from the stored command line of ncu, without keeping the command line itself.

Only options of the profiler are read, and of those only values that name no path, host or application: the
line itself is private. Source: the public Nsight Compute CLI documentation; lines observed in 165 reports.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

_VALUE = {
    "--set": "set", "--section": "sections", "--metrics": "metrics", "-m": "metrics",
    "--clock-control": "clock_control", "--cache-control": "cache_control", "--replay-mode": "replay_mode",
    "--app-replay-mode": "app_replay_mode", "--app-replay-match": "app_replay_match",
    "--range-replay-options": "range_replay_options", "--graph-profiling": "graph_profiling",
    "--kernel-name": "kernel_name", "-k": "kernel_name", "--kernel-name-base": "kernel_name_base",
    "--kernel-id": "kernel_id", "--launch-skip": "launch_skip", "-s": "launch_skip",
    "--launch-count": "launch_count", "-c": "launch_count",
    "--launch-skip-before-match": "launch_skip_before_match", "--import-source": "import_source",
    "--import-sass": "import_sass", "--target-processes": "target_processes", "--nvtx": "nvtx",
    "--nvtx-include": "nvtx_include", "--nvtx-exclude": "nvtx_exclude", "--rule": "rules",
    "--apply-rules": "apply_rules", "--devices": "devices", "--sampling-interval": "sampling_interval",
    "--sampling-max-passes": "sampling_max_passes", "--sampling-buffer-size": "sampling_buffer_size",
    "--warp-sampling-interval": "warp_sampling_interval", "--pm-sampling-interval": "pm_sampling_interval",
    "--pm-sampling-max-passes": "pm_sampling_max_passes", "--profile-from-start": "profile_from_start",
    "--disable-profiler-start-stop": "disable_profiler_start_stop", "--communicator": "communicator",
}  # fmt: skip
"""Options whose value is kept, by the key it is kept under."""

_DROPPED = frozenset({
    "-o", "--export", "-i", "--import", "--section-folder", "--section-folder-recursive", "--source-folder",
    "--source-folders", "--log-file", "--config-file", "--config-file-path", "--app-replay-buffer", "--hostname",
    "-h", "--port", "-p", "--max-connections", "--target-processes-filter", "--page", "--print-units",
    "--print-summary", "--print-details", "--print-fp", "--print-kernel-base", "--print-metric-name",
    "--injection-path-32", "--injection-path-64", "--kill", "--check-exit-code", "--resolve-source-file",
    "--rename-kernels", "--rename-kernels-path", "--chips", "--view", "--mode", "--lockstep-kernel-launch",
    "--preload-library", "--call-stack-type", "--native-include", "--native-exclude", "--python-include",
})  # fmt: skip
"""Options whose value is a path, a host or of no use: skipped together with the value."""

_LISTS = frozenset({"sections", "metrics", "rules", "nvtx_include", "nvtx_exclude"})
_FLAGS = frozenset({"--nvtx"})
_SAFE = re.compile(r"^[\w.:,*+%|()\[\]<>^$=&/ -]{1,500}$")
MAX_LINE = 1 << 16


def parse(line: str | None) -> dict[str, Any]:
    """Return the collection options of a command line; empty when there is none or it cannot be split."""
    if not line:
        return {}
    words = _split(line[:MAX_LINE])
    found: dict[str, Any] = {}
    at = 1
    while at < len(words):
        word = words[at]
        at += 1
        if not word.startswith("-") or word == "--":
            break
        option, has_value, value = word.partition("=")
        key = _VALUE.get(option)
        if not has_value and (key or option in _DROPPED) and option not in _FLAGS and at < len(words):
            value = words[at]
            at += 1
        if key is None:
            continue
        if option in _FLAGS and not has_value:
            value = "yes"
        value = value.strip("\"'")
        if not _SAFE.match(value) or _looks_like_path(key, value):
            value = "(not shown)"
        if key in _LISTS:
            found.setdefault(key, []).extend(value.split(",") if key != "rules" else [value])
        else:
            found[key] = value
    return found


def _split(line: str) -> list[str]:
    """Split like a shell; a Windows line keeps its backslashes."""
    try:
        return shlex.split(line, posix="\\" not in line)
    except ValueError:
        return line.split()


def _looks_like_path(key: str, value: str) -> bool:
    return "/" in value and key not in {"metrics", "nvtx_include", "nvtx_exclude", "kernel_name"}
