"""Findings as data (`model`) and as pages (text, Markdown, HTML, JSON, SARIF, JUnit)."""
