"""docs/*.schema.json: what `--format json` prints, and the JSON files of a recording."""

from __future__ import annotations

import json

from sanpath.recording.format.documents import schema as recording_schema
from sanpath.views.compare import schema as comparison_schema
from sanpath.views.json import schema as diagnosis_schema


def documents() -> dict[str, str]:
    """Path below the root of the checkout → content."""
    schemas = {"diagnosis": diagnosis_schema(), "recording": recording_schema(), "comparison": comparison_schema()}
    return {f"docs/{name}.schema.json": json.dumps(schema, indent=2) + "\n" for name, schema in schemas.items()}
