"""The catalogue as typed objects. One reader of the YAML files beside it; the documents are generated from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric that a collector may emit for an entity kind. `mean_over`: the metric of the same kind that tells over
    how many operations a gauge is the mean; "": it is a state, and counts for as long as it lasts."""

    name: str
    kind: Literal["counter", "gauge"]
    unit: str
    meaning: str
    mean_over: str = ""


@dataclass(frozen=True, slots=True)
class FactDefinition:
    """A fact that rules and verdict may read."""

    name: str
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Plane:
    """Where a latency starts and stops. A lower `order` lies nearer to the load and contains the higher ones."""

    name: str
    order: int
    meaning: str


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the glossary. `code`: its spelling in code and JSON, "" where it has none. `first`: readers meet it
    first, so README.md has it as well."""

    term: str
    meaning: str
    code: str = ""
    first: bool = False


@cache
def _yaml(name: str) -> Any:
    text = files("sanpath.catalogue").joinpath(name).read_text(encoding="utf-8")
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe ones


def kinds() -> dict[str, str]:
    """Entity kinds and what they are."""
    return dict(_yaml("kinds.yaml")["kinds"])


def relations() -> dict[str, str]:
    """Link relations and what they mean."""
    return dict(_yaml("kinds.yaml")["relations"])


@cache
def metrics() -> dict[str, dict[str, Metric]]:
    """Entity kind → metric name → metric. A kind may have those of another (`same_as`) and its own beside them."""
    raw = _yaml("metrics.yaml")
    own = {
        kind: {name: Metric(name, **m) for name, m in body.items() if name != "same_as"} for kind, body in raw.items()
    }
    return {kind: {**own.get(body.get("same_as", ""), {}), **own[kind]} for kind, body in raw.items()}


@cache
def facts() -> dict[str, dict[str, FactDefinition]]:
    """Fact table → fact name → definition, the common columns included."""
    raw = _yaml("facts.yaml")
    common = raw["common"]
    return {
        table: {name: FactDefinition(name, **f) for name, f in (common | raw[body.get("same_as", table)]).items()}
        for table, body in raw.items()
        if table != "common"
    }


@cache
def glossary() -> list[Term]:
    """The words of reports, documents and code, those that readers meet first at the top."""
    return [Term(**term) for term in _yaml("glossary.yaml")]


@cache
def planes() -> dict[str, Plane]:
    """Plane name → plane."""
    return {p["name"]: Plane(**p) for p in _yaml("planes.yaml")}


@cache
def capacities() -> Any:
    """Link technologies with their speeds and frame models, as in capacities.yaml."""
    return _yaml("capacities.yaml")


@cache
def public() -> dict[str, list[str]]:
    """What is left as it is when a recording is made safe to send, as in public.yaml."""
    return {
        part: [entry for line in lines for entry in ([line] if isinstance(line, str) else line)]
        for part, lines in _yaml("public.yaml").items()
    }
