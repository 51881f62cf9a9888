"""esxcli over the same session: details of path policies and queues that only a host's command line reports.

The API has no methods for it. vCenter forwards calls to the method executer of the host, for which pyVmomi has no
types.
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
from sanpath_collectors.vsphere.connection import vmomi
from sanpath_collectors.vsphere.connection.session import Session
from sanpath_collectors.vsphere.connection.soap import FaultError, excerpt

_SINCE = "vim.version.version5"
_VERSION = "urn:vim25/5.0"
"""The version in all calls of the executer, independent of the release."""

_PREFIX = "ReflectManagedMethodExecuterSoap"

Fields = Mapping[str, str]
"""A row of a reply: "DeviceMaxQueueDepth" → "64"; the entries of a list are joined with commas."""


class Esxcli:
    """The command line of one host. Call `open` first."""

    def __init__(self, session: Session, host: str) -> None:
        self._session, self._host = session, host
        self._executer: Any = None

    async def open(self) -> None:
        """Find the executer. Raises CollectorError: NotAllowedError, or FaultError when there is none."""
        _register()
        host = self._session.endpoint.reference("HostSystem", self._host)
        self._executer = await self._session.call(host, "RetrieveManagedMethodExecuter")
        if self._executer is None:
            raise CollectorError(Failure.UNREADABLE, "esxcli: the host has no method executer")

    async def run(self, command: str, **options: str) -> list[Fields]:
        """Return the rows of a read-only command, such as "storage nmp device list". Raises CollectorError."""
        namespace, _, verb = command.rpartition(" ")
        moid = f"ha-cli-handler-{namespace.replace(' ', '-')}"
        method = f"vim.EsxCLI.{namespace.replace(' ', '.')}.{verb}"
        arguments = [_argument(name, value) for name, value in options.items()]
        reply = await self._session.call(self._executer, "ExecuteSoap", moid, _VERSION, method, arguments)
        if reply is None:
            return []
        if reply.fault is not None:
            raise FaultError(f"esxcli {command}", "esxcli", str(reply.fault.faultMsg or ""))
        return rows(str(reply.response or ""), command)


def rows(text: str, command: str = "") -> list[Fields]:
    """Return the rows of a reply: an array of structures, or one structure. Raises CollectorError(UNREADABLE).

    >>> rows('<obj xmlns="urn:vim25"><DataObject><LUN>naa.1</LUN><Path>a</Path><Path>b</Path></DataObject></obj>')
    [{'LUN': 'naa.1', 'Path': 'a, b'}]
    """
    if not text.strip():
        return []
    try:
        root = ElementTree.fromstring(text)
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
        raise CollectorError(Failure.UNREADABLE, f"esxcli {command}: no XML", excerpt(text.encode())) from error
    entries = [child for child in root if len(child)]
    structures = entries if entries and len(entries) == len(root) else [root] if len(root) else []
    return [_fields(structure) for structure in structures]


def _fields(structure: Element) -> Fields:
    values_by_name: dict[str, list[str]] = {}
    for child in structure:
        values_by_name.setdefault(child.tag.rpartition("}")[2], []).append("".join(child.itertext()).strip())
    return {name: ", ".join(values) for name, values in values_by_name.items()}


def _argument(name: str, value: str) -> Any:
    return vmomi.make(
        f"{_PREFIX}Argument", name=name, val=f"<{name} xmlns={quoteattr('urn:vim25')}>{escape(value)}</{name}>"
    )


@cache
def _register() -> None:
    """Add the types of the executer to pyVmomi. vCenter and the simulator of govmomi call its type differently."""
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
    executer, soap_result = "vim.reflect.ReflectManagedMethodExecuter", "vim.reflect.SoapResult"
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
    execute = (
        "executeSoap",
        "ExecuteSoap",
        _SINCE,
        parameters,
        (optional, soap_result, soap_result),
        "System.Read",
        None,
    )
    managed: Any = VmomiSupport.CreateManagedType
    for name, methods in (("ManagedMethodExecuter", []), ("ReflectManagedMethodExecuter", [retrieve, execute])):
        managed(f"vim.reflect.{name}", name, "vmodl.ManagedObject", _SINCE, None, methods)
