"""Facts about a capture. Apart from `report`: who only reads tables need not load pydantic (15 MiB, 80 ms)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class ReportInfo(BaseModel):
    """Facts about the capture that are safe to show.

    Everything is optional: null means the report does not say. `options` holds the collection options that
    survive redaction (set, sections, clock control, replay mode, trace kinds), `private` is empty unless
    private facts were asked for.
    """

    model_config = ConfigDict(extra="forbid")

    source: str
    """Path as the user gave it."""
    sha256: str | None = None
    """Of the file's bytes (a folder: of the sorted member digests)."""
    format: str
    """Name of the reader's descriptor, e.g. ``ncu-rep``."""
    why: str = ""
    """Why this reader was chosen."""
    tool: str | None = None
    """ncu, nsys, rocprofv3, torch.profiler…"""
    tool_version: str | None = None
    captured_at: str | None = None
    """ISO 8601, UTC."""
    driver: str | None = None
    runtime_version: str | None = None
    """CUDA / ROCm version."""
    platform: str | None = None
    """Operating system and machine architecture, without host name."""
    clocks: str | None = None
    """``locked``, ``unlocked``, ``mixed`` or null when not recorded."""
    time_origin: str | None = None
    base_time: str | None = None
    """What `time_share` of findings refers to: ``profiled kernel time`` or ``wall time of the window``."""
    options: dict[str, Any] = Field(default_factory=dict)
    private: dict[str, Any] = Field(default_factory=dict)
