"""Time loading 500 rules, cold and warm, and judging hostile rule files.

The shipped rules are written again under new names until there are 500 (with their catalogue). Each load runs in a
process of its own: cold with an empty cache of parsed packs (the tables of the grammar always come ready made),
warm with what the cold one kept. Hostile files are those of tests/language/hostile.py.

    python benchmarks/rules_load.py [--rules 500] [--repeat 3]

Printed: processor and elapsed seconds of the best repeat, against the target.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGETS = {"cold": 1.0, "warm": 0.3}
"""Seconds."""
HOSTILE = 2.0
"""Seconds for a file of at most 1 MB, parser and checker together."""

LOAD = """
import sys, time
from profrx.language.pack import load_pack
elapsed, processor = time.perf_counter(), time.process_time()
pack = load_pack([sys.argv[1]], default=False, plugins=False)
print(time.process_time() - processor, time.perf_counter() - elapsed, len(pack.rules), len(pack.diagnostics))
"""


def write(folder: Path, count: int) -> int:
    """Write `count` rules and everything they read; return the bytes."""
    from profrx.language.pack import load_pack
    from profrx.language.printer import to_text

    pack = load_pack(plugins=False)
    shared = [pack.metrics, pack.params, pack.causes, pack.references, pack.verdicts, pack.guards, pack.rules]
    size = (folder / "shared.rule").write_text(
        "\n\n".join(to_text(node) for table in shared for node in table.values()), "utf-8"
    )
    originals = list(pack.rules.values())
    for number in range(count - len(originals)):
        rule = originals[number % len(originals)]
        again = replace(rule, name=f"{rule.name}-again-{number}")
        size += (folder / f"{again.name}.rule").write_text(to_text(again), "utf-8")
    return size


def load(folder: Path, cache: Path) -> tuple[float, float, str]:
    """Load once in a process of its own."""
    environment = os.environ | {"PROFRX_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(folder)], env=environment, capture_output=True, text=True, check=True
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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rules", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, cache = Path(name, "pack"), Path(name, "cache")
        folder.mkdir()
        size = write(folder, options.rules)
        print(f"{options.rules} rules, {size / 1e6:.2f} MB in {len(list(folder.iterdir()))} files")
        cold, warm = [], []
        for repeat in range(options.repeat):
            cold.append(load(folder, cache / str(repeat)))
            warm.append(load(folder, cache / str(repeat)))
        for what, runs in (("cold", cold), ("warm", warm)):
            processor, elapsed = min(r[0] for r in runs), min(r[1] for r in runs)
            verdict = "ok" if processor <= TARGETS[what] else "MISSED"
            print(
                f"{what}: {processor:.2f} s processor, {elapsed:.2f} s elapsed; target {TARGETS[what]} s: {verdict}"
            )
    rows = hostile()
    for seconds, name, size in rows[:5]:
        print(f"hostile: {seconds:.2f} s for {size / 1e6:.2f} MB of {name}")
    print(
        f"slowest hostile file {rows[0][0]:.2f} s; target {HOSTILE} s: {'ok' if rows[0][0] <= HOSTILE else 'MISSED'}"
    )


if __name__ == "__main__":
    main()
