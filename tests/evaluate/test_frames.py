"""Frames of reports: scopes, links, weights, domain prefixes, section options, kernel filter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.evaluate.support import column, pack_of

from profrx.evaluate.frames import Frames, frames_of, group_rows, only_kernel
from profrx.evaluate.metrics import Metrics
from profrx.evaluate.supply import table_column
from profrx_parsers import schema
from profrx_parsers.columns import EXTRA, MetricColumns
from profrx_parsers.info import ReportInfo
from profrx_parsers.problems import ProblemLog
from profrx_parsers.registry import open_report
from profrx_parsers.report import Report

LAUNCHES = [
    {
        "launch_id": 0,
        "kernel": "a<int>",
        "kernel_short": "a",
        "kernel_id": "a",
        "device_id": 0,
        "duration_ns": 100.0,
    },
    {
        "launch_id": 1,
        "kernel": "a<int>",
        "kernel_short": "a",
        "kernel_id": "a",
        "device_id": 1,
        "duration_ns": None,
    },
    {"launch_id": 2, "kernel": "b", "kernel_short": "b", "device_id": 1, "duration_ns": float("nan")},
    {"launch_id": 3, "kernel": "b", "kernel_short": "b", "device_id": 0, "duration_ns": 50.0},
]
DEVICES = [
    {"device_id": 0, "name": "one", "arch": "sm_90", "compute_units": 132},
    {"device_id": 1, "name": "two", "arch": "sm_80", "compute_units": 108},
]


class Resolves:
    """A section metric that another one replaces on sm_90."""

    def resolve(self, arch: int) -> str:
        return "newer" if arch == 90 else "older"


def a_report(
    numbers: dict[str, list[float | None]] | None = None, base: str | None = None, **extras: Any
) -> Report:
    wide = MetricColumns(len(LAUNCHES), {name: column(values) for name, values in (numbers or {}).items()})
    loaders = {
        "launches": lambda: schema.from_rows("launches", LAUNCHES),
        "devices": lambda: schema.from_rows("devices", DEVICES),
    }
    info = ReportInfo(source="x", format="ncu-rep", tool="ncu", tool_version="2025.3", base_time=base)
    return Report(info, loaders, ProblemLog(), {EXTRA: wide, **extras})


def test_scopes_links_and_weights() -> None:
    frames = frames_of(a_report(), 7)
    rows = {scope: frame.rows for scope, frame in frames.scopes.items()}
    assert rows == {"launch": 4, "kernel": 2, "device": 2, "report": 1}
    kernel = frames.scopes["kernel"]
    assert kernel.subjects.column("kernel").to_pylist() == ["a<int>", "b"]
    assert kernel.weights.tolist() == [100.0, 50.0]
    assert kernel.members["launches"].owner.tolist() == [0, 0, 1, 1]
    assert frames.scopes["report"].weights.tolist() == [150.0]
    assert set(frames.scopes["report"].members) >= {"launches", "kernels", "devices"}
    assert frames.scopes["launch"].subjects.column("report").to_pylist() == [7] * 4
    assert frames.scopes["launch"].subjects.column("arch").to_pylist() == [9.0, 8.0, 8.0, 9.0]


def test_device_columns_follow_the_launch() -> None:
    frames = frames_of(a_report())
    launch = frames.scopes["launch"].source("device", "compute_units")
    assert launch is not None
    assert launch.to_pylist() == [132.0, 108.0, 108.0, 132.0]
    device = frames.scopes["device"].source("device", "name")
    assert device is not None
    assert device.to_pylist() == ["one", "two"]


def test_unknown_weights_stay_unknown() -> None:
    frames = frames_of(a_report())
    assert [np.isnan(w) for w in frames.scopes["launch"].weights] == [False, True, True, False]


def test_counter_domains_are_looked_through() -> None:
    frames = frames_of(
        a_report({"FBSP.TriageSCG.dramc__x": [1.0, None, 3.0, None], "dramc__x": [None, 2.0, None, None]})
    )
    found = frames.scopes["launch"].raw("dramc__x")
    assert found is not None
    assert found.to_pylist() == [1.0, 2.0, 3.0, None]


def test_section_options_stand_in_for_a_name_the_report_lacks() -> None:
    report = a_report({"newer": [5.0, 6.0, 7.0, 8.0]}, section_options={"older": (Resolves(),)})
    pack = pack_of('metric m { meaning "m" source ncu "older" }')
    launch = frames_of(report).scopes["launch"]
    assert Metrics(pack, launch).column("m").null_count == 4  # two architectures: nothing to choose by
    assert Metrics(pack, launch.take([0, 3])).column("m").to_pylist() == [5.0, 8.0]
    assert Metrics(pack, launch.take([1])).column("m").to_pylist() == [None]


def test_taken_frames_keep_their_links() -> None:
    frames = frames_of(a_report({"x": [1.0, 2.0, 3.0, 4.0]}))
    part = frames.scopes["kernel"].take([1])
    inner = part.members["launches"]
    assert inner.owner.tolist() == [0, 0]
    found = inner.frame.raw("x")
    assert found is not None
    assert found.to_pylist() == [3.0, 4.0]
    launch = frames.scopes["launch"].take([3, 0])
    assert launch.wider["kernel"].owner.tolist() == [1, 0]


def test_a_kernel_filter_keeps_shares_of_the_whole_report() -> None:
    kept = only_kernel(frames_of(a_report({"x": [1.0, 2.0, 3.0, 4.0]})), "b*")
    assert kept.scopes["launch"].subjects.column("subject_id").to_pylist() == [2, 3]
    assert kept.scopes["kernel"].rows == 1
    assert kept.scopes["report"].weights.tolist() == [150.0]
    assert kept.scopes["report"].members["launches"].frame.rows == 2
    assert only_kernel(frames_of(a_report()), "nothing").scopes == {}
    assert isinstance(kept, Frames)


def test_groups_are_numbered_by_first_appearance_and_null_is_one() -> None:
    owner, first = group_rows([pa.array(["b", None, "b", "a", None]), pa.array([1, 1, 1, 1, 2])])
    assert owner.tolist() == [0, 1, 0, 2, 3]
    assert first.tolist() == [0, 1, 3, 4]


def test_timeline_subjects_own_their_launches(fixtures: Path) -> None:
    found = [p for p in sorted(fixtures.glob("timeline/**/*")) if p.suffix in (".nsys-rep", ".sqlite")]
    if not found:
        pytest.skip("no captured timeline in fixtures yet")
    check_timeline(found[0])


@pytest.mark.corpus
def test_timeline_subjects_own_their_launches_in_real_reports(corpus: Path) -> None:
    check_timeline(corpus / "nsys" / "h200_pathologies.nsys-rep")


def check_timeline(path: Path) -> None:
    report = open_report(path)
    frames = frames_of(report)
    launch = frames.scopes["launch"]
    assert launch.rows == report.table("launches").num_rows
    for scope in ("kernel", "stream", "device", "rank"):
        owner = launch.wider[scope].owner
        assert owner.min() >= 0, scope
        assert np.unique(owner).size <= frames.scopes[scope].rows
    busy = frames.scopes["report"].source("timeline", "busy_share")
    assert busy is not None
    assert 0 < busy[0].as_py() <= 1
    window = frames.scopes["report"].source("timeline", "window_ns")
    assert window is not None
    assert frames.scopes["report"].weights[0] == window[0].as_py()
    assert frames.scopes["kernel"].source("timeline", "kernel_time_ns") is not None


def test_members_of_taken_rows_wait_until_they_are_asked_for() -> None:
    kernel = frames_of(a_report({"x": [1.0, 2.0, 3.0, 4.0]})).scopes["kernel"]
    assert kernel.take([0, 1]) is kernel
    link = kernel.take([1, 0]).members["launches"]
    assert link.scope == "launch"
    assert "_picked" not in vars(link)
    assert link.owner.tolist() == [1, 1, 0, 0]
    assert link.frame.rows == 4


def test_numbering_by_hash_equals_numbering_by_hand() -> None:
    rng = np.random.default_rng(3)
    left, right = rng.integers(0, 6, 400), rng.integers(0, 5, 400)
    owner, first = group_rows([pa.array(left), pa.array(right)])
    seen: dict[tuple[int, int], int] = {}
    for row, pair in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        number = seen.setdefault(pair, len(seen))
        assert owner[row] == number
        assert (left[first[number]], right[first[number]]) == pair
    assert first.tolist() == sorted(first.tolist())


def test_columns_of_many_small_dictionaries_are_read() -> None:
    parts = [pa.array([f"kernel {i} {j}" for j in range(100)]).dictionary_encode() for i in range(3)]
    narrow = [pa.DictionaryArray.from_arrays(p.indices.cast(pa.int8()), p.dictionary) for p in parts]
    found = table_column(pa.table({"kernel": pa.chunked_array(narrow)}), "kernel")
    assert found is not None
    assert len(found) == 300
    assert found[299].as_py() == "kernel 2 99"
