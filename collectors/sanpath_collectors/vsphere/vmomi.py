"""pyVmomi without its connection: types by the names that the API gives them, requests and replies as bytes.

pyVmomi has no annotations, so that everything of it is Any here, and nowhere else is it imported. It takes a third
of a second to load: the first call does that.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any


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


def read(version: str, result: Any, body: bytes) -> Any:
    """The result in a SOAP reply, or the fault. Raises whatever pyVmomi does for nonsense."""
    from pyVmomi import SoapAdapter

    adapter: Any = SoapAdapter
    return adapter.SoapResponseDeserializer(stub(version)).Deserialize(body, result)


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
