"""Named questions to an archive: each is one SQL statement with a sentence of help.

Causes are counted once: of the findings with one cause on one kernel of one report only the one with the
largest saving counts. `saved_ns` adds up over reports but not over causes of one kernel: two fixes of the
same kernel overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

_ONE_PER_CAUSE = """
  SELECT f.*, row_number() OVER (
    PARTITION BY report_id, cause, coalesce(kernel, subject, '') ORDER BY saved_ns DESC, rank
  ) AS place FROM findings f
"""


@dataclass(frozen=True)
class Named:
    """A question with a name."""

    title: str
    sql: str


QUERIES: dict[str, Named] = {
    "fixes": Named(
        "the fixes worth most over all reports: time saved (middle of the estimate), one per cause",
        f"""
        SELECT cause, rule, title, count(DISTINCT report_id) AS reports,
               count(DISTINCT coalesce(kernel, subject)) AS kernels,
               sum(saved_ns) AS saved_ns, sum(saved_ns) / (SELECT sum(base_time_ns) FROM reports WHERE status = 'ok') AS share,
               sum(saving_low * time_share * base) AS saved_low_ns, sum(saving_high * time_share * base) AS saved_high_ns
        FROM (SELECT p.*, r.base_time_ns AS base FROM ({_ONE_PER_CAUSE}) p JOIN reports r USING (report_id) WHERE place = 1)
        WHERE saving_kind = 'global' AND saved_ns IS NOT NULL
        GROUP BY cause, rule ORDER BY saved_ns DESC, cause, rule
        """,
    ),
    "kernels": Named(
        "the kernels that cost most over all reports, with their commonest verdict and worst finding",
        """
        SELECT k.kernel_short, k.kernel_id, k.device, count(DISTINCT k.report_id) AS reports, sum(k.launches) AS launches,
               sum(k.duration_ns) AS duration_ns,
               (SELECT verdict FROM kernels v WHERE v.kernel_id = k.kernel_id AND v.device IS k.device AND verdict <> 'unknown'
                GROUP BY verdict ORDER BY sum(duration_ns) DESC, verdict LIMIT 1) AS verdict,
               (SELECT f.title FROM findings f JOIN kernels i ON i.report_id = f.report_id AND i.kernel = f.kernel
                WHERE i.kernel_id = k.kernel_id ORDER BY f.saved_ns DESC LIMIT 1) AS worst_finding
        FROM kernels k GROUP BY k.kernel_id, k.device ORDER BY duration_ns DESC, k.kernel_id LIMIT 200
        """,
    ),
    "unknown": Named(
        "rules that could not be judged, by how many reports, and what to collect",
        """
        SELECT rule, title, count(DISTINCT report_id) AS reports, sum(subjects) AS subjects, max(nullif(collect, '[]')) AS collect
        FROM unknowns GROUP BY rule ORDER BY reports DESC, rule
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
        SELECT rule, title, count(*) AS results, count(DISTINCT report_id) AS reports, max(comment) AS comment
        FROM vendor_findings WHERE agreement = 'differs' GROUP BY rule, title ORDER BY results DESC, rule, title
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
