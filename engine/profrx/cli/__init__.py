"""The command line: thin verbs over the functions of the same name in `profrx`.

Results go to standard output, all else to standard error. Exit codes: see `profrx.cli.exits`.
"""

from __future__ import annotations


def main() -> None:
    """Entry point of the ``profrx`` command."""
    from profrx.cli.app import run

    run()
