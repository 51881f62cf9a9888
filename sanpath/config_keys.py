"""Describe the keys of a source for people: type, default and meaning, as the collector declares them."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from sanpath.plugin import SourceConfig

SECRET = "env:NAME, file:PATH or keyring:SERVICE/USER"  # noqa: S105 - the forms of a reference
_TYPES: dict[Any, str] = {str: "text", int: "whole number", float: "number", bool: "true or false", Path: "path"}


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One key of a source. `default` is written as in YAML, `example` is a value to write; "" means none."""

    name: str
    type: str
    required: bool
    default: str
    meaning: str
    example: str


def keys_of(schema: type[SourceConfig]) -> Iterator[ConfigKey]:
    """Yield the keys that a collector accepts, in the order of their declaration."""
    for name, field in schema.model_fields.items():
        required = field.is_required()
        default = "" if required or field.default in (None, "") else _yaml(field.default)
        example = _yaml(field.examples[0]) if field.examples else ""
        yield ConfigKey(name, _type(field), required, default, field.description or "", example)


def _type(field: FieldInfo) -> str:
    named = _without_none(field.annotation)
    if named is SecretStr:
        return SECRET
    if typing.get_origin(named) is typing.Literal:
        return ", ".join(map(str, typing.get_args(named)))
    if typing.get_origin(named) is list:
        return f"list of {_TYPES[typing.get_args(named)[0]]}"
    return _TYPES.get(named, getattr(named, "__name__", str(named)))


def _without_none(annotation: Any) -> Any:
    if typing.get_origin(annotation) in {typing.Union, types.UnionType}:
        return next(member for member in typing.get_args(annotation) if member is not types.NoneType)
    return annotation


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
