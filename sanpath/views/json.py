"""Results as one JSON object, and its schema: the diagnosis (docs/output-contract.md), a comparison, a prediction."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from pydantic import TypeAdapter


@cache
def _adapter(result: type) -> TypeAdapter[Any]:
    return TypeAdapter(result)


def render(result: object) -> str:
    """A dataclass as one JSON object, indented, with a final line end. Control and invisible characters are escaped,
    so that no name can reverse, hide or control the output of a terminal. An infinite number becomes null."""
    kind: type = type(result)
    text = _adapter(kind).dump_json(result, indent=2).decode()
    return re.sub(r"[^\n -~]", lambda c: c[0] if c[0].isprintable() else json.dumps(c[0])[1:-1], text) + "\n"


def schema(result: type, name: str) -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of `render`'s object. Keys may be added within /1, never removed."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://sanpath.dev/{name}-1.schema.json",
        **json.loads(json.dumps(_adapter(result).json_schema(mode="serialization"))),
    }
