"""A Dask cluster of worker processes on this machine: right result, also when a worker dies in mid-run."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from profrx.archive import Archive, batch, pool
from profrx_parsers.errors import InputError, UsageError

Make = Callable[..., Path]


def rows(path: Path) -> dict[str, list[dict[str, object]]]:
    with Archive(path, readonly=True) as store:
        return {name: store.table(name).to_pylist() for name in ("reports", "kernels", "findings", "metrics")}


def test_no_scheduler_is_one_clear_line(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    for address, code in (("local:none", "bad-cluster"), ("127.0.0.1:1", "cluster-unreachable")):
        with pytest.raises(UsageError) as caught:
            batch([tmp_path], tmp_path / "a.sqlite", cluster=address)
        assert caught.value.code == code


@pytest.mark.slow
@pytest.mark.usefixtures("poisoned")
def test_four_workers_one_killed_in_mid_run(many: Make, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    root = many(32, *(f"slow{n}" for n in range(16)))
    alone = tmp_path / "alone.sqlite"
    batch([root], alone, workers=2)
    with distributed.LocalCluster(
        n_workers=4, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit="2GiB"
    ) as cluster:
        killed: list[int] = []

        def kill_one() -> None:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                with distributed.Client(cluster) as client:
                    busy = [w for w, tasks in client.processing().items() if tasks]
                    pids = client.run(os.getpid)
                if busy:
                    os.kill(pids[busy[0]], signal.SIGKILL)
                    killed.append(pids[busy[0]])
                    return
                time.sleep(0.1)

        killer = threading.Thread(target=kill_one)
        killer.start()
        result = batch([root], tmp_path / "many.sqlite", cluster=cluster.scheduler_address)
        killer.join()
    assert killed, "no worker was busy: the test proves nothing"
    assert (result.analysed, result.failed, result.quarantined) == (32, 0, 0)
    assert rows(tmp_path / "many.sqlite") == rows(alone)


@pytest.mark.slow
@pytest.mark.usefixtures("poisoned")
def test_a_report_that_kills_workers_is_set_aside(many: Make, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    root = many(6, "crash")
    result = batch([root], tmp_path / "a.sqlite", cluster="local:2")
    assert (result.analysed, result.quarantined) == (5, 1)


class _Together(Executor):
    """Workers on which whatever waits in a queue dies with its neighbours; a report alone dies only by itself."""

    def __init__(self) -> None:
        self.sent: Counter[str] = Counter()

    def submit(self, function: Any, /, *args: Any, **_: Any) -> Future[Any]:
        (task,) = args
        names = [item.uri for item in task.items]
        self.sent.update(names)
        future: Future[Any] = Future()
        if len(names) > 1 or self.sent[names[0]] < 3 or "crash" in names[0]:
            future.set_exception(RuntimeError("KilledWorker"))
        else:
            future.set_result(function(task))
        return future


def test_neighbours_that_die_with_a_killer_are_read_alone_before_any_verdict(
    many: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = _Together()

    @contextlib.contextmanager
    def cluster(*_: object) -> Iterator[pool.Pool]:
        yield pool.Pool(executor, 2, lambda: executor, lambda: executor, survives=True)

    monkeypatch.setattr(pool, "cluster", cluster)
    root = many(3, "crash")
    result = batch([root], tmp_path / "a.sqlite", cluster="anywhere")
    assert (result.analysed, result.quarantined) == (2, 1)
    assert [line for line in result.trouble if "crash" in line and "report-crash" in line] == result.trouble
    assert set(executor.sent.values()) == {3}  # in a chunk, by itself, and with nothing else in flight


def _cluster(port: int) -> list[subprocess.Popen[bytes]]:
    """Start a scheduler and two workers, each in a process group of its own."""
    tools = {
        "scheduler": ["--host", "127.0.0.1", "--port", str(port)],
        "worker": [f"127.0.0.1:{port}", "--nthreads", "1"],
    }
    return [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{name}", "--no-dashboard", *tools[name]],
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name in ("scheduler", "worker", "worker")
    ]


def _kill(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


@pytest.mark.slow
@pytest.mark.usefixtures("poisoned")
def test_the_whole_cluster_killed_costs_nothing_that_was_stored(many: Make, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    root = many(64, *(f"slow{n}" for n in range(64)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    archive = tmp_path / "a.sqlite"
    processes = _cluster(port)
    command = [sys.executable, "-m", "profrx", "batch", str(root), "--archive", str(archive)]
    try:
        run = subprocess.Popen(
            [*command, "--cluster", f"127.0.0.1:{port}"], stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline and stored(archive) == 0 and run.poll() is None:
            time.sleep(0.2)
    finally:
        _kill(processes)
    _, said = run.communicate(timeout=120)
    done = stored(archive)
    assert 0 < done < 64, "the cluster was not killed in mid-run: the test proves nothing"
    assert run.returncode == 3
    assert "[cluster-lost]" in said
    assert "Traceback" not in said
    result = batch([root], archive, workers=2)
    assert (result.reused, result.reused + result.analysed) == (done, 64)


def stored(path: Path) -> int:
    """Return how many reports an archive holds; 0 before it exists."""
    if not path.exists():
        return 0
    with contextlib.suppress(InputError), Archive(path, readonly=True) as archive:
        return int(archive.query("SELECT count(*) AS n FROM reports").column(0)[0].as_py())
    return 0
