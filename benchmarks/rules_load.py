"""Time loading 500 rules, cold and warm, and judging hostile rule files.

The shipped rules are written again under new names until there are 500 (with their catalogue). Each load runs in a
process of its own: cold with an empty cache of parsed packs (the tables of the grammar always come ready made),
warm with what the cold one kept; for judging, which passes over inline tests, and whole, as `profrx rules` does.
Hostile files are those of tests/language/hostile.py.

    python benchmarks/rules_load.py [--rules 500] [--repeat 5]

Printed: processor and elapsed seconds, the median of the repeats, against the target
where there is one.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGETS = {"cold": 1.0, "warm": 0.3}
"""Seconds."""
A_FILE = 50
"""Shared declarations in one file."""
HOSTILE = 2.0
"""Seconds for a file of at most 1 MB, parser and checker together."""

LOAD = """
import sys, time
from profrx.language.pack import load_pack
elapsed, processor = time.perf_counter(), time.process_time()
pack = load_pack([sys.argv[1]], default=False, plugins=False, tests=sys.argv[2] == "whole")
assert all(rule.tests for rule in pack.rules.values()) == (sys.argv[2] == "whole")
assert not pack.diagnostics, pack.diagnostics[0]  # a pack that is read in part only would load faster
print(time.process_time() - processor, time.perf_counter() - elapsed, len(pack.rules), len(pack.diagnostics))
"""


def write(folder: Path, count: int) -> int:
    """Write `count` rules and everything they read; return the bytes."""
    from profrx.language.pack import load_pack
    from profrx.language.printer import to_text

    pack = load_pack(plugins=False)
    tables = [pack.metrics, pack.params, pack.causes, pack.references, pack.verdicts, pack.guards, pack.rules]
    shared = [node for table in tables for node in table.values()]
    size = 0
    for first in range(0, len(shared), A_FILE):  # one file of all would be longer than a rule file may be
        text = "\n\n".join(to_text(node) for node in shared[first : first + A_FILE])
        size += (folder / f"shared-{first}.rule").write_text(text, "utf-8")
    originals = list(pack.rules.values())
    for number in range(count - len(originals)):
        rule = originals[number % len(originals)]
        again = replace(rule, name=f"{rule.name}-again-{number}")
        size += (folder / f"{again.name}.rule").write_text(to_text(again), "utf-8")
    return size


def load(folder: Path, cache: Path, what: str) -> tuple[float, float, str]:
    """Load once in a process of its own: ``judging`` or ``whole``."""
    environment = os.environ | {"PROFRX_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(folder), what],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    processor, elapsed, *rest = done.stdout.split()
    return float(processor), float(elapsed), " ".join(rest)


def hostile() -> list[tuple[float, str, int]]:
    """Seconds of processor time of each hostile file, slowest first."""
    sys.path.insert(0, str(ROOT))
    from tests.language.conftest import CATALOGUE
    from tests.language.hostile import INPUTS

    from profrx.language.check import check
    from profrx.language.pack import Source, assemble

    rows = []
    for name, text in INPUTS.items():
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        start = time.process_time()
        check(
            assemble([Source("base", "catalogue.rule", CATALOGUE.encode()), Source("user", "h.rule", data)])
        )
        rows.append((time.process_time() - start, name, len(data)))
    return sorted(rows, reverse=True)


def against(what: str, when: str, seconds: float) -> str:
    """Compare with the target; only what `diagnose` waits for has one."""
    if what == "whole":
        return " (with tests: no target)"
    return f"; target {TARGETS[when]} s: {'ok' if seconds <= TARGETS[when] else 'MISSED'}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rules", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, cache = Path(name, "pack"), Path(name, "cache")
        folder.mkdir()
        size = write(folder, options.rules)
        print(f"{options.rules} rules, {size / 1e6:.2f} MB in {len(list(folder.iterdir()))} files")
        found: dict[tuple[str, str], list[tuple[float, float, str]]] = defaultdict(list)
        for repeat in range(options.repeat):
            for what in ("judging", "whole"):
                for when in ("cold", "warm"):
                    found[what, when].append(load(folder, cache / str(repeat), what))
        for (what, when), runs in found.items():
            processor = statistics.median(run[0] for run in runs)
            elapsed = statistics.median(run[1] for run in runs)
            print(
                f"{what}, {when}: {processor:.2f} s processor, {elapsed:.2f} s elapsed{against(what, when, processor)}"
            )
    rows = hostile()
    for seconds, name, size in rows[:5]:
        print(f"hostile: {seconds:.2f} s for {size / 1e6:.2f} MB of {name}")
    print(
        f"slowest hostile file {rows[0][0]:.2f} s; target {HOSTILE} s: {'ok' if rows[0][0] <= HOSTILE else 'MISSED'}"
    )


if __name__ == "__main__":
    main()
