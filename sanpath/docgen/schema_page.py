"""docs/*.schema.json: what `--format json` prints, and the JSON files of a recording."""

from __future__ import annotations

import json

from sanpath.comparison.compare import Comparison
from sanpath.diagnosis.model import Diagnosis
from sanpath.recording.format.documents import schema as recording_schema
from sanpath.views.json import schema


def documents() -> dict[str, str]:
    """Path below the root of the checkout → content."""
    results = {"diagnosis": Diagnosis, "comparison": Comparison}
    schemas = {"recording": recording_schema()} | {name: schema(result, name) for name, result in results.items()}
    return {f"docs/{name}.schema.json": json.dumps(content, indent=2) + "\n" for name, content in schemas.items()}
