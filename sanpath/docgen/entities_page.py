"""docs/entities.md: what a source may report of entities, their relations and events, from the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sanpath import registry
from sanpath.catalogue import catalogue
from sanpath.catalogue.catalogue import EventDefinition, Field
from sanpath.docgen.markdown import GENERATED, table

_INTRODUCTION = """\
# Entities, relations and events

Everything that the tables `inventory` and `events` of a [recording](recording-format.md) may hold. Together with the
[metrics](metrics.md), these are all names that a program needs that writes a recording.

In the tables of attributes and details, *read* means that sanpath judges by the value. The report shows the others,
and `sanpath compare` compares those of entities; *only* names the one collector that reports an attribute. Every
value may be null, which means asked and not known; a value that is absent was never asked for. Where values are
listed, there are no others. Other attributes, events and details are allowed: sanpath shows the attributes, and
ignores the rest.
"""

_KEYS = """\
A key identifies an entity beyond its source. An entity may have any number of values of each key kind. Two sources
report the same entity when they report the same entity kind with the same value of a key that joins. The most trusted
key kind comes first.
"""

_RELATIONS = """\
Each end of a relation is an entity of the same source, given by its kind and local id, or a key of an entity that
another source reports, given by the key kind and the value.
"""

_EVENTS = """\
*needed* means that the event has no meaning without the detail. Source is the source that reports the
event: "the load" is that of the load generator, "any" is any source.
"""


def documents() -> dict[str, str]:
    """Path below the root of the checkout → content."""
    sections = [GENERATED, _INTRODUCTION, "## Kinds\n", _kinds(), "## Keys\n", _KEYS, _keys()]
    sections += ["## Relations\n", _RELATIONS, _relations(), "## Attributes\n"]
    for kind, attributes in catalogue.attributes().items():
        sections += [f"### Attributes of a {kind}\n", _fields("attribute", attributes, _own_attributes(kind))]
    sections += ["## Events\n", _EVENTS]
    for event in catalogue.events().values():
        sections += [f"### {event.name}\n", _event(event), _fields("detail", event.details)]
    return {"docs/entities.md": "\n".join(sections)}


def _kinds() -> str:
    rows = [
        (f"`{kind}`", meaning, ", ".join(f"`{key}`" for key in catalogue.keys_of(kind)))
        for kind, meaning in catalogue.kinds().items()
    ]
    return table(("kind", "what it is", "keys"), rows)


def _keys() -> str:
    rows = [(f"`{k.name}`", k.form, k.meaning, "yes" if k.joins else "no") for k in catalogue.keys().values()]
    return table(("key kind", "form", "meaning", "joins"), rows)


def _relations() -> str:
    rows = [
        (f"`{r.name}`", ", ".join(f"{first} → {second}" for first, second in r.ends), r.meaning)
        for r in catalogue.relations().values()
    ]
    return table(("relation", "from → to", "meaning"), rows)


def _event(event: EventDefinition) -> str:
    is_ignored = "" if event.read else " sanpath does not read it; it is for people."
    return f"Source: {event.source}. {event.meaning}{is_ignored}\n"


def _fields(heading: str, fields: Mapping[str, Field], own: Sequence[tuple[str, Field]] = ()) -> str:
    """A table of fields. `own`: collector, and a field that it alone reports."""
    rows = [(f"`{field.name}`", _type(field), _use(field), field.meaning) for field in fields.values()]
    rows += [(f"`{field.name}`", _type(field), f"only `{name}`", field.meaning) for name, field in own]
    return table((heading, "type", "use", "meaning"), rows)


def _own_attributes(kind: str) -> list[tuple[str, Field]]:
    """The attributes of a kind that a single collector reports, with its name."""
    return [(name, field) for name in registry.names() for field in registry.attributes(name).get(kind, {}).values()]


def _type(field: Field) -> str:
    values = f": {', '.join(f'`{value}`' for value in field.values)}" if field.values else ""
    return f"{field.type}{values}{f', {field.unit}' if field.unit else ''}"


def _use(field: Field) -> str:
    return "needed" if field.needed else "read" if field.read else ""
