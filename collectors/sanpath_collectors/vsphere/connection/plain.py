"""Converts pyVmomi's data objects to plain dictionaries, which can be read without pyVmomi and without a server."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any

from sanpath.plugin import CollectorError, Failure

_MAX_DEPTH = 100
"""Maximum depth of nested data objects, below that of Python's own stack."""
Plain = dict[str, Any] | list[Any] | str | int | float | bool | None
Record = dict[str, Any]

TYPE = "type name"
"""The key of an object's type, by its name in the API: {"type name": "HostFibreChannelHba", "device": "vmhba2"}."""


def plain(value: Any, depth: int = 0) -> Plain:
    """Convert a value.

    Data objects become dictionaries without the properties that have no value; references become managed object ids;
    times become microseconds since the epoch. Raises CollectorError(UNREADABLE) when the value is nested too deeply.
    """
    if depth > _MAX_DEPTH:
        raise CollectorError(Failure.UNREADABLE, f"a property is nested more than {_MAX_DEPTH} deep")
    if isinstance(value, list):
        return [plain(entry, depth + 1) for entry in value]
    if value is None or type(value) in (str, int, bool, float):
        return value  # type: ignore[no-any-return] # checked in the line above
    if isinstance(value, datetime):
        return round(value.timestamp() * 1e6)
    if (moid := getattr(value, "_moId", None)) is not None:
        return str(moid)
    if hasattr(value, "_GetPropertyList"):
        kind: Any = type(value)
        properties: Record = {TYPE: kind._wsdlName}
        for name in _property_names(kind):
            field = getattr(value, name)
            if field is not None and not (isinstance(field, list) and not field):
                properties[name] = plain(field, depth + 1)
        return properties
    if isinstance(value, str):  # Enumerations and links are subclasses of str.
        return str(value)
    return int(value) if isinstance(value, int) else str(value)


@cache
def _property_names(kind: Any) -> tuple[str, ...]:
    """Return the names of the properties of a type of data object. pyVmomi makes a new list of them at each call."""
    return tuple(info.name for info in kind._GetPropertyList())
