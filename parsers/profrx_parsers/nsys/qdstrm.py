"""Refuses `.qdstrm`, the raw stream that nsys writes before its own import, and says how to import it."""

from __future__ import annotations

from profrx_parsers.errors import InputError
from profrx_parsers.report import EVERYTHING, Report, Wanted
from profrx_parsers.source import Source


def read(source: Source, wanted: Wanted = EVERYTHING) -> Report:
    """Raise `InputError`: a stream holds no index and no strings until it has been imported."""
    raise InputError(
        "nsys-qdstrm",
        "a .qdstrm is the raw stream of a capture that was never imported",
        where=source.name,
        next_step="import it with the nsys that recorded it: QdstrmImporter --input-file FILE.qdstrm, then give the .nsys-rep",
    )
