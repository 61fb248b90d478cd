"""Whole archives: walk, analyse in parallel, keep in one SQLite file, ask questions of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from profrx.archive.run import BatchResult, batch
    from profrx.archive.store import Archive

_WHERE = {"Archive": "store", "BatchResult": "run", "batch": "run"}

__all__ = ["Archive", "BatchResult", "batch"]


def __getattr__(name: str) -> Any:
    """Import the heavy modules on first use only."""
    if name in _WHERE:
        import importlib

        return getattr(importlib.import_module(f"profrx.archive.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
