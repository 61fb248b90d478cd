"""Kernel names as AMD's tools write them: the same kernel with and without its descriptor suffix."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

_SUFFIX = r"(?:\s*\[clone \.kd\]|\s*\(\.kd\)|\.kd)\s*$"


def clean(names: pa.Array) -> pa.Array:
    """Strip `` [clone .kd]``, `` (.kd)`` and ``.kd``: files of one workload differ in nothing else."""
    encoded = pc.dictionary_encode(names)
    words = pc.utf8_trim(pc.utf8_trim_whitespace(encoded.dictionary), '"')
    words = pc.replace_substring_regex(words, _SUFFIX, "")
    return words.take(encoded.indices)


def shorten(name: str) -> str:
    """Return the bare function name: no return type, arguments, template arguments or namespaces."""
    text = name.strip()
    if not text or ("(" not in text and "<" not in text):
        return text
    depth, end = 0, len(text)
    for at, char in enumerate(text):
        if char == "<":
            depth += 1
        elif char == ">" and depth:
            depth -= 1
        elif char == "(" and not depth and not text.startswith("(anonymous namespace)", at):
            end = at
            break
    text = text[:end]
    out = []
    for char in text:
        if char == "<":
            depth += 1
        elif char == ">" and depth:
            depth -= 1
        elif not depth:
            out.append(char)
    bare = "".join(out).rstrip().rsplit(" ", 1)[-1].rsplit("::", 1)[-1]
    return bare or name


def canonical(name: str) -> str:
    """Return the kernel id that is equal over tools: the full name without blanks, suffix and parameter list noise."""
    return re.sub(r"\s+", "", name)
