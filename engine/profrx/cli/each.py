"""Several inputs of one call: one that cannot be read is told to standard error, the others go on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

from profrx.cli.progress import steps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from profrx_parsers.errors import InputError

Result = TypeVar("Result")


def each(
    paths: Sequence[str], work: Callable[[str], Result], *, quiet: bool
) -> tuple[list[Result], list[InputError]]:
    """Apply `work` to every path; return the results and the errors of unreadable inputs."""
    from profrx.cli.app import complain
    from profrx_parsers.errors import InputError, ProfrxError

    results: list[Result] = []
    failed: list[InputError] = []
    with steps(len(paths), quiet=quiet) as step:
        for path in paths:
            step(path)
            try:
                results.append(work(path))
            except InputError as err:
                failed.append(err)
            except ProfrxError:
                raise
            except Exception as err:
                # one input must never cost the others their result; the defect is named, not hidden
                if os.environ.get("PROFRX_TRACEBACK"):
                    raise
                failed.append(defect(path, err))
            else:
                continue
            complain(failed[-1])
    return results, failed


def defect(source: str, err: Exception) -> InputError:
    """Return the error that names a defect of profrx itself, met on one input."""
    from profrx_parsers.errors import InputError

    return InputError(
        "internal-defect",
        f"profrx failed on this input: {type(err).__name__}: {str(err)[:200]}",
        where=source,
        next_step="set PROFRX_TRACEBACK=1 and report what it prints, with the output of `profrx inspect`",
    )
