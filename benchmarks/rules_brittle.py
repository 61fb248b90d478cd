"""How much does the first cause depend on exact numbers? Reports with shaken counters, judged by the default pack.

    python benchmarks/rules_brittle.py fixtures/ncu [--draws 30] [--spread 0.15] [--case GLOB] [--no-drop]

Every report that `cases.json` of the folder calls planted, trap or fixed is judged again with every counter
multiplied by its own random factor (percentages stay within 0 and 100; launch and device facts are exact and
stay), all draws of a report as rows of one pass; then with one group of counters missing at a time. The page
counts how often the first cause stays, says which causes displace it, and which rules come and go.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx.evaluate import group, trace
from profrx.evaluate.closer import closer_evaluator
from profrx.evaluate.frame import Frame, Members
from profrx.evaluate.frames import Frames, frames_of
from profrx.evaluate.join import join
from profrx.evaluate.outcomes import Outcomes, run
from profrx.evaluate.program import Program, wanted_metrics
from profrx.evaluate.rank import order
from profrx.evaluate.showing import text_of
from profrx.language.pack import load_pack
from profrx_parsers.registry import open_report
from profrx_parsers.report import Wanted

EXACT = re.compile(r"launch__|device__attribute|sm__maximum_warps|profiler__|numa__|nvlink__|pcie__")
"""Facts that a profiler reads and does not count."""

STALLED = "smsp__average_warp_latency_per_inst_issued.ratio"
REASON = re.compile(r"smsp__average_warps_issue_stalled_\w+_per_issue_active\.ratio$")
LANES = {
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
}
"""Means over a warp of 32 lanes."""

GROUPS = {
    "stall reasons": r"smsp__average_warps?_(?:latency_)?issue_stalled|smsp__average_warp_latency|issue_stalled.*ratio",
    "samples": r"smsp__pcsamp|group:smsp__pcsamp",
    "access pattern": r"(smsp|sm)__sass_|memory_l[12]_.*theoretical|derived__memory|sectors_global",
    "L1": r"l1tex__|idc__|sm__memory",
    "L2": r"lts__",
    "DRAM": r"dram__|fbpa__",
    "pipes": r"pipe_",
    "instructions": r"inst_executed|thread_inst",
    "occupancy": r"sm__warps|sm__maximum_warps|occupancy",
    "balance": r"\.(max|min)$|cycles_active",
}
"""What a smaller set of sections would lack: name -> pattern over vendor metrics."""


@dataclass
class ShakenSupply:
    """The columns of some reports' launches, each number times its own factor; what `lacks` matches is absent."""

    whole: Any
    rows: int
    spread: float
    seed: int
    lacks: re.Pattern[str] | None = None

    def _factors(self, name: str, count: int) -> Any:
        rng = np.random.default_rng([self.seed, *name.encode()])
        return rng.uniform(1 - self.spread, 1 + self.spread, count)

    def _absent(self, name: str) -> bool:
        return self.lacks is not None and bool(self.lacks.search(name))

    def _shaken(self, name: str, values: pa.Array, unit: str | None) -> pa.Array:
        moved = pc.multiply(values, pa.array(self._factors(name, len(values))))
        most = 100.0 if unit == "%" else 32.0 if name in LANES else None
        if most is None:
            return moved
        return pc.if_else(pc.less_equal(values, most), pc.min_element_wise(moved, most), moved)

    def _sum_of_reasons(self, stored: pa.Array) -> pa.Array:
        """The stalled time as the sum of its shaken reasons: shares of it stay shares."""
        reasons = [name for name in self.whole.names() if REASON.match(name) and not self._absent(name)]
        before = after = np.zeros(len(stored))
        for name in reasons:
            part = self.whole.raw(name)
            before = before + np.nan_to_num(part.to_numpy(zero_copy_only=False))
            after = after + np.nan_to_num(self._shaken(name, part, None).to_numpy(zero_copy_only=False))
        return pc.multiply(stored, pa.array(np.where(before > 0, after / np.maximum(before, 1e-12), 1.0)))

    def raw(self, name: str) -> pa.Array | None:
        """Return a shaken counter; facts and texts as they are."""
        column = None if self._absent(name) else self.whole.raw(name)
        if column is None or EXACT.match(name) or not pa.types.is_floating(column.type):
            return column
        if name == STALLED:
            return self._sum_of_reasons(column)
        return self._shaken(name, column, self.unit(name))

    def unit(self, name: str) -> str | None:
        """Return the unit of the report."""
        return None if self._absent(name) else self.whole.unit(name)

    def names(self) -> Iterable[str]:
        """Return the names that are left."""
        return [name for name in self.whole.names() if not self._absent(name)]

    def source(self, kind: str, column: str) -> pa.Array | None:
        """Return a column of the tables; they are facts."""
        return self.whole.source(kind, column)

    def instances(self, name: str) -> Members | None:
        """Return shaken members."""
        found = None if self._absent(name) else self.whole.instances(name)
        if found is None or self.spread == 0:
            return found
        return Members(
            found.row, found.key, found.index, self._shaken(name, found.value, found.unit), found.unit
        )

    def alternatives(self, name: str, arch: float | None) -> tuple[str, ...]:
        """No report of the fixtures needs another name."""
        return ()


@dataclass
class Judged:
    """What the pack says of one row of a pass: causes in order of rank, rules that claim time, why others do not."""

    causes: list[str]
    rules: set[str]
    missed: dict[str, str] = field(default_factory=dict)


def shaken(
    report: Any,
    program: Program,
    draws: int,
    spread: float,
    lacks: tuple[str, ...] = ("",),
    expected: set[str] | None = None,
) -> list[Judged]:
    """Judge `draws` copies of a report for each pattern of missing counters, in one pass per pattern.

    `missed` tells of each expected rule that claims no time in a copy by which comparison it fell.
    """
    judged: list[Judged] = []
    for missing in lacks:
        frames = join([frames_of(report, position) for position in range(max(draws, 1))])
        if draws == 1:
            frames = _copied(frames)
        for frame in frames.scopes.values():
            if frame.scope == "launch":
                frame.supply = ShakenSupply(
                    frame.supply, frame.rows, spread, 1, re.compile(missing) if missing else None
                )
        outcomes = run(program, frames)
        found: dict[int, list[Any]] = {at: [] for at in range(draws)}
        for one in group.candidates(outcomes):
            found[one.report].append(one)
        for at in range(draws):
            ranked = order(found[at])
            causes = list(dict.fromkeys(c.rule.cause for c in ranked if c.rule.cause))
            judged.append(Judged(causes, {c.rule.name for c in ranked if c.score}))
        for name in sorted(expected or ()):
            _explain(outcomes, name, judged[-draws:])
    return judged


def _explain(outcomes: Outcomes, name: str, judged: list[Judged]) -> None:
    """Note why a rule claims no time, launch by launch (a copy has one)."""
    rule = outcomes.program.pack.rules[name]
    rows = [at for at, one in enumerate(judged) if name not in one.rules]
    if not rows or rule.scope != "launch" or outcomes.frames.scopes["launch"].rows != len(judged):
        return
    evaluator = closer_evaluator(outcomes, rule, rows)
    step = trace.trace(evaluator, rule.when)
    for at, row in enumerate(rows):
        if step.values[at]:
            judged[row].missed[name] = "explained by another rule, or its verdict is another"
        else:
            leaves = trace.deciding(step, at)
            judged[row].missed[name] = (
                _comparison(trace.fact(evaluator, leaves[0], at)) if leaves else "unknown"
            )


def _comparison(fact: trace.Fact) -> str:
    """A comparison without its values, so that draws can be counted."""
    threshold = f"{fact.threshold:.4g}" if isinstance(fact.threshold, float) else str(fact.threshold)
    return f"{text_of(fact.measured)} {fact.op} {threshold} {fact.unit}".strip()


def _copied(frames: Frames) -> Frames:
    for scope, frame in frames.scopes.items():
        frames.scopes[scope] = Frame(
            frame.scope, frame.tool, frame.subjects, frame.supply, frame.members, frame.wider
        )
    return frames


@dataclass
class Case:
    """A captured kernel and what it was planted with."""

    facts: dict[str, Any]
    path: Path

    @property
    def accepted(self) -> set[str]:
        """Causes that are right."""
        return {str(self.facts.get("cause") or ""), *self.facts.get("also", ())} - {""}


def cases(folder: Path, pattern: str) -> list[Case]:
    """Return the planted, trap and fixed captures of a folder with a `cases.json`."""
    found = []
    for facts in json.loads((folder / "cases.json").read_text("utf-8"))["cases"]:
        path = next((folder / facts["case"]).glob("report.ncu-rep*"), None)
        if facts["role"] in ("planted", "trap", "fixed") and path and fnmatchcase(facts["case"], pattern):
            found.append(Case(facts, path))
    return found


def _share(count: int, total: int) -> str:
    return f"{100 * count / total:4.0f} %" if total else "   - "


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common(5))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--spread", type=float, default=0.15)
    parser.add_argument("--case", default="*")
    parser.add_argument("--no-drop", action="store_true")
    args = parser.parse_args()
    pack = load_pack()
    program = Program(pack, {})
    wanted = Wanted(metrics=wanted_metrics(pack), private=False)
    right = third = total = wrong = healthy = 0
    print(f"{'case':26} {'planted':22} first  in 3   instead; rules that come (+) and go (-)")
    for case in cases(args.folder, args.case):
        report = open_report(case.path, wanted)
        still = shaken(report, program, 1, 0.0)[0]
        drawn = shaken(report, program, args.draws, args.spread, expected=still.rules)
        moved: Counter[str] = Counter()
        for one in drawn:
            moved.update(f"+{name}" for name in one.rules - still.rules)
            moved.update(f"-{name}" for name in still.rules - one.rules)
        accepted = case.accepted
        name = str(case.facts["case"])
        if case.facts["role"] == "planted" and accepted:
            hits = [bool(set(one.causes[:1]) & accepted) for one in drawn]
            threes = [bool(set(one.causes[:3]) & accepted) for one in drawn]
            right, third, total = right + sum(hits), third + sum(threes), total + len(drawn)
            instead = Counter(
                (one.causes or ["none"])[0] for one, hit in zip(drawn, hits, strict=True) if not hit
            )
            shares = f"{_share(sum(hits), len(drawn))} {_share(sum(threes), len(drawn))}"
            planted = str(case.facts["cause"])
        else:
            shy = str(case.facts.get("trap") or case.facts.get("was") or "")
            blamed = sum(any(pack.rules[rule].cause == shy for rule in one.rules) for one in drawn)
            wrong, healthy = wrong + blamed, healthy + len(drawn)
            top = Counter((one.causes or ["none"])[0] for one in drawn)
            shares, instead = f"{_share(blamed, len(drawn))} blame", top
            planted = f"not {shy}"
        print(f"{name:26} {planted:22} {shares}  {_told(instead)}; {_told(moved)}")
        falls = Counter(f"{rule}: {why}" for one in drawn for rule, why in one.missed.items())
        for why, count in falls.most_common(4):
            print(f"    {count} x {why}")
        if args.no_drop:
            continue
        for (label, _), one in zip(
            GROUPS.items(), shaken(report, program, 1, 0.0, tuple(GROUPS.values())), strict=True
        ):
            first = (one.causes or ["none"])[0]
            if first != (still.causes or ["none"])[0]:
                mark = "" if first in accepted or first == "none" else " !"
                print(f"    without {label}: {first}{mark}")
    print(f"first {_share(right, total)}, in the first three {_share(third, total)} of {total} draws")
    print(
        f"a cause that costs nothing or was taken out is blamed in {_share(wrong, healthy)} of {healthy} draws"
    )


if __name__ == "__main__":
    main()
