"""What the catalogue does not declare of the entities, relations and events that a source reports."""

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
    """A line for each key, attribute, relation or detail that the catalogue lacks, or has with another type."""
    return sorted({line for item in items for line in _undeclared(item)})


@cache
def _attributes(kind: str) -> Mapping[str, Field]:
    """Those of the catalogue, and those that a collector declares in its folder."""
    own = (registry.attributes(name).get(kind, {}) for name in registry.names())
    return catalogue.attributes().get(kind, {}) | {name: field for fields in own for name, field in fields.items()}


def _undeclared(item: Item) -> Iterator[str]:
    match item:
        case SourceEntity():
            if item.kind not in catalogue.kinds():
                yield f"kind {item.kind}"
                return
            yield from (f"{item.kind}: key {key}" for key in item.ids if key not in catalogue.keys_of(item.kind))
            yield from _wrong(item.kind, _attributes(item.kind), item.attributes)
        case SourceLink():
            relation = catalogue.relations().get(item.relation)
            kinds = item.from_end[0], item.to_end[0]
            if relation is None or not any(_fits(kinds, ends) for ends in relation.ends):
                yield f"{kinds[0]} {item.relation} {kinds[1]}"
        case Event():
            event = catalogue.events().get(item.name)
            if event is None:
                yield f"event {item.name}"
                return
            yield from _wrong(item.name, event.details, item.detail)
            needed = (name for name, field in event.details.items() if field.needed)
            yield from (f"{item.name}: {name} is missing" for name in needed if name not in item.detail)


def _fits(kinds: tuple[str, str], ends: tuple[str, str]) -> bool:
    """Whether the ends of a relation are of the kinds (from, to), or keys that such kinds have."""
    return all(kind == end or kind in catalogue.keys_of(end) for kind, end in zip(kinds, ends, strict=True))


def _wrong(owner: str, fields: Mapping[str, Field], values: Mapping[str, Scalar]) -> Iterator[str]:
    for name, value in values.items():
        if name not in fields:
            yield f"{owner}: {name}"
        elif value is not None and not _is_of_type(fields[name], value):
            yield f"{owner}: {name} is {value!r}, declared as {fields[name].type}"
        elif value is not None and fields[name].values and value not in fields[name].values:
            yield f"{owner}: {name} is {value!r}, declared are {', '.join(fields[name].values)}"


def _is_of_type(field: Field, value: Scalar) -> bool:
    return isinstance(value, _TYPES[field.type]) and (field.type == "boolean" or not isinstance(value, bool))
