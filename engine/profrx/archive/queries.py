"""Named questions to an archive: each is one SQL statement with a sentence of help.

Causes are counted once: of the findings with one cause on one kernel of one report only the one with the
largest saving counts (`findings.counted`). `saved_ns` adds up over reports but not over causes of one kernel: two fixes of the
same kernel overlap.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Named:
    """A question with a name."""

    title: str
    sql: str


QUERIES: dict[str, Named] = {
    "fixes": Named(
        "the fixes worth most over all reports: time saved (middle of the estimate), one per cause",
        """
        SELECT cause, rule, max(title) AS title, count(DISTINCT report_id) AS reports, count(*) AS subjects,
               sum(saved_ns) AS saved_ns,
               sum(saved_ns) / (SELECT sum(base_time_ns) FROM reports WHERE status = 'ok') AS share,
               sum(saved_low_ns) AS saved_low_ns, sum(saved_high_ns) AS saved_high_ns
        FROM findings WHERE counted = 1 GROUP BY cause, rule ORDER BY sum(saved_ns) DESC, cause, rule
        """,
    ),
    "kernels": Named(
        "the kernels that cost most over all reports, with their commonest verdict and worst finding",
        """
        WITH per_report AS (
          SELECT kernel_id, device, report_id, max(kernel_short) AS kernel_short, sum(launches) AS launches,
                 sum(duration_ns) AS ns
          FROM kernels GROUP BY kernel_id, device, report_id
        ), top AS (
          SELECT max(kernel_short) AS kernel_short, kernel_id, device, count(*) AS reports, sum(launches) AS launches,
                 sum(ns) AS duration_ns
          FROM per_report GROUP BY kernel_id, device ORDER BY duration_ns DESC, kernel_id LIMIT 200
        )
        SELECT top.*,
               (SELECT verdict FROM kernels k WHERE k.kernel_id = top.kernel_id AND k.device IS top.device
                AND verdict <> 'unknown' GROUP BY verdict ORDER BY sum(duration_ns) DESC, verdict LIMIT 1) AS verdict,
               (SELECT title FROM findings f WHERE f.kernel_id = top.kernel_id ORDER BY saved_ns DESC, title LIMIT 1)
                 AS worst_finding
        FROM top ORDER BY duration_ns DESC, kernel_id
        """,
    ),
    "unknown": Named(
        "rules that could not be judged, by how many reports, and what to collect",
        """
        WITH sets AS (SELECT unknown_set, count(*) AS n FROM reports WHERE unknown_set IS NOT NULL GROUP BY unknown_set)
        SELECT rule, max(title) AS title, sum(n) AS reports, sum(n * subjects) AS subjects,
               max(nullif(collect, '[]')) AS collect
        FROM sets JOIN unknown_sets ON set_id = unknown_set GROUP BY rule ORDER BY reports DESC, rule
        """,
    ),
    "problems": Named(
        "problems of the measurements, by code",
        """
        SELECT severity, code, count(DISTINCT report_id) AS reports, sum(count) AS occurrences, max(advice) AS advice
        FROM problems GROUP BY severity, code ORDER BY reports DESC, code
        """,
    ),
    "failed": Named(
        "inputs that gave no result",
        "SELECT uri, status, code, message, next_step FROM reports WHERE status <> 'ok' ORDER BY uri",
    ),
    "quality": Named(
        "how well the captures are documented: clocks, driver, tool version",
        """
        SELECT coalesce(clocks, 'not recorded') AS clocks, driver IS NOT NULL AS driver_known, tool,
               coalesce(tool_version, 'not recorded') AS tool_version, count(*) AS reports
        FROM reports WHERE status = 'ok' GROUP BY 1, 2, 3, 4 ORDER BY reports DESC, 1, 3, 4
        """,
    ),
    "vendor": Named(
        "stored vendor results that today's rules contradict",
        """
        WITH per_report AS (
          SELECT rule, title, report_id, count(*) AS n, max(comment) AS comment FROM vendor_findings
          WHERE agreement = 'differs' GROUP BY rule, title, report_id
        )
        SELECT rule, title, sum(n) AS results, count(*) AS reports, max(comment) AS comment
        FROM per_report GROUP BY rule, title ORDER BY results DESC, rule, title
        """,
    ),
    "blocked": Named(
        "conclusions that a guard forbade",
        """
        SELECT guard, rule, count(DISTINCT report_id) AS reports, max(reason) AS reason
        FROM blocked GROUP BY guard, rule ORDER BY reports DESC, guard, rule
        """,
    ),
    "reports": Named(
        "every report with its top finding",
        "SELECT uri, status, format, tool_version, launches, findings, top_rule, top_cause, top_score FROM reports ORDER BY uri",
    ),
    "devices": Named(
        "devices by number of reports",
        "SELECT name, arch, count(DISTINCT report_id) AS reports FROM devices GROUP BY name, arch ORDER BY reports DESC, name",
    ),
}
