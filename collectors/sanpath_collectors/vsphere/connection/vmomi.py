"""pyVmomi without its connection: types by their names in the API, requests and replies as bytes.

pyVmomi has no annotations, so that all its objects are Any here; only this module and esxcli.py import it. The first
call imports it, which takes a third of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

_MAX_DEPTH = 100


@cache
def kind(name: str) -> Any:
    """Return a type by its name in the API, such as HostSystem or PerfQuerySpec."""
    from pyVmomi import VmomiSupport

    support: Any = VmomiSupport
    return support.GuessWsdlType(name)


def make(name: str, /, **fields: Any) -> Any:
    """Return a new data object. `name`: of its type."""
    return kind(name)(**fields)


@cache
def method(name: str) -> Any:
    """Return pyVmomi's description of a method by its name in the API."""
    from pyVmomi import VmomiSupport

    support: Any = VmomiSupport
    return support.GuessWsdlMethod(name).info


@cache
def stub(version: str) -> Any:
    """Return the object that writes and reads messages of a version, without a connection."""
    from pyVmomi import SoapAdapter

    adapter: Any = SoapAdapter
    result = adapter.SoapStubAdapterBase(version)
    result.requestContext = None
    return result


def read(version: str, info: Any, body: bytes) -> Any:
    """Return the result in a SOAP reply to a method, or the fault.

    Raises WrongTypeError for a result of another type than that of the method, and any error of pyVmomi for a reply
    that cannot be read.
    """
    from pyVmomi import SoapAdapter

    adapter: Any = SoapAdapter
    result = adapter.SoapResponseDeserializer(stub(version)).Deserialize(body, info.result)
    if not isinstance(result, Exception):
        _require("the result", info.result, info.resultFlags, result, version)
    return result


class WrongTypeError(ValueError):
    """A reply has a value of another type than the API declares, or lacks one. The message names it."""


def _require(name: str, declared: Any, flags: int, value: Any, version: str, depth: int = 0) -> None:
    """Raise WrongTypeError unless a value, and all values in it, have the types that the API declares.

    pyVmomi checks the type of a property when it sets it. It does not check results, entries of lists and missing
    values. A value of any type, such as a managed object's property, is checked where it is read.
    """
    from pyVmomi import VmomiSupport

    support: Any = VmomiSupport
    if declared in (object, support.NoneType) or (value is None and flags & support.F_OPTIONAL):
        return
    if depth > _MAX_DEPTH:
        raise WrongTypeError(f"{name} is nested more than {_MAX_DEPTH} deep")
    if issubclass(declared, list) and isinstance(value, list):
        for entry in value:
            _require(f"entry of {name}", declared.Item, 0, entry, version, depth + 1)
        return
    try:
        support.CheckField(support.Object(name=name, type=declared, flags=0), value)
    except TypeError as error:
        raise WrongTypeError(str(error)) from error
    if isinstance(value, support.DataObject) and not isinstance(value, Exception):
        for info in value._GetPropertyList():
            if support.IsChildVersion(version, info.version):
                _require(info.name, info.type, info.flags, getattr(value, info.name), version, depth + 1)


def supported_version(namespace: str, offered: Sequence[str]) -> str | None:
    """Return pyVmomi's name of the first offered version that it supports; None: it supports none of them.

    >>> supported_version("vim25", ["99.0", "8.0.3.0", "7.0.3.0"])
    'vim.version.v8_0_3_0'
    """
    from pyVmomi import VmomiSupport

    supported: dict[str, str] = VmomiSupport.versionMap
    return next((supported[key] for version in offered if (key := f"{namespace}/{version}") in supported), None)


@cache
def has(name: str, path: str, version: str) -> bool:
    """Whether a managed object has a property in a version: for an unknown one the server refuses the entire call.

    >>> has("HostSystem", "config.storageDevice.nvmeTopology", "vim.version.version9")
    False
    """
    from pyVmomi import VmomiSupport

    support: Any = VmomiSupport
    owner = kind(name)
    for property_name in path.split("."):
        try:
            info = owner._GetPropertyInfo(property_name)
        except AttributeError:
            return False
        if not support.IsChildVersion(version, info.version):
            return False
        owner = info.type
    return True
