"""profrx: profile in, prescription out.

Every verb of the command line is a function of the same name here:

>>> import profrx
>>> profrx.__version__
'0.1.0'

`diagnose` returns `profrx.Findings`, `inspect` a `profrx.Inspection`, `tables` an Arrow table. Names are imported on first use,
so that ``import profrx`` costs nothing.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from profrx.archive.run import BatchResult as BatchResult
    from profrx.archive.run import batch as batch
    from profrx.archive.store import Archive as Archive
    from profrx.diagnose import diagnose as diagnose
    from profrx.evaluate.explain import explain as explain
    from profrx.inspection import Inspection as Inspection
    from profrx.inspection import inspect as inspect
    from profrx.report.formats import render as render
    from profrx.report.model import Findings as Findings
    from profrx.summary.metric import explain_metric as explain_metric
    from profrx.suppress import suppress as suppress
    from profrx.tabulate import tables as tables
    from profrx_parsers.errors import InputError as InputError
    from profrx_parsers.errors import ProfrxError as ProfrxError
    from profrx_parsers.errors import RuleError as RuleError
    from profrx_parsers.errors import UsageError as UsageError
    from profrx_parsers.registry import open_report as open_report
    from profrx_parsers.report import Report as Report

_WHERE = {
    "Archive": "profrx.archive.store",
    "batch": "profrx.archive.run",
    "BatchResult": "profrx.archive.run",
    "diagnose": "profrx.diagnose",
    "explain": "profrx.evaluate.explain",
    "explain_metric": "profrx.summary.metric",
    "Inspection": "profrx.inspection",
    "inspect": "profrx.inspection",
    "render": "profrx.report.formats",
    "Findings": "profrx.report.model",
    "suppress": "profrx.suppress",
    "tables": "profrx.tabulate",
    "InputError": "profrx_parsers.errors",
    "ProfrxError": "profrx_parsers.errors",
    "RuleError": "profrx_parsers.errors",
    "UsageError": "profrx_parsers.errors",
    "open_report": "profrx_parsers.registry",
    "Report": "profrx_parsers.report",
}

__all__ = ["__version__", *_WHERE]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        import importlib

        value = getattr(importlib.import_module(_WHERE[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """Keeps ``profrx.diagnose`` the function: importing the module of that name would put itself in its place."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _WHERE and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
