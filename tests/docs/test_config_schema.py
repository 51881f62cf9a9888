"""The schema that editors have of sanpath.yaml accepts what sanpath accepts, and marks what sanpath refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from sanpath import registry

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = json.loads((ROOT / "docs/sanpath.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def readme_example() -> Any:
    text = re.search(r"```yaml\n(sources:.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert text is not None
    return yaml.safe_load(text.group(1))


def test_the_example_of_the_readme_is_valid(validator: Draft202012Validator) -> None:
    validator.validate(readme_example())


def test_a_secret_written_out_is_marked(validator: Draft202012Validator) -> None:
    config = readme_example()
    config["sources"][0]["community"] = "public"
    assert not validator.is_valid(config)


@pytest.mark.parametrize(("key", "value"), [("colector", "flasharray"), ("every_seconds", 0), ("hots", "fa1")])
def test_a_mistake_in_a_source_is_marked(validator: Draft202012Validator, key: str, value: object) -> None:
    config = readme_example()
    config["sources"][1][key] = value
    assert not validator.is_valid(config)


def test_every_collector_of_sources_is_offered(validator: Draft202012Validator) -> None:
    choices = validator.schema["properties"]["sources"]["items"]["oneOf"]
    offered = {choice["properties"]["collector"]["const"] for choice in choices}
    assert offered == {name for name in registry.names() if registry.spec(name).config is not None}
