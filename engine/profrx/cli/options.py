"""Options that several verbs share, so that they read and behave the same everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from profrx_parsers.errors import InputError, RuleError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from profrx.cli.progress import Step
    from profrx.language.pack import Pack

Verb = TypeVar("Verb", bound="Callable[..., Any]")

INPUT = click.Path(readable=False)
"""An input that may not be read is told when its turn comes: it must not cost the other inputs their analysis."""
PATHS = click.argument("paths", nargs=-1, required=True, type=INPUT)
PATH = click.argument("path", type=INPUT)
OUTPUT = click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Write here; the suffix decides the format."
)
PACKS = click.option(
    "--pack",
    "packs",
    multiple=True,
    metavar="PACK",
    help="Rules on top of the default pack: a folder or a .rule file; repeatable.",
)
PARAMS = click.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a rule's parameter, e.g. speed-of-light.high='65 %'; repeatable.",
)
KERNEL = click.option("--kernel", metavar="GLOB", help="Only kernels whose full or short name matches.")
PRIVATE = click.option(
    "--private",
    is_flag=True,
    help="Keep command lines, hosts, users, addresses, environment and source text.",
)


def format_option(*names: str) -> Callable[[Verb], Verb]:
    """Return the ``--format`` option of a verb; without it the suffix of ``-o`` or the first name decides."""
    return click.option(
        "--format", "format_", type=click.Choice(names), help=f"Output format; default {names[0]}."
    )


def parse_params(given: tuple[str, ...]) -> dict[str, str]:
    """Split ``name=value`` pairs. Raises `UsageError` for anything else."""
    found: dict[str, str] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise UsageError(
                "usage-param",
                f"--param {pair!r} is not NAME=VALUE",
                next_step="e.g. --param speed-of-light.high='65 %'; `profrx rules show RULE` lists parameters",
            )
        found[name.strip()] = value.strip()
    return found


def no_such_kernel(source: str, glob: str) -> None:
    """Say on standard error that ``--kernel`` left nothing of an input."""
    from profrx.cli.app import complain

    complain(
        InputError(
            "kernel-unmatched",
            f"no kernel matches {glob!r}",
            where=source,
            next_step="the glob must match the whole name, e.g. '*gemm*'; "
            "`profrx tables FILE --table launches --columns kernel` lists the names",
        )
    )


def load_packs(given: tuple[str, ...], tests: bool = False) -> Pack:
    """Return the default pack with the given ones on top; with inline `tests` only where they are shown.

    Raises:
        RuleError: a given pack cannot be found or holds mistakes; each mistake is told to standard error first.
    """
    from profrx.cli.app import say
    from profrx.language.pack import PackError, load_pack

    try:
        pack = load_pack(given, tests=tests)
    except PackError as err:
        raise RuleError(err.code, str(err), next_step="give a .rule file or a folder of them") from err
    errors = [one for one in pack.diagnostics if one.severity == "error"]
    if errors and given:
        for one in errors:
            say(str(one))
        raise RuleError(
            "pack-errors",
            f"{len(errors)} {'mistake' if len(errors) == 1 else 'mistakes'} in the rules",
            next_step=f"`profrx rules check {given[0]}` shows how to repair them",
        )
    return pack


def watched(paths: tuple[str, ...], step: Step) -> Iterator[str]:
    """Yield the paths and tell `step` about each before it is worked on."""
    for path in paths:
        step(path)
        yield path
