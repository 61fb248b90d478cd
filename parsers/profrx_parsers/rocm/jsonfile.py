"""JSON inputs: decoded with msgspec, and salvaged record by record when the file is cut."""

from __future__ import annotations

import json
from typing import Any

from profrx_parsers.errors import InputError
from profrx_parsers.problems import ProblemLog
from profrx_parsers.source import Source

MAX_SALVAGE_BYTES = 512 << 20


def records(source: Source, key: bytes, log: ProblemLog) -> tuple[list[Any], dict[str, Any]]:
    """Return the list under `key` of the root object, and the other members of the root.

    A cut or damaged file yields the complete records before the damage; a fragment that starts in the middle of the
    list yields its records. Raises `InputError` when no record can be read.
    """
    import msgspec

    data = bytes(source.data())
    try:
        root = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as err:
        found = salvage(data, key)
        if not found:
            raise InputError(
                "input-damaged-json",
                f"this is no complete JSON: {str(err)[:120]}",
                where=source.name,
                next_step="copy the file again or export it again",
            ) from err
        log.add(
            "data-loss",
            "json-cut",
            f"the file is damaged or incomplete; {len(found):,} whole records of it are used",
            where=source.name,
            advice="the run was killed or the copy failed: export or copy it again",
        )
        return found, {}
    if not isinstance(root, dict):
        return (root if isinstance(root, list) else []), {}
    body = root.pop(key.decode(), [])
    return (body if isinstance(body, list) else []), root


def salvage(data: bytes, key: bytes) -> list[Any]:
    """Decode whole JSON objects one after the other from where the list begins (or from the first one)."""
    text = data[:MAX_SALVAGE_BYTES].decode("utf-8", "replace")
    start = text.find(f'"{key.decode()}"')
    at = text.find("{", start + 1) if start >= 0 else text.find("{")
    decoder = json.JSONDecoder()
    found: list[Any] = []
    while at >= 0:
        try:
            record, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        found.append(record)
        gap = text[end : end + 64].lstrip()
        if not gap.startswith(","):
            break
        at = text.find("{", end)
    return found
