"""Findings as JSON, schema ``profrx.findings/1``; the schema itself is shipped as ``findings-1.schema.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

    from profrx.report.model import Findings

SCHEMA_FILE = Path(__file__).parent / "findings-1.schema.json"


def render(findings: Findings) -> str:
    """Return everything that was found."""
    return dumps(findings)


def dumps(model: BaseModel) -> str:
    """Return a pydantic model as JSON: ASCII only (so that names cannot steer a terminal), NaN as null."""
    plain = json.loads(model.model_dump_json(by_alias=True))
    return json.dumps(plain, indent=2, ensure_ascii=True, allow_nan=False)


def schema() -> dict[str, Any]:
    """Return the JSON schema of the findings, made from the models."""
    from profrx.report.model import SCHEMA, Findings

    made = Findings.model_json_schema(by_alias=True)
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    made["title"] = SCHEMA
    return made


def schema_text() -> str:
    """Return `schema()` as the shipped file holds it."""
    return json.dumps(schema(), indent=2, sort_keys=True) + "\n"
