"""Kernels of a report in order of their time, and the launch that stands for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from profrx.report.model import KernelRow
from profrx.report.verdicts import UNNAMED, leading

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from profrx.report.model import VerdictOf
    from profrx_parsers.report import Report


@dataclass(frozen=True)
class Group:
    """The launches of one kernel.

    Attributes:
        kernel: full name.
        short: bare function name.
        launches: number of launches.
        duration_ns: their time together; None when no launch has one.
        share: of the time of all kernels; None when no launch has a time.
        chosen: the launch whose time is the median of the kernel's launches: it stands for them.
    """

    kernel: str
    short: str
    launches: int
    duration_ns: float | None
    share: float | None
    chosen: int


def groups(report: Report, launches: Container[int] | None = None) -> list[Group]:
    """Return one group per kernel, the heaviest first; launches without a time count nothing.

    `launches` are the launch_ids that count; None = all.
    """
    import numpy as np
    import pyarrow.compute as pc

    table = report.table("launches")
    if launches is not None and len(table):
        table = table.filter([one in launches for one in table.column("launch_id").to_pylist()])
    if not len(table):
        return []
    names = pc.fill_null(pc.coalesce(table.column("kernel"), table.column("kernel_short")), UNNAMED)
    coded = names.combine_chunks().dictionary_encode()
    code = coded.indices.to_numpy(zero_copy_only=False)
    shorts = pc.coalesce(table.column("kernel_short"), names)
    ids = table.column("launch_id").to_numpy(zero_copy_only=False)
    times = table.column("duration_ns").to_numpy(zero_copy_only=False).astype(float)
    known = np.isfinite(times)
    count = len(coded.dictionary)
    sums = np.bincount(code, weights=np.where(known, times, 0.0), minlength=count)
    timed = np.bincount(code, weights=known, minlength=count)
    whole = float(sums.sum())
    order = np.lexsort((np.where(known, times, np.inf), code))
    starts = np.searchsorted(code[order], np.arange(count + 1))
    found = []
    for i, name in enumerate(coded.dictionary.to_pylist()):
        first, last = int(starts[i]), int(starts[i + 1])
        middle = first + (max(int(timed[i]), 1) - 1) // 2
        row = int(order[middle])
        duration = float(sums[i]) if timed[i] else None
        share = duration / whole if duration is not None and whole > 0 else None
        found.append(Group(name, shorts[row].as_py(), last - first, duration, share, int(ids[row])))
    return sorted(found, key=lambda g: -(g.duration_ns or 0.0))


def rows(
    found: Sequence[Group], verdicts: Sequence[VerdictOf] = (), base_ns: float | None = None
) -> list[KernelRow]:
    """Return the kernels as the findings list them; one whose launches differ names all their verdicts.

    Shares are of `base_ns`, the report's base time on all its devices; None = of the kernels' own time.
    """
    words: dict[str, dict[str, None]] = {}
    for one in leading(verdicts):
        words.setdefault(one.kernel, {})[one.answer] = None
    return [
        KernelRow(
            kernel=g.kernel,
            short=g.short,
            launches=g.launches,
            duration_ns=g.duration_ns,
            time_share=g.duration_ns / base_ns if base_ns and g.duration_ns is not None else g.share,
            verdict=", ".join(words.get(g.kernel, {})),
        )
        for g in found
    ]


def total(found: Sequence[Group]) -> float | None:
    """Return the time of all kernels in ns; None when none has a time."""
    times = [g.duration_ns for g in found if g.duration_ns is not None]
    return sum(times) if times else None
