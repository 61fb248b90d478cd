"""The page's first question, answered: is the GPU busy, what is it waiting for, which kernels deserve `ncu`.

`busy_summary` fills ``summary.busy`` of the findings. The page should show, in this order:

1. `verdict`: "The GPU is busy 8 % of the window: no kernel tuning will show." Below `LOW_BUSY` this comes before
   everything else; from `HIGH_BUSY` on it says that the time is in the kernels.
2. `busy_share` over first-to-last operation and `busy_session_share` over the whole session, both named.
3. `idle`: where the idle time went, largest first, with what each reason means.
4. `kernels`: from `kernels_worth_profiling`, each with the share of the window and the exact command; `not_profiled`: heavy
   kernels of which a profile would say nothing, and why; `advice`: what to heed where several ranks run.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import numpy as np

from profrx.timeline.capture import KERNEL, read_timeline
from profrx.timeline.classes import DEFAULT
from profrx.timeline.gaps import REASONS
from profrx.timeline.metrics import Metrics
from profrx.timeline.texts import NONE, names

if TYPE_CHECKING:
    from pathlib import Path

    from profrx_parsers.report import Report

LOW_BUSY, HIGH_BUSY = 0.5, 0.9
LEAST_SHARE = 0.05
"""A kernel under this share of the window is not worth a profile of its own."""
MOST_KERNELS = 5
MOSTLY_SET_UP = 0.5
SMALL_WINDOW = 0.1
"""Part of the session below which the window alone would hide how little the GPU is used."""
LEAST_LOST, LEAST_UNMATCHED, UNMATCHED_SHARE, MOST_DISORDER = 0.001, 10, 0.05, 0.01
"""Limits of the guards `events-lost`, `launches-without-work` and `clocks-disagree`."""
NOT_PROFILED = {
    "communication": "ncu runs a kernel alone and again and again, so one that talks to other GPUs hangs or only measures waiting",
    "memory": "it only copies or sets memory",
}
"""Class of the table of kernel classes -> why its kernels are not for ncu."""
ONE_RANK = (
    "Several ranks: put ncu in front of one of them (a wrapper script that looks at RANK or OMPI_COMM_WORLD_RANK) and start "
    "the others as always; they wait in their collectives meanwhile."
)
WARM_LAUNCHES = 3
"""Launches skipped at least: first launches load code and fill caches."""

_SET_UP = "loading, compiling and tuning kernels, first allocations"
_MEANING = {
    "unknown": "the calls of this work were not recorded",
    "queue": "work was queued: the device's own latency or a wait for another stream",
    "profiler": "the profiler's own work: starting up, emptying its buffers",
    "first": f"set-up: {_SET_UP}",
    "allocation": "allocating and freeing device memory",
    "copy": "copy calls that block the host",
    "sync": "waiting for the device before submitting more",
    "launch": "submitting work one piece at a time",
    "host": "host code outside the GPU API",
}


def busy_summary(report: Report, classes: Path = DEFAULT) -> dict[str, Any] | None:
    """Return the busy part of a report's summary, None when it holds no timed GPU work.

    Keys: `verdict` (one sentence), `busy_share`, `busy_session_share` (null when the session's length is
    unknown), `busy_useful_share` (without waiting for other ranks; null when that cannot be told), `comm_wait_share`, `window_ns`,
    `session_ns`, `idle` (list of `reason`, `share`, `meaning`, largest first), `devices` (list of `device`, `busy_share`), `kernels`
    (see `kernels_worth_profiling`), `not_profiled` (list of `short`, `window_share`, `why`), `advice` (text, empty for one process).
    `classes` is the table of kernel classes.
    """
    known = report.extras.get("timeline_tables")
    timeline = read_timeline(report, with_ranges=not known)
    if not len(timeline.work):
        return None
    tables = known or Metrics(report, timeline, classes).tables()
    row = tables["report"].to_pylist()[0]
    idle = [
        {"reason": r, "share": row[f"idle_{r}_share"], "meaning": _MEANING[r]}
        for r in REASONS
        if row[f"idle_{r}_share"] and not _lossy(row)
    ]
    idle.sort(key=lambda entry: -entry["share"])
    heavy = [k for k in tables["kernel"].to_pylist() if k["window_share"] >= LEAST_SHARE]
    return {
        "verdict": _verdict(row, idle),
        "busy_share": row["busy_share"],
        "busy_session_share": row["busy_session_share"],
        "busy_useful_share": row["busy_useful_share"],
        "comm_wait_share": row["comm_wait_share"],
        "window_ns": row["window_ns"],
        "session_ns": row["session_ns"],
        "idle": idle,
        "devices": [
            {"device": d["subject"], "busy_share": d["busy_share"]} for d in tables["device"].to_pylist()
        ],
        "kernels": _worth(
            report,
            timeline,
            [k for k in heavy if k["class"] not in NOT_PROFILED],
            row["busy_settled_share"] or 0.0,
        ),
        "not_profiled": _left_out(report, heavy),
        "advice": ONE_RANK if (row["rank_count"] or 0) > 1 else "",
    }


def _verdict(row: dict[str, Any], idle: list[dict[str, Any]]) -> str:
    busy, settled = row["busy_share"], row["busy_settled_share"] or row["busy_share"]
    if row["operation_count"] == 1:
        return "The capture holds a single GPU operation: the window is that operation, so its busy share says nothing."
    said = f"The GPU is busy {_percent(busy)} of the window{_of_ranks(row)}{_of_session(row)}"
    if _lossy(row):
        return (
            f"Of what is there, the GPU is busy {_percent(busy)} of the window; GPU work is missing from this capture, "
            "so it may be busy for longer, and gaps prove nothing."
        )
    if (row["clock_disorder_share"] or 0.0) > MOST_DISORDER:
        return f"{said}; the clocks of host and device do not fit together, so why it idles is unknown."
    set_up = row["idle_first_share"] or 0.0
    after = f" ({_percent(settled)} once set-up is over)" if settled - busy > 0.02 else ""
    if set_up >= MOSTLY_SET_UP:
        return (
            f"{said}: {_percent(set_up)} of it is set-up ({_SET_UP}). Once that is over it is busy {_percent(settled)}: "
            "capture after the warm-up to judge what follows."
        )
    cause = (
        f" Most of the idle time: {idle[0]['meaning']} ({idle[0]['share']:.0%} of the window)."
        if idle
        else ""
    )
    if settled < LOW_BUSY:
        return f"{said}{after}: no kernel tuning will show.{cause}"
    if settled < HIGH_BUSY:
        return f"{said}{after}: close the gaps first, then tune kernels.{cause}"
    if _lost_between_ranks(row) >= 1 - HIGH_BUSY:
        return f"{said}{after}: shorten what ranks wait and communicate first, then tune kernels."
    return f"{said}{after}: the time is in the kernels and copies themselves."


def _of_ranks(row: dict[str, Any]) -> str:
    """Name the part of the busy time in which the GPU only waits for other ranks, or only moves data between them."""
    waiting, moving = _waiting_and_moving(row)
    alone = "only communicating"
    if row["comm_wait_share"] is None:
        alone += " or waiting for other ranks"
    parts = [
        f"{_percent(share)} {what}"
        for share, what in ((waiting, "only waiting for other ranks"), (moving, alone))
        if share >= LEAST_SHARE
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _lost_between_ranks(row: dict[str, Any]) -> float:
    return sum(share for share in _waiting_and_moving(row) if share >= LEAST_SHARE)


def _waiting_and_moving(row: dict[str, Any]) -> tuple[float, float]:
    waiting = row["comm_wait_share"] or 0.0
    return waiting, max((row["comm_exposed_share"] or 0.0) - waiting, 0.0)


def _of_session(row: dict[str, Any]) -> str:
    """Name the share of the session where the window is but a small part of it."""
    share, session = row["busy_session_share"], row["session_ns"]
    if share is None or not session or row["window_ns"] >= session * SMALL_WINDOW:
        return ""
    return f" and {_percent(share)} of the session of {session / 1e9:.3g} s"


def _lossy(row: dict[str, Any]) -> bool:
    """Whether GPU work is known to be missing, by the limits of the guards of the default pack."""
    share = row["events_lost_share"]
    lost = bool(row["loss_count"]) and (share is None or share >= LEAST_LOST)
    unmatched = (row["unmatched_launch_count"] or 0) >= LEAST_UNMATCHED
    return lost or (unmatched and row["unmatched_launch_share"] >= UNMATCHED_SHARE)


def _percent(share: float) -> str:
    return "under 1%" if 0 < share < 0.005 else f"{share:.0%}"


def kernels_worth_profiling(report: Report, classes: Path = DEFAULT) -> list[dict[str, Any]]:
    """Return the kernels that deserve `ncu`, the heaviest first, each with the exact command.

    Keys: `kernel_id`, `kernel` (full name), `short`, `window_share`, `kernel_time_share`, `launches`, `median_ns`, `class`, `skip` (launches
    of that name to pass over), `command` (with ``APPLICATION`` for the program and its arguments, which
    are private), `note`. Left out are kernels under 5 % of the window (mean over the devices) and those of the classes of
    `NOT_PROFILED`, by the table `classes`.
    """
    summary = busy_summary(report, classes)
    return summary["kernels"] if summary else []


def _worth(report: Report, timeline: Any, kernels: list[dict[str, Any]], busy: float) -> list[dict[str, Any]]:
    work = timeline.work.take(timeline.work.kind == KERNEL)
    short_of, whole = _short_names(report), _short_names(report, "kernel")
    found: list[dict[str, Any]] = []
    for kernel in kernels[:MOST_KERNELS]:
        short = short_of.get(kernel["subject_id"]) or kernel["subject"]
        same = np.array([short_of.get(t) == short for t in work.name.texts] or [False], bool)
        code = work.name.texts.index(kernel["subject_id"])
        again = sum(_file(one["short"]) == _file(short) for one in found)
        skip = _skip(work, np.flatnonzero(same[work.name.codes] & (work.name.codes >= 0)), code)
        found.append(
            {
                "kernel_id": kernel["subject_id"],
                "kernel": whole.get(kernel["subject_id"]),
                "short": short,
                "window_share": kernel["window_share"],
                "kernel_time_share": kernel["kernel_time_share"],
                "launches": int(kernel["launch_count"]),
                "median_ns": kernel["median_ns"],
                "class": kernel["class"],
                "skip": skip,
                "command": _command(report, short, skip, again),
                "note": _note(kernel, busy),
            }
        )
    return found


def _left_out(report: Report, kernels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    short_of, whole = _short_names(report), _short_names(report, "kernel")
    return [
        {
            "kernel": whole.get(kernel["subject_id"]),
            "short": short_of.get(kernel["subject_id"]) or kernel["subject"],
            "window_share": kernel["window_share"],
            "why": NOT_PROFILED[kernel["class"]],
        }
        for kernel in kernels
        if kernel["class"] in NOT_PROFILED
    ][:MOST_KERNELS]


def _skip(work: Any, rows: np.ndarray, code: int) -> int:
    """Return how many launches of that bare name come before a typical launch of this very kernel.

    Counted as ncu counts: in one process (the one that launches it most), in the order of the calls. Typical: the one
    whose duration is nearest to the median, among the launches after the warm-up.
    """
    owners, counts = np.unique(work.process[rows[work.name.codes[rows] == code]], return_counts=True)
    rows = rows[work.process[rows] == owners[counts.argmax()]]
    called = work.call_start[rows]
    if (called != NONE).all():
        rows = rows[np.argsort(called, kind="stable")]
    mine = np.flatnonzero(work.name.codes[rows] == code)
    settled = mine[min(WARM_LAUNCHES, len(mine) - 1) :]
    duration = (work.end - work.start)[rows]
    middle = np.median(duration[mine])
    return int(settled[np.argmin(np.abs(duration[settled] - middle))])


def _command(report: Report, short: str, skip: int, again: int) -> str:
    """Return the command for a kernel; `again` kernels of that bare name have one already, and each needs a file of its own."""
    name = short if re.fullmatch(r"\w+", short) else f"regex:{_expression(short)}"
    file = _file(short) + (f"_{again + 1}" if again else "")
    ask = report.extras.get("recorder")
    begun = " --profile-from-start off" if ask is not None and ask().by_program else ""
    if report.info.tool in ("nsys", "torch.profiler", None):
        return (
            f"ncu --set full --import-source yes{begun} --kernel-name {shlex.quote(name)} --launch-skip {skip} --launch-count 1 "
            f"-o {file} APPLICATION"
        )
    return f"rocprof-compute profile --kernel {shlex.quote(short)} --dispatch {skip + 1} --name {file} -- APPLICATION"


def _file(short: str) -> str:
    """Return a file name for the profile of a kernel."""
    return re.sub(r"[^A-Za-z0-9_]", "_", short)[:60]


def _expression(name: str) -> str:
    """Return an expression for a bare name; one that the recorder cut short (``abc...``) matches by its beginning."""
    whole = name.removesuffix("...")
    return f"^{_escaped(whole)}" + ("$" if whole == name else "")


def _escaped(name: str) -> str:
    """Escape what means something in an ECMAScript expression, and nothing else: it knows no escape of a space."""
    return re.sub(r"([\\^$.|?*+()\[\]{}])", r"\\\1", name)


def _note(kernel: dict[str, Any], busy: float) -> str:
    if busy < LOW_BUSY:
        return "only after the GPU is kept busy: until then its time hardly shows in the run"
    if kernel["library"] in ("cublas", "cudnn", "cufft", "cusparse"):
        return f"a library kernel ({kernel['library']}): worth a profile to check shapes, data type and tensor cores"
    return "own or framework kernel: open to tuning and fusion"


def _short_names(report: Report, column: str = "kernel_short") -> dict[str, str]:
    """Return a name of each kernel by its id."""
    table = report.compact("launches")
    identity, short = names(table, "kernel_id"), names(table, column)
    both = np.flatnonzero((identity.codes >= 0) & (short.codes >= 0))
    codes, first = np.unique(identity.codes[both], return_index=True)
    return {
        identity.texts[code]: short.texts[short.codes[both[row]]]
        for code, row in zip(codes.tolist(), first.tolist(), strict=True)
    }
