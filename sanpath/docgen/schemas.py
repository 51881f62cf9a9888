"""docs/*.schema.json: sanpath.yaml, for editors; what `--format json` prints; the JSON files of a recording."""

from __future__ import annotations

import json
from typing import Any

from sanpath import registry
from sanpath.catalogue.catalogue import kinds, relations
from sanpath.comparison.compare import Comparison
from sanpath.config import HostConfig
from sanpath.config_keys import SECRET
from sanpath.diagnosis.model import Diagnosis
from sanpath.plugin import SourceConfig
from sanpath.recording.format.documents import schema as recording_schema
from sanpath.views.json import schema

_ENTITY = f"({'|'.join(kinds())}):.+"


def documents() -> dict[str, str]:
    """Path below the root of the checkout → content."""
    schemas = {"sanpath": _configuration(), "recording": recording_schema()}
    schemas |= {name: schema(result, name) for name, result in (("diagnosis", Diagnosis), ("comparison", Comparison))}
    return {f"docs/{name}.schema.json": json.dumps(content, indent=2) + "\n" for name, content in schemas.items()}


def _configuration() -> dict[str, Any]:
    """The schema of sanpath.yaml, with the configuration of every collector."""
    links = {"type": "string", "pattern": rf"^{_ENTITY}\s+({'|'.join(relations())})\s+{_ENTITY}$"}
    topology = {
        "type": "object",
        "properties": {
            "things": {"type": "object", "patternProperties": {f"^{_ENTITY}$": {"type": ["object", "null"]}}},
            "links": {"type": "array", "items": links},
        },
        "additionalProperties": False,
    }
    recording = {"type": "object", "properties": {"keep": {"type": "string"}}, "additionalProperties": False}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sanpath.yaml",
        "type": "object",
        "properties": {
            "sources": {"type": "array", "items": {"oneOf": _sources()}},
            "topology": topology,
            "hosts": {"type": "object", "additionalProperties": _with_references(HostConfig.model_json_schema())},
            "recording": recording,
            "rules": {"type": "object"},
        },
        "additionalProperties": False,
    }


def _sources() -> list[dict[str, Any]]:
    """The schema of a source, for each collector that reads sources."""
    specs = map(registry.spec, registry.names())
    return [_source(spec.name, spec.title, spec.config) for spec in specs if spec.config is not None]


def _source(collector: str, title: str, config: type[SourceConfig]) -> dict[str, Any]:
    body = _with_references(config.model_json_schema())
    body["title"] = title
    body["properties"]["collector"] = {"const": collector}
    return body


def _with_references(given: dict[str, Any]) -> dict[str, Any]:
    """A secret stands in the file as a reference, never as its value."""
    if given.get("format") == "password":
        return {"type": "string", "pattern": "^(env:|file:|keyring:).+", "description": SECRET}
    return {
        key: _with_references(value) if isinstance(value, dict) else _in_list(value) for key, value in given.items()
    }


def _in_list(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_references(item) if isinstance(item, dict) else item for item in value]
    return value
