"""The diagnosis as the JSON object of docs/output-contract.md, and its schema."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from sanpath.diagnosis.model import Diagnosis


@cache
def _adapter() -> TypeAdapter[Diagnosis]:
    return TypeAdapter(Diagnosis)


def render(diagnosis: Diagnosis) -> str:
    """One JSON object, indented, with a line end. Control and invisible characters are written as escapes."""
    return escaped(_adapter().dump_json(diagnosis, indent=2).decode()) + "\n"


def escaped(text: str) -> str:
    """Equivalent JSON without characters that reverse, hide or control what a terminal shows."""
    return re.sub(r"[^\n -~]", lambda c: c[0] if c[0].isprintable() else json.dumps(c[0])[1:-1], text)


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of `render`'s object. Keys may be added within /1, never removed."""
    generated = _adapter().json_schema(mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://sanpath.dev/diagnosis-1.schema.json",
        **json.loads(json.dumps(generated)),
    }
