"""Raw tables of the binary report equal nsys' own export, row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from profrx_parsers.nsys import events
from profrx_parsers.nsys.container import open_container
from profrx_parsers.nsys.rep import RepTables
from profrx_parsers.problems import ProblemLog

from .conftest import CASES, ROOT

TABLES = [table.name for table in (*events.TIMELINE, *events.ON_DEMAND)]
NOT_STORED = {"callchainId", "deprecatedSrcId", "binaryData", "originalGraphId", "argumentsId", "threadBlock",
              "importedMemoryPoolAddress", "importedMemoryPoolProcessId", "tensorSizeMinusOneElements",
              "timestamp"}  # fmt: skip
"""Columns of exports that no report holds, or that are constant there."""
CORPUS_PAIRS = (
    "Lashi0812__CudaProgramming__profiling_profiles_sumArrayZeroCopy",
    "RajaATAli__SC23_Programming-Your-GPU-with-OpenMP_Tutorial__report1",
    "RajaATAli__SC23_Programming-Your-GPU-with-OpenMP_Tutorial__report3",
    "RajaATAli__SC23_Programming-Your-GPU-with-OpenMP_Tutorial__report4",
    "gonzalo-villegas-curulla__CUDA_Cpp_Intro__report4",
    "gonzalo-villegas-curulla__CUDA_Cpp_Intro__report7",
    "h200_cuda_graph",
    "h200_mix_graph",
    "h200_mix_node",
    "h200_pathologies",
    "h200_transformer_train",
    "lockfuehrer__beast_ressoruces__report2",
)

Query = Callable[..., list[tuple[object, ...]]]


def compare(report: Path, database: Path, query: Query) -> dict[str, int]:
    """Compare every table both have, as multisets of whole rows; return the rows compared."""
    log = ProblemLog()
    raw = RepTables(open_container(memoryview(report.read_bytes()), report.name, log), log)
    compared = {}
    for name in TABLES:
        columns = [str(row[1]) for row in query(database, f'PRAGMA table_info("{name}")')]
        if not columns:
            continue
        found = raw.table(name, ())
        assert found is not None, name
        shared = [c for c in columns if c in found.column_names]
        assert set(columns) - set(shared) <= NOT_STORED | (
            {"correlationId"} if name == "PROFILER_OVERHEAD" else set()
        )
        shared = [c for c in shared if c not in NOT_STORED]
        quoted = ", ".join(f'"{c}"' for c in shared)
        expected = Counter(query(database, f'SELECT {quoted} FROM "{name}"'))
        rows = Counter(zip(*(found.column(c).to_pylist() for c in shared), strict=True))
        assert rows == expected, name
        compared[name] = found.num_rows
    assert not [p for p in log if p.severity in ("data-loss", "error")]
    return compared


@pytest.mark.parametrize("case", CASES)
def test_every_row_of_a_fixture_equals_the_export(
    case: str, export: Callable[[str], Path], query: Query
) -> None:
    compared = compare(ROOT / f"fixtures/nsys/{case}/report.nsys-rep", export(case), query)
    assert compared["CUPTI_ACTIVITY_KIND_KERNEL"] > 0
    assert compared["CUPTI_ACTIVITY_KIND_RUNTIME"] > 0


@pytest.mark.corpus
@pytest.mark.parametrize("pair", CORPUS_PAIRS)
def test_every_row_of_a_public_report_equals_its_export(pair: str, corpus: Path, query: Query) -> None:
    folder = corpus / "nsys"
    report = next(p for p in folder.iterdir() if p.stem == pair and p.suffix in (".nsys-rep", ".qdrep"))
    assert compare(report, folder / f"{pair}.sqlite", query)


def test_gpu_metrics_equal_the_export(export: Callable[[str], Path], query: Query) -> None:
    log = ProblemLog()
    path = ROOT / "fixtures/nsys/gpu-metrics/report.nsys-rep"
    raw = RepTables(open_container(memoryview(path.read_bytes()), "report", log), log)
    found = raw.table("GPU_METRICS", ("timestamp", "typeId", "metricName", "value"))
    assert found is not None
    rows = Counter(zip(*(found.column(c).to_pylist() for c in found.column_names), strict=True))
    expected = query(
        export("gpu-metrics"),
        "SELECT timestamp, typeId, metricName, CAST(value AS REAL) FROM GPU_METRICS JOIN TARGET_INFO_GPU_METRICS"
        " USING (typeId, metricId)",
    )
    # The columns come in the reader's order; sort both sides to one.
    order = [found.column_names.index(c) for c in ("timestamp", "typeId", "metricName", "value")]
    assert Counter(tuple(row[i] for i in order) for row in rows.elements()) == Counter(expected)
    assert len(expected) > 20_000


@pytest.mark.parametrize("case", CASES)
def test_strings_and_devices_equal_the_export(case: str, export: Callable[[str], Path], query: Query) -> None:
    log = ProblemLog()
    path = ROOT / f"fixtures/nsys/{case}/report.nsys-rep"
    raw = RepTables(open_container(memoryview(path.read_bytes()), "report", log), log)
    strings = dict(query(export(case), "SELECT id, value FROM StringIds"))
    assert len(raw.strings()) == len(strings)
    for number in list(strings)[:: max(1, len(strings) // 50)]:
        assert raw.strings().text(int(str(number))) == strings[number]
    columns = (
        "id",
        "name",
        "busLocation",
        "smCount",
        "clockRate",
        "memoryBandwidth",
        "l2CacheSize",
        "maxWarpsPerSm",
    )
    gpus = raw.table("TARGET_INFO_GPU", columns)
    assert gpus is not None
    expected = query(export(case), f"SELECT {', '.join(columns)} FROM TARGET_INFO_GPU")
    assert [tuple(row[c] for c in columns) for row in gpus.to_pylist()] == expected
