"""`skeleton`: commented texts to start from, one a kind of declaration; each passes its own check and tests."""

from __future__ import annotations

RULE = '''\
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

GUARD = '''\
# {name}: says when measurements are not good enough for a conclusion.
# Check it with `profrx rules check {file}`, test it with `profrx rules test {file}`.

guard {name} {{
  title "{title}"
  # info, warning or error: how loudly the page says it.
  severity warning
  scope launch
  # While the guard holds, the rules named after `blocks` are shown as blocked, with this reason;
  # `metric …` makes a metric invalid instead: it is then unknown everywhere.
  param min_duration = 5 us in 0 us .. 1 ms "shorter kernels are not measured well" heuristic
  when launch.duration < min_duration
  blocks metric l1.hit_rate
  because """{{launch.duration:.1f us}} is too short for this counter."""
  fix """Profile a larger problem, or the same kernel over several launches."""

  # At least one test each for fired, not fired and unknown.
  test "short" {{ given launch.duration = 4.9 us expect fired }}
  test "long" {{ given launch.duration = 5.1 us expect not fired }}
  test "never collected" {{ given launch.duration missing expect unknown }}
}}
'''

VERDICT = '''\
# {name}: sorts every subject into exactly one row; rules hang `under` the rows.
# Check it with `profrx rules check {file}`: it proves that the rows neither overlap nor leave a gap.

verdict {name} {{
  title "{title}"
  scope launch
  param low = 30 % in 0 % .. 100 % "below this it is low" heuristic
  param high = 70 % in 0 % .. 100 % "above this it is high" heuristic
  # Whoever sets the parameters must keep to this.
  require low <= high
  # one_of: exactly one row holds. `first`: the first that holds. `all`: any number.
  one_of {{
    {name}-low "Low" when occupancy.achieved < low
      """{{occupancy.achieved:.0%}} of the warps that fit were resident."""
    {name}-middle "Middle" when low <= occupancy.achieved <= high
      """{{occupancy.achieved:.0%}} of the warps that fit were resident."""
    {name}-high "High" when occupancy.achieved > high
      """{{occupancy.achieved:.0%}} of the warps that fit were resident."""
  }}
  collect ncu section "Occupancy"

  # One test for each row, and one for unknown.
  test "low" {{ given occupancy.achieved = 29.9 % expect {name}-low }}
  test "middle" {{ given occupancy.achieved = 30 % expect {name}-middle }}
  test "high" {{ given occupancy.achieved = 70.1 % expect {name}-high }}
  test "never collected" {{ given occupancy.achieved missing expect unknown }}
}}
'''

METRIC = """\
# {metric}: a logical metric over what a tool calls it.
# Check it with `profrx rules check {file}`, test it with `profrx rules test {file}`.

metric {metric} {{
  # Units are checked; counted things (inst, sectors, warps …) are dimensions of their own.
  unit B/inst
  meaning "DRAM traffic for each warp instruction"
  # Values outside are invalid, so unknown: no rule judges them.
  valid 0 B/inst ..
  # The first source of the report's tool whose names are present supplies the value. Also:
  #   source ncu "raw_name", "older_raw_name"
  #   source ncu arch 9.0 .. version 2025.1 .. "raw_name"
  source ncu = dram.bytes / raw "smsp__inst_executed.sum" inst
  collect ncu section "MemoryWorkloadAnalysis_Tables"
  test "quotient" {{ given dram.bytes = 6400 B, raw "smsp__inst_executed.sum" = 100 expect value 64 B/inst }}
}}
"""

KINDS = {"rule": RULE, "guard": GUARD, "verdict": VERDICT, "metric": METRIC}
"""What can be started."""


def skeleton(name: str, kind: str = "rule", file: str = "") -> str:
    """The text of a new declaration; a metric gets a dotted name made of the id.

    Raises:
        KeyError: there is no such kind.
    """
    title = name.replace("-", " ").capitalize()
    dotted = name.replace("-", ".", 1).replace("-", "_")
    metric = dotted if "." in dotted else f"my.{dotted}"
    return KINDS[kind].format(name=name, title=title, metric=metric, file=file or f"{name}.rule")
