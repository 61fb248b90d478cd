"""Batch throughput: reports per second by number of workers, memory per worker, the second run, query time.

Replicates real reports under new names (and new bytes: a trailing NUL block, which is legal padding, makes
each copy a different content) and prints ratios of one run::

    python benchmarks/batch.py --reports 2000 fixtures/ncu
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from pathlib import Path


def replicate(sources: list[Path], folder: Path, count: int) -> None:
    """Write `count` copies of the sources; uncompressed ones get padding of their own length."""
    import pyarrow as pa

    plain: list[bytes] = []
    for source in sources:
        data = source.read_bytes()
        if data.startswith(b"\x28\xb5\x2f\xfd"):
            with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
                data = stream.read()
        plain.append(data)
    for n in range(count):
        part = folder / f"{n // 1000:03}"
        part.mkdir(exist_ok=True)
        (part / f"r{n:06}.ncu-rep").write_bytes(plain[n % len(plain)] + bytes(4 * (1 + n // len(plain))))


def busy_seconds() -> float:
    """Processor time of this process and its ended workers so far: unlike the rate, other load changes it little."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> None:
    """Run the benchmark."""
    from profrx.archive import Archive, batch
    from profrx.archive.queries import QUERIES

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="+", type=Path)
    parser.add_argument("--reports", type=int, default=1000)
    parser.add_argument(
        "--largest", type=int, default=200_000, help="bytes; only sources up to this size (packed)"
    )
    options = parser.parse_args()
    sources = sorted(
        p
        for s in options.sources
        for p in (s.rglob("*.ncu-rep*") if s.is_dir() else [s])
        if p.stat().st_size <= options.largest
    )
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "reports"
        root.mkdir()
        replicate(sources, root, options.reports)
        rate = {}
        for workers in (1, 2):
            archive = Path(scratch) / f"{workers}.sqlite"
            started, before = time.perf_counter(), busy_seconds()
            result = batch([root], archive, workers=workers)
            rate[workers] = result.analysed / (time.perf_counter() - started)
            spent = (busy_seconds() - before) / max(result.analysed, 1)
            print(
                f"{workers} workers: {result.analysed} reports, {rate[workers]:.1f}/s, "
                f"{spent * 1000:.1f} ms of processor time a report, failed {result.failed + result.quarantined}"
            )
        print(f"two workers over one: {rate[2] / rate[1]:.2f}")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(
            f"largest worker: {peak:.0f} MiB; archive {(Path(scratch) / '2.sqlite').stat().st_size / 1e6:.0f} MB"
        )
        started = time.perf_counter()
        reused = batch([root], Path(scratch) / "2.sqlite", workers=2).reused
        print(f"second run: {reused} reused in {time.perf_counter() - started:.2f} s")
        with Archive(Path(scratch) / "2.sqlite", readonly=True) as store:
            for name, query in QUERIES.items():
                started = time.perf_counter()
                rows = store.query(query.sql).num_rows
                print(f"query {name}: {rows} rows in {time.perf_counter() - started:.3f} s")
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
