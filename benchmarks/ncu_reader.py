"""Times the `.ncu-rep` reader, beside the vendor's `ncu_report` module where Nsight Compute is installed.

    python benchmarks/ncu_reader.py [FOLDER]                       the reader alone, over fixtures/ncu or FOLDER
    python benchmarks/ncu_reader.py [FOLDER] --module EXTRAS       beside ncu_report from …/extras/python
    python benchmarks/ncu_reader.py --write-wanted wanted.txt      the metrics that the default rules want
    python benchmarks/ncu_reader.py --diagnose REPORT              one whole `profrx diagnose` process

Two jobs, each in a fresh process per reader and repetition. The readers take turns, so that a machine that becomes
slower or faster meanwhile does so for both; the best time of each counts, and of each turn the ratio is told:

    wanted   the metrics that the rules want, per launch
    all      every metric, and every instance with its correlation id

Both readers open the same files and must see the same number of values, else the ratio is not printed. Times start
after the imports (and after the list of installed readers was made) and end when the values are held (a table here,
Python lists there). Memory is the peak resident size
of the process. --unpacked first unpacks `.ncu-repz` files, so that neither reader's time includes zstd.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
JOBS = ("wanted", "all")
Counts = tuple[int, int]
Count = Callable[[], Counts]


def reports_in(folder: Path) -> list[Path]:
    """Every report under `folder`, sorted."""
    return sorted(path for path in folder.rglob("*") if path.suffix in {".ncu-rep", ".ncu-repz"})


def read_ours(paths: list[Path], wanted: frozenset[str] | None) -> Count:
    """Read every report into tables; return what counts the values and instances that they held."""
    from profrx_parsers.registry import open_report
    from profrx_parsers.report import Wanted

    named = []
    instances = 0
    for path in paths:
        report = open_report(path, Wanted(metrics=wanted))
        named.append(report.compact("metrics").column("metric"))
        if wanted is None:
            instances += report.compact("instances").num_rows
        del report  # one report in memory at a time

    def count() -> Counts:
        if wanted is None:
            return sum(map(len, named)), instances
        # A metric with a counter domain before its name is read too; the other reader is not asked for it.
        return sum(name in wanted for column in named for name in column.to_pylist()), instances

    return count


def read_theirs(paths: list[Path], wanted: frozenset[str] | None) -> Count:
    """Read the same through the vendor's module."""
    import ncu_report

    values = instances = 0
    for path in paths:
        held: list[object] = []
        context = ncu_report.load_report(str(path))
        for r in range(context.num_ranges()):
            part = context.range_by_idx(r)
            for a in range(part.num_actions()):
                action = part.action_by_idx(a)
                names = action.metric_names()
                for name in names if wanted is None else wanted.intersection(names):
                    metric = action.metric_by_name(name)
                    held.append(metric.value())
                    values += 1
                    count = metric.num_instances() if wanted is None else 0
                    if count:
                        held.append([metric.value(i) for i in range(count)])
                        if metric.has_correlation_ids():
                            ids = metric.correlation_ids()
                            held.append([ids.value(i) for i in range(count)])
                        instances += count
    return lambda: (values, instances)


READERS: dict[str, Callable[[list[Path], frozenset[str] | None], Count]] = {
    "profrx": read_ours,
    "ncu_report": read_theirs,
}


def child(reader: str, job: str, folder: Path, wanted_file: Path) -> None:
    """One measurement; prints a JSON line."""
    wanted = frozenset(wanted_file.read_text().split()) if job == "wanted" else None
    if reader == "profrx":
        import profrx_parsers.ncu.rep  # noqa: F401
        from profrx_parsers.registry import readers

        readers()  # once per process, like the libraries that the other reader loads: it looks for installed readers
    else:
        import ncu_report  # noqa: F401
    began = time.perf_counter()
    count = READERS[reader](reports_in(folder), wanted)
    seconds = time.perf_counter() - began
    peak = peak_mib()
    values, instances = count()
    print(json.dumps({"seconds": seconds, "peak_mib": peak, "values": values, "instances": instances}))


def peak_mib() -> float:
    """The peak resident size of this process; what `getrusage` says begins with that of the parent."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(reader: str, job: str, folder: Path, wanted_file: Path, module: Path | None) -> dict[str, float]:
    """One fresh process."""
    places = [str(ROOT / name) for name in ("engine", "parsers", "rules")] + ([str(module)] if module else [])
    path = os.pathsep.join([*places, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    command = [
        sys.executable,
        __file__,
        str(folder),
        "--child",
        reader,
        "--job",
        job,
        "--wanted",
        str(wanted_file),
    ]
    done = subprocess.run(
        command, env=dict(os.environ, PYTHONPATH=path), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{reader} failed: {done.stderr[-800:]}")
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def write_wanted(path: Path) -> None:
    """Write the vendor metric names that the default pack reads, one a line."""
    sys.path[:0] = [str(ROOT / name) for name in ("engine", "parsers", "rules")]
    from profrx.evaluate.program import wanted_metrics
    from profrx.language.pack import load_pack

    path.write_text("\n".join(sorted(wanted_metrics(load_pack()))) + "\n")


def diagnose(report: Path) -> None:
    """One `profrx diagnose` process: wall time and peak memory, start-up included."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "profrx", "diagnose", str(report), "--format", "json", "-o", os.devnull]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"exit {done.returncode}  {seconds:.2f} s  {peak:.0f} MiB  {done.stderr.strip()[-300:]}")


def unpack(folder: Path, into: Path) -> Path:
    """Copy the reports of `folder` into `into`, unpacked."""
    import pyarrow as pa

    for number, path in enumerate(reports_in(folder)):
        content = path.read_bytes()
        if content[:4] == b"\x28\xb5\x2f\xfd":
            with pa.input_stream(pa.BufferReader(content), compression="zstd") as stream:
                content = stream.read()
        (into / f"{number:04}.ncu-rep").write_bytes(content)
    os.sync()  # else the first reader is measured while the reports are written to the disk
    return into


def main() -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "fixtures" / "ncu")
    parser.add_argument("--module", type=Path, help="folder of ncu_report.py")
    parser.add_argument(
        "--wanted", type=Path, help="metric names, one a line (default: those of the default pack)"
    )
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", choices=JOBS, help="one of the two jobs")
    parser.add_argument("--unpacked", action="store_true")
    parser.add_argument("--write-wanted", type=Path)
    parser.add_argument("--diagnose", type=Path)
    parser.add_argument("--child", choices=READERS, help=argparse.SUPPRESS)
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options.child, options.job, options.folder, options.wanted)
    if options.write_wanted:
        return write_wanted(options.write_wanted)
    if options.diagnose:
        return diagnose(options.diagnose)
    with tempfile.TemporaryDirectory() as scratch:
        wanted = options.wanted or Path(scratch) / "wanted.txt"
        if options.wanted is None:
            write_wanted(wanted)
        folder = options.folder
        if options.unpacked:
            (Path(scratch) / "reports").mkdir()
            folder = unpack(folder, Path(scratch) / "reports")
        size = sum(path.stat().st_size for path in reports_in(folder))
        print(
            f"{len(reports_in(folder))} reports, {size / 2**20:.1f} MiB, {len(wanted.read_text().split())} wanted metrics"
        )
        jobs = (options.only,) if options.only else JOBS
        compare(jobs, folder, wanted, options.module, options.repeat)
    return None


def compare(jobs: tuple[str, ...], folder: Path, wanted: Path, module: Path | None, repeat: int) -> None:
    """Print one line per job and reader, and the ratio of their times."""
    readers = tuple(READERS) if module else ("profrx",)
    for job in jobs:
        turns = [
            {reader: measure(reader, job, folder, wanted, module) for reader in readers}
            for _ in range(repeat)
        ]
        for reader in readers:
            row = min((turn[reader] for turn in turns), key=lambda row: row["seconds"])
            peak = max(turn[reader]["peak_mib"] for turn in turns)
            print(
                f"{job:7} {reader:11} {row['seconds']:8.3f} s  {peak:6.0f} MiB  "
                f"{row['values']:9,.0f} values  {row['instances']:10,.0f} instances",
                flush=True,
            )
        if module:
            print_ratios(job, turns)


def print_ratios(job: str, turns: list[dict[str, dict[str, float]]]) -> None:
    """Print how many times faster this reader is than the other one, if they saw the same."""
    seen = {(row["values"], row["instances"]) for turn in turns for row in turn.values()}
    if len(seen) > 1:
        print(f"{job:7} the readers saw different numbers of values: no ratio")
        return
    best = {reader: min(turn[reader]["seconds"] for turn in turns) for reader in READERS}
    each = sorted(turn["ncu_report"]["seconds"] / turn["profrx"]["seconds"] for turn in turns)
    print(
        f"{job:7} ratio       {best['ncu_report'] / best['profrx']:8.1f} x of the best times, "
        f"{each[len(each) // 2]:.1f} in the median turn ({each[0]:.1f} to {each[-1]:.1f})",
        flush=True,
    )


if __name__ == "__main__":
    main()
