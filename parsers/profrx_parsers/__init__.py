"""Readers: a profiler's file in, Arrow tables out. Knows nothing of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from profrx_parsers.info import ReportInfo
    from profrx_parsers.registry import detect, open_report
    from profrx_parsers.report import Report, Wanted

_WHERE = {
    "open_report": "registry",
    "detect": "registry",
    "Report": "report",
    "ReportInfo": "info",
    "Wanted": "report",
}

__all__ = ["Report", "ReportInfo", "Wanted", "detect", "open_report"]


def __getattr__(name: str) -> Any:
    """Import the heavy modules on first use only."""
    if name in _WHERE:
        import importlib

        return getattr(importlib.import_module(f"profrx_parsers.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
