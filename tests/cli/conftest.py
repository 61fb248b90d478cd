"""Running the command line: in this process, with its own streams (most tests), or as a process of its own."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass
class Ran:
    """What a run gave."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


def stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")


def content(of: io.TextIOWrapper) -> str:
    of.flush()
    assert isinstance(of.buffer, io.BytesIO)
    return of.buffer.getvalue().decode("utf-8", "backslashreplace")


@pytest.fixture(scope="session")
def profrx() -> Run:
    from profrx.cli.app import run

    def call(*arguments: str | Path) -> Ran:
        out, err = stream(), stream()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as stop,
        ):
            run([str(word) for word in arguments])
        return Ran(int(stop.value.code or 0), content(out), content(err))

    return call


@pytest.fixture(scope="session")
def report(fixtures: Path) -> Path:
    """A small real report with one planted bottleneck."""
    return fixtures / "ncu" / "strided-load" / "report.ncu-repz"


@pytest.fixture(scope="session", autouse=True)
def one_default_pack() -> Iterator[None]:
    """Load the default pack once for all runs in this process; a process of a user's own loads it once, too."""
    from profrx.language import pack

    kept: dict[tuple[str, ...], object] = {}
    load = pack.load_pack

    def once(paths: Iterable[str | Path] = (), **how: object) -> object:
        given = tuple(map(str, paths))
        if given or how:
            return load(given, **how)  # type: ignore[arg-type]
        if () not in kept:
            kept[()] = load()
        return kept[()]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pack, "load_pack", once)
        yield
