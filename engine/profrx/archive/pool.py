"""Where tasks run: one interface (`concurrent.futures.Executor`) over local processes and a Dask cluster."""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from profrx_parsers.errors import UsageError


@dataclass
class Pool:
    """An executor and how to make it anew after a worker took it down.

    Attributes:
        executor: runs `analyse` tasks.
        workers: how many run at once.
        renew: returns a fresh executor; the broken one is shut down first.
        alone: returns an executor of one worker, to find out which report breaks workers.
        survives: whether a lost worker leaves the executor usable (a cluster replaces workers itself).
        alive: whether tasks can still come back; once False it stays so.
    """

    executor: Executor
    workers: int
    renew: Callable[[], Executor]
    alone: Callable[[], Executor]
    survives: bool = False
    alive: Callable[[], bool] = lambda: True


@contextmanager
def local(workers: int, memory_bytes: int | None) -> Iterator[Pool]:
    """Give a pool of spawned processes (fork and Arrow threads do not mix)."""
    from profrx.archive.limits import start_worker

    context = multiprocessing.get_context("spawn")
    made: list[ProcessPoolExecutor] = []

    def make(count: int) -> Executor:
        executor = ProcessPoolExecutor(count, context, initializer=start_worker, initargs=(memory_bytes,))
        made.append(executor)
        return executor

    pool = Pool(make(workers), workers, lambda: make(workers), lambda: make(1))
    try:
        yield pool
    finally:
        for executor in made:
            _kill(executor)


def _kill(executor: ProcessPoolExecutor) -> None:
    """End the workers now: whatever they still do is not wanted any more."""
    processes = list((getattr(executor, "_processes", None) or {}).values())
    executor.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join(5)
        if process.is_alive():
            process.kill()


@contextmanager
def cluster(address: str, memory_bytes: int | None) -> Iterator[Pool]:
    """Give a pool on a Dask cluster: ``HOST:PORT``, ``scheduler-file.json`` or ``local:N``."""
    try:
        import distributed
    except ImportError as err:
        raise UsageError(
            "cluster-not-installed", "a cluster needs Dask", next_step='pip install "profrx[cluster]"'
        ) from err
    lib: Any = distributed
    own: Any = None
    if address.startswith("local:"):
        count = _count(address.removeprefix("local:"))
        own = lib.LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit=memory_bytes or "auto",
        )
    # what Dask's own threads would log of a lost connection, with tracebacks, `batch` says in one line
    for name in ("distributed", "tornado.application", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = _connect(lib.Client, own, address)
        try:
            # one task a worker thread; a lost worker's tasks run again elsewhere
            executor = client.get_executor(pure=False, retries=1)
            threads = max(sum(client.nthreads().values()), 1)
            yield Pool(
                executor,
                threads,
                lambda: executor,
                lambda: executor,
                survives=True,
                alive=lambda: client.status != "closed",
            )
        finally:
            client.close()
    finally:
        if own is not None:
            own.close()


def _connect(client: Any, own: Any, address: str) -> Any:
    try:
        if own is not None:
            return client(own)
        if address.endswith(".json"):
            return client(scheduler_file=address, timeout="20s")
        return client(address, timeout="20s")
    except (OSError, TimeoutError, ValueError) as err:
        raise UsageError(
            "cluster-unreachable",
            f"no Dask scheduler answers at {address!r}",
            next_step="check the address, or use --cluster local:N",
        ) from err


def _count(text: str) -> int:
    if text.isdigit() and 0 < int(text) <= 1024:
        return int(text)
    raise UsageError("bad-cluster", f"{text!r} is no number of workers", next_step="write --cluster local:4")
