"""The tables of an archive: one SQL statement list per schema version.

Every row belongs to a report and can be written again without harm: keys are derived from the report's
address, never counted up, so that an interrupted and repeated batch ends in the same rows (see
``docs/archive.md``). Times are nanoseconds, shares 0..1, null means unknown.
"""

from __future__ import annotations

VERSION = 2

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE reports (
          report_id INTEGER PRIMARY KEY,   -- 63 bits of the sha256 of uri
          uri TEXT NOT NULL,               -- where it lay; archive members as archive!member
          sha256 TEXT,                     -- of the file's bytes
          size_bytes INTEGER, modified_ns INTEGER,
          status TEXT NOT NULL,            -- ok, failed (unreadable), quarantined (crash, hang, memory)
          code TEXT, message TEXT, next_step TEXT,
          format TEXT, tool TEXT, tool_version TEXT, captured_at TEXT, driver TEXT, runtime_version TEXT,
          platform TEXT, clocks TEXT, base_time TEXT, base_time_ns REAL,
          options TEXT,                    -- collection options, JSON
          busy TEXT,                       -- busy summary, JSON; null = unknown
          launches INTEGER, kernels INTEGER, findings INTEGER,
          pack TEXT, analysis_key TEXT,    -- what it was judged with: rules, parameters, profrx version
          top_rule TEXT, top_cause TEXT, top_score REAL,
          unknown_set INTEGER              -- see unknown_sets; null = everything could be judged
        )
        """,
        "CREATE INDEX reports_by_quality ON reports (status, clocks, driver, tool, tool_version)",
        "CREATE INDEX reports_by_time ON reports (status, base_time_ns)",
        "CREATE INDEX reports_without_result ON reports (uri) WHERE status <> 'ok'",
        "CREATE INDEX reports_by_unknowns ON reports (unknown_set)",
        """
        CREATE TABLE devices (
          report_id INTEGER NOT NULL REFERENCES reports ON DELETE CASCADE, device_id INTEGER NOT NULL,
          vendor TEXT, name TEXT, arch TEXT, compute_units INTEGER, memory_bytes INTEGER, driver TEXT,
          PRIMARY KEY (report_id, device_id)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE kernels (
          report_id INTEGER NOT NULL REFERENCES reports ON DELETE CASCADE, kernel_row INTEGER NOT NULL,
          kernel_id TEXT,                  -- canonical id, equal over tools and builds
          kernel TEXT, kernel_short TEXT, device TEXT, arch TEXT, grid TEXT, block TEXT,
          launches INTEGER, duration_ns REAL, duration_median_ns REAL, duration_min_ns REAL, duration_max_ns REAL,
          time_share REAL, verdict TEXT,
          PRIMARY KEY (report_id, kernel_row)
        ) WITHOUT ROWID
        """,
        """
        CREATE INDEX kernels_by_id
        ON kernels (kernel_id, device, report_id, launches, duration_ns, verdict, kernel_short)
        """,
        "CREATE TABLE metric_names (metric_id INTEGER PRIMARY KEY, metric TEXT UNIQUE NOT NULL, unit TEXT)",
        """
        CREATE TABLE metric_values (
          report_id INTEGER NOT NULL REFERENCES reports ON DELETE CASCADE, kernel_row INTEGER NOT NULL,
          metric_id INTEGER NOT NULL REFERENCES metric_names, value REAL,  -- median over the launches
          PRIMARY KEY (report_id, kernel_row, metric_id)
        ) WITHOUT ROWID
        """,
        """
        CREATE VIEW metrics AS
          SELECT v.report_id, v.kernel_row, n.metric, v.value, n.unit
          FROM metric_values v JOIN metric_names n USING (metric_id)
        """,
        """
        CREATE TABLE verdicts (
          report_id INTEGER NOT NULL REFERENCES reports ON DELETE CASCADE, row INTEGER NOT NULL,
          kernel TEXT, kernel_short TEXT, table_name TEXT, verdict TEXT, launches INTEGER, time_share REAL,
          because TEXT, PRIMARY KEY (report_id, row)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE findings (
          report_id INTEGER NOT NULL REFERENCES reports ON DELETE CASCADE, rank INTEGER NOT NULL,
          rule TEXT, rule_version INTEGER, parameters_hash TEXT, cause TEXT, title TEXT, severity TEXT,
          confidence TEXT, scope TEXT, kernel_id TEXT, kernel TEXT, kernel_short TEXT, subject TEXT, launches INTEGER,
          time_share REAL, saving_kind TEXT, saving_low REAL, saving_high REAL, score REAL,
          saved_low_ns REAL, saved_ns REAL, saved_high_ns REAL, -- global saving x the subject's time; middle
          counted INTEGER,                 -- 1 = the largest saving of its cause on its subject: sums use these
          because TEXT, fix TEXT, detail TEXT,  -- JSON of the whole finding
          PRIMARY KEY (report_id, rank)
        ) WITHOUT ROWID
        """,
        """
        CREATE INDEX findings_that_count
        ON findings (cause, rule, title, report_id, saved_ns, saved_low_ns, saved_high_ns) WHERE counted = 1
        """,
        "CREATE INDEX findings_by_kernel ON findings (kernel_id, saved_ns, title)",
        """
        CREATE TABLE unknown_sets (        -- many reports lack the same: what they lack is kept once
          set_id INTEGER NOT NULL, row INTEGER NOT NULL,  -- 63 bits of the sha256 of the set
          rule TEXT, title TEXT, subjects INTEGER, missing TEXT, collect TEXT, PRIMARY KEY (set_id, row)
        ) WITHOUT ROWID
        """,
        """
        CREATE VIEW unknowns AS
          SELECT r.report_id, s.row, s.rule, s.title, s.subjects, s.missing, s.collect
          FROM reports r JOIN unknown_sets s ON s.set_id = r.unknown_set
        """,
        """
        CREATE TABLE blocked (
          report_id INTEGER NOT NULL REFERENCES reports ON DELETE CASCADE, row INTEGER NOT NULL,
          rule TEXT, guard TEXT, reason TEXT, subjects INTEGER, PRIMARY KEY (report_id, row)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE problems (
          report_id INTEGER NOT NULL REFERENCES reports ON DELETE CASCADE, row INTEGER NOT NULL,
          severity TEXT, code TEXT, message TEXT, place TEXT, count INTEGER, advice TEXT,
          PRIMARY KEY (report_id, row)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE vendor_findings (
          report_id INTEGER NOT NULL REFERENCES reports ON DELETE CASCADE, row INTEGER NOT NULL,
          kernel TEXT, kernel_short TEXT, rule TEXT, title TEXT, estimate_pct REAL, estimate_kind TEXT,
          agreement TEXT, comment TEXT, PRIMARY KEY (report_id, row)
        ) WITHOUT ROWID
        """,
        """
        CREATE INDEX vendor_findings_that_differ
        ON vendor_findings (rule, title, report_id, comment) WHERE agreement = 'differs'
        """,
        """
        CREATE TABLE benchmarks (
          report_id INTEGER NOT NULL REFERENCES reports ON DELETE CASCADE, row INTEGER NOT NULL,
          benchmark TEXT, parameters TEXT, statistic TEXT, round INTEGER, value REAL, unit TEXT, count INTEGER,
          device TEXT, text TEXT, PRIMARY KEY (report_id, row)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE stored_tables (
          report_id INTEGER PRIMARY KEY REFERENCES reports ON DELETE CASCADE,
          wanted_hash TEXT NOT NULL,       -- which metrics were decoded
          data BLOB NOT NULL               -- what rules read, to judge again without the file (see stored.py)
        ) WITHOUT ROWID
        """,
        "CREATE VIRTUAL TABLE kernel_names USING fts5 (kernel, kernel_short, content='', tokenize='trigram')",
        "CREATE TABLE kernel_name_rows (docid INTEGER PRIMARY KEY, kernel TEXT UNIQUE NOT NULL, kernel_short TEXT, kernel_id TEXT)",
    ),
    (
        # an index answers alone only when it holds what it is limited by as well
        "DROP INDEX findings_that_count",
        """
        CREATE INDEX findings_that_count
        ON findings (cause, rule, report_id, title, saved_ns, saved_low_ns, saved_high_ns, counted) WHERE counted = 1
        """,
        "DROP INDEX vendor_findings_that_differ",
        """
        CREATE INDEX vendor_findings_that_differ
        ON vendor_findings (rule, title, report_id, comment, agreement) WHERE agreement = 'differs'
        """,
        "CREATE INDEX kernels_by_verdict ON kernels (kernel_id, device, verdict, duration_ns)",
    ),
)
"""`MIGRATIONS[n]` brings an archive from version n to n + 1."""

CHILD_TABLES = (
    "devices", "kernels", "metric_values", "verdicts", "findings", "blocked", "problems", "vendor_findings",
    "benchmarks", "stored_tables",
)  # fmt: skip
"""Tables whose rows belong to one report and are replaced with it."""

EXPORTED = (
    "reports", "devices", "kernels", "metrics", "verdicts", "findings", "unknowns", "blocked", "problems",
    "vendor_findings", "benchmarks",
)  # fmt: skip
"""Tables and views of an export, in order."""
