"""Finds entities, relations and events of sources that the catalogue does not declare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from sanpath import registry
from sanpath.catalogue import catalogue
from sanpath.catalogue.catalogue import Field
from sanpath.model import Event, Scalar, SourceEntity, SourceLink
from sanpath.plugin import Item

_TYPES: Mapping[str, tuple[type, ...]] = {"text": (str,), "number": (int, float), "boolean": (bool,)}


def undeclared(items: Iterable[Item]) -> list[str]:
    """Return a line for each key, attribute, relation or detail that the catalogue lacks, or declares with another
    type."""
    return sorted({line for item in items for line in _find_undeclared(item)})


@cache
def _declared_attributes(kind: str) -> Mapping[str, Field]:
    """The attributes of a kind in the catalogue, and those that collectors declare in their folders."""
    collector_attributes = (registry.attributes(name).get(kind, {}) for name in registry.names())
    return catalogue.attributes().get(kind, {}) | {
        name: field for fields in collector_attributes for name, field in fields.items()
    }


def _find_undeclared(item: Item) -> Iterator[str]:
    match item:
        case SourceEntity():
            if item.kind not in catalogue.kinds():
                yield f"kind {item.kind}"
                return
            yield from (f"{item.kind}: key {key}" for key in item.ids if key not in catalogue.keys_of(item.kind))
            yield from _find_wrong_values(item.kind, _declared_attributes(item.kind), item.attributes)
        case SourceLink():
            relation = catalogue.relations().get(item.relation)
            kinds = item.from_end[0], item.to_end[0]
            if relation is None or not any(_are_allowed_ends(kinds, ends) for ends in relation.ends):
                yield f"{kinds[0]} {item.relation} {kinds[1]}"
        case Event():
            event = catalogue.events().get(item.name)
            if event is None:
                yield f"event {item.name}"
                return
            yield from _find_wrong_values(item.name, event.details, item.detail)
            needed = (name for name, field in event.details.items() if field.needed)
            yield from (f"{item.name}: {name} is missing" for name in needed if name not in item.detail)


def _are_allowed_ends(kinds: tuple[str, str], ends: tuple[str, str]) -> bool:
    """Whether the ends of a relation are of the kinds (from, to), or keys that such kinds have."""
    return all(kind == end or kind in catalogue.keys_of(end) for kind, end in zip(kinds, ends, strict=True))


def _find_wrong_values(owner: str, fields: Mapping[str, Field], values: Mapping[str, Scalar]) -> Iterator[str]:
    for name, value in values.items():
        if name not in fields:
            yield f"{owner}: {name}"
        elif value is not None and not _is_of_type(fields[name], value):
            yield f"{owner}: {name} is {value!r}, declared as {fields[name].type}"
        elif value is not None and fields[name].values and value not in fields[name].values:
            yield f"{owner}: {name} is {value!r}, declared are {', '.join(fields[name].values)}"


def _is_of_type(field: Field, value: Scalar) -> bool:
    return isinstance(value, _TYPES[field.type]) and (field.type == "boolean" or not isinstance(value, bool))
