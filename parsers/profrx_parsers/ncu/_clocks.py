"""Clock lock and driver facts that single results carry."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profrx_parsers.ncu._results import Result


def summary(results: Sequence[Result]) -> str | None:
    """Return ``locked``, ``unlocked`` or ``mixed``; None when no result says."""
    said = {result.locked for result in results if result.locked is not None}
    if not said:
        return None
    return "mixed" if len(said) == 2 else "locked" if said == {True} else "unlocked"


def driver(results: Sequence[Result]) -> str | None:
    """Return the driver version that results store as a 32-bit float.

    The float holds the first two parts of the version (``580.159`` of 580.159.04): the fewest decimals that give the
    same float, at least two, are those parts.
    """
    for result in results:
        bits = result.integer("driver")
        if bits is not None and bits < 1 << 32:
            version = struct.unpack("<f", bits.to_bytes(4, "little"))[0]
            if 100 <= version < 10_000:
                return next(
                    text for places in range(2, 8) if _float32(text := f"{version:.{places}f}") == version
                )
    return None


def _float32(text: str) -> float:
    """Return the 32-bit float nearest to a decimal."""
    value: float = struct.unpack("<f", struct.pack("<f", float(text)))[0]
    return value
