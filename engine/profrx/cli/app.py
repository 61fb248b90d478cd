"""The root command: verbs, version, log level, and the one place where errors become a line and an exit code."""

from __future__ import annotations

import logging
import os
import sys
from typing import NoReturn

import click

from profrx import __version__
from profrx.cli.exits import Exit
from profrx.cli.lazy import LazyGroup

VERBS = {
    "diagnose": (
        "profrx.cli.diagnose:diagnose",
        "Rank what to fix, with evidence and the time it would save.",
    ),
    "inspect": ("profrx.cli.inspect:inspect", "Say what a file is, what it holds and what it lacks."),
    "tables": ("profrx.cli.tables:tables", "Write one normalised table: text, csv, json, parquet or arrow."),
    "explain": ("profrx.cli.explain:explain", "Say why a rule fired, did not fire, or could not tell."),
    "rules": ("profrx.cli.rules:rules", "List, show, check, test, format and document rules."),
    "batch": ("profrx.cli.batch:batch", "Analyse a whole archive of reports, in parallel, resumable."),
    "archive": ("profrx.cli.archive:archive", "Ask an archive: report, query, search, trend, export."),
}
"""Every verb that works, in the order of a first session."""


class Said(logging.Handler):
    """Writes the log as lines on standard error, as everything else that is told."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        say(f"{record.levelname.lower()}: {record.getMessage()}")


@click.command(cls=LazyGroup, verbs=VERBS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="profrx", message="%(prog)s %(version)s")
@click.option("-v", "--verbose", count=True, help="Log more to standard error (-vv: everything).")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notes on standard error, errors only.")
@click.pass_context
def root(ctx: click.Context, verbose: int, quiet: bool) -> None:
    """Profile in, prescription out.

    Reads archived GPU profiler reports without vendor software and says what to fix first, and why.

    Exit codes: 0 clean, 1 findings at or above --fail-on, 2 usage, 3 some input unreadable, 4 nothing to analyse.
    """
    ctx.obj = {"quiet": quiet}
    level = logging.ERROR if quiet else (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    for name in ("profrx", "profrx_parsers"):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        if not logger.handlers:
            logger.addHandler(Said())


def run(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit. Bad input ends in one line on standard error, never in a traceback."""
    sys.exit(_run(arguments))


def _run(arguments: list[str] | None) -> int:
    from profrx_parsers.errors import InputError, ProfrxError

    try:
        code = root.main(args=arguments, prog_name="profrx", standalone_mode=False)
        sys.stdout.flush()
        return int(code or 0)
    except click.exceptions.Abort:
        return Exit.INTERRUPTED
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except click.ClickException as err:
        err.show()
        return Exit.USAGE
    except BrokenPipeError:
        _silence_stdout()
        return Exit.CLEAN
    except ProfrxError as err:
        complain(err)
        return Exit.UNREADABLE if isinstance(err, InputError) else Exit.USAGE
    except OSError as err:
        where = f"{err.filename}: " if err.filename else ""
        say(f"error: {where}{err.strerror or err} [output-unwritable] (name another place with -o)")
        return Exit.USAGE
    except Exception as err:
        if os.environ.get("PROFRX_TRACEBACK"):
            raise
        say(
            f"error: {type(err).__name__}: {err} [internal] (a defect of profrx: run again with "
            "PROFRX_TRACEBACK=1 and report what it prints)"
        )
        return Exit.INTERNAL


def complain(err: Exception) -> None:
    """Write one error as one line on standard error."""
    say(f"error: {err}")


def say(line: str) -> None:
    """Write one line to standard error, with control characters of untrusted names made visible."""
    from profrx.escape import clean

    click.echo(clean(line), err=True)


def _silence_stdout() -> None:
    """Keep Python from complaining about the broken pipe again while it shuts down."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
