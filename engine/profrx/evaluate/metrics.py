"""The metric catalogue applied to a frame: logical name -> one column in base units, null = unknown.

This is what rules, the one-page summary and the roofline read::

    metrics = Metrics(pack, frame)
    metrics.column("sm.throughput")     # float64, a ratio; null where it cannot be known
    metrics.reason("sm.throughput", 3)  # why row 3 is unknown, with the vendor names that were tried

Per subject, the first source of the frame's tool whose architecture and version match and whose vendor name
is present supplies the value; NaN, values outside the metric's `valid` range and metrics that a guard blocks
are unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx.evaluate import operators
from profrx.evaluate.arch import version_within
from profrx.evaluate.operators import UNKNOWN, Value, finite
from profrx.evaluate.params import constant, within_arch
from profrx.evaluate.quantity import ONE, rescale, scale_from, scale_of
from profrx.language import ast
from profrx_parsers.errors import RuleError

if TYPE_CHECKING:
    from fractions import Fraction

    from profrx.evaluate.compile import Evaluator
    from profrx.evaluate.frame import Frame, Members

COMMON_SOURCES = frozenset({"launch", "device", "timeline", "capture"})
"""Sources that are columns of normalised tables and so belong to every tool."""

_TOLERANCE = 1e-9
"""Relative slack at the ends of a `valid` range: a sum of shares may reach 100.00000001 %."""


class Catalogue(Protocol):
    """The part of a pack that this module reads."""

    @property
    def metrics(self) -> Mapping[str, ast.Metric]:
        """Logical metrics by name."""


@dataclass(frozen=True)
class Reason:
    """Why a value is unknown.

    Attributes:
        kind: ``missing``, ``nan``, ``invalid``, ``blocked``, ``no source`` (for this tool, architecture or
            version), ``scope`` (the value belongs to a narrower scope), ``not computable`` (a formula divides
            by zero or reads an unknown metric).
        text: one line for a reader.
        tried: vendor names or columns looked for, in order.
    """

    kind: str
    text: str
    tried: tuple[str, ...] = ()


class Metrics:
    """Columns of logical metrics over one frame.

    Args:
        pack: the catalogue.
        frame: the subjects.
        given: columns that replace the catalogue's where their mask holds (tests): name -> (column, mask).
        family: the metrics of linked frames, shared by them; kept by the engine.

    Attributes:
        blocked: metric -> (mask of the rows where a guard forbids it, the guard's name).
    """

    def __init__(
        self,
        pack: Catalogue,
        frame: Frame,
        *,
        given: Mapping[str, tuple[Any, Any]] | None = None,
        family: dict[int, Metrics] | None = None,
    ) -> None:
        self.pack = pack
        self.frame = frame
        self.given = given or {}
        self.blocked: dict[str, tuple[Any, str]] = {}
        self._family = family if family is not None else {}
        self._family[id(frame)] = self
        self._kept: dict[str, Value] = {}
        self._stored: dict[str, Any] = {}
        self._unknowns: dict[pa.DataType, Value] = {}
        self._reasons: dict[tuple[str, int], Reason] = {}
        self._resolving: set[str] = set()
        self._formula_columns: dict[int, Any] = {}
        self._held: dict[tuple[Any, Any], Any | None] = {}
        self._whole: tuple[Metrics, pa.Array] | None = None
        self._formulas: Evaluator | None = None

    # --- columns -----------------------------------------------------------------------------------------

    def column(self, name: str) -> Any:
        """Return a metric's column: float64 in base units, or dictionary-encoded text. Null = unknown.

        Raises `KeyError` for a name that is not in the catalogue.
        """
        kept = self._kept.get(name)
        if kept is None and self._whole is not None and name in self._whole[0]._kept:
            kept = self._kept[name] = self._whole[0]._kept[name].take(self._whole[1])
        if kept is None:
            value = self._usable(name)
            if isinstance(value, pa.Scalar) and not value.is_valid:
                kept = self._unknown(value.type)
            else:
                kept = operators.spread(value, self.frame.rows)
            self._kept[name] = kept
        return kept

    def _unknown(self, kind: pa.DataType) -> Value:
        """Return an all-null column, one for all metrics: a timeline has launches by the million, counters none."""
        if kind not in self._unknowns:
            self._unknowns[kind] = pa.nulls(self.frame.rows, kind)
        return self._unknowns[kind]

    def some(self, frame: Frame, rows: Any) -> Metrics:
        """Return the metrics of some rows (`frame`, taken from this one's), columns known here not resolved again."""
        at = pa.array(rows)
        given = {name: (values.take(at), mask.take(at)) for name, (values, mask) in self.given.items()}
        part = Metrics(self.pack, frame, given=given, family=dict(self._family))
        part.blocked = {name: (mask[rows], guard) for name, (mask, guard) in self.blocked.items()}
        part._whole = (self, at)
        return part

    def block(self, name: str, rows: Any, guard: str) -> None:
        """Make a metric unknown on some rows, because a guard forbids conclusions from it."""
        if name in self.blocked:
            rows, guard = rows | self.blocked[name][0], self.blocked[name][1]
        self.blocked[name] = (rows, guard)
        self._kept.clear()
        self._reasons.clear()

    def release(self, name: str) -> None:
        """Forget a column; it is resolved again when asked for."""
        self._kept.pop(name, None)
        self._reasons.clear()

    def _usable(self, name: str) -> Value:
        metric = self.pack.metrics[name]
        column = self._valid(metric, self.before_valid(metric))
        if name in self.blocked:
            mask = pa.array(self.blocked[name][0])
            column = operators.plain(column)
            column = pc.if_else(mask, pa.scalar(None, column.type), column)
        return column

    def before_valid(self, metric: ast.Metric) -> Any:
        """Return a column before `valid` and guards; NaN is null already."""
        if metric.name in self._resolving:
            raise RuleError(
                "metric-cycle",
                f"the formula of metric {metric.name} depends on itself",
                where=_place(metric),
                next_step="break the cycle in the `source … =` formulas",
            )
        self._resolving.add(metric.name)
        try:
            column = self._elsewhere(metric)
            if column is None:
                column = self._supplied(metric)
        finally:
            self._resolving.discard(metric.name)
        if metric.name in self.given:
            values, mask = self.given[metric.name]
            column = pc.if_else(mask, operators.plain(values), operators.plain(column))
        return column

    def stored_of(self, metric: ast.Metric) -> Any:
        """Return `before_valid` as an array, kept for frames of a few rows: reasons ask for it row by row."""
        kept = self._stored.get(metric.name)
        if kept is None:
            kept = operators.spread(self.before_valid(metric), self.frame.rows)
            if self.frame.rows <= operators.SMALL:
                self._stored[metric.name] = kept
        return kept

    def _supplied(self, metric: ast.Metric) -> Value:
        column: Value | None = None
        for source in self.sources(metric):
            found = self._from_source(metric, source)
            if found is None:
                continue
            mask = self.holds(source)
            if mask is not None:
                found = pc.if_else(mask, operators.plain(found), pa.scalar(None, operators.plain(found).type))
            column = found if column is None else operators.default(column, found)
            if not isinstance(column, pa.Scalar) and column.null_count == 0:
                break
        if column is None:
            return pa.scalar(None, pa.string() if metric.kind == "text" else pa.float64())
        if metric.kind == "text":
            texts = operators.spread(column, self.frame.rows)
            if not operators.is_text(texts):
                texts = texts.cast(pa.string())
            return texts.dictionary_encode() if pa.types.is_string(texts.type) else texts
        if not pa.types.is_floating(column.type):
            return column if operators.is_bool(column) else operators.numbers_of_text(column)
        return finite(column)

    def _valid(self, metric: ast.Metric, column: Value) -> Value:
        if metric.valid is None or not pa.types.is_floating(column.type):
            return column
        low, high = bounds(metric)
        if isinstance(column, pa.Scalar):
            value = column.as_py()
            return column if value is None or low <= value <= high else UNKNOWN
        outside = operators.outside(column, low, high)
        return pc.if_else(operators.from_tristate(outside), UNKNOWN, column) if outside.any() else column

    # --- sources -----------------------------------------------------------------------------------------

    def sources(self, metric: ast.Metric) -> list[ast.MetricSource]:
        """Return the sources that this frame's tool or a normalised table could supply, in order."""
        return [s for s in metric.sources if s.tool == self.frame.tool or s.tool in COMMON_SOURCES]

    def holds(self, source: ast.MetricSource) -> Any | None:
        """Mask of the rows whose architecture and tool version a source is for; None = every row."""
        if source.arch is None and source.version is None:
            return None
        key = (source.arch, source.version)
        if key not in self._held:
            self._held[key] = self._span_mask(source)
        return self._held[key]

    def _span_mask(self, source: ast.MetricSource) -> Any | None:
        mask: Any = None
        if source.arch is not None:
            arch = self.frame.column("arch").to_numpy(zero_copy_only=False)
            mask = within_arch(arch, " .. ".join(source.arch))
        if source.version is not None:
            encoded = self.frame.column("tool_version").dictionary_encode(null_encoding="encode")
            hits = [version_within(v, *source.version) for v in encoded.dictionary.to_pylist()]
            held = np.asarray(hits, dtype=bool)[encoded.indices.to_numpy(zero_copy_only=False)]
            mask = held if mask is None else mask & held
        return None if mask is None or mask.all() else pa.array(mask)

    def could_hold(self, metric: ast.Metric) -> Any:
        """Mask of the rows that some source of a metric is for, or may be where the report does not tell."""
        if metric.name in self.given or metric.scope != self.frame.scope:
            return np.ones(self.frame.rows, dtype=bool)
        found = np.zeros(self.frame.rows, dtype=bool)
        for source in self.sources(metric):
            mask = self.holds(source)
            if mask is None:
                return np.ones(self.frame.rows, dtype=bool)
            found |= mask.to_numpy(zero_copy_only=False)
        for name in ("arch", "tool_version"):
            found |= self.frame.column(name).is_null().to_numpy(zero_copy_only=False) & bool(
                self.sources(metric)
            )
        return found

    def _from_source(self, metric: ast.Metric, source: ast.MetricSource) -> Value | None:
        if source.formula is not None:
            return self.evaluate(source.formula)
        column: Value | None = None
        for name in source.names:
            found = self._from_name(metric, source, name)
            if found is not None:
                column = found if column is None else operators.default(column, found)
        return column

    def _from_name(self, metric: ast.Metric, source: ast.MetricSource, name: str) -> Value | None:
        if source.tool in COMMON_SOURCES:
            column = self.frame.source(source.tool, name)
            unit = _suffix_unit(name)
        else:
            column, unit = self.frame.raw(name), self.frame.supply.unit(name)
        if column is None or not pa.types.is_floating(column.type):
            return column.cast(pa.float64()) if column is not None and operators.is_bool(column) else column
        return rescale(column, scale_of(source.unit) if source.unit else scale_from(unit, metric.unit))

    def stored(self, tool: str, name: str) -> Any | None:
        """Return a source's column as the report stores it: no unit conversion, NaN kept."""
        return self.frame.source(tool, name) if tool in COMMON_SOURCES else self.frame.raw(name)

    def raw(self, name: str, unit: str = "") -> Value:
        """Return a vendor metric as a rule reads it: ``raw "name" unit``, in base units."""
        column, stored = self.frame.raw(name), self.frame.supply.unit(name)
        if column is None:
            return UNKNOWN
        if pa.types.is_dictionary(column.type):
            return column
        return finite(rescale(column, scale_of(unit) if unit else scale_from(stored, "")))

    def members(self, name: str) -> tuple[Members | None, Fraction]:
        """Return the members of an instanced metric (logical or vendor name) and their scale to base units."""
        metric = self.pack.metrics.get(name)
        names = [name]
        unit = ""
        if metric is not None:
            unit = metric.unit
            names = [n for s in self.sources(metric) for n in s.names] or [name]
        for one in names:
            found = self.frame.instances(one)
            if found is not None:
                return found, scale_from(found.unit, unit)
        return None, ONE

    def evaluate(self, expr: ast.Expr) -> Value:
        """Evaluate a formula over the catalogue."""
        if self._formulas is None:
            from profrx.evaluate.compile import Evaluator

            self._formulas = Evaluator(self)
        return self._formulas.value(expr)

    def remembered(self, expr: ast.Expr) -> Any:
        """Evaluate a formula over the catalogue and keep the column; meant for frames of a few rows."""
        key = id(expr)
        if key not in self._formula_columns:
            self._formula_columns[key] = operators.spread(self.evaluate(expr), self.frame.rows)
        return self._formula_columns[key]

    # --- other scopes ------------------------------------------------------------------------------------

    def _elsewhere(self, metric: ast.Metric) -> Value | None:
        """A metric of another scope: spread from the wider frame, unknown from a narrower one."""
        scope = self.frame.scope
        if metric.scope == scope or metric.name in self.given:
            return None
        link = self.frame.wider.get(metric.scope)
        if link is not None:
            return self.wider(metric.scope).column(metric.name).take(owners(link.owner))
        if any(inner.scope == metric.scope for inner in self.frame.members.values()):
            return pa.scalar(None, pa.string() if metric.kind == "text" else pa.float64())
        return None

    def wider(self, scope: str) -> Metrics:
        """Return the metrics of the frame that this one's rows belong to."""
        return self.related(self.frame.wider[scope].frame)

    def related(self, frame: Frame) -> Metrics:
        """Return the metrics of a linked frame."""
        known = self._family.get(id(frame))
        return known or Metrics(self.pack, frame, family=self._family)

    # --- reasons -----------------------------------------------------------------------------------------

    def reason(self, name: str, row: int) -> Reason | None:
        """Say why a metric is unknown for a row; None when it is known. Formulas ask again and again: it is kept."""
        if self.column(name)[row].is_valid:
            return None
        key = (name, row)
        if key not in self._reasons:
            from profrx.evaluate.reasons import why

            self._reasons[key] = why(self, self.pack.metrics[name], row)
        return self._reasons[key]


def owners(owner: Any) -> pa.Array:
    """Indices for `take` from an owner array; -1 becomes null."""
    return pa.array(owner, mask=owner < 0)


def bounds(metric: ast.Metric) -> tuple[float, float]:
    """Return a metric's `valid` range in base units with its slack; infinite where it is open."""
    return (-np.inf, np.inf) if metric.valid is None else _limits(metric.valid.low, metric.valid.high)


@lru_cache(maxsize=4096)
def _limits(first: ast.Expr, last: ast.Expr) -> tuple[float, float]:
    low, high = constant(first), constant(last)
    lower = -np.inf if low is None else low - _TOLERANCE * max(abs(low), 1.0)
    upper = np.inf if high is None else high + _TOLERANCE * max(abs(high), 1.0)
    return lower, upper


def _suffix_unit(column: str) -> str | None:
    """Unit of a normalised column by its suffix (see `profrx_parsers.schema`)."""
    suffixes = {"_ns": "ns", "_bytes": "B", "_hz": "Hz", "_bytes_per_s": "B/s", "_flop_per_s": "FLOP/s"}
    return next((unit for suffix, unit in suffixes.items() if column.endswith(suffix)), None)


def _place(metric: ast.Metric) -> str:
    span = metric.span
    return f"{span.file}:{span.line}:{span.column}" if span.file else ""
