"""Worker-side stand-ins for reports that break the process that reads them.

Lives in a module of its own because spawned workers import it by name. A report whose file name holds
``crash``, ``hang``, ``deaf`` or ``greedy`` misbehaves when it is read; every other one is read as usual.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

from profrx.archive import work
from profrx_parsers import registry

_read = registry.read


def _evil(source: Any, *rest: Any) -> Any:
    name = os.path.basename(source.name)
    if "crash" in name:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "hang" in name:
        while True:
            time.sleep(0.01)
    if (
        "deaf" in name
    ):  # no Python code runs while a lock is awaited with signals blocked: only the hard clock helps
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    if "greedy" in name:
        return bytearray(64 << 30)
    if "slow" in name:
        time.sleep(0.3)
    return _read(source, *rest)


def analyse(task: work.Task) -> list[work.Answer]:
    """As `work.analyse`, with the misbehaving reader in place."""
    registry.read = _evil
    return work.analyse(task)
