"""Three-valued arithmetic and logic over whole columns.

A value is a `pyarrow` array or scalar of float64, bool or text; **null means unknown**. No function returns
NaN or an infinity: both become null, as does a division by zero. Logic is strong Kleene (`false and unknown`
is false). Text columns are dictionary-encoded, so that a pattern is matched once per distinct text.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profrx_parsers.errors import RuleError

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


_DOUBLE, _BOOL = pa.float64().id, pa.bool_().id
_TEXT = frozenset({pa.string().id, pa.dictionary(pa.int32(), pa.string()).id})
"""Type numbers: a pass over a few launches asks for them by the ten thousand, and they are read faster than types."""

SMALL = 4096
"""Columns up to this long are looked through as numpy arrays: calling an Arrow function costs more than copying them."""


def is_text(value: Value) -> bool:
    """Whether a value is text (plain or dictionary-encoded)."""
    return value.type.id in _TEXT


def is_bool(value: Value) -> bool:
    """Whether a value is a truth value."""
    return bool(value.type.id == _BOOL)


def finite(value: Value) -> Value:
    """Replace NaN and infinities by null."""
    if isinstance(value, pa.Scalar):
        number = value.as_py()
        return value if number is None or math.isfinite(number) else UNKNOWN
    if _all_finite(value):
        return value
    return pc.if_else(pc.is_finite(value), value, UNKNOWN)


def _all_finite(column: Value) -> bool:
    """Whether no value is NaN or infinite; may say no where the sum of finite values overflows."""
    if len(column) <= SMALL and column.type.id == _DOUBLE:
        known = int(np.count_nonzero(np.isfinite(column.to_numpy(zero_copy_only=False))))
        return bool(known == len(column) - column.null_count)
    if isinstance(column, pa.DoubleArray):
        with np.errstate(all="ignore"):
            if math.isfinite(_stored(column).sum()):
                return True  # else it may be what stands in a place without value
    total = pc.sum(column).as_py()
    return bool(total is None or math.isfinite(total))


def _stored(column: pa.DoubleArray) -> Any:
    """Return the numbers of a column as they lie in memory; anything may stand where the value is unknown."""
    if not len(column):
        return np.empty(0)
    return np.frombuffer(column.buffers()[1], np.float64, len(column), column.offset * 8)


def _bits(buffer: pa.Buffer, column: pa.Array) -> Any:
    """Unpack the bits that one of a column's buffers holds, one for each of its elements."""
    end = column.offset + len(column)
    return np.unpackbits(np.frombuffer(buffer, np.uint8), count=end, bitorder="little")[column.offset :].view(
        bool
    )


def numeric(value: Value) -> Value:
    """Return a value for arithmetic; text is unknown there (a report may store text where a number is due)."""
    if not is_text(value):
        return value
    return UNKNOWN if isinstance(value, pa.Scalar) else pa.nulls(len(value), pa.float64())


def aligned(left: Value, right: Value) -> tuple[Value, Value]:
    """Decode two values of one expression; beside text, anything that is no text is unknown text."""
    left, right = plain(left), plain(right)
    if is_text(left) != is_text(right):
        left, right = _as_text(left), _as_text(right)
    return left, right


def _as_text(value: Value) -> Value:
    if is_text(value):
        return value
    nothing = pa.scalar(None, pa.string())
    return nothing if isinstance(value, pa.Scalar) else pa.nulls(len(value), pa.string())


def arithmetic(op: str, left: Value, right: Value) -> Value:
    """``+ - * /``; unknown when a side is, and where the divisor is zero."""
    left, right = numeric(left), numeric(right)
    if op == "/":
        if isinstance(right, pa.Scalar):
            right = UNKNOWN if right.as_py() == 0 else right
        elif (right.to_numpy(zero_copy_only=False) == 0).any():
            right = pc.if_else(pc.equal(right, 0.0), UNKNOWN, right)
        return finite(pc.divide(left, right))
    return finite(_ARITHMETIC[op](left, right))


def compare(op: str, left: Value, right: Value) -> Value:
    """Compare numbers or text; a number and a text do not compare: unknown."""
    if left.type.id == right.type.id == _DOUBLE:
        return _COMPARE[op](left, right)
    if isinstance(left, pa.DictionaryArray) and isinstance(right, pa.StringScalar):
        return per_text(left, lambda words: _COMPARE[op](words, right))
    return _COMPARE[op](*aligned(left, right))


def plain(value: Value) -> Value:
    """Decode a dictionary-encoded text column."""
    if isinstance(value, pa.DictionaryArray):
        return value.dictionary.take(value.indices)
    return value


def per_text(column: Value, function: Any) -> Value:
    """Apply `function` to the distinct texts of a column (or to a plain one) and spread the result."""
    if not isinstance(column, pa.DictionaryArray):
        return function(column)
    found = function(column.dictionary)
    if is_bool(found) and not found.null_count and not column.indices.null_count:
        return from_tristate(found.to_numpy(zero_copy_only=False).take(column.indices.to_numpy()))
    return found.take(column.indices)


def numbers_of_text(column: Value) -> Value:
    """Text that a metric of numbers reads (a vendor stored a number as text); what is no number is unknown."""

    def convert(words: Any) -> Any:
        pattern = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
        usable = pc.match_substring_regex(words, pattern)
        return pc.if_else(usable, pc.utf8_trim_whitespace(words), pa.scalar(None, pa.string())).cast(
            pa.float64()
        )

    return per_text(column, convert)


def both(left: Value, right: Value) -> Value:
    """Kleene `and`."""
    return pc.and_kleene(left, right)


def either(left: Value, right: Value) -> Value:
    """Kleene `or`."""
    return pc.or_kleene(left, right)


def negate(value: Value) -> Value:
    """``not x`` or ``-x``, by type."""
    return pc.invert(value) if is_bool(value) else pc.negate(numeric(value))


def same(left: Value, right: Value) -> Value:
    """Equality of any two values of one type; unknown when a side is."""
    if is_bool(left):
        return pc.equal(left, right)
    return compare("==", left, right)


def choose(condition: Value, then: Value, otherwise: Value) -> Value:
    """``if c then a else b``; an unknown condition gives unknown unless both arms agree."""
    then, otherwise = aligned(then, otherwise)
    chosen = pc.if_else(condition, then, otherwise)
    if condition.is_valid if isinstance(condition, pa.Scalar) else condition.null_count == 0:
        return chosen
    agreed = pc.and_(pc.is_null(condition), pc.fill_null(same(then, otherwise), False))
    return pc.if_else(agreed, then, chosen)


def default(value: Value, otherwise: Value) -> Value:
    """``x ?? y``; a known default says whether text or a number is meant."""
    value, otherwise = plain(value), plain(otherwise)
    if is_text(value) != is_text(otherwise):
        known_default = (
            otherwise.is_valid if isinstance(otherwise, pa.Scalar) else otherwise.null_count < len(otherwise)
        )
        if not known_default:
            return value
        value = _as_text(value) if is_text(otherwise) else numeric(value)
    return pc.coalesce(value, otherwise)


def known(value: Value) -> Value:
    """Whether a value is known: never unknown itself."""
    return pc.is_valid(value)


def extreme(function: str, values: list[Value]) -> Value:
    """``min`` / ``max`` of several values; unknown when one is."""
    columns = [value for value in values if isinstance(value, pa.DoubleArray)]
    scalars = [value.as_py() for value in values if isinstance(value, pa.DoubleScalar) and value.is_valid]
    if columns and len(columns) + len(scalars) == len(values) and len(columns[0]) > SMALL:
        pick = np.minimum if function == "min" else np.maximum
        numbers = functools.reduce(pick, [*map(_stored, columns), *scalars])
        known = [_bits(column.buffers()[0], column) for column in columns if column.null_count]
        return of_numbers(numbers, functools.reduce(np.logical_and, known) if known else None)
    pick = pc.min_element_wise if function == "min" else pc.max_element_wise
    return pick(*values, skip_nulls=False)


def apply(function: str, values: list[Value]) -> Value:
    """Call a built-in function."""
    if function == "known":
        return known(values[0])
    values = [numeric(value) for value in values]
    if function in ("min", "max"):
        return extreme(function, values)
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
    column = spread(numeric(value), rows)
    if column.type.id != _DOUBLE:
        column = column.cast(pa.float64())
    if column.null_count and not math.isnan(missing):
        return np.where(_bits(column.buffers()[0], column), _stored(column), missing)
    return column.to_numpy(zero_copy_only=False)  # where it is copied, null becomes NaN


def spread(value: Value, rows: int) -> Any:
    """Return a value as an array of `rows` elements."""
    if isinstance(value, pa.Scalar):
        return pa.repeat(value, rows)
    return value


def tristate(value: Value, rows: int) -> tuple[Any, Any]:
    """Split a truth column into two numpy masks: certainly true, unknown."""
    column = spread(value, rows)
    if not is_bool(column):
        column = column.cast(pa.bool_()) if column.null_count == rows else _no_truth(column)
    if not column.null_count:
        return column.to_numpy(zero_copy_only=False), np.zeros(rows, bool)
    if column.null_count == rows:
        return np.zeros(rows, bool), np.ones(rows, bool)
    valid, true = (_bits(buffer, column) for buffer in column.buffers())
    return true & valid, ~valid


def _no_truth(column: Value) -> Value:
    raise RuleError(
        "rule-type",
        f"a condition is expected, this is {'text' if is_text(column) else 'a number'}",
        next_step="compare it with something; `profrx rules check` shows where",
    )


def from_tristate(true: Any, unknown: Any = None) -> Any:
    """Build a truth column from two numpy masks; inverse of `tristate`."""
    valid = None if unknown is None or not unknown.any() else _packed(~unknown)
    return pa.Array.from_buffers(pa.bool_(), len(true), [valid, _packed(true)])


def of_numbers(numbers: Any, known: Any = None) -> Any:
    """Build a column of numbers, unknown where a mask of the known ones says so."""
    valid = None if known is None or known.all() else _packed(known)
    return pa.Array.from_buffers(
        pa.float64(), len(numbers), [valid, pa.py_buffer(np.ascontiguousarray(numbers, np.float64))]
    )


def outside(column: Any, low: float, high: float) -> Any:
    """Mask of the known numbers of a column that lie outside of a range."""
    column = column if column.type.id == _DOUBLE else column.cast(pa.float64())
    numbers = _stored(column)
    mask = (numbers < low) | (numbers > high)
    return mask & _bits(column.buffers()[0], column) if column.null_count else mask


def _packed(mask: Any) -> pa.Buffer:
    return pa.py_buffer(np.packbits(mask, bitorder="little"))
