"""Telling a person how a batch goes: a live bar on a terminal, a line every ten seconds in a log."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Protocol, TextIO

if TYPE_CHECKING:
    from profrx.archive.run import BatchResult

LOG_EVERY_S = 10.0


class Progress(Protocol):
    """What `batch` tells its caller."""

    def found(self, count: int) -> None:
        """Say that `count` more inputs were found."""

    def done(self, result: BatchResult) -> None:
        """Say that an input was dealt with."""

    def tick(self, result: BatchResult) -> None:
        """Called about twice a second."""

    def trouble(self, line: str) -> None:
        """Say that an input could not be used."""

    def finished(self, result: BatchResult) -> None:
        """Say that the batch ends."""


class Silent:
    """Says nothing."""

    def found(self, count: int) -> None: ...  # noqa: D102
    def done(self, result: BatchResult) -> None: ...  # noqa: D102
    def tick(self, result: BatchResult) -> None: ...  # noqa: D102
    def trouble(self, line: str) -> None: ...  # noqa: D102
    def finished(self, result: BatchResult) -> None: ...  # noqa: D102


class Log:
    """One line every ten seconds, one per failure."""

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = out or sys.stderr
        self.total = 0
        self.started = self.said = time.monotonic()

    def found(self, count: int) -> None:
        """Count an input."""
        self.total += count

    def done(self, result: BatchResult) -> None:
        """Nothing per input."""

    def tick(self, result: BatchResult) -> None:
        """Print a line when the last one is ten seconds old."""
        now = time.monotonic()
        if now - self.said >= LOG_EVERY_S:
            self.said = now
            print(summary(result, self.total, now - self.started), file=self.out, flush=True)

    def trouble(self, line: str) -> None:
        """Print the line."""
        print(printable(line), file=self.out, flush=True)

    def finished(self, result: BatchResult) -> None:
        """Print the last line."""
        result_seconds = time.monotonic() - self.started
        print(summary(result, self.total, result_seconds), file=self.out, flush=True)
        if result.stopped:
            print(
                f"stopped by {result.stopped}: what is done is stored; the same command goes on",
                file=self.out,
            )


class Bar(Log):
    """A live bar with rate, time left and failures."""

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(), console=Console(stderr=True), transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task("reports", total=None, note="")
        self._bar.start()

    def done(self, result: BatchResult) -> None:
        """Move the bar."""
        rate = result.done / max(time.monotonic() - self.started, 1e-6)
        note = f"{rate:.0f}/s, {result.failed + result.quarantined} failed"
        self._bar.update(self._task, completed=result.done, total=self.total, note=note)

    def tick(self, result: BatchResult) -> None:
        """The bar draws itself."""

    def trouble(self, line: str) -> None:
        """Print above the bar, as plain text."""
        from rich.text import Text

        self._bar.console.print(Text(printable(line)))

    def finished(self, result: BatchResult) -> None:
        """Remove the bar and print the last line."""
        self._bar.stop()
        super().finished(result)


def summary(result: BatchResult, total: int, seconds: float) -> str:
    """Return the one-line state of a batch."""
    parts: list[Any] = [f"{result.done} of {total} inputs", f"{result.done / max(seconds, 1e-6):.0f}/s"]
    for name in ("analysed", "rejudged", "reused", "ignored", "failed", "quarantined"):
        count = getattr(result, name)
        if count:
            parts.append(f"{count} {name}")
    return ", ".join(parts)


def printable(line: str) -> str:
    """Return the line without control characters: names in an archive are untrusted."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
