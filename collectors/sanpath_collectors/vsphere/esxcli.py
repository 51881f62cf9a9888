"""esxcli over the same session: what only a host's command line knows of its path policies and queues.

The API has no methods for it; vCenter passes calls on to the host's method executer, of which pyVmomi has no types.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any
from xml.etree.ElementTree import Element, ParseError
from xml.sax.saxutils import escape, quoteattr

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from sanpath.plugin import CollectorError, Failure
from sanpath_collectors.vsphere import vmomi
from sanpath_collectors.vsphere.session import Session
from sanpath_collectors.vsphere.soap import FaultError, excerpt

_SINCE = "vim.version.version5"
_VERSION = "urn:vim25/5.0"
"""What the executer wants to be called with, whatever the release."""

_PREFIX = "ReflectManagedMethodExecuterSoap"

Fields = Mapping[str, str]
"""A row of an answer: "DeviceMaxQueueDepth" → "64"; a list is its entries with commas between."""


class Esxcli:
    """The command line of one host. `open` first."""

    def __init__(self, session: Session, host: str) -> None:
        self._session, self._host = session, host
        self._executer: Any = None

    async def open(self) -> None:
        """Find the executer. Raises CollectorError: NotAllowedError, or FaultError where there is none."""
        _register()
        host = self._session.endpoint.reference("HostSystem", self._host)
        self._executer = await self._session.call(host, "RetrieveManagedMethodExecuter")
        if self._executer is None:
            raise CollectorError(Failure.UNREADABLE, "esxcli: the host has no method executer")

    async def run(self, command: str, **options: str) -> list[Fields]:
        """Rows of a command that only reads, as "storage nmp device list". Raises CollectorError."""
        space, _, verb = command.rpartition(" ")
        moid = f"ha-cli-handler-{space.replace(' ', '-')}"
        method = f"vim.EsxCLI.{space.replace(' ', '.')}.{verb}"
        arguments = [_argument(name, value) for name, value in options.items()]
        told = await self._session.call(self._executer, "ExecuteSoap", moid, _VERSION, method, arguments)
        if told is None:
            return []
        if told.fault is not None:
            raise FaultError(f"esxcli {command}", "esxcli", str(told.fault.faultMsg or ""))
        return rows(str(told.response or ""), command)


def rows(text: str, command: str = "") -> list[Fields]:
    """The rows of an answer: an array of structures, or one structure. Raises CollectorError.

    >>> rows('<obj xmlns="urn:vim25"><DataObject><Device>naa.1</Device><Way>a</Way><Way>b</Way></DataObject></obj>')
    [{'Device': 'naa.1', 'Way': 'a, b'}]
    """
    if not text.strip():
        return []
    try:
        root = ElementTree.fromstring(text)
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        raise CollectorError(Failure.UNREADABLE, f"esxcli {command}: no XML", excerpt(text.encode())) from error
    entries = [child for child in root if len(child)]
    structures = entries if entries and len(entries) == len(root) else [root] if len(root) else []
    return [_fields(one) for one in structures]


def _fields(structure: Element) -> Fields:
    found: dict[str, list[str]] = {}
    for child in structure:
        found.setdefault(child.tag.rpartition("}")[2], []).append("".join(child.itertext()).strip())
    return {name: ", ".join(values) for name, values in found.items()}


def _argument(name: str, value: str) -> Any:
    return vmomi.make(
        f"{_PREFIX}Argument", name=name, val=f"<{name} xmlns={quoteattr('urn:vim25')}>{escape(value)}</{name}>"
    )


@cache
def _register() -> None:
    """Tell pyVmomi of the executer. vCenter calls its type otherwise than the simulator of govmomi does."""
    from pyVmomi import VmomiSupport

    def fields(*names: str, kind: str = "string", optional: bool = False) -> list[tuple[str, str, str, int]]:
        flags = VmomiSupport.F_OPTIONAL if optional else 0
        return [(name, kind, _SINCE, flags) for name in names]

    base, prefix = "vmodl.DynamicData", _PREFIX
    create: Any = VmomiSupport.CreateDataType
    create("vim.reflect.SoapArgument", f"{prefix}Argument", base, _SINCE, fields("name", "val"))
    create("vim.reflect.SoapFault", f"{prefix}Fault", base, _SINCE, fields("faultMsg", "faultDetail", optional=True))
    result = fields("response", optional=True) + fields("fault", kind="vim.reflect.SoapFault", optional=True)
    create("vim.reflect.SoapResult", f"{prefix}Result", base, _SINCE, result)
    optional: int = VmomiSupport.F_OPTIONAL
    executer, answer = "vim.reflect.ReflectManagedMethodExecuter", "vim.reflect.SoapResult"
    parameters = (
        *((name, "string", _SINCE, 0, None) for name in ("moid", "version", "method")),
        ("argument", "vim.reflect.SoapArgument[]", _SINCE, optional, None),
    )
    retrieve = (
        "retrieve",
        "RetrieveManagedMethodExecuter",
        _SINCE,
        (),
        (optional, executer, executer),
        "System.Read",
        None,
    )
    execute = ("executeSoap", "ExecuteSoap", _SINCE, parameters, (optional, answer, answer), "System.Read", None)
    managed: Any = VmomiSupport.CreateManagedType
    for name, methods in (("ManagedMethodExecuter", []), ("ReflectManagedMethodExecuter", [retrieve, execute])):
        managed(f"vim.reflect.{name}", name, "vmodl.ManagedObject", _SINCE, None, methods)
