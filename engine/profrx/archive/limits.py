"""What holds inside a worker process: limits of time and memory per report, tidiness, death of the parent.

Two clocks guard a report: a soft one raises `OutOfTime` in Python code; a hard one, in a C thread that no
hanging extension can stop, ends the process. The caller sees a hard end as a broken worker and runs its
reports one by one to find the one to blame.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

HARD_FACTOR = 1.5
"""The hard clock ends the process after this many times the limit."""


class OutOfTime(Exception):
    """A report took longer than its limit."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Bound the block; nests badly on purpose: one report at a time in a worker."""
    soft = (
        seconds > 0 and threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    )
    if seconds > 0:
        faulthandler.dump_traceback_later(seconds * HARD_FACTOR, exit=True, file=_quiet())
    previous = signal.signal(signal.SIGALRM, _ring) if soft else None
    if soft:
        signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        if soft:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)
        if seconds > 0:
            faulthandler.cancel_dump_traceback_later()


def _ring(number: int, frame: FrameType | None) -> None:
    raise OutOfTime


def _quiet() -> int:
    """Return a file descriptor that swallows the traceback of a hard end."""
    global _NULL
    if _NULL is None:
        _NULL = os.open(os.devnull, os.O_WRONLY)
    return _NULL


_NULL: int | None = None


_settled: bool | None = None
"""Whether what a worker process keeps has been left out of garbage collection; None in any other process."""


@contextmanager
def swept() -> Iterator[None]:
    """In a worker process, collect garbage after a task instead of in its middle; elsewhere, do nothing.

    Judging leaves cycles behind that hold whole reports. Collected by chance, they pile up over several tasks, and
    each time the loaded rules are walked as well.
    """
    global _settled
    if _settled is None:
        yield
        return
    if not _settled:
        gc.collect()
        gc.freeze()
        _settled = True
    try:
        yield
    finally:
        gc.collect()


def start_worker(memory_bytes: int | None) -> None:
    """Prepare a worker process: no Ctrl-C of its own, bounded memory, gone when its parent is gone."""
    global _settled
    _settled = False
    gc.set_threshold(20_000, 50, 1_000)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _die_with_parent()
    if memory_bytes:
        _bound_memory(memory_bytes)


def _die_with_parent() -> None:
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
    if os.getppid() == 1:  # the parent died before the request
        os._exit(1)


def _bound_memory(memory_bytes: int) -> None:
    """Let the process grow by `memory_bytes` beyond what it maps once its libraries are loaded."""
    try:
        import resource
    except ImportError:
        return
    import pyarrow as pa

    import profrx.diagnose  # noqa: F401 - libraries are mapped before the bound is set

    pa.set_cpu_count(1)
    pa.set_io_thread_count(2)
    page = os.sysconf("SC_PAGE_SIZE")
    with open("/proc/self/statm", encoding="ascii") as file:
        mapped = int(file.read().split()[0]) * page
    bound = mapped + memory_bytes
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:  # a batch system's own limit can only be lowered
        bound = min(bound, most)
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
