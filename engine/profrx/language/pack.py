"""Packs: rule files gathered into one catalogue of metrics, verdicts, guards and rules.

A pack is a folder of `.rule` files (or single files). The default pack ships in `profrx_rules`; user packs come
after it, by path or by entry point (group ``profrx.packs``, the name of a package with `.rule` files). An id that
is already taken needs `override`. A broken declaration is left out and reported; the rest of the pack loads.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from typing import Any

from profrx.language import ast
from profrx.language.cache import digest_of
from profrx.language.diagnostics import Diagnostic, capped, did_you_mean
from profrx.language.headers import excluded, header_problems
from profrx.language.parse import read
from profrx.language.scan import MAX_FILE

Declarations = tuple[ast.Declaration, ...]
SUFFIX = ".rule"
ENTRY_POINTS = "profrx.packs"
MAX_FILES = 5000
"""Rule files of one pack."""


@dataclass(frozen=True)
class Pack:
    """Everything that judges reports, by name, in the order of declaration.

    Attributes:
        metrics: logical name -> declaration (the catalogue).
        params: file-level parameters, dotted.
        rulesets: frozen selections by name.
        packs: the `pack` headers that were found, first the default pack's.
        origin: ``(kind, id)`` -> pack name.
        diagnostics: what did not load and why, warnings included.
        digest: SHA-256 over the names and contents of all files.
        files: file name -> its text, for showing source lines.
    """

    metrics: Mapping[str, ast.Metric] = field(default_factory=dict)
    params: Mapping[str, ast.Param] = field(default_factory=dict)
    verdicts: Mapping[str, ast.Verdict] = field(default_factory=dict)
    guards: Mapping[str, ast.Guard] = field(default_factory=dict)
    rules: Mapping[str, ast.Rule] = field(default_factory=dict)
    causes: Mapping[str, ast.Cause] = field(default_factory=dict)
    references: Mapping[str, ast.Reference] = field(default_factory=dict)
    rulesets: Mapping[str, ast.Ruleset] = field(default_factory=dict)
    packs: tuple[ast.Pack, ...] = ()
    origin: Mapping[tuple[str, str], str] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    digest: str = ""
    files: Mapping[str, str] = field(default_factory=dict, repr=False)

    def row_owner(self, row: str) -> ast.Verdict | None:
        """The verdict that has a row of this name."""
        return next((v for v in self.verdicts.values() if any(r.name == row for r in v.rows)), None)


@dataclass(frozen=True)
class Source:
    """One rule file before parsing: the pack it belongs to, its shown name, its bytes."""

    pack: str
    name: str
    data: bytes

    def text(self) -> str:
        """Return the text without the byte order mark that some editors write; other bytes are replaced."""
        return self.data.decode("utf-8-sig", "replace")


class PackError(ValueError):
    """Raised when a pack cannot be read at all: no such path, too many files."""

    code = "pack-unreadable"


def load_pack(
    paths: Iterable[str | Path] = (),
    *,
    default: bool = True,
    plugins: bool = True,
    checked: bool = True,
    tests: bool = True,
) -> Pack:
    """Load the default pack, installed plug-in packs, then `paths` in order.

    With `checked`, declarations with a mistake that evaluation could not live with (unknown names, units that do
    not fit, cycles) are left out and reported in `diagnostics`; without, they stay for `check` to judge.

    Without `tests`, inline tests are passed over, which is half of a well-tested pack: judging needs none, and a
    mistake inside one is for `rules check` and `rules test` to report.

    Raises:
        PackError: a path does not exist or holds no rule file.
    """
    sources: list[Source] = []
    if default:
        sources += tree(resources.files("profrx_rules"), "profrx")
    if plugins:
        for entry in sorted(metadata.entry_points(group=ENTRY_POINTS), key=lambda e: e.name):
            sources += tree(resources.files(entry.value), entry.name)
    for path in {Path(path).resolve(): Path(path) for path in paths}.values():  # settings may name it, too
        sources += user_sources(path)
    return _loaded(sources, checked, tests)


@contextmanager
def unswept() -> Iterator[None]:
    """Leave the collector out: a hundred thousand nodes live through this, none of them garbage."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@unswept()
def _loaded(sources: list[Source], checked: bool, tests: bool) -> Pack:
    """A pack, parsed and checked as far as the cache does not know it: pack by pack, so that only yours is parsed."""
    from profrx.language import cache

    mode = "" if tests else "without tests "
    groups = {name: [s for s in sources if s.pack == name] for name in dict.fromkeys(s.pack for s in sources)}
    known: dict[str, Declarations] = {}
    missed: dict[str, list[Source]] = {}
    for group in groups.values():
        key = mode + _digest(group)
        kept = cache.load(key, {source.name: source.data.decode("utf-8", "replace") for source in group})
        if kept is None:
            missed[key] = group
        known |= kept or {}
    fresh: dict[str, Declarations] = {}
    pack = assemble(sources, known, fresh, tests)
    faulty = {diagnostic.span.file for diagnostic in pack.diagnostics}
    for key, group in missed.items():
        if all(source.name in fresh and source.name not in faulty for source in group):
            cache.keep(key, {source.name: fresh[source.name] for source in group})
    if not checked or cache.is_good(mode + pack.digest):
        return pack
    from profrx.language.check import without_broken

    pack = without_broken(pack)
    if not pack.diagnostics:
        cache.mark_good(mode + pack.digest)
    return pack


def user_sources(path: Path) -> list[Source]:
    """The rule files of a folder, or one file.

    Raises:
        PackError: nothing there, or it cannot be read.
    """
    try:
        if path.is_dir():
            found = list(tree(path, path.name, str(path)))
            if not found:
                raise PackError(f"{path} holds no {SUFFIX} file")
            return found
        if not path.is_file():
            raise PackError(f"{path} does not exist")
        with path.open("rb") as stream:
            return [Source(path.stem, str(path), stream.read(MAX_FILE + 1))]
    except OSError as err:
        raise PackError(f"{err.filename or path} cannot be read: {err.strerror or err}") from err


def tree(root: Traversable, pack: str, shown: str = "") -> Iterator[Source]:
    """Every rule file below `root`, sorted by path; hidden folders and links out of it are left alone."""
    found = sorted(_walk(root, PurePosixPath()), key=lambda pair: pair[0])
    if len(found) > MAX_FILES:
        raise PackError(f"{shown or pack} holds {len(found)} rule files; at most {MAX_FILES} are read")
    for relative, file in found:
        with file.open("rb") as stream:
            yield Source(pack, f"{shown or pack}/{relative}", stream.read(MAX_FILE + 1))


def _walk(folder: Traversable, at: PurePosixPath) -> Iterator[tuple[PurePosixPath, Traversable]]:
    pending = [(folder, at)]
    while pending:
        here, where = pending.pop()
        if len(where.parts) > 16:
            continue
        for child in here.iterdir():
            name = child.name
            if name.startswith((".", "_")) or (isinstance(child, Path) and child.is_symlink()):
                continue
            if child.is_dir():
                pending.append((child, where / name))
            elif name.endswith(SUFFIX):
                yield where / name, child


def _digest(sources: Iterable[Source]) -> str:
    return digest_of((source.pack, source.name, source.data) for source in sources)


_TABLES: dict[type, str] = {
    ast.Metric: "metrics",
    ast.Param: "params",
    ast.Verdict: "verdicts",
    ast.Guard: "guards",
    ast.Rule: "rules",
    ast.Cause: "causes",
    ast.Reference: "references",
    ast.Ruleset: "rulesets",
}


def assemble(
    sources: Iterable[Source],
    known: Mapping[str, Declarations] | None = None,
    fresh: dict[str, Declarations] | None = None,
    tests: bool = True,
) -> Pack:
    """Parse the sources and gather their declarations.

    Files that are `known` are not parsed; what is parsed, with or without inline `tests`, is put into `fresh`.
    """
    tables: dict[str, dict[str, Any]] = {name: {} for name in _TABLES.values()}
    origin: dict[tuple[str, str], str] = {}
    diagnostics: list[Diagnostic] = []
    files: dict[str, str] = {}
    read_files: list[tuple[Source, Declarations]] = []
    extensions: list[ast.Metric] = []
    sources = list(sources)
    for source in sources:
        text = source.text()
        if "�" in text and "�".encode() not in source.data:
            line = text[: text.index("�")].count("\n") + 1
            message = "this is not UTF-8 text; save the file as UTF-8"
            diagnostics.append(Diagnostic("not-utf8", message, ast.Span(source.name, line, 1, line, 1)))
            continue
        files[source.name] = text
        declarations = known.get(source.name) if known is not None else None
        if declarations is None:
            parsed = read(text, source.name, tests)
            diagnostics += parsed.diagnostics
            declarations = parsed.file.declarations
            if fresh is not None:
                fresh[source.name] = declarations
        read_files.append((source, declarations))
    packs = [node for _, declarations in read_files for node in declarations if isinstance(node, ast.Pack)]
    left_out = _judge_headers(packs, read_files, diagnostics)
    for source, declarations in read_files:
        for node in declarations if source.name not in left_out else ():
            if isinstance(node, ast.Pack):
                continue
            table = tables[_TABLES[type(node)]]
            kind = type(node).__name__.lower()
            if isinstance(node, ast.Metric) and node.extends:
                extensions.append(node)
                continue
            problem = _clash(kind, node, table)
            if problem is not None:
                diagnostics.append(problem)
                if problem.severity == "error":
                    continue
            table[node.name] = node
            origin[kind, node.name] = source.pack
    for more in extensions:
        metric = tables["metrics"].get(more.name)
        if metric is not None:
            tables["metrics"][more.name] = _extended(metric, more)
        else:
            message = f"there is no metric {more.name} to extend"
            hint = did_you_mean(more.name, tables["metrics"]) or "declare it without `extend`"
            diagnostics.append(
                Diagnostic(
                    "extend-nothing",
                    message,
                    getattr(more.name, "span", more.span),
                    hint=hint,
                    subject=f"metric {more.name}",
                )
            )
    return Pack(
        **tables,
        packs=tuple(packs),
        origin=origin,
        diagnostics=capped(diagnostics),
        digest=_digest(sources),
        files=files,
    )


def _judge_headers(
    packs: list[ast.Pack], read_files: list[tuple[Source, Declarations]], diagnostics: list[Diagnostic]
) -> set[str]:
    """Files that are left out: those that a header does not include, and all of a pack that this engine cannot run."""
    from profrx import __version__

    owner = {source.name: source.pack for source, _ in read_files}
    left_out: set[str] = set()
    first: dict[str, ast.Pack] = {}
    for header in packs:
        folder = header.span.file.rpartition("/")[0] or header.span.file
        other = first.setdefault(folder, header)
        if other is not header:
            message = f"this pack has its header at {other.span.file}:{other.span.line}"
            hint = "keep one; a pack is a folder of its own"
            diagnostics.append(
                Diagnostic("duplicate-id", message, header.span, hint=hint, subject=f"pack {header.name}")
            )
        files = [name for name, pack in owner.items() if pack == owner[header.span.file]]
        problems = header_problems(header, files, __version__)
        diagnostics += problems
        unfit = any(problem.code == "engine-version" for problem in problems)
        left_out |= set(files) if unfit else excluded(header, files)
    return left_out


def _extended(metric: ast.Metric, more: ast.Metric) -> ast.Metric:
    """A metric with the additions of an `extend metric`."""
    return replace(
        metric,
        sources=metric.sources + more.sources,
        collect=metric.collect + more.collect,
        see=metric.see + more.see,
        tests=metric.tests + more.tests,
    )


def _clash(kind: str, node: Any, table: Mapping[str, Any]) -> Diagnostic | None:
    before = table.get(node.name)
    override = getattr(node, "override", False)
    span = getattr(node.name, "span", node.span)
    subject = f"{kind} {node.name}"
    if getattr(node, "extends", False):
        message = f"there is no metric {node.name} to extend"
        return Diagnostic(
            "override-nothing", message, span, hint="declare it without `extend`", subject=subject
        )
    if before is None:
        if not override:
            return None
        message = f"there is no {kind} {node.name} to override"
        hint = did_you_mean(node.name, table) or "drop `override`"
        return Diagnostic("override-nothing", message, span, hint=hint, subject=subject)
    if override:
        return None
    first = before.span
    message = f"{kind} {node.name} is already declared at {first.file}:{first.line}"
    hint = (
        "rename one, or write `override` to replace it" if hasattr(node, "override") else "rename or drop one"
    )
    return Diagnostic("duplicate-id", message, span, hint=hint, subject=subject)
