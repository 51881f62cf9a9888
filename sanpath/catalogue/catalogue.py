"""Reads the catalogue's YAML files into typed objects. Documents are generated from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from sanpath.yaml_cache import cached


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric that a collector may emit for an entity kind.

    `mean_over`: the metric, of the same kind, with the number of operations that a gauge is a mean of. "": the gauge
    is a state, and weighted by its duration."""

    name: str
    kind: Literal["counter", "gauge"]
    unit: str
    meaning: str
    mean_over: str = ""


@dataclass(frozen=True, slots=True)
class Key:
    """A kind of identifier. `form`: how it is written. `joins`: entities of one kind that share it are one entity."""

    name: str
    form: str
    meaning: str
    joins: bool


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between entities. `ends`: the pairs (kind, kind) that it goes from and to."""

    name: str
    ends: tuple[tuple[str, str], ...]
    meaning: str


@dataclass(frozen=True, slots=True)
class Field:
    """An attribute of an entity, or a detail of an event, as a source reports it.

    `unit`: of a number, "" where it has none. `values`: all that sanpath recognises, empty for any. `read`: sanpath
    judges by it. `needed`: an event without it has no meaning."""

    name: str
    type: Literal["text", "number", "boolean"]
    meaning: str
    unit: str = ""
    values: tuple[str, ...] = ()
    read: bool = False
    needed: bool = False

    def accepts(self, value: object) -> bool:
        """Return whether it can have this value. None stands for what is not known, and 1 for true."""
        if value is None:
            return True
        if self.type == "text":
            return isinstance(value, str) and (not self.values or value in self.values)
        is_truth = isinstance(value, bool) or value in (0, 1)
        return is_truth if self.type == "boolean" else isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class EventDefinition:
    """An event. `source`: who reports it. `read`: sanpath reads it. `details`: name → field."""

    name: str
    source: str
    meaning: str
    details: dict[str, Field]
    read: bool = False


@dataclass(frozen=True, slots=True)
class FactDefinition:
    """A fact that rules and verdict may read."""

    name: str
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a setup that sources read.

    `read_by`: the entity kinds of which a source of it declares samples. `exists`: a setup with the part has an
    entity of one of these kinds; empty: every setup has it. `tables`: fact table → what it tells."""

    title: str
    read_by: tuple[str, ...]
    tables: dict[str, str]
    exists: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """Fact tables and facts that only some setups have.

    They have an entity of this kind, with this attribute ("": any), of this value in small letters ("": any)."""

    kind: str
    tables: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    attribute: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a setup by name, in the order of the I/O path, and which fact each of them tells.

    `facts_of`: fact → the part that tells it, where that is not the part of its table. `names`: fact → what it tells,
    where its name does not say so."""

    parts: dict[str, Part]
    facts_of: dict[str, str]
    only_where: tuple[Condition, ...]
    names: dict[str, str]


@dataclass(frozen=True, slots=True)
class Plane:
    """Where the measurement of a latency starts and stops.

    A plane with a lower `order` is closer to the load, and its latency includes that of planes with a higher one."""

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
    return cached("sanpath.catalogue", name.removesuffix(".yaml"), lambda: _parsed(name))


def _parsed(name: str) -> Any:
    return _loaded(files("sanpath.catalogue").joinpath(name).read_text(encoding="utf-8"))


def _loaded(text: str) -> Any:
    import yaml  # only here: collectors import the catalogue with the plugin API, and listing them has to stay cheap

    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe ones


def kinds() -> dict[str, str]:
    """Return entity kind → its meaning."""
    return {kind: body["meaning"] for kind, body in _yaml("kinds.yaml")["kinds"].items()}


def keys_of(kind: str) -> tuple[str, ...]:
    """Return the kinds of identifiers that an entity of this kind may have, as in `keys`."""
    return tuple(_yaml("kinds.yaml")["kinds"][kind]["keys"])


def keys() -> dict[str, Key]:
    """Return kind of identifier → its definition, the most trusted first."""
    return {name: Key(name, **body) for name, body in _yaml("kinds.yaml")["keys"].items()}


def relations() -> dict[str, Relation]:
    """Return relation → its definition."""
    return {
        name: Relation(name, tuple((pair[0], pair[1]) for pair in map(str.split, body["ends"])), body["meaning"])
        for name, body in _yaml("kinds.yaml")["relations"].items()
    }


def attributes() -> dict[str, dict[str, Field]]:
    """Return entity kind → name of an attribute → its definition. Kinds without attributes are left out.

    Those that one collector alone reports, and nothing judges by, are in its folder: `attributes_of`.
    """
    return {kind: _fields(body) for kind, body in _yaml("attributes.yaml").items()}


def attributes_of(package: str) -> dict[str, dict[str, Field]]:
    """Return the same of the attributes that a collector's package declares itself. {}: it declares none."""
    file = files(package).joinpath("attributes.yaml")
    body = _loaded(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return {kind: _fields(fields) for kind, fields in body.items()}


def events() -> dict[str, EventDefinition]:
    """Return name of an event → its definition."""
    return {
        name: EventDefinition(name, **{**body, "details": _fields(body["details"])})
        for name, body in _yaml("events.yaml").items()
    }


def _fields(body: dict[str, dict[str, Any]]) -> dict[str, Field]:
    return {name: Field(name, **{**raw, "values": tuple(raw.get("values", ()))}) for name, raw in body.items()}


@cache
def metrics() -> dict[str, dict[str, Metric]]:
    """Return entity kind → metric name → metric. A kind may add its own to those of another kind (`same_as`)."""
    raw = _yaml("metrics.yaml")
    by_kind = {
        kind: {name: Metric(name, **definition) for name, definition in body.items() if name != "same_as"}
        for kind, body in raw.items()
    }
    return {kind: {**by_kind.get(body.get("same_as", ""), {}), **by_kind[kind]} for kind, body in raw.items()}


@cache
def facts() -> dict[str, dict[str, FactDefinition]]:
    """Return fact table → fact name → definition, including the common columns."""
    raw = _yaml("facts.yaml")
    common = raw["common"]
    return {
        table: {
            name: FactDefinition(name, **definition)
            for name, definition in (common | raw[body.get("same_as", table)]).items()
        }
        for table, body in raw.items()
        if table != "common"
    }


@cache
def parts() -> Parts:
    """Return the parts of a setup, as in parts.yaml."""
    raw = _yaml("parts.yaml")
    return Parts(
        {
            name: Part(**{**body, "read_by": tuple(body["read_by"]), "exists": tuple(body.get("exists", ()))})
            for name, body in raw["parts"].items()
        },
        {fact: part for part, names in raw["facts_of"].items() for fact in names},
        tuple(
            Condition(**{**body, **{key: tuple(body.get(key, ())) for key in ("tables", "facts")}})
            for body in raw["only_where"]
        ),
        raw["names"],
    )


@cache
def glossary() -> list[Term]:
    """The words of reports, documents and code, those that readers meet first at the top."""
    return [Term(**term) for term in _yaml("glossary.yaml")]


@cache
def planes() -> dict[str, Plane]:
    """Return plane name → plane."""
    return {plane["name"]: Plane(**plane) for plane in _yaml("planes.yaml")}


@cache
def capacities() -> Any:
    """Return link technologies with their speeds and frame models, as in capacities.yaml."""
    return _yaml("capacities.yaml")


@cache
def cloud_limits() -> Any:
    """Return cloud → its limits by type, as in cloud_limits.yaml."""
    return _yaml("cloud_limits.yaml")


@cache
def public() -> dict[str, list[str]]:
    """Return the texts that redaction of a recording leaves unchanged, as in public.yaml."""
    return {
        section: [entry for line in lines for entry in ([line] if isinstance(line, str) else line)]
        for section, lines in _yaml("public.yaml").items()
    }
