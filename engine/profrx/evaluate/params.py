"""Parameters with their overrides: for all subjects, per architecture range, per kernel glob.

An override is keyed by ``rule-id.name`` (also of a verdict or guard), by the dotted name of a file-level
parameter, or by a bare ``name`` for every declaration that has it. Its value is a text with a unit (``"20 %"``), a
number where the default is in a base unit (``B``, ``ratio``, ``sectors``), or a list of such values with conditions::

    {"tail-effect.min_tail": [{"value": "5 %", "kernel": "*gemm*"}, {"value": "8 %", "arch": "9.0 .. 10.0"}]}

Later entries of a list win where several hold.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from profrx.evaluate.arch import arch_number
from profrx.evaluate.operators import Value
from profrx.evaluate.patterns import glob_to_regex
from profrx.evaluate.quantity import scalar, scale_of, to_base
from profrx.language import ast
from profrx.language.select import unmet
from profrx.language.units import spellings
from profrx_parsers.errors import UsageError

if TYPE_CHECKING:
    from profrx.evaluate.frame import Frame

Owner = ast.Rule | ast.Verdict | ast.Guard
_WRITTEN = re.compile(r"\s*([+-]?(?:\d[\d_]*)?(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(\S*)\s*")
_RANGE = re.compile(r"\s*(\S*?)\s*\.\.\s*(\S*?)\s*")


@dataclass(frozen=True)
class Override:
    """One effective replacement of a default, in base units."""

    value: float
    written: str
    arch: str = ""
    kernel: str = ""


class Parameters:
    """The defaults of a pack with a caller's overrides.

    Raises `UsageError` for an override that names no parameter, cannot be read or leaves the allowed range.
    """

    def __init__(
        self,
        owners: Mapping[str, Owner],
        shared: Mapping[str, ast.Param],
        given: Mapping[str, Any] | None = None,
    ) -> None:
        self.shared = shared
        self._owners = owners
        self._overrides: dict[tuple[str, str], tuple[Override, ...]] = {}
        for key, value in (given or {}).items():
            self._add(key, value)
        for name, owner in owners.items() if self._overrides else ():
            self._require(name, owner)

    def _require(self, name: str, owner: Owner) -> None:
        """Refuse a setting that the `require` statements of a declaration exclude: its table would have gaps.

        Conditional overrides are tried one at a time beside the unconditional ones.
        """
        entries = (
            {param.name: self.overrides(name, param) for param in owner.params} if owner.requires else {}
        )
        fixed = {
            param: made[-1]
            for param, made in entries.items()
            if made and not (made[-1].arch or made[-1].kernel)
        }
        settings = [fixed, *({**fixed, param: one} for param, made in entries.items() for one in made)]
        for setting in settings if any(entries.values()) else ():
            failed = unmet(self.shared, owner, {param: one.value for param, one in setting.items()})
            if failed:
                written = ", ".join(f"{param} = {one.written}" for param, one in setting.items())
                raise UsageError(
                    "parameter-requirement",
                    f"{name} requires {failed[0]}, which does not hold with {written}",
                    next_step=f"`profrx rules show {name}` lists the parameters and what they must satisfy",
                )

    def _add(self, key: str, value: Any) -> None:
        targets = self._targets(key)
        if not targets:
            raise UsageError(
                "unknown-parameter",
                f"no parameter is called {key!r}{self._near(key)}",
                next_step="`profrx rules show RULE` lists a rule's parameters; write RULE.NAME",
            )
        for owner, param in targets:
            entries = value if isinstance(value, list) else [value]
            made = tuple(_override(key, entry, param) for entry in entries)
            self._overrides[owner, param.name] = made

    def _near(self, key: str) -> str:
        from difflib import get_close_matches

        own = (f"{name}.{param.name}" for name, of in self._owners.items() for param in of.params)
        near = get_close_matches(key, [*self.shared, *own], n=1, cutoff=0.65)
        return f"; did you mean {near[0]!r}?" if near else ""

    def _targets(self, key: str) -> list[tuple[str, ast.Param]]:
        if key in self.shared:
            return [("", self.shared[key])]
        owner, _, name = key.rpartition(".")
        return [
            (known, param)
            for known, declaration in self._owners.items()
            if not owner or owner == known
            for param in declaration.params
            if param.name == name
        ]

    def overrides(self, owner: str, param: ast.Param) -> tuple[Override, ...]:
        """Return what replaces a parameter's default; empty when nothing does."""
        own = self._overrides.get((owner, param.name), ())
        return own or self._overrides.get(("", param.name), ())

    def value(self, owner: str, param: ast.Param, frame: Frame) -> Value:
        """Return a parameter per subject in base units: a scalar unless an override is conditional."""
        default = constant(param.default)
        overrides = self.overrides(owner, param)
        if not overrides:
            return scalar(default)
        if not any(o.arch or o.kernel for o in overrides):
            return scalar(overrides[-1].value)
        column = np.full(frame.rows, np.nan if default is None else default)
        for override in overrides:
            column[self._holds(override, frame)] = override.value
        return pa.array(column, from_pandas=True)

    @staticmethod
    def _holds(override: Override, frame: Frame) -> Any:
        held = np.ones(frame.rows, dtype=bool)
        if override.arch:
            held &= within_arch(frame.column("arch").to_numpy(zero_copy_only=False), override.arch)
        if override.kernel:
            import pyarrow.compute as pc

            pattern = glob_to_regex(override.kernel)
            names = [frame.column(c) for c in ("kernel", "kernel_short")]
            hits = [pc.fill_null(pc.match_substring_regex(n, pattern), False) for n in names]
            held &= pc.or_(*hits).to_numpy(zero_copy_only=False)
        return held

    def origin(self, owner: str, param: ast.Param) -> str:
        """Say where a parameter's value comes from: ``default`` or the override as written."""
        overrides = self.overrides(owner, param)
        return "override " + ", ".join(o.written for o in overrides) if overrides else "default"

    def digest(self, declaration: Owner, shared: Sequence[str] = ()) -> str:
        """Return 12 hex digits over the effective values of every parameter a declaration reads."""
        rows = []
        for param in (*declaration.params, *(self.shared[name] for name in sorted(shared))):
            overrides = self.overrides(declaration.name, param)
            changed = [[o.value, o.arch, o.kernel] for o in overrides]
            rows.append([param.name, constant(param.default), changed])
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:12]


def within_arch(arch: Any, span: str) -> Any:
    """Mask of the architectures (numpy float64, NaN = unknown) inside ``lo .. hi`` or equal to one."""
    match = _RANGE.fullmatch(span)
    low, high = (match[1], match[2]) if match else (span, span)
    lower, upper = arch_number(low), arch_number(high)
    inside = ~np.isnan(arch)
    if lower is not None:
        inside &= arch >= lower
    if upper is not None:
        inside &= arch <= upper
    return inside


def _override(key: str, entry: Any, param: ast.Param) -> Override:
    arch, kernel, value = "", "", entry
    if isinstance(entry, Mapping):
        unknown = set(entry) - {"value", "arch", "kernel"}
        if unknown or "value" not in entry:
            raise UsageError(
                "bad-parameter",
                f"the override of {key} needs `value` and may have `arch` and `kernel`",
                next_step=f"remove {', '.join(sorted(map(str, unknown))) or 'nothing'}, add a value",
            )
        value, arch, kernel = entry["value"], str(entry.get("arch", "")), str(entry.get("kernel", ""))
    unit = param.default.unit if isinstance(param.default, ast.Quantity) else ""
    number = _number(key, value, unit)
    if param.valid is not None:
        low, high = constant(param.valid.low), constant(param.valid.high)
        if (low is not None and number < low) or (high is not None and number > high):
            raise UsageError(
                "parameter-out-of-range",
                f"{key} = {value} lies outside its allowed range",
                next_step=f"allowed: {written(param.valid.low)} .. {written(param.valid.high)}",
            )
    where = "".join(f" for {name} {text}" for name, text in (("arch", arch), ("kernel", kernel)) if text)
    return Override(number, f"{value}{where}", arch, kernel)


def _number(key: str, value: Any, unit: str) -> float:
    """A value in base units; a number without a unit only where that is unambiguous.

    In the language a bare 0.65 is a ratio, to many readers of a parameter in % it is 0.65 %: neither is guessed.
    """
    match = _WRITTEN.fullmatch(str(value))
    try:
        if match is None or isinstance(value, bool):
            raise ValueError(value)
        number = float(match[1].replace("_", ""))
        if not match[2] and number and scale_of(unit) != 1:
            raise UsageError(
                "bad-parameter",
                f"{key} = {value} has no unit, the parameter is in {unit}",
                next_step=spellings(number, unit),
            )
        return to_base(number, match[2] or unit, like=unit)
    except ValueError as err:
        raise UsageError(
            "bad-parameter",
            f"{key}: cannot read {value!r} as a value" + (f" in {unit}" if unit else ""),
            next_step=f"write a number with a unit, e.g. 20 {unit}".rstrip(),
        ) from err


def constant(expr: ast.Expr) -> float | None:
    """Return the value of a constant expression in base units; None for anything else."""
    if isinstance(expr, ast.Quantity):
        return to_base(expr.value, expr.unit)
    if isinstance(expr, ast.Unary) and expr.op == "-":
        inner = constant(expr.operand)
        return None if inner is None else -inner
    if isinstance(expr, ast.Binary) and expr.op in "+-*/":
        left, right = constant(expr.left), constant(expr.right)
        if left is None or right is None or (expr.op == "/" and right == 0):
            return None
        return {"+": left + right, "-": left - right, "*": left * right, "/": left / right if right else 0}[
            expr.op
        ]
    return None


def written(expr: ast.Expr) -> str:
    """Return a constant as the author wrote it."""
    if isinstance(expr, ast.Quantity):
        return f"{expr.value:g} {expr.unit}".rstrip()
    value = constant(expr)
    return "" if value is None else f"{value:g}"
