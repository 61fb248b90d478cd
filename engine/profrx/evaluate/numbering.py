"""Numbering the distinct values of columns, by hashing: no sort, first appearance first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa


def group_rows(keys: Sequence[Any]) -> tuple[Any, Any]:
    """Number the distinct combinations of some columns by first appearance.

    Returns:
        the group of each row, and the first row of each group (int64 numpy arrays). Null is a value of its own.
    """
    codes = np.zeros(len(keys[0]), dtype=np.int64)
    if codes.size == 1:
        return codes, codes.copy()
    for at, key in enumerate(keys):
        column = key.combine_chunks() if isinstance(key, pa.ChunkedArray) else key
        part = _dense(column)
        codes = part if at == 0 else _dense(pa.array(codes * (int(part.max(initial=0)) + 1) + part))
    # hashing numbers values by first appearance: writing backwards leaves the first row of each
    first = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(codes.size - 1, -1, -1)
    return codes, first


def _dense(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    encoded = column.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
