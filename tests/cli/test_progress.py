"""Progress: on a terminal only, on standard error only."""

from __future__ import annotations

import io

import pytest

from profrx.cli.progress import steps


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(total: int, *, quiet: bool = False) -> None:
    with steps(total, quiet=quiet) as step:
        for number in range(total):
            step(f"report-{number}\x1b[31m.ncu-rep")


def test_a_pipe_sees_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    run(5)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("total", "quiet", "shown"), [(5, False, True), (1, False, False), (5, True, False)])
def test_a_terminal_sees_the_input_now_worked_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], total: int, quiet: bool, shown: bool
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    run(total, quiet=quiet)
    assert ("report-4" in terminal.getvalue()) is shown
    assert "report-4\x1b[31m" not in terminal.getvalue()
    assert capsys.readouterr().out == ""
