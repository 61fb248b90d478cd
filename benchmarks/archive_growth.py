"""How questions to an archive grow with its size: 1,000 to 100,000 reports.

Judges a few real reports once, then writes their records under new addresses (with durations spread by a few
per cent, so that trends have something to do) and times every named query and the trend of one kernel::

    python benchmarks/archive_growth.py fixtures/ncu
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path


def main() -> None:
    """Run the benchmark."""
    from profrx.archive import Archive
    from profrx.archive.bench import Setup
    from profrx.archive.inputs import Item
    from profrx.archive.queries import QUERIES
    from profrx.archive.trend import trend
    from profrx.archive.work import Task, analyse

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--models", type=int, default=8, help="how many different real reports")
    options = parser.parse_args()
    paths = sorted(options.sources.rglob("*.ncu-rep*"), key=lambda p: p.stat().st_size)[: options.models]
    items = tuple(Item(str(p), "file", str(p)) for p in paths)
    answers = analyse(Task(items, (None,) * len(items), (None,) * len(items), Setup()))
    models = [replace(a.record, stored=None) for a in answers if a.record is not None]
    columns: dict[str, list[float]] = {}
    with (
        tempfile.TemporaryDirectory() as scratch,
        Archive(Path(scratch) / "a.sqlite", create=True) as archive,
    ):
        written = 0
        for size in options.sizes:
            started = time.perf_counter()
            while written < size:
                model = models[written % len(models)]
                day = f"2026-{1 + written // 28 % 12:02}-{1 + written % 28:02}T00:00:00Z"
                archive.put(replace(model, uri=f"/r/{written}", report={**model.report, "captured_at": day}))
                written += 1
            took = time.perf_counter() - started
            for name, query in QUERIES.items():
                started = time.perf_counter()
                archive.query(query.sql)
                columns.setdefault(name, []).append(time.perf_counter() - started)
            kernel = models[0].tables["kernels"][0]["kernel_short"]
            started = time.perf_counter()
            trend(archive, kernel)
            columns.setdefault("trend of one kernel", []).append(time.perf_counter() - started)
            print(
                f"{size} reports: written in {took:.1f} s, {(Path(scratch) / 'a.sqlite').stat().st_size / 1e6:.0f} MB",
                flush=True,
            )
    print("question | " + " | ".join(str(s) for s in options.sizes))
    for name, times in columns.items():
        print(f"{name} | " + " | ".join(f"{t:.3f} s" for t in times))


if __name__ == "__main__":
    main()
