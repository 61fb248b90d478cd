"""Kernel names as AMD's tools write them: the same kernel with and without its descriptor suffix."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_SUFFIX = r"(?:\s*\[clone \.kd\]|\s*\(\.kd\)|\.kd)\s*$"


NAME = pa.dictionary(pa.int32(), pa.string())
"""Kernel names repeat, and reach thousands of characters: they are kept once each."""


def clean(names: pa.Array) -> pa.Array:
    """Strip `` [clone .kd]``, `` (.kd)`` and ``.kd``: files of one workload differ in nothing else.

    Takes strings, encoded or not; returns them dictionary-encoded, each name once.
    """
    encoded = pc.dictionary_encode(names)
    words = pc.utf8_trim(pc.utf8_trim_whitespace(encoded.dictionary), '"')
    words = pc.dictionary_encode(pc.replace_substring_regex(words, _SUFFIX, ""))
    return pa.DictionaryArray.from_arrays(words.indices.take(encoded.indices), words.dictionary).cast(NAME)
