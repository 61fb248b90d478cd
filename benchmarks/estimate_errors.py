"""Which models promise too much or too little? Estimates of the default pack against the clock, model by model.

    python benchmarks/estimate_errors.py [fixtures] [--rule GLOB]

Every program of which both versions were timed counts: the planted ones (`ncu/cases.json`) and those that the rules were
not made with (`unseen/expected.json`). What is judged is the first finding with a global estimate whose cause was accepted.

The error is signed, in points of the run time: what the repair saved less the middle of the range. A model whose errors lie
on one side over three pairs or more has a bias; with fewer, the number says little.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import mean, stdev

from profrx.diagnose import diagnose
from profrx.report.model import Finding

ROUND = 0.005
"""Half a point: ranges are shown in whole percent."""

LEAST = 3
"""Pairs from which on a bias is called one."""


@dataclass(frozen=True)
class Pair:
    """A program as it was and repaired: what the clock says, and what its report may be told."""

    name: str
    report: Path
    saved: float
    accepted: frozenset[str]


@dataclass(frozen=True)
class Judged:
    """A pair and the estimate that a reader would act on; None where none has an accepted cause."""

    pair: Pair
    finding: Finding | None

    @property
    def model(self) -> str:
        """The rule that promised."""
        return self.finding.rule if self.finding else "none"

    @property
    def error(self) -> float | None:
        """What the repair saved less the middle of the range, a share of the run time."""
        if self.finding is None or self.finding.saving is None:
            return None
        return self.pair.saved - (self.finding.saving.low + self.finding.saving.high) / 2

    @property
    def inside(self) -> bool:
        """The saving lies in the range."""
        if self.finding is None or self.finding.saving is None:
            return False
        return self.finding.saving.low - ROUND <= self.pair.saved <= self.finding.saving.high + ROUND


def planted(fixtures: Path) -> Iterator[Pair]:
    """The planted programs with a repaired version; traps have none worth the name."""
    for case in json.loads((fixtures / "ncu" / "cases.json").read_text("utf-8"))["cases"]:
        if case["role"] != "planted" or not (case.get("planted_ns") and case.get("fixed_ns")):
            continue
        report = next((fixtures / "ncu" / case["case"]).glob("report.ncu-rep*"))
        accepted = frozenset({case["cause"], *case.get("also", ())})
        yield Pair(case["case"], report, 1 - case["fixed_ns"] / case["planted_ns"], accepted)


def unseen(fixtures: Path) -> Iterator[Pair]:
    """The programs of strangers of which both versions were timed."""
    for row in json.loads((fixtures / "unseen" / "expected.json").read_text("utf-8"))["programs"]:
        if row["report"] and row["measured_ns"] and row["fixed_ns"]:
            report = fixtures / "unseen" / "reports" / f"{row['name']}.ncu-repz"
            yield Pair(
                row["name"], report, 1 - row["fixed_ns"] / row["measured_ns"], frozenset(row["accepted"])
            )


def judge(pairs: list[Pair]) -> list[Judged]:
    """What the default pack promises for each pair."""
    found = diagnose([pair.report for pair in pairs])
    assert not found.failed, found.failed
    judged = []
    for pair, report in zip(pairs, found.reports, strict=True):
        promises = (f for f in report.findings if f.saving and f.saving.kind == "global")
        judged.append(Judged(pair, next((f for f in promises if f.cause in pair.accepted), None)))
    return judged


def show(judged: list[Judged]) -> None:
    """Print one block a model, those with most pairs first."""
    by_model: dict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        by_model[one.model].append(one)
    print(f"{'model':38} {'pairs':>5} {'inside':>6} {'error':>7} {'spread':>7}")
    for model, some in sorted(by_model.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        errors = [one.error for one in some if one.error is not None]
        spread = f"{stdev(errors):7.1%}" if len(errors) > 1 else ""
        sided = len(errors) >= LEAST and (all(e > 0 for e in errors) or all(e < 0 for e in errors))
        average = f"{mean(errors):+7.1%}" if errors else f"{'':7}"
        print(
            f"{model:38} {len(some):5} {sum(o.inside for o in some):6} {average} {spread:7} {'bias' if sided else ''}"
        )
        for one in sorted(some, key=lambda o: o.error or 0.0):
            if one.finding is None or one.finding.saving is None or one.error is None:
                print(f"    {one.pair.name:24} measured {one.pair.saved:6.1%}")
                continue
            low, high = one.finding.saving.low, one.finding.saving.high
            print(
                f"    {one.pair.name:24} measured {one.pair.saved:6.1%}  {low:6.1%} .. {high:6.1%}  "
                f"{one.error:+6.1%}  {'' if one.inside else 'outside'}"
            )
    errors = [one.error for one in judged if one.error is not None]
    print(
        f"inside {sum(o.inside for o in judged)} of {len(judged)}, mean error {mean(map(abs, errors)):.1%}, "
        f"mean signed {mean(errors):+.1%}"
    )


def main() -> None:
    """Judge, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("fixtures", nargs="?", type=Path, default=Path("fixtures"))
    parser.add_argument("--rule", default="*", help="only the models whose id matches")
    args = parser.parse_args()
    judged = judge([*planted(args.fixtures), *unseen(args.fixtures)])
    show([one for one in judged if fnmatchcase(one.model, args.rule)])


if __name__ == "__main__":
    main()
