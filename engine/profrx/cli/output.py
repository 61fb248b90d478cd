"""Where a result goes: standard output, or a file whose suffix decides the format.

A file is opened only when the result is complete, so a failed run leaves no empty file behind.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from profrx_parsers.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping


def choose(
    format_: str | None, output: str | None, suffixes: Mapping[str, tuple[str, ...]], default: str
) -> str:
    """Return the format: as asked, else by the suffix of `output`, else the default.

    `suffixes` maps a format to its suffixes. Raises `UsageError` for a suffix that no format has.
    """
    if format_:
        return format_
    if not output or output == "-":
        return default
    name = Path(output).name.lower()
    for known, endings in suffixes.items():
        if name.endswith(endings):
            return known
    listed = ", ".join(ending for endings in suffixes.values() for ending in endings)
    raise UsageError(
        "usage-suffix",
        f"the suffix of {output!r} names no format",
        next_step=f"use one of {listed}, or add --format",
    )


def emit(result: str | bytes, output: str | None) -> None:
    """Write a complete result. Bytes are refused on a terminal."""
    if output and output != "-":
        target = Path(output)
        if isinstance(result, bytes):
            target.write_bytes(result)
        else:
            target.write_text(result if result.endswith("\n") else result + "\n", encoding="utf-8")
        return
    if isinstance(result, bytes):
        if sys.stdout.isatty():
            raise UsageError(
                "usage-binary",
                "this format is binary",
                next_step="name a file with -o, or redirect the output",
            )
        sys.stdout.buffer.write(result)
        sys.stdout.buffer.flush()
        return
    text = result if result.endswith("\n") else result + "\n"
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()
