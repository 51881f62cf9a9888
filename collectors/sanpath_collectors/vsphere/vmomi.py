"""pyVmomi without its connection: types by the names that the API gives them, requests and replies as bytes.

pyVmomi has no annotations, so that everything of it is Any here, and nowhere else is it imported. It takes a third
of a second to load: the first call does that.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

_DEEPEST = 100


def kind(name: str) -> Any:
    """A type by its name in the API, as HostSystem or PerfQuerySpec."""
    from pyVmomi import VmomiSupport

    support: Any = VmomiSupport
    return support.GuessWsdlType(name)


def make(name: str, /, **fields: Any) -> Any:
    """A data object."""
    return kind(name)(**fields)


def method(name: str) -> Any:
    """What pyVmomi knows of a method by its name in the API."""
    from pyVmomi import VmomiSupport

    support: Any = VmomiSupport
    return support.GuessWsdlMethod(name).info


@cache
def stub(version: str) -> Any:
    """What writes and reads messages of a version, without a connection of its own."""
    from pyVmomi import SoapAdapter

    adapter: Any = SoapAdapter
    made = adapter.SoapStubAdapterBase(version)
    made.requestContext = None
    return made


def read(version: str, info: Any, body: bytes) -> Any:
    """The result in a SOAP reply to a method, or the fault. Raises WrongTypeError for a result of another type than
    the method has, and whatever pyVmomi does for nonsense."""
    from pyVmomi import SoapAdapter

    adapter: Any = SoapAdapter
    result = adapter.SoapResponseDeserializer(stub(version)).Deserialize(body, info.result)
    if not isinstance(result, Exception):
        _require("the result", info.result, info.resultFlags, result, version)
    return result


class WrongTypeError(ValueError):
    """A reply has a value of another type than the API declares, or lacks one. The message names it."""


def _require(name: str, declared: Any, flags: int, value: Any, version: str, depth: int = 0) -> None:
    """That a value is what the API declares, and so is all in it. pyVmomi sees to that where it sets a property, but
    not of a result, of the entries of a list, and of what is left out. What may be of any type, as the value of a
    property of a managed object, is looked at by whoever reads it."""
    from pyVmomi import VmomiSupport

    support: Any = VmomiSupport
    if declared in (object, support.NoneType) or (value is None and flags & support.F_OPTIONAL):
        return
    if depth > _DEEPEST:
        raise WrongTypeError(f"{name} is nested more than {_DEEPEST} deep")
    if issubclass(declared, list) and isinstance(value, list):
        for entry in value:
            _require(f"entry of {name}", declared.Item, 0, entry, version, depth + 1)
        return
    try:
        support.CheckField(support.Object(name=name, type=declared, flags=0), value)
    except TypeError as error:
        raise WrongTypeError(str(error)) from error
    if isinstance(value, support.DataObject) and not isinstance(value, Exception):
        for part in value._GetPropertyList():
            if support.IsChildVersion(version, part.version):
                _require(part.name, part.type, part.flags, getattr(value, part.name), version, depth + 1)


def known_version(namespace: str, offered: Sequence[str]) -> str | None:
    """pyVmomi's name of the first of the versions offered that it knows; None: it knows none of them.

    >>> known_version("vim25", ["99.0", "8.0.3.0", "7.0.3.0"])
    'vim.version.v8_0_3_0'
    """
    from pyVmomi import VmomiSupport

    known: dict[str, str] = VmomiSupport.versionMap
    return next((known[key] for version in offered if (key := f"{namespace}/{version}") in known), None)


def has(name: str, path: str, version: str) -> bool:
    """Whether a managed object has a property in a version: an unknown one makes the server refuse the whole call.

    >>> has("HostSystem", "config.storageDevice.nvmeTopology", "vim.version.version9")
    False
    """
    from pyVmomi import VmomiSupport

    support: Any = VmomiSupport
    owner = kind(name)
    for part in path.split("."):
        try:
            info = owner._GetPropertyInfo(part)
        except AttributeError:
            return False
        if not support.IsChildVersion(version, info.version):
            return False
        owner = info.type
    return True
