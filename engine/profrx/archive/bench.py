"""What a worker judges with: rules, parameters and what is read of a report; loaded once and kept between tasks."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from profrx.evaluate.program import Program
    from profrx.language.pack import Pack
    from profrx_parsers.report import Wanted


@dataclass(frozen=True)
class Setup:
    """What reports are judged with.

    Attributes:
        packs: further rule packs.
        params: parameter overrides.
        time_limit_s: per report; 0 = none.
    """

    packs: tuple[str, ...] = ()
    params: tuple[tuple[str, str], ...] = ()
    time_limit_s: float = 0.0


@dataclass(frozen=True)
class Bench:
    """A worker's tools for one setup.

    Attributes:
        program: the rules with their parameters.
        wanted: what is read of a report.
        key, wanted_key: see `setup_key` and `wanted_key`.
        instanced: vendor metrics whose instances the rules read or point to lines by.
        logical: metrics of the catalogue that the archive keeps per kernel row.
        versions: name -> version of the packs, as JSON.
    """

    program: Program
    wanted: Wanted
    key: str
    wanted_key: str
    instanced: tuple[str, ...]
    logical: tuple[str, ...]
    versions: str


@lru_cache(maxsize=4)
def bench_of(packs: tuple[str, ...], params: tuple[tuple[str, str], ...]) -> Bench:
    """Load what reports are judged with.

    Args:
        packs, params: as in `Setup`.
    """
    import profrx
    from profrx import summary
    from profrx.evaluate.program import Program, wanted_metrics
    from profrx.language.pack import load_pack
    from profrx_parsers.report import Wanted

    pack = load_pack(list(packs), tests=False)
    program = Program(pack, dict(params))
    _ = program.params, program.order
    metrics = wanted_metrics(pack) | summary.wanted_metrics()[1]
    key = _digest([pack.digest, params, profrx.__version__])
    instanced = _instanced(pack)
    logical = tuple(
        sorted(n for n, m in pack.metrics.items() if m.kind == "number" and m.scope == "launch" and m.sources)
    )
    return Bench(
        program,
        Wanted(metrics=metrics),
        key,
        _digest(sorted(metrics | instanced)),
        tuple(sorted(instanced)),
        logical,
        json.dumps({p.name: p.version for p in pack.packs}, sort_keys=True),
    )


def _instanced(pack: Pack) -> set[str]:
    """Return the vendor metrics whose instances the rules read or point to lines by."""
    from profrx.evaluate.program import metric_named
    from profrx.language import ast, walk

    pending = [m.name for m in pack.metrics.values() if m.kind == "instances"]
    pending += [lines.metric for rule in pack.rules.values() for lines in rule.lines]
    seen: set[str] = set()
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        metric = pack.metrics.get(name)
        if metric is None:
            found.add(name)
            continue
        for source in metric.sources:
            found.update(source.names)
            for node in walk.nodes(source.formula) if source.formula is not None else ():
                if isinstance(node, ast.Raw):
                    found.add(node.name)
                elif metric_named(node) in pack.metrics:
                    pending.append(metric_named(node))
    return found


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:24]


def setup_key(setup: Setup) -> str:
    """Return the key of what reports are judged with: rules, parameters, version."""
    return bench_of(setup.packs, setup.params).key


def wanted_key(setup: Setup) -> str:
    """Return the key of what is read of a report: stored tables with another one cannot be judged again."""
    return bench_of(setup.packs, setup.params).wanted_key
