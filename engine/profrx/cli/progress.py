"""Progress of long work: a bar on standard error, only where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Step = Callable[[str], None]


@contextmanager
def steps(total: int, *, quiet: bool) -> Iterator[Step]:
    """Yield a function that is told the input now being worked on. Silent in a pipe, for one input, or if quiet."""
    if quiet or total < 2 or not sys.stderr.isatty():
        yield lambda _name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.text import Text

    from profrx.escape import clean

    columns = (
        TextColumn("{task.fields[name]}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total, name=Text(""))
        seen = 0

        def step(name: str) -> None:
            nonlocal seen
            bar.update(task, completed=seen, name=clean(name, 60))
            seen += 1

        yield step
