"""Reports hold environments, command lines and names of machines: none leaves a reader unasked, none is in a fixture."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from profrx_parsers.nsys.container import open_container
from profrx_parsers.nsys.system import environment
from profrx_parsers.problems import ProblemLog
from profrx_parsers.registry import open_report
from profrx_parsers.report import Report, Wanted
from profrx_parsers.schema import TABLES

from .conftest import CASES, ROOT

ALLOWED_VARIABLES = {"PATH", "HOME", "LD_LIBRARY_PATH", "LC_CTYPE", "RANK", "LOCAL_RANK", "WORLD_SIZE",
                     "NCCL_SOCKET_IFNAME", "NCCL_DEBUG", "NCCL_NVLS_ENABLE", "NVSHMEM_DISABLE_NVLS"}  # fmt: skip
"""What the captures set, and what the C library and Python add."""
INJECTED = re.compile(
    r"NSYS_|QUADD_|CUDA_INJECTION|NVTX_INJECTION|LD_PRELOAD|NV_|PYTHON|_$|NVTX|CUDA|KINETO|TORCH"
)
ALLOWED_PATHS = re.compile(
    r"^/(home/case|python|usr|lib|lib64|bin|etc|proc|dev|sys|run|opt/nvidia|tmp/nsys|tmp/nvidia|tmp/injection_config_[0-9a-f]+|tmp/torchelastic_\w+|var/lib|tmp/[0-9a-f-]{4,})"
)
NAMES = re.compile(rb"(?i)\b(?:[a-z0-9._-]+@[a-z0-9-]+\.[a-z]{2,}|(?:\d{1,3}\.){3}\d{1,3}:\d+)\b")
SECRETS = re.compile(
    rb"(?:USER|USERNAME|LOGNAME|HOSTNAME|SUDO_\w+|SSH_\w+|\w*(?:TOKEN|SECRET|PASSWORD|API_KEY)\w*)="
)


def contents(case: str) -> bytes:
    """Everything in a report, unpacked."""
    data = (ROOT / f"fixtures/nsys/{case}/report.nsys-rep").read_bytes()
    box = open_container(memoryview(data), case, ProblemLog())
    plain = data[: box._first_block] + b"\0" + data[box._end :]
    return plain + b"\0" + b"\0".join(box.event_blocks()) + b"\0" + b"\0".join(box.tail())


def variables(case: str) -> set[str]:
    data = (ROOT / f"fixtures/nsys/{case}/report.nsys-rep").read_bytes()
    box = open_container(memoryview(data), case, ProblemLog())
    text = environment(box.state).get(610, "")
    assert text, "the report says what the environment was"
    return {line.partition("=")[0] for line in re.split(r"[\0\n]", text) if line}


@pytest.mark.parametrize("case", CASES)
def test_fixture_holds_no_environment_user_host_or_machine_path(case: str) -> None:
    assert {v for v in variables(case) if not INJECTED.match(v)} <= ALLOWED_VARIABLES
    everything = contents(case)
    assert not SECRETS.findall(everything)
    assert not NAMES.findall(everything)
    for raw in set(re.findall(rb"(?<![\w./-])/(?:[\w.+-]+/)+[\w.+-]+", everything)):
        path = raw.decode()
        assert ALLOWED_PATHS.match(path), path


def private_words(report: Report) -> set[str]:
    """Texts of the private facts that are long enough to be looked for."""
    flat = json.dumps(report.info.private)
    return {
        word
        for word in re.findall(r"[\w./:-]{8,}", flat)
        if "nsight" not in word.lower() and "lib" not in word
    }


@pytest.mark.parametrize("form", ["report.nsys-rep", "export.sqlite.zst"])
def test_private_facts_come_only_when_asked_for(form: str) -> None:
    path = ROOT / "fixtures/nsys/dataloader-stall" / form
    asked = open_report(path, Wanted(private=True))
    assert asked.info.private["environment"]
    assert "training.py" in json.dumps(asked.info.private)
    report = open_report(path)
    assert report.info.private == {}
    shown = report.info.model_dump_json() + "".join(
        json.dumps(report.table(name).to_pylist(), default=str) for name in TABLES
    )
    for word in private_words(asked):
        assert word not in shown.replace(str(path), ""), word


def test_dictionaries_of_compact_tables_hold_no_text_that_no_row_has() -> None:
    import pyarrow as pa

    report = open_report(ROOT / "fixtures/nsys/dataloader-stall/report.nsys-rep")
    for name in ("launches", "api_calls", "ranges", "copies"):
        table = report.compact(name)
        for field in table.schema:
            if pa.types.is_dictionary(field.type):
                for chunk in table.column(field.name).chunks:
                    assert set(chunk.dictionary.to_pylist()) == set(chunk.to_pylist()) - {None}, field.name


@pytest.mark.corpus
def test_public_reports_leak_nothing(corpus: Path, export: Callable[[str], Path]) -> None:
    for path in sorted((corpus / "nsys").glob("*.nsys-rep"))[:6]:
        asked, report = open_report(path, Wanted(private=True)), open_report(path)
        shown = report.info.model_dump_json().replace(str(path), "")
        host = asked.info.private.get("host")
        assert not host or len(host) < 4 or host not in shown
        assert report.info.private == {}


def test_a_name_that_points_at_an_environment_or_at_output_shows_nothing(tmp_path: Path) -> None:
    """The string block holds both beside the names, so a damaged id can point at them."""
    import sqlite3
    from contextlib import closing

    path = tmp_path / "pointed.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)")
        texts = [
            "a_kernel",
            "TOKEN=12345678\0HOME=/home/somebody",
            "password is 12345678",
            "/home/somebody/out.log",
        ]
        db.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(texts))
        db.execute("CREATE TABLE ProcessStreams(globalPid, filenameId, contentId)")
        db.execute("INSERT INTO ProcessStreams VALUES (0, 3, 2)")
        db.execute(
            'CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, "end", demangledName, shortName, globalPid)'
        )
        db.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, 16777216)",
            [(10 * i, 10 * i + 5, i, i) for i in range(4)],
        )
        db.commit()
    report = open_report(path)
    assert report.table("launches").column("kernel").to_pylist() == ["a_kernel", None, None, None]


def test_no_id_of_a_report_leads_to_an_environment() -> None:
    import numpy as np

    for case in CASES[:4]:
        report = open_report(ROOT / f"fixtures/nsys/{case}/report.nsys-rep")
        strings = report.extras["raw"].strings()
        shown = strings.look_up(np.arange(len(strings)))
        hidden = [
            strings.text(number) or "" for number in np.flatnonzero(shown.is_null().to_numpy(False)).tolist()
        ]
        assert any("LD_LIBRARY_PATH=" in text for text in hidden)
        assert not [
            text for text in shown.to_pylist() if text and ("\0" in text or "LD_LIBRARY_PATH=" in text)
        ]
        assert len(shown) - shown.null_count > 50
