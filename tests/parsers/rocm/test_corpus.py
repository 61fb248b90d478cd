"""Every public ROCm file: which must open, with which named problems, and the counts of its manifest.

`corpus_expectations.csv` is the list. `counted` says what the manifest's row count counts: dispatches (``launches``),
API calls, names of a statistics file (``summaries``), counter values of a long table, rows of a v1 database
(``timeline``) or events of a v1 trace. Databases of other schemas count rows of tables that no reader needs.
"""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from pathlib import Path

import pytest

from profrx_parsers import open_report
from profrx_parsers.columns import EXTRA
from profrx_parsers.errors import InputError
from profrx_parsers.report import Report

HERE = Path(__file__).parent
ROWS = list(csv.DictReader((HERE / "corpus_expectations.csv").open()))
OURS = re.compile(r"(agent|launch|roofline|profrx)\.")
"""Columns that no file has: facts of the launch and constants of the device."""


@pytest.fixture(scope="module")
def manifest(corpus: Path) -> dict[str, int]:
    """Row counts by local name; counted when the corpus was made, without this project."""
    found = {}
    for row in csv.DictReader((corpus / "manifest.csv").open()):
        count = re.fullmatch(r"rows=(\d+)", row["counts"])
        if row["topic"] == "rocm" and count:
            found[row["local_name"]] = int(count[1])
    return found


def test_the_list_names_every_file_and_folder(corpus: Path) -> None:
    listed = {row["path"] for row in ROWS}
    with (corpus / "manifest.csv").open() as file:
        names = {r["local_name"] for r in csv.DictReader(file) if r["topic"] == "rocm"}
    assert names <= listed
    assert {p.name for p in (corpus / "rocm").iterdir()} <= listed


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["path"])
def test_file(row: dict[str, str], corpus: Path, manifest: dict[str, int]) -> None:
    path = corpus / "rocm" / row["path"]
    if row["outcome"] == "refused":
        with pytest.raises(InputError) as caught:
            open_report(path)
        assert caught.value.code == row["reader_or_code"]
        assert caught.value.next_step
        return
    report = open_report(path)
    assert report.info.format == row["reader_or_code"]
    if row["counted"]:
        assert counted(report, row["counted"], path) == manifest[row["path"]]
    assert sorted({p.code for p in report.problems}) == row["problems"].split()


def counted(report: Report, what: str, path: Path) -> int:
    if what in ("launches", "api_calls"):
        return len(report.table(what))
    if what == "summaries":
        table = report.table("summaries").to_pylist()
        return sum(row["statistic"] == "sum" for row in table)
    if what == "counter-values":
        columns = report.extras[EXTRA].numbers
        channelled = set(report.table("instances").column("metric").to_pylist())
        made = {name + tail for name in channelled for tail in ("_avr", "_min", "_max")}
        stored = [c for name, c in columns.items() if not OURS.match(name) and name not in made]
        return sum(len(c) - c.null_count for c in stored) + len(report.table("instances"))
    if what == "timeline":
        return sum(len(report.table(name)) for name in ("launches", "api_calls", "copies"))
    if what == "trace-events":
        return trace_events(report, path)
    return database_rows(report, path)


def trace_events(report: Report, path: Path) -> int:
    """The manifest counts all events; what is not a dispatch, call or copy must be no complete event on a GPU track."""
    events = json.loads(path.read_text())["traceEvents"]
    barriers = {
        str(e["pid"]) for e in events if e.get("name") == "process_name" and "Barriers" in e["args"]["name"]
    }
    complete = [e for e in events if e.get("ph") == "X" and e["pid"] not in barriers]
    timeline = sum(len(report.table(name)) for name in ("launches", "api_calls", "copies"))
    assert timeline == len(complete)
    return len(events)


def database_rows(report: Report, path: Path) -> int:
    """The manifest counts the rows of all tables; dispatches, calls and copies must be those of their tables."""
    if path.suffix == ".gz":
        pytest.skip("the manifest has no count for packed databases")
    base = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    names = [
        n for (n,) in base.execute("SELECT name FROM sqlite_master WHERE type='table' AND name LIKE 'rocpd%'")
    ]
    rows = {n: base.execute(f'SELECT COUNT(*) FROM "{n}"').fetchone()[0] for n in names}
    base.close()
    ours = {t: len(report.table(t)) for t in ("launches", "api_calls", "copies")}
    if any(n.startswith("rocpd_kernel_dispatch") for n in names):
        of = {re.sub(r"(_[0-9a-f]{4,12}){5}$", "", n): c for n, c in rows.items()}
        assert ours["launches"] == of["rocpd_kernel_dispatch"]
        assert ours["api_calls"] == of["rocpd_region"]
        assert ours["copies"] == of["rocpd_memory_copy"]
    else:
        assert ours["launches"] + ours["copies"] == rows["rocpd_op"]
        assert ours["api_calls"] == rows["rocpd_api"]
    return sum(rows.values())


def test_no_private_fact_leaves_a_real_capture(corpus: Path) -> None:
    """Host, command and environment of the captures, as their own files give them."""
    report = open_report(corpus / "rocm" / "v3_rocpd_bmm" / "results.db")
    text = (
        report.info.model_dump_json()
        + str(report.table("problems").to_pydict())
        + str(report.table("devices").to_pydict())
    )
    for private in ("37ca13315e70", "b24179676c5e4726b05ad347fb9b55cf", "LD_PRELOAD", "batched_gemm"):
        assert private not in text.replace(str(corpus), "")
    report = open_report(corpus / "rocm" / "compute_bmm1_MI300X")
    for private in ("1b0d893a303b", "batched_gemm1", "8480C"):
        assert private not in report.info.model_dump_json()


def test_counter_passes_of_v1_do_not_supply_durations(corpus: Path) -> None:
    """The counter pass claims 856,562,635 ns for a kernel that takes 240,160 ns in the timing pass."""
    report = open_report(corpus / "rocm" / "compute_axes1_mi200")
    assert report.table("launches").column("duration_ns")[0].as_py() == 240_160
    alone = open_report(corpus / "rocm" / "compute_axes1_mi200" / "SQ_LEVEL_WAVES.csv")
    assert alone.table("launches").column("duration_ns")[0].as_py() == 856_562_635


def test_kernels_of_the_largest_trace_overlap(corpus: Path) -> None:
    """Sum 4,441.7 ms, union 4,233.1 ms, span 15,122 ms over 567 streams."""
    launches = open_report(corpus / "rocm" / "v3_tracelens" / "908_results.json.gz").table("launches")
    table = launches.sort_by("start_ns")
    start, end = (table.column(c).to_numpy() for c in ("start_ns", "end_ns"))
    assert f"{(end - start).sum() / 1e6:,.1f}" == "4,441.7"
    import numpy as np

    reach = np.maximum.accumulate(end)
    gaps = np.maximum(start[1:] - reach[:-1], 0).sum()
    span = reach[-1] - start[0]
    assert f"{(span - gaps) / 1e6:,.1f}" == "4,233.1"
    assert f"{span / 1e6:,.0f}" == "15,122"
    assert len(launches.column("stream_id").unique()) == 567
    assert len(launches.column("kernel").unique()) <= 80


@pytest.mark.parametrize("name", ["v1_blog_HIP_trace", "v1_batchedgemm"])
@pytest.mark.parametrize("container", ["results.db", "results.json"])
def test_v1_work_is_linked_to_the_call_that_asked_for_it(corpus: Path, name: str, container: str) -> None:
    report = open_report(corpus / "rocm" / name / container)
    called = {c["correlation_id"]: c["name"] for c in report.table("api_calls").to_pylist()}
    launched = [called.get(row["correlation_id"]) for row in report.table("launches").to_pylist()]
    assert launched == ["hipLaunchKernel"]
    copied = [called.get(row["correlation_id"]) for row in report.table("copies").to_pylist()]
    assert sum(str(call).startswith("hipMemcpy") for call in copied) >= len(copied) - 1
    assert report.table("launches").column("launch_api_start_ns").null_count == 0
