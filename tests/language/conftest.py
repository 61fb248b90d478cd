"""Packs made of text, for the tests of the rule language."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from profrx.language.check import check
from profrx.language.diagnostics import Diagnostic
from profrx.language.pack import Pack, Source, assemble

CATALOGUE = """
metric sm.throughput     { unit %  meaning "compute"  valid 0 % .. 100 %  source ncu "sm__throughput.avg.pct_of_peak_sustained_elapsed" }
metric memory.throughput { unit %  meaning "memory"   valid 0 % .. 100 %  source ncu "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed" }
metric dram.throughput   { unit %  meaning "dram"     valid 0 % .. 100 %  source ncu "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed" }
metric occupancy.achieved { unit %  meaning "warps"   valid 0 % .. 100 %  source ncu "sm__warps_active.avg.pct_of_peak_sustained_active" }
metric pipe.tensor       { unit %  meaning "tensor"   valid 0 % .. 100 %  source ncu "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed" }
metric dram.bytes        { unit B  meaning "traffic"  valid 0 B ..        source ncu "dram__bytes.sum" }
metric launch.duration   { unit ns meaning "time"     valid 0 ns ..       source launch "duration_ns" }
metric launch.kernel     { kind text  meaning "name"  source launch "kernel" }
metric branch.success    { unit %  meaning "branches that succeed"  valid 0 % .. 100 %  source ncu "branch_success" }
metric instructions.by_opcode { unit inst  kind instances  meaning "by opcode"  source ncu "sass__inst_executed_per_opcode" }
metric gpu.busy          { unit %  meaning "busy"  scope report  valid 0 % .. 100 %  source timeline "busy_share" }
metric torch.only        { unit ns meaning "of torch"  source torch "x" }
cause memory-latency "warps wait for memory"
reference guide { title "Guide" url "https://example.org/guide" }
"""

RULE = """
rule {name} {{
  title "A rule"
  cause memory-latency
  param limit = 30 % in 0 % .. 100 % "share" see guide
  when sm.throughput < limit {more}
  because "Compute is at {{sm.throughput:.0%}}, under {{limit:.0%}}."
  fix "Do more."
  test "low"     {{ given sm.throughput = 10 %  expect fired }}
  test "high"    {{ given sm.throughput = 60 %  expect not fired }}
  test "missing" {{ given sm.throughput missing  expect unknown }}
}}
"""


def assembled(*texts: str) -> Pack:
    """A pack of the small catalogue and more texts, in files named a.rule, b.rule, …"""
    sources = [Source("base", "catalogue.rule", CATALOGUE.encode())]
    sources += [Source("user", f"{chr(97 + n)}.rule", text.encode()) for n, text in enumerate(texts)]
    return assemble(sources)


Judge = Callable[..., list[Diagnostic]]


@pytest.fixture(scope="session")
def judge() -> Judge:
    """Check texts beside the small catalogue; diagnostics of the texts only."""

    def run(*texts: str) -> list[Diagnostic]:
        found = check(assembled(*texts))
        return [d for d in found if d.span.file != "catalogue.rule"]

    return run


@pytest.fixture(scope="session")
def rule_text() -> Callable[..., str]:
    """A rule that passes every check, with room for a mistake."""

    def make(name: str = "low-compute", more: str = "") -> str:
        return RULE.format(name=name, more=more)

    return make
