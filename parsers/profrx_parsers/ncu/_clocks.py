"""Clock lock and driver facts that single results carry."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from profrx_parsers.wire import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profrx_parsers.ncu._results import Result


def lock_states(data: memoryview, results: Sequence[Result]) -> list[bool | None]:
    """Return whether the clocks were locked, per result; None where it is not recorded."""
    states: list[bool | None] = []
    for result in results:
        spans = result.spans("clock")
        executed = Message(data, spans[-1]).integer(2) if spans else None
        states.append(None if executed is None else bool(executed))
    return states


def summary(states: Sequence[bool | None]) -> str | None:
    """Return ``locked``, ``unlocked`` or ``mixed``; None when no result says."""
    said = {state for state in states if state is not None}
    if not said:
        return None
    return "mixed" if len(said) == 2 else "locked" if said == {True} else "unlocked"


def driver(results: Sequence[Result]) -> str | None:
    """Return the driver version that results store as a 32-bit float (``570.12`` loses trailing digits)."""
    for result in results:
        bits = result.integer("driver")
        if bits is not None and bits < 1 << 32:
            version = struct.unpack("<f", bits.to_bytes(4, "little"))[0]
            if 100 <= version < 10_000:
                return f"{version:.2f}"
    return None
