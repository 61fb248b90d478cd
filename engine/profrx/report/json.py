"""Findings as JSON, schema ``profrx.findings/1``; the schemas of all results are shipped in ``schemas/``."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

    from profrx.report.model import Findings

SCHEMAS = {
    "findings-1": "profrx.report.model:Findings",
    "inspection-1": "profrx.inspection:Inspection",
    "metric-1": "profrx.summary.metric:MetricExplanation",
    "explain-1": "profrx.evaluate.explain:Explanation",
}
"""Shipped schema -> the model it is made from."""


def schema_file(name: str) -> Path:
    """Return where a shipped schema lies."""
    return Path(__file__).parent / "schemas" / f"{name}.schema.json"


def render(findings: Findings) -> str:
    """Return everything that was found."""
    return dumps(findings)


def dumps(model: BaseModel) -> str:
    """Return a pydantic model as JSON: ASCII only (so that names cannot steer a terminal), NaN as null."""
    plain = json.loads(model.model_dump_json(by_alias=True))
    return json.dumps(plain, indent=2, ensure_ascii=True, allow_nan=False)


def schema(name: str) -> dict[str, Any]:
    """Return a JSON schema, made from its model."""
    module, _, model = SCHEMAS[name].partition(":")
    made: dict[str, Any] = getattr(importlib.import_module(module), model).model_json_schema(by_alias=True)
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    made["title"] = f"profrx.{name.replace('-', '/')}"
    return made


def write_schemas() -> None:
    """Renew the shipped files after a change of the models."""
    for name in SCHEMAS:
        text = json.dumps(schema(name), indent=2, sort_keys=True) + "\n"
        schema_file(name).write_text(text, encoding="utf-8")
