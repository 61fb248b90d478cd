"""A worker's answers: judged together or alone they are the same, and a bad report costs only itself."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from profrx.archive import stored
from profrx.archive.bench import Setup
from profrx.archive.inputs import Item
from profrx.archive.kernels import medians
from profrx.archive.work import Answer, Task, analyse
from profrx_parsers.registry import open_report

Make = Callable[..., Path]
diagnose = import_module("profrx.diagnose")
"""The module: the package offers the function under the same name."""


def task(root: Path, **setup: Any) -> Task:
    paths = sorted(root.iterdir())
    items = tuple(Item(str(p), "file", str(p), size=p.stat().st_size, modified_ns=1) for p in paths)
    return Task(items, (None,) * len(items), (None,) * len(items), Setup(**setup))


def content(answer: Answer) -> tuple[Any, ...]:
    assert answer.record is not None
    return (
        answer.kind,
        answer.record.report,
        answer.record.tables,
        answer.record.metrics,
        answer.record.stored,
    )


def test_together_or_alone_the_answers_are_the_same(many: Make) -> None:
    whole = task(many(5))
    alone = [analyse(part)[0] for part in whole.split()]
    assert [content(one) for one in analyse(whole)] == [content(one) for one in alone]


def test_a_report_that_cannot_be_judged_costs_only_itself(
    many: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_many = diagnose.judge_many

    def fragile(program: Any, reports: Any, **options: Any) -> Any:
        if any("r001" in report.info.source for report in reports):
            raise MemoryError
        return judge_many(program, reports, **options)

    monkeypatch.setattr(diagnose, "judge_many", fragile)
    rows = [one.record.report for one in analyse(task(many(3))) if one.record]
    assert [row["status"] for row in rows] == ["ok", "quarantined", "ok"]
    assert rows[1]["code"] == "report-memory"
    assert rows[1]["sha256"]


def test_what_neighbours_make_a_report_log_does_not_show(many: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    judge_many = diagnose.judge_many

    def noisy(program: Any, reports: Any, **options: Any) -> Any:
        if len(reports) > 1:
            reports[0].problems.add("data-loss", "damaged", "met for a neighbour only")
        return judge_many(program, reports, **options)

    monkeypatch.setattr(diagnose, "judge_many", noisy)
    whole = task(many(3))
    alone = [analyse(part)[0] for part in whole.split()]
    assert [content(one) for one in analyse(whole)] == [content(one) for one in alone]


def test_stored_tables_come_back_and_damage_is_told(many: Make) -> None:
    (path,) = many(1).iterdir()
    report = open_report(path)
    data = stored.pack(report, (), [])
    assert data is not None
    again = stored.unpack(data)
    before, after = report.extras["metric_columns"], again.extras["metric_columns"]
    assert {n: c.to_pylist() for n, c in before.numbers.items()}.__repr__() == (
        {n: c.to_pylist() for n, c in after.numbers.items()}.__repr__()
    )
    assert dict(before.texts) == after.texts
    assert again.table("launches") == report.table("launches")
    for bad in (b"", b"PRX1", data[:6], data[:-9], data[:4] + b"\xff\xff\xff\xff" + data[8:]):
        with pytest.raises(ValueError, match="stored report"):
            stored.unpack(bad)


class Columns:
    """Metric columns by name."""

    def __init__(self, **columns: list[float | None]) -> None:
        import pyarrow as pa

        self._columns = {name: pa.array(values, pa.float64()) for name, values in columns.items()}

    def column(self, name: str) -> Any:
        return self._columns[name]


def test_medians_per_group_leave_out_what_is_unknown() -> None:
    metrics: Any = Columns(a=[1.0, 5.0, None, 2.0, 4.0], b=[None, None, None, 7.0, float("nan")])
    owner = np.array([0, 1, 0, 1, 1])
    assert list(medians(metrics, ("a", "b"), owner, 3)) == [("a", 0, 1.0), ("a", 1, 4.0), ("b", 1, 7.0)]
    assert list(medians(metrics, ("a",), np.array([0, 0, 0, 0, 1]), 2)) == [("a", 0, 2.0), ("a", 1, 4.0)]
