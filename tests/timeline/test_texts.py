"""Text columns as codes."""

from __future__ import annotations

import pyarrow as pa

from profrx.timeline.texts import names


def test_parts_with_small_codes_are_joined_whatever_they_hold_together() -> None:
    """Two parts of 100 texts each fit a byte of code, the 200 of both do not."""
    texts = [[f"{part}{i}" for i in range(100)] for part in "ab"]
    codes = pa.array(range(100), pa.int8())
    parts = [pa.DictionaryArray.from_arrays(codes, pa.array(some)) for some in texts]
    found = names(pa.table({"t": pa.chunked_array(parts)}), "t")
    assert [found.texts[code] for code in found.codes.tolist()] == texts[0] + texts[1]
