"""pyVmomi's data objects as plain dictionaries, so that what reads them needs neither pyVmomi nor a server."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sanpath.plugin import CollectorError, Failure

_DEEPEST = 100
Plain = dict[str, Any] | list[Any] | str | int | float | bool | None
Record = dict[str, Any]

TYPE = "type name"
"""The key with an object's type, as the API calls it: {"type name": "HostFibreChannelHba", "device": "vmhba2"}."""


def plain(value: Any, depth: int = 0) -> Plain:
    """A value: data objects as dictionaries, references as the ids of what they refer to, times in microseconds.
    Properties without a value are left out. Raises CollectorError: it is nested deeper than any property is."""
    if depth > _DEEPEST:
        raise CollectorError(Failure.UNREADABLE, f"a property is nested more than {_DEEPEST} deep")
    if isinstance(value, list):
        return [plain(entry, depth + 1) for entry in value]
    if value is None or type(value) in (str, int, bool, float):
        return value  # type: ignore[no-any-return] # just told
    if isinstance(value, datetime):
        return round(value.timestamp() * 1e6)
    if (moid := getattr(value, "_moId", None)) is not None:
        return str(moid)
    if hasattr(value, "_GetPropertyList"):
        found = {
            info.name: plain(told, depth + 1)
            for info in value._GetPropertyList()
            if not _empty(told := getattr(value, info.name))
        }
        return {TYPE: type(value)._wsdlName, **found}
    if isinstance(value, str):  # Enumerations and links are kinds of strings.
        return str(value)
    return int(value) if isinstance(value, int) else str(value)


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, list) and not value)
