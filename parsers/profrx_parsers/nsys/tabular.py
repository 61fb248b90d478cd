"""What the exported forms share: strings by id, and tables that exist only when they have rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from profrx_parsers.nsys.raw import Frame, Strings

MAX_FILES = 100_000


class TabularTables:
    """Base of raw tables that lie in the file as tables; a form implements `names` and `read`."""

    def names(self) -> frozenset[str]:
        """Return the tables of the export."""
        raise NotImplementedError

    def read(self, name: str, columns: Sequence[str]) -> pa.Table | None:
        """Read those of `columns` that exist; None when the table or all of them are missing."""
        raise NotImplementedError

    def table(self, name: str, columns: Sequence[str]) -> pa.Table | None:
        """Return a raw table; see `RawTables`."""
        return self.read(name, columns)

    def strings(self) -> Strings:
        """Return the string block."""
        return self._strings

    @cached_property
    def _strings(self) -> Strings:
        table = self.read("StringIds", ("id", "value"))
        if table is None or "id" not in table.column_names or "value" not in table.column_names:
            return Strings(np.array([], np.int64), pa.array([], pa.string()))
        ids = Frame(table).ints("id")
        texts = table.column("value").cast(pa.string()).combine_chunks()
        order = np.argsort(ids, kind="stable")
        if (order != np.arange(len(order))).any():
            ids, texts = ids[order], texts.take(pa.array(order))
        files = Frame(self.read("ProcessStreams", ("filenameId", "contentId")))
        hidden = np.concatenate([files.ints("filenameId", -1), files.ints("contentId", -1)])
        return Strings(ids, texts, hidden[:MAX_FILES].tolist())
