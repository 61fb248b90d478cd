"""Tests on report files: ``given report "fixtures/x.ncu-repz" kernel "*gemm*" expect fired count 2``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from profrx.evaluate.frames import frames_of
from profrx.evaluate.outcomes import OUTCOMES, Outcomes, run
from profrx.evaluate.patterns import glob_to_regex
from profrx.evaluate.program import Program, wanted_metrics
from profrx.language import ast
from profrx_parsers.errors import ProfrxError

if TYPE_CHECKING:
    from profrx.evaluate.frame import Frame
    from profrx.evaluate.testing import Declaration, TestResult

MAX_PARENTS = 8
"""Folders above a rule file in which a report is looked for."""


class Reports:
    """Reports named by tests, each read and judged once.

    Args:
        program: the pack.
        root: folder that relative paths start from; None = the rule file's own folder and those above it.
    """

    def __init__(self, program: Program, root: Path | None = None) -> None:
        self._program = program
        self._root = root
        self._judged: dict[Path, Outcomes | str] = {}

    def result(self, declaration: Declaration, test: ast.Test) -> TestResult:
        """Run one test."""
        from profrx.evaluate.testing import result

        if isinstance(declaration, ast.Metric):
            return result(declaration, test, False, "a metric is tested by given values, not on a report")
        path = self._find(test)
        if path is None:
            return result(declaration, test, False, f"no such report: {test.report}")
        outcomes = self._outcomes(path)
        if isinstance(outcomes, str):
            return result(declaration, test, False, outcomes)
        frame = outcomes.frames.get(declaration.scope)
        if frame is None:
            return result(declaration, test, False, f"the report has no {declaration.scope}")
        rows = matching(frame, test.kernel)
        if not rows.size:
            return result(declaration, test, False, f"no kernel matches {test.kernel!r}")
        words = outcome_words(outcomes, declaration, frame)
        got, passed = counted(words[rows], frame.groups[rows], test)
        detail: tuple[str, ...] = ()
        if not passed:
            from profrx.evaluate.testing import tree

            detail = tree(outcomes, declaration, int(rows[0]))
        return result(declaration, test, passed, got, detail)

    def _find(self, test: ast.Test) -> Path | None:
        wanted = Path(test.report)
        if wanted.is_absolute():
            return wanted if wanted.exists() else None
        places = [self._root] if self._root is not None else []
        if test.span.file:
            places += list(Path(test.span.file).absolute().parents)[:MAX_PARENTS]
        places.append(Path.cwd())
        return next((p / wanted for p in places if (p / wanted).exists()), None)

    def _outcomes(self, path: Path) -> Outcomes | str:
        if path not in self._judged:
            from profrx_parsers.registry import open_report
            from profrx_parsers.report import Wanted

            try:
                report = open_report(path, Wanted(metrics=wanted_metrics(self._program.pack)))
                self._judged[path] = run(self._program, frames_of(report))
            except ProfrxError as err:
                self._judged[path] = f"cannot read {path.name}: {err.message}"
        return self._judged[path]


def matching(frame: Frame, kernel: str) -> Any:
    """Return the rows whose kernel (or other subject) matches a glob; all rows for an empty one."""
    if not kernel:
        return np.arange(frame.rows)
    pattern = glob_to_regex(kernel)
    hits = np.zeros(frame.rows, dtype=bool)
    for name in ("kernel", "kernel_short", "subject"):
        matched = pc.match_substring_regex(frame.column(name), pattern)
        hits |= pc.fill_null(matched, False).to_numpy(zero_copy_only=False)
    return np.flatnonzero(hits)


def outcome_words(outcomes: Outcomes, declaration: ast.Rule | ast.Verdict | ast.Guard, frame: Frame) -> Any:
    """Return the outcome of a declaration per subject in the words of tests (object array)."""
    if isinstance(declaration, ast.Verdict):
        names = np.array([*(row.name for row in declaration.rows), "unknown"], dtype=object)
        return names[outcomes.held[declaration.name]]
    if isinstance(declaration, ast.Guard):
        return np.array([outcomes.guard_outcome(declaration, row) for row in range(frame.rows)], dtype=object)
    return np.array(OUTCOMES, dtype=object)[outcomes.codes[declaration.name]]


def counted(words: Any, groups: Any, test: ast.Test) -> tuple[str, bool]:
    """Compare outcomes with a test: with ``count``, as many kernels; else some for ``fired``, all otherwise."""
    wanted = test.expect.outcome
    hits = words == wanted
    kernels = int(np.unique(groups[hits]).size)
    tally = ", ".join(f"{word} x {int((words == word).sum())}" for word in dict.fromkeys(words.tolist()))
    if test.count is not None:
        return f"{wanted} count {kernels} ({tally})", kernels == test.count
    passed = bool(hits.any()) if wanted == "fired" else bool(hits.all())
    return tally, passed
