"""docs/diagnosis.schema.json: what `--format json` prints."""

from __future__ import annotations

import json

from sanpath.views.json import schema


def documents() -> dict[str, str]:
    """Path below the root of the checkout → content."""
    return {"docs/diagnosis.schema.json": json.dumps(schema(), indent=2) + "\n"}
