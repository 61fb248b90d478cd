"""Columns of Arrow tables as numpy arrays: integers with a mark for null, texts as codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from profrx.timeline.intervals import Bools, Ints

NONE = np.iinfo(np.int64).min
"""Stands for a missing time or id in integer columns."""


@dataclass(frozen=True)
class Names:
    """A text column: codes into `texts`, -1 where null."""

    codes: npt.NDArray[np.integer]
    texts: list[str]

    def hits(self, pattern: str) -> Bools:
        """Return the rows whose text matches an RE2 expression (case ignored)."""
        if not self.texts:
            return np.zeros(len(self.codes), bool)
        found = pc.match_substring_regex(pa.array(self.texts, pa.string()), pattern, ignore_case=True)
        table = np.asarray(found.to_numpy(zero_copy_only=False), bool)
        out: Bools = table[self.codes] & (self.codes >= 0)
        return out

    def take(self, rows: Ints | Bools) -> Names:
        """Return some rows."""
        return Names(self.codes[rows], self.texts)


def ints(table: pa.Table, name: str) -> Ints:
    """Return a column as int64, NONE where null."""
    column = table.column(name)
    if column.null_count == len(column):
        return np.full(len(column), NONE, np.int64)
    column = column.cast(pa.int64())
    return np.ascontiguousarray(column.fill_null(NONE).to_numpy() if column.null_count else column.to_numpy())


def names(table: pa.Table, name: str) -> Names:
    """Return a text column as codes."""
    column = table.column(name)
    if column.null_count == len(column):
        return Names(np.full(len(column), -1, np.int64), [])
    held = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    chunks = [chunk for chunk in held.chunks if len(chunk)] if isinstance(held, pa.ChunkedArray) else [held]
    parts = [Names(c.indices.fill_null(-1).to_numpy(), c.dictionary.to_pylist()) for c in chunks]
    return parts[0] if len(parts) == 1 else join_names(parts)


def join_names(parts: Sequence[Names]) -> Names:
    """Put text columns below each other."""
    texts: dict[str, int] = {}
    codes = []
    for part in parts:
        place = np.array([*(texts.setdefault(t, len(texts)) for t in part.texts), -1], np.int32)
        codes.append(place[part.codes])
    return Names(np.concatenate(codes), list(texts))
