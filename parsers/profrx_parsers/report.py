"""A `Report`: what one input holds, as facts about the capture (`info`) and lazily decoded Arrow tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from profrx_parsers import schema
from profrx_parsers.errors import UsageError
from profrx_parsers.problems import ProblemLog

if TYPE_CHECKING:
    import pyarrow as pa

    from profrx_parsers.info import ReportInfo as ReportInfo


@dataclass(frozen=True)
class Wanted:
    """What the caller will look at: a reader decodes no more than this (projection).

    Attributes:
        metrics: vendor metric names to decode; None = all of them.
        tables: tables that will be asked for; None = whatever is asked. A hint only: every table stays
            available, an unhinted one may just cost a second pass.
        private: keep environment, command lines, hosts, users and addresses (off by default).
    """

    metrics: frozenset[str] | None = None
    tables: frozenset[str] | None = None
    private: bool = False


EVERYTHING = Wanted()


Loader = Callable[[], "pa.Table"]


class Report:
    """One capture. Tables are decoded on first use and kept.

    Args:
        info: facts about the capture, or a function that decodes them when they are first looked at.
        loaders: table name -> function that decodes it, in the schema's types or smaller ones (see `compact`);
            a table without loader is empty ("not in this input").
        problems: the log that readers write to, also while loading lazily.
        extras: reader-specific objects for profrx's own use (e.g. the section options of an `.ncu-rep`).

    Attributes:
        why: why its reader was chosen, for readers that do not say it in `info`.
    """

    def __init__(
        self,
        info: ReportInfo | Callable[[], ReportInfo],
        loaders: Mapping[str, Loader],
        problems: ProblemLog,
        extras: Mapping[str, Any] | None = None,
    ) -> None:
        unknown = set(loaders) - set(schema.TABLES)
        if unknown:
            raise KeyError(f"no such table: {sorted(unknown)}")
        self.why = ""
        self._info = info
        self.problems = problems
        self.extras = dict(extras or {})
        self._loaders = dict(loaders)
        self._tables: dict[str, pa.Table] = {}

    @property
    def info(self) -> ReportInfo:
        """Facts about the capture."""
        if callable(self._info):
            self._info = self._info()
        self._info.why = self._info.why or self.why
        return self._info

    def table(self, name: str) -> pa.Table:
        """Return a table by name; `problems` reflects everything decoded so far."""
        if name not in schema.TABLES:
            raise UsageError(
                "unknown-table",
                f"no table is called {name!r}",
                next_step="one of: " + ", ".join(schema.TABLES),
            )
        if name == "problems":
            return self.problems.table()
        held = self.compact(name)
        if held.schema != schema.TABLES[name]:
            held = self._tables[name] = held.cast(schema.TABLES[name])
        return held

    def compact(self, name: str) -> pa.Table:
        """Return a table as its reader holds it: the same columns in the same order, in smaller types.

        Text may be dictionary-encoded, integers narrower than the schema says, all-null columns of type null.
        For code that goes over millions of rows; everyone else takes `table`.
        """
        if name not in self._tables:
            loader = self._loaders.get(name)
            self._tables[name] = loader() if loader else schema.empty(name)
        return self._tables[name]

    def release(self, *names: str) -> None:
        """Forget tables that were read, to give their memory back; asked for again, they are read again.

        A reader that keeps parts of its own lets go of them in ``extras["release"]``, a function of the name.
        """
        for name in names:
            self._tables.pop(name, None)
            if "release" in self.extras:
                self.extras["release"](name)

    def has(self, name: str) -> bool:
        """Whether this kind of input can hold the table at all (it may still be empty)."""
        return name == "problems" or name in self._loaders

    def __repr__(self) -> str:
        held = ", ".join(sorted(self._loaders))
        return f"<Report {self.info.format} {self.info.source!r}: {held}>"


def __getattr__(name: str) -> Any:
    """Import the model of `Report.info` on first use only."""
    if name == "ReportInfo":
        from profrx_parsers.info import ReportInfo

        return ReportInfo
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
