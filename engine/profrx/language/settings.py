"""`profrx.toml`: packs, the frozen ruleset, parameters, suppressions; data only, the evaluation applies it.

packs   = ["./rules"]
ruleset = "2026.1"

[params]
"speed-of-light.high" = "65 %"
"tail-effect.min_tail" = [
  { value = "5 %", kernel = "*gemm*" },
  { value = "8 %", arch = "9.0 .. 10.0" },
]

[[suppress]]
rule    = "tail-effect"
kernel  = "*reduce*"
report  = "nightly/*"
reason  = "accepted until the port to clusters, ticket 1234"
expires = 2027-01-31
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from profrx.language.diagnostics import did_you_mean
from profrx_parsers.errors import UsageError

MAX_SETTINGS = 1 << 20
"""Bytes of a settings file."""
_KEYS = ("packs", "ruleset", "preview", "params", "suppress")
_SUPPRESS = ("rule", "kernel", "report", "reason", "expires")
_CONDITIONAL = ("value", "arch", "kernel")


@dataclass(frozen=True)
class Suppression:
    """A finding that is accepted for now.

    Attributes:
        rule: id, or a glob over ids.
        kernel, report: globs over the full kernel name and the report's path; ``*`` is any.
        reason: why, required.
        expires: the last day on which it holds; None = until it is taken out.
    """

    rule: str
    reason: str
    kernel: str = "*"
    report: str = "*"
    expires: datetime.date | None = None

    def covers(self, rule: str, kernel: str, report: str, today: datetime.date) -> bool:
        """Whether a finding falls under it today."""
        return (
            not self.expired(today)
            and fnmatchcase(rule, self.rule)
            and fnmatchcase(kernel, self.kernel)
            and fnmatchcase(report, self.report)
        )

    def expired(self, today: datetime.date) -> bool:
        """Whether its day is over."""
        return self.expires is not None and today > self.expires


@dataclass
class Suppressions:
    """All suppressions of a run, and which of them were needed."""

    entries: tuple[Suppression, ...]
    today: datetime.date
    used: set[int] = field(default_factory=set)

    def find(self, rule: str, kernel: str = "", report: str = "") -> Suppression | None:
        """The first suppression that covers a finding; it counts as used."""
        for number, entry in enumerate(self.entries):
            if entry.covers(rule, kernel, report, self.today):
                self.used.add(number)
                return entry
        return None

    def unused(self) -> list[Suppression]:
        """Those that covered nothing, the expired ones included: they can be taken out."""
        return [entry for number, entry in enumerate(self.entries) if number not in self.used]


@dataclass(frozen=True)
class Settings:
    """The content of a settings file.

    Attributes:
        packs: paths, relative ones taken from the file's folder.
        ruleset: name of a frozen ruleset, or nothing for all rules.
        preview: whether rules in preview take part.
        params: overrides, in the form that evaluation takes.
        suppressions: in order.
    """

    packs: tuple[Path, ...] = ()
    ruleset: str = ""
    preview: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)
    suppressions: tuple[Suppression, ...] = ()


def load_settings(path: str | Path) -> Settings:
    """Read a settings file.

    Raises:
        UsageError: it cannot be read, is no TOML, or holds a key or value that means nothing.
    """
    path = Path(path)
    try:
        data = path.read_bytes()[: MAX_SETTINGS + 1]
    except OSError as error:
        raise UsageError(
            "settings", f"cannot read it: {error.strerror}", where=str(path), next_step="check the path"
        ) from error
    if len(data) > MAX_SETTINGS:
        raise UsageError("settings", f"it has more than {MAX_SETTINGS} bytes", where=str(path))
    try:
        table = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError("settings", f"it is no TOML: {error}", where=str(path)) from error
    return _settings(table, path)


def _settings(table: dict[str, Any], path: Path) -> Settings:
    _known(table, _KEYS, path, "")
    packs = _texts(table.get("packs", []), path, "packs")
    params = table.get("params", {})
    if not isinstance(params, dict):
        raise _wrong(path, "params", "a table of parameters")
    for name, value in params.items():
        _param(value, path, f"params.{name}")
    entries = table.get("suppress", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise _wrong(path, "suppress", "written as [[suppress]] tables")
    ruleset, preview = table.get("ruleset", ""), table.get("preview", False)
    if not isinstance(ruleset, str):
        raise _wrong(path, "ruleset", "a text")
    if not isinstance(preview, bool):
        raise _wrong(path, "preview", "true or false")
    return Settings(
        tuple(path.parent / pack for pack in packs),
        ruleset,
        preview,
        params,
        tuple(_suppression(entry, path, f"suppress[{number}]") for number, entry in enumerate(entries)),
    )


def _param(value: Any, path: Path, key: str) -> None:
    for entry in value if isinstance(value, list) else [value]:
        if isinstance(entry, dict):
            _known(entry, _CONDITIONAL, path, f"{key}.")
            if "value" not in entry:
                raise UsageError(
                    "settings", f"{key} has no value", where=str(path), next_step='write value = "5 %"'
                )
            entry = entry["value"]
        if isinstance(entry, bool) or not isinstance(entry, int | float | str):
            raise _wrong(path, key, 'a number or a text with a unit, such as "5 %"')


def _suppression(entry: dict[str, Any], path: Path, key: str) -> Suppression:
    _known(entry, _SUPPRESS, path, f"{key}.")
    for required in ("rule", "reason"):
        if not isinstance(entry.get(required), str) or not entry[required].strip():
            message = f"{key} has no {required}"
            raise UsageError("settings", message, where=str(path), next_step=f'write {required} = "…"')
    expires = entry.get("expires")
    if isinstance(expires, datetime.datetime):
        expires = expires.date()
    if expires is not None and not isinstance(expires, datetime.date):
        raise _wrong(path, f"{key}.expires", "a date, such as 2027-01-31 without quotes")
    globs = [entry.get(name, "*") for name in ("kernel", "report")]
    if not all(isinstance(glob, str) for glob in globs):
        raise _wrong(path, f"{key}.kernel and .report", "texts")
    return Suppression(entry["rule"], entry["reason"], globs[0], globs[1], expires)


def _texts(value: Any, path: Path, key: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise _wrong(path, key, "a list of texts")
    return value


def _known(table: Mapping[str, Any], known: Iterable[str], path: Path, prefix: str) -> None:
    known = list(known)
    for key in table:
        if key not in known:
            hint = did_you_mean(key, known) or f"known: {', '.join(known)}"
            raise UsageError("settings", f"{prefix}{key} means nothing here", where=str(path), next_step=hint)


def _wrong(path: Path, key: str, wanted: str) -> UsageError:
    return UsageError("settings", f"{key} must be {wanted}", where=str(path))
