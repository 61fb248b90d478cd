"""Collection options as commands to be typed: joined per tool, complete, and broken where a line gets too long."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from profrx.report.model import Collect

COMMANDS = {"nsys": "nsys profile", "rocprof-compute": "rocprof-compute profile"}
"""Tools whose collecting is a subcommand. Source: their public command-line documentation."""
ENDINGS = {
    "ncu": ("-o report", "APPLICATION"),
    "nsys profile": ("-o run", "APPLICATION"),
    "rocprofv3": ("-d run", "-- APPLICATION"),
    "rocprof-compute profile": ("--name run", "-- APPLICATION"),
}
"""Command -> where it writes to, and the program to run. Source: the tools' public command-line documentation."""
LISTS = frozenset({"--metrics", "--trace"})
"""Flags whose value is a list joined by commas."""
COUNTERS = "--pmc "
"""Flag of rocprofv3 for counters that one run collects together. Several groups go into a text file, one ``pmc:`` line
each, and the tool runs the program once per line. Source: rocprofv3's public documentation of input files."""
WIDTH = 100
"""Longer commands are broken, with a backslash at the end of each line but the last."""
_FLAG = re.compile(r" (?=--?[A-Za-z])")


def option(collect: Collect) -> str:
    """Return a collection option as one types it."""
    if collect.option.startswith(collect.tool + " "):
        return collect.option
    return f"{COMMANDS.get(collect.tool, collect.tool)} {collect.option}".strip()


def together(options: Sequence[str]) -> str:
    """Join options of one tool: ``ncu --section A --section B``; of several tools, with ``and``.

    Each flag with its values comes once; comma-separated lists of one flag become one list; several groups of
    counters, each a run of its own, become the lines of an input file.
    """
    return " and ".join(_on_one_line(*_parts(command, flags)) for command, flags in _by_tool(options).items())


def lines(options: Sequence[str]) -> list[str]:
    """Return the complete commands that collect all options, as lines to be copied as they stand.

    >>> lines(["ncu --section A"])
    ['ncu --section A -o report APPLICATION']
    """
    return [line for command, flags in _by_tool(options).items() for line in _typed(*_parts(command, flags))]


def complete(command: str, flags: Iterable[str]) -> list[str]:
    """Return a command's words with the place it writes to and the program to run, where it lacks them."""
    words = [command, *flags]
    target, program = ENDINGS.get(command, ("", ""))
    if "APPLICATION" in " ".join(words):
        return words
    flag = target.partition(" ")[0]
    if target and not any(word.partition(" ")[0] == flag for word in words):
        words.append(target)
    return [*words, program] if program else words


def counter_groups(groups: Iterable[str]) -> list[str]:
    """Return groups of counters without those that another one holds wholly.

    >>> counter_groups(["A B", "B", "C", "B A"])
    ['A B', 'C']
    """
    kept: list[str] = []
    for one in sorted(dict.fromkeys(groups), key=lambda group: -len(group.split())):
        if not any(set(one.split()) <= set(other.split()) for other in kept):
            kept.append(one)
    return kept


def _by_tool(options: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for one in options:
        command, *flags = _FLAG.split(one)
        found.setdefault(command, {}).update(dict.fromkeys(flags))
    return {command: list(flags) for command, flags in found.items()}


def _parts(command: str, flags: list[str]) -> tuple[str, list[str], list[str]]:
    """Return a command, its flags, and the groups of counters that go into an input file."""
    groups = counter_groups(flag.removeprefix(COUNTERS) for flag in flags if flag.startswith(COUNTERS))
    if len(groups) < 2:
        return command, _lists(flags), []
    return command, _lists(flag for flag in flags if not flag.startswith(COUNTERS)), groups


def _on_one_line(command: str, flags: list[str], groups: list[str]) -> str:
    line = " ".join([command, *flags])
    if not groups:
        return line
    rows = "".join(f"pmc: {group}\\n" for group in groups)
    return f"printf '{rows}' > counters.txt && {line} -i counters.txt"


def _typed(command: str, flags: list[str], groups: list[str]) -> list[str]:
    if not groups:
        return _broken(complete(command, flags))
    rows = [shlex.quote(f"pmc: {group}") for group in groups]
    written = ["printf '%s\\n' \\", *(f"  {row} \\" for row in rows), "  > counters.txt"]
    return [*written, *_broken(complete(command, [*flags, "-i counters.txt"]))]


def _broken(words: Sequence[str]) -> list[str]:
    """Break before a flag where a line would get too long."""
    out = [words[0]]
    for word in words[1:]:
        if out[-1] == words[0] or len(out[-1]) + len(word) + 3 <= WIDTH:
            out[-1] += f" {word}"
        else:
            out[-1] += " \\"
            out.append(f"  {word}")
    return out


def _lists(flags: Iterable[str]) -> list[str]:
    """Join the comma-separated values of flags that take such lists, in the order of first mention."""
    found: dict[str, dict[str, None]] = {}
    for one in flags:
        name, _, value = one.partition(" ")
        key, parts = (name, value.split(",")) if name in LISTS else (one, [])
        found.setdefault(key, {}).update(dict.fromkeys(parts))
    return [f"{key} {','.join(parts)}" if parts else key for key, parts in found.items()]
