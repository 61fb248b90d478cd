"""Several inputs of one call: one that cannot be read is told to standard error, the others go on."""

from __future__ import annotations

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
    from profrx_parsers.errors import InputError

    results: list[Result] = []
    failed: list[InputError] = []
    with steps(len(paths), quiet=quiet) as step:
        for path in paths:
            step(path)
            try:
                results.append(work(path))
            except InputError as err:
                failed.append(err)
                complain(err)
    return results, failed
