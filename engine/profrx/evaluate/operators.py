"""Three-valued arithmetic and logic over whole columns.

A value is a `pyarrow` array or scalar of float64, bool or text; **null means unknown**. No function returns
NaN or an infinity: both become null, as does a division by zero. Logic is strong Kleene (`false and unknown`
is false). Text columns are dictionary-encoded, so that a pattern is matched once per distinct text.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Value = Any
"""`pa.Array` or `pa.Scalar`; pyarrow ships no type information."""

UNKNOWN = pa.scalar(None, pa.float64())
UNDECIDED = pa.scalar(None, pa.bool_())
TRUE, FALSE = pa.scalar(True), pa.scalar(False)

_ARITHMETIC = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
_COMPARE = {
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
    "==": pc.equal,
    "!=": pc.not_equal,
}
_FUNCTIONS = {"abs": pc.abs, "ceil": pc.ceil, "floor": pc.floor, "sqrt": pc.sqrt, "log2": pc.log2}


def is_text(value: Value) -> bool:
    """Whether a value is text (plain or dictionary-encoded)."""
    kind = value.type
    return bool(pa.types.is_string(kind) or pa.types.is_dictionary(kind))


def is_bool(value: Value) -> bool:
    """Whether a value is a truth value."""
    return bool(pa.types.is_boolean(value.type))


def finite(value: Value) -> Value:
    """Replace NaN and infinities by null."""
    if isinstance(value, pa.Scalar):
        number = value.as_py()
        return value if number is None or math.isfinite(number) else UNKNOWN
    total = pc.sum(value).as_py()
    if total is None or math.isfinite(total):
        return value
    return pc.if_else(pc.is_finite(value), value, UNKNOWN)


def arithmetic(op: str, left: Value, right: Value) -> Value:
    """``+ - * /``; unknown when a side is, and where the divisor is zero."""
    if op == "/":
        zero = pc.equal(right, 0.0)
        if isinstance(right, pa.Scalar):
            right = UNKNOWN if zero.as_py() else right
        elif pc.any(zero).as_py():
            right = pc.if_else(zero, UNKNOWN, right)
        return finite(pc.divide(left, right))
    return finite(_ARITHMETIC[op](left, right))


def compare(op: str, left: Value, right: Value) -> Value:
    """Compare numbers or text."""
    if is_text(left) or is_text(right):
        return _compare_text(op, left, right)
    return _COMPARE[op](left, right)


def _compare_text(op: str, left: Value, right: Value) -> Value:
    if isinstance(left, pa.DictionaryArray) and isinstance(right, pa.Scalar):
        return per_text(left, lambda words: _COMPARE[op](words, right))
    return _COMPARE[op](plain(left), plain(right))


def plain(value: Value) -> Value:
    """Decode a dictionary-encoded text column."""
    if isinstance(value, pa.DictionaryArray):
        return value.dictionary.take(value.indices)
    return value


def per_text(column: Value, function: Any) -> Value:
    """Apply `function` to the distinct texts of a column (or to a plain one) and spread the result."""
    if isinstance(column, pa.DictionaryArray):
        return function(column.dictionary).take(column.indices)
    return function(column)


def both(left: Value, right: Value) -> Value:
    """Kleene `and`."""
    return pc.and_kleene(left, right)


def either(left: Value, right: Value) -> Value:
    """Kleene `or`."""
    return pc.or_kleene(left, right)


def negate(value: Value) -> Value:
    """``not x`` or ``-x``, by type."""
    return pc.invert(value) if is_bool(value) else pc.negate(value)


def same(left: Value, right: Value) -> Value:
    """Equality of any two values of one type; unknown when a side is."""
    if is_bool(left):
        return pc.equal(left, right)
    return compare("==", left, right)


def choose(condition: Value, then: Value, otherwise: Value) -> Value:
    """``if c then a else b``; an unknown condition gives unknown unless both arms agree."""
    then, otherwise = plain(then), plain(otherwise)
    chosen = pc.if_else(condition, then, otherwise)
    if condition.is_valid if isinstance(condition, pa.Scalar) else condition.null_count == 0:
        return chosen
    agreed = pc.and_(pc.is_null(condition), pc.fill_null(same(then, otherwise), False))
    return pc.if_else(agreed, then, chosen)


def default(value: Value, otherwise: Value) -> Value:
    """``x ?? y``."""
    return pc.coalesce(plain(value), plain(otherwise))


def known(value: Value) -> Value:
    """Whether a value is known: never unknown itself."""
    return pc.is_valid(value)


def extreme(function: str, values: list[Value]) -> Value:
    """``min`` / ``max`` of several values; unknown when one is."""
    pick = pc.min_element_wise if function == "min" else pc.max_element_wise
    return pick(*values, skip_nulls=False)


def apply(function: str, values: list[Value]) -> Value:
    """Call a built-in function on numbers."""
    if function in ("min", "max"):
        return extreme(function, values)
    if function == "known":
        return known(values[0])
    if function == "clamp":
        return extreme("max", [values[1], extreme("min", [values[0], values[2]])])
    if function == "amdahl":
        share, factor = values
        return arithmetic(
            "*", share, arithmetic("-", pa.scalar(1.0), arithmetic("/", pa.scalar(1.0), factor))
        )
    return finite(_FUNCTIONS[function](values[0]))


def label_of(function: str, labels: tuple[str, ...], values: list[Value], rows: int) -> Value:
    """``least`` / ``greatest``: the label of the extreme value per row, ties joined, unknown values left out."""
    if function == "least":
        table = np.stack([as_floats(v, rows, np.inf) for v in values])
        best = table.min(axis=0)
    else:
        table = np.stack([as_floats(v, rows, -np.inf) for v in values])
        best = table.max(axis=0)
    hits = (table == best) & np.isfinite(table)
    weights = np.left_shift(np.int64(1), np.arange(len(labels), dtype=np.int64))
    codes, where = np.unique(weights @ hits.astype(np.int64), return_inverse=True)
    texts = [_join([labels[i] for i in range(len(labels)) if code >> i & 1]) for code in codes.tolist()]
    undecided = (codes == 0)[where]
    indices = pa.array(where.astype(np.int32), mask=undecided)
    return pa.DictionaryArray.from_arrays(indices, pa.array([text or "" for text in texts], pa.string()))


def _join(words: list[str]) -> str | None:
    if len(words) < 2:
        return words[0] if words else None
    return ", ".join(words[:-1]) + " and " + words[-1]


def as_floats(value: Value, rows: int, missing: float = math.nan) -> Any:
    """Return a float64 numpy column with `missing` where the value is unknown."""
    column = spread(value, rows)
    if column.null_count:
        column = (
            column.fill_null(missing) if not is_bool(column) else column.cast(pa.float64()).fill_null(missing)
        )
    return column.cast(pa.float64()).to_numpy(zero_copy_only=False)


def spread(value: Value, rows: int) -> Any:
    """Return a value as an array of `rows` elements."""
    if isinstance(value, pa.Scalar):
        return pa.repeat(value, rows)
    return value


def tristate(value: Value, rows: int) -> tuple[Any, Any]:
    """Split a truth column into two numpy masks: certainly true, unknown."""
    column = spread(value, rows)
    true = column.fill_null(False).to_numpy(zero_copy_only=False)
    unknown = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else np.zeros(rows, bool)
    return true, unknown


def from_tristate(true: Any, unknown: Any) -> Any:
    """Build a truth column from two numpy masks; inverse of `tristate`."""
    return pa.array(true, pa.bool_(), mask=unknown)
