"""Rules as JSON for other tools, and back: every node an object with its class under ``node``.

Spans are left out: the JSON of a tree is the same wherever it stood. `from_json` takes nothing but the classes,
fields and value types of the syntax tree.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields
from typing import Any

from profrx.language import ast
from profrx.language.scan import MAX_FILE

SCHEMA = "profrx.rules/1"
MAX_JSON = 16 * MAX_FILE
"""Characters of a document that is read back."""

CLASSES: dict[str, type[ast.Node]] = {
    name: value
    for name, value in vars(ast).items()
    if isinstance(value, type) and issubclass(value, ast.Node) and value is not ast.Node
}


class InterchangeError(ValueError):
    """Raised for a document that is no JSON form of rules."""


def to_json(file: ast.File) -> str:
    """The declarations of a file as a JSON document; ``NaN`` and infinity are written as strings."""
    document = {"schema": SCHEMA, "declarations": [_out(node) for node in file.declarations]}
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def from_json(text: str) -> ast.File:
    """The file that a document describes.

    Raises:
        InterchangeError: it is not what `to_json` writes.
    """
    if len(text) > MAX_JSON:
        raise InterchangeError(f"the document has more than {MAX_JSON} characters")
    try:
        document = json.loads(text)
        declarations = document["declarations"]
        if document["schema"] != SCHEMA or not isinstance(declarations, list):
            raise InterchangeError(f"the document is not of schema {SCHEMA}")
        return ast.File(tuple(_in(node) for node in declarations))
    except (json.JSONDecodeError, KeyError, TypeError, RecursionError) as error:
        raise InterchangeError(f"this is no JSON form of rules: {error}") from error


def _out(value: Any) -> Any:
    if isinstance(value, ast.Node):
        named = {f.name: getattr(value, f.name) for f in fields(value) if f.name != "span"}
        return {"node": type(value).__name__} | {name: _out(part) for name, part in named.items()}
    if isinstance(value, tuple):
        return [_out(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": repr(value)}
    return str(value) if isinstance(value, str) else value


def _in(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_in(part) for part in value)
    if not isinstance(value, dict):
        return value
    if set(value) == {"number"} and value["number"] in ("nan", "inf", "-inf"):
        return math.nan if value["number"] == "nan" else float(value["number"])
    name = value.get("node")
    class_ = CLASSES.get(name) if isinstance(name, str) else None
    if class_ is None:
        raise InterchangeError(f"there is no node {name!r}")
    known = {f.name for f in fields(class_)} - {"span"}
    unknown = set(value) - known - {"node"}
    if unknown:
        raise InterchangeError(f"a {name} has no {', '.join(sorted(unknown))}")
    return class_(**{key: _in(part) for key, part in value.items() if key != "node"})
