"""`batch`: analyse everything below some roots into an archive; resumable, incremental, parallel.

The coordinator walks, sends chunks of items to a pool, and commits each report's record in a transaction of
its own. Killing it at any moment loses at most the chunks in flight; running it again does only what is
missing. A worker that crashes takes its chunk down; the chunk's items are then run one by one and the one
that breaks a worker again, while nothing else is in flight, is quarantined with the reason.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from profrx.archive import inputs, pool, record
from profrx.archive.bench import Setup, setup_key, wanted_key
from profrx.archive.progress import Progress, Silent
from profrx.archive.store import Archive
from profrx.archive.work import Answer, Task, analyse
from profrx_parsers.errors import InputError, UsageError

CHUNK_ITEMS = 16
CHUNK_BYTES = 24 << 20
"""A task holds at most this many items and (about) bytes, so that a kill loses little."""
TIME_LIMIT_S = 300.0
MEMORY_LIMIT_BYTES = 4 << 30


@dataclass
class BatchResult:
    """What a batch did.

    Attributes:
        analysed: reports read and judged now.
        rejudged: judged again from stored tables, without reading the file.
        reused: unchanged since an earlier run.
        failed: recognised or named by the user, but unreadable.
        quarantined: broke a worker (crash, hang, memory).
        ignored: files that no reader recognises.
        stopped: name of the signal that ended the run early; empty when it is complete.
        trouble: one line per input that could not be used.
        seconds: wall time.
    """

    analysed: int = 0
    rejudged: int = 0
    reused: int = 0
    failed: int = 0
    quarantined: int = 0
    ignored: int = 0
    stopped: str = ""
    trouble: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def done(self) -> int:
        """Inputs dealt with."""
        return self.analysed + self.rejudged + self.reused + self.failed + self.quarantined + self.ignored


def batch(
    roots: Sequence[str | os.PathLike[str]],
    archive: str | os.PathLike[str],
    *,
    workers: int | None = None,
    cluster: str | None = None,
    packs: Sequence[str] = (),
    params: dict[str, str] | None = None,
    time_limit_s: float = TIME_LIMIT_S,
    memory_limit_bytes: int | None = MEMORY_LIMIT_BYTES,
    progress: Progress | None = None,
) -> BatchResult:
    """Analyse every report below `roots` and keep the results in the SQLite file `archive`.

    Args:
        roots: folders, report files, tar / zip files, object-store URLs.
        archive: made when it does not exist.
        workers: local worker processes; default one per processor.
        cluster: Dask scheduler ``HOST:PORT``, scheduler file, or ``local:N``; instead of `workers`.
        packs: further rule packs.
        params: parameter overrides, as written on the command line.
        time_limit_s: per report; 0 = none.
        memory_limit_bytes: growth of a worker; None = none.
        progress: is told what happens; silent by default.

    Raises:
        InputError: the archive cannot be used. Unreadable reports do not raise: they are in the result.
    """
    setup = Setup(tuple(str(p) for p in packs), tuple(sorted((params or {}).items())), time_limit_s)
    count = workers or max(
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 1
    )
    where = pool.cluster(cluster, memory_limit_bytes) if cluster else pool.local(count, memory_limit_bytes)
    started = time.monotonic()
    with _signals() as stop, Archive(archive, create=True) as store, where as running:
        run = _Run(store, setup, running, progress or Silent(), stop)
        run.all([os.fspath(r) for r in roots])
        run.result.seconds = time.monotonic() - started
        return run.result


class _Stop:
    """Set by the first SIGINT or SIGTERM."""

    name = ""


@contextmanager
def _signals() -> Iterator[_Stop]:
    stop = _Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def note(number: int, frame: FrameType | None) -> None:
        if stop.name:  # the second one means it
            raise KeyboardInterrupt
        stop.name = signal.Signals(number).name

    previous = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class _Run:
    """One run of `batch`: the state between walking, sending and storing."""

    def __init__(
        self, store: Archive, setup: Setup, running: pool.Pool, progress: Progress, stop: _Stop
    ) -> None:
        self.store, self.setup, self.pool, self.progress, self.stop = store, setup, running, progress, stop
        self.key = setup_key(setup)
        self.wanted = wanted_key(setup)
        self.known = store.known()
        self.result = BatchResult()
        self.flying: dict[Future[list[Answer]], Task] = {}
        self.suspects: list[Task] = []

    def all(self, roots: list[str]) -> None:
        tasks = self._tasks(inputs.walk(roots))
        more = True
        while (more or self.flying) and not self.stop.name:
            while more and len(self.flying) < 2 * self.pool.workers and not self.stop.name:
                task = next(tasks, None)
                if task is None:
                    more = False
                else:
                    self._send(task)
            self._harvest()
        self._try_suspects()
        self.result.stopped = self.stop.name
        for future in self.flying:
            future.cancel()
        self.progress.finished(self.result)

    def _tasks(self, found: Iterator[inputs.Item | inputs.Trouble]) -> Iterator[Task]:
        """Leave out what is known already; group the rest."""
        parts: list[tuple[inputs.Item, str | None, bytes | None]] = []
        size = 0
        for one in found:
            if self.stop.name:
                return
            self.progress.found(1)
            if isinstance(one, inputs.Trouble):
                self._trouble(one.uri, one.error)
                continue
            known = self.known.get(one.uri)
            same_file = known is not None and known[1] == one.size and known[2] == one.modified_ns
            if known is not None and same_file and known[4] == self.key:
                self.result.reused += 1
                self.progress.done(self.result)
                continue
            stored = self.store.stored(one.uri, self.wanted) if same_file else None
            judged_so = known is not None and known[4] == self.key and known[3] == "ok"
            digest = known[0] if known is not None and (stored is not None or judged_so) else None
            parts.append((one, digest, stored))
            size += (one.size or 0) if stored is None else len(stored)
            if len(parts) >= CHUNK_ITEMS or size >= CHUNK_BYTES:
                yield self._task(parts)
                parts, size = [], 0
        if parts:
            yield self._task(parts)

    def _task(self, parts: list[tuple[inputs.Item, str | None, bytes | None]]) -> Task:
        items, digests, stored = zip(*parts, strict=True)
        return Task(items, digests, stored, self.setup)

    def _send(self, task: Task) -> None:
        try:
            self.flying[self.pool.executor.submit(analyse, task)] = task
        except BrokenProcessPool:
            self._broken([task])
        except Exception as err:
            if not self.pool.survives:
                raise
            raise _cluster_lost() from err

    def _harvest(self) -> None:
        if not self.flying:
            return
        if not self.pool.alive():
            raise _cluster_lost()
        finished, _ = wait(self.flying, timeout=0.5, return_when=FIRST_COMPLETED)
        lost: list[Task] = []
        for future in finished:
            task = self.flying.pop(future)
            try:
                self._store(task, future.result())
            except (BrokenProcessPool, CancelledError):
                lost.append(task)
            except InputError:
                raise
            except Exception:  # a cluster's own ways of saying that a worker died
                if not self.pool.survives:
                    raise
                # tasks that waited on the same worker die with it, again and again when workers are few
                (lost if len(task.items) > 1 else self.suspects).append(task)
        if lost:
            self._broken(lost)
        self.progress.tick(self.result)

    def _try_suspects(self) -> None:
        """Read each report that workers of a cluster died with while nothing else is in flight, then judge it."""
        for task in self.suspects:
            if self.stop.name:
                return
            self._send(task)
            (future,) = self.flying
            while not future.done() and not self.stop.name:
                if not self.pool.alive():
                    raise _cluster_lost()
                wait(self.flying, timeout=0.5)
                self.progress.tick(self.result)
            if not future.done():
                return
            del self.flying[future]
            died = future.exception()
            if died is None:
                self._store(task, future.result())
            elif self.pool.alive():
                self._blame(task, died, 0.0)
            else:
                raise _cluster_lost() from died

    def _broken(self, lost: list[Task]) -> None:
        """A worker died: everything in flight is suspect; run each item alone."""
        if not self.pool.survives:
            lost = lost + list(self.flying.values())
            self.flying.clear()
            self.pool.executor.shutdown(wait=False, cancel_futures=True)
            self.pool.executor = self.pool.renew()
        single = [part for task in lost for part in task.split()]
        if self.pool.survives:
            for part in single:
                self._send(part)
            return
        alone = self._alone()
        for part in single:
            for last in (False, True):  # a worker may also have been killed from outside: one more chance
                if self.stop.name:
                    break
                started = time.monotonic()
                try:
                    self._store(part, alone.submit(analyse, part).result())
                    break
                except BrokenProcessPool as err:
                    alone.shutdown(wait=False)
                    if last:
                        self._blame(part, err, time.monotonic() - started)
                    alone = self._alone()
        alone.shutdown(wait=False)

    def _alone(self) -> Executor:
        """Return an executor of one worker that has its rules loaded: its start must not count as reading."""
        executor = self.pool.alone()
        try:
            executor.submit(setup_key, self.setup).result()
        except BrokenProcessPool as err:
            raise UsageError(
                "no-workers",
                "no worker process can be started, or each dies before it reads anything",
                next_step='in a script of your own, call batch below `if __name__ == "__main__":`; otherwise free memory',
            ) from err
        return executor

    def _blame(self, task: Task, err: BaseException, seconds: float) -> None:
        limit = self.setup.time_limit_s
        hung = bool(limit) and seconds >= limit
        code = "report-hang" if hung else "report-crash"
        said = (
            f"reading took longer than {limit:g} s"
            if hung
            else "the process that read it died (crash or memory)"
        )
        step = "look at it alone with `profrx inspect`; report it as a defect if you can share the file"
        for item in task.items:
            facts = {"size_bytes": item.size, "modified_ns": item.modified_ns, "analysis_key": self.key}
            self._put(record.failed(item.uri, "quarantined", code, said, step, facts))
            self.result.quarantined += 1
            self._say(f"{item.uri}: {said} [{code}]")

    def _store(self, task: Task, answers: list[Answer]) -> None:
        for item, answer in zip(task.items, answers, strict=True):
            if answer.kind == "ignored":
                self.result.ignored += 1
            elif answer.kind == "same":
                self.store.touch(item.uri, item.size, item.modified_ns)
                self.result.reused += 1
            elif answer.record is not None:
                self._keep(item, answer)
            self.progress.done(self.result)

    def _keep(self, item: inputs.Item, answer: Answer) -> None:
        assert answer.record is not None
        status = answer.record.report["status"]
        if status == "ok":
            self._put(answer.record)
            if answer.kind == "rejudged":
                self.result.rejudged += 1
            else:
                self.result.analysed += 1
            return
        facts = answer.record.report
        vanished = facts["code"] == "input-missing" and self.known.get(item.uri, (None,) * 5)[3] == "ok"
        if not vanished:  # what was known of a file that is gone now stays
            self._put(answer.record)
        if status == "quarantined":
            self.result.quarantined += 1
        else:
            self.result.failed += 1
        self._say(f"{item.uri}: {facts['message']} [{facts['code']}] ({facts['next_step']})")

    def _put(self, one: record.Record) -> None:
        self.store.put(one)

    def _trouble(self, uri: str, error: InputError) -> None:
        self.result.failed += 1
        if error.code not in ("input-visited",):
            facts = {"analysis_key": self.key}
            if self.known.get(uri, (None,) * 5)[3] != "ok":
                self._put(record.failed(uri, "failed", error.code, error.message, error.next_step, facts))
        self._say(str(error))

    def _say(self, line: str) -> None:
        self.result.trouble.append(line)
        self.progress.trouble(line)


def _cluster_lost() -> InputError:
    return InputError(
        "cluster-lost",
        "the Dask scheduler is gone",
        next_step="start it and run the same command again: what is done is stored",
    )
