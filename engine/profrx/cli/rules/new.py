"""``profrx rules new``."""

from __future__ import annotations

import re
from pathlib import Path

import click

from profrx.cli.exits import Exit
from profrx.cli.output import emit
from profrx_parsers.errors import UsageError

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

SKELETON = '''\
# {name}: one sentence about the problem this rule finds.
# Check it with `profrx rules check {file}`, test it with `profrx rules test {file}`,
# use it with `profrx diagnose REPORT --pack {file}`. `profrx rules list --metrics` names all metrics.

rule {name} {{
  # The problem, not the advice: it is the heading of the finding.
  title "{title}"
  # info, low, medium, high or critical; may depend on conditions: `severity high when share > 50 %, medium`.
  severity medium
  # Findings with the same cause on the same kernel count once. `profrx rules list` shows the causes in use.
  cause memory-latency
  # What one finding is about: launch, kernel, stream, device, rank, report.
  scope launch

  # Every threshold has a name, a unit, a range and a meaning; `--param {name}.min_share=40%` changes it.
  param min_share = 30 % in 0 % .. 100 % "share of the waiting from which it is worth a look" heuristic
  # A name for an expression. Units are checked before anything runs; a missing value makes the rule unknown.
  let share = stall.long_scoreboard
  when share >= min_share

  # Share of the launch's run time that could go away. `global` is ranked, `local` is of one unit only.
  estimate local 0 % .. share

  because """{{share:.0%}} of the time between two instructions of a warp is waiting for data."""
  fix """Say what to do, most promising first."""
  except """Say when this is no problem."""
  collect ncu section "WarpStateStats"

  # At least one test each for fired, not fired and unknown.
  test "just waits" {{ given stall.long_scoreboard = 30.2 % expect fired }}
  test "hardly waits" {{ given stall.long_scoreboard = 29.8 % expect not fired }}
  test "never collected" {{ given stall.long_scoreboard missing expect unknown }}
}}
'''


@click.command()
@click.argument("name")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    help="Write here; default NAME.rule, - is standard output.",
)
def new(name: str, output: str | None) -> Exit:
    """Write a commented skeleton of a rule that passes its own check and tests."""
    if not NAME.fullmatch(name):
        raise UsageError(
            "rule-name",
            f"{name!r} is no rule id",
            next_step="use small letters, digits and hyphens: long-waits",
        )
    target = output or f"{name}.rule"
    if target != "-" and Path(target).exists():
        raise UsageError("rule-exists", "the file exists", where=target, next_step="name another one with -o")
    emit(skeleton(name, target), target)
    if target != "-":
        click.echo(f"wrote {target}", err=True)
    return Exit.CLEAN


def skeleton(name: str, file: str = "") -> str:
    """Return the text of a new rule."""
    title = name.replace("-", " ").capitalize()
    return SKELETON.format(name=name, title=title, file=file if file not in ("", "-") else f"{name}.rule")
