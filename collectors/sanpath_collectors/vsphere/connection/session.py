"""A session with a vCenter or an ESXi host: version, login, login again when it has expired, and property reads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from xml.etree.ElementTree import ParseError

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from sanpath.plugin import CollectorError, Failure, Http, SecretStr
from sanpath_collectors.vsphere.connection import vmomi
from sanpath_collectors.vsphere.connection.plain import Plain, plain
from sanpath_collectors.vsphere.connection.soap import Endpoint, FaultError, Read, excerpt, name_of

_OLDEST = "vim.version.version5"  # vSphere 4.0, the first release with path policies in its API
_LOGOUT_SECONDS = 1.0
"""How long logging out may take: half of what the recorder grants `close`."""
_PAGE = 50
"""Limit of the objects in one reply of the property collector."""


@dataclass(frozen=True, slots=True)
class ManagedObject:
    """A managed object with the properties that were read of it.

    `kind`: name of its type; `values`: property path → value; `missing`: property path → reason why it is unreadable.
    """

    kind: str
    moid: str
    values: Mapping[str, Plain]
    missing: Mapping[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return a property that is a string; "" if it is not one."""
        value = self.values.get(name)
        return value if isinstance(value, str) else ""

    def records(self, name: str) -> list[dict[str, Any]]:
        """Return a property that is a list of data objects; empty if it was not reported."""
        value = self.values.get(name)
        return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


class Session:
    """One login. Calls are sequential: concurrent ones would only slow the server down."""

    def __init__(self, http: Http, user: str, password: SecretStr) -> None:
        self._http, self._user, self._password = http, user, password
        self._endpoint: Endpoint | None = None
        self.content: Any = None

    async def open(self) -> None:
        """Select a version and log in. Raises CollectorError: MISCONFIGURED when the server is not vSphere."""
        version = await self._version("/sdk/vimServiceVersions.xml", "vim25") or _OLDEST
        self._endpoint = Endpoint(self._http, "/sdk", version)
        instance = self._endpoint.reference("ServiceInstance", "ServiceInstance")
        try:
            self.content = await self._endpoint.call(instance, "RetrieveServiceContent")
        except CollectorError as error:
            if error.failure is Failure.UNREADABLE:
                raise CollectorError(Failure.MISCONFIGURED, f"no vSphere answers at /sdk: {error}") from error
            raise
        await self._login()

    async def close(self) -> None:
        """Log out; a failure changes nothing, the server drops idle sessions."""
        if self._endpoint is not None and self._endpoint.cookie:
            with suppress(CollectorError, TimeoutError):
                async with asyncio.timeout(_LOGOUT_SECONDS):
                    await self._endpoint.call(self.manager("sessionManager"), "Logout")
            self._endpoint.cookie = ""

    @property
    def endpoint(self) -> Endpoint:
        """The SOAP service of the session. Raises CollectorError when it is not open."""
        if self._endpoint is None:
            raise CollectorError(Failure.UNREACHABLE, "there is no session")
        return self._endpoint

    def manager(self, name: str) -> Any:
        """Return a manager of the server, such as perfManager. Raises CollectorError when the server has none."""
        manager = getattr(self.content, name)
        if manager is None:
            raise CollectorError(Failure.UNREADABLE, f"RetrieveServiceContent: the server has no {name}")
        return manager

    async def service(self, path: str, versions: str, namespace: str) -> Endpoint | None:
        """Return another service of the server with this session; None: no version of it is supported here."""
        version = await self._version(versions, namespace)
        return None if version is None else Endpoint(self._http, path, version, self.endpoint.cookie)

    async def call(self, this: Any, method: str, *arguments: Any, read: Read | None = None) -> Any:
        """Return the result of a method. Logs in again, once, when the session has expired. Raises CollectorError."""
        try:
            return await self.endpoint.call(this, method, *arguments, read=read)
        except FaultError as fault:
            if fault.name != "NotAuthenticated":
                raise
        await self._login()
        return await self.endpoint.call(this, method, *arguments, read=read)

    async def now_us(self) -> int:
        """Return the time of the server's clock in microseconds since the epoch."""
        instance = self.endpoint.reference("ServiceInstance", "ServiceInstance")
        now: datetime = await self.call(instance, "CurrentTime")
        return round(now.timestamp() * 1e6)

    async def all_of(self, properties: Mapping[str, Sequence[str]]) -> list[ManagedObject]:
        """Read properties of all managed objects of some kinds. `properties`: kind → property paths."""
        kinds = [vmomi.kind(kind) for kind in properties]
        root = self.content.rootFolder
        view = await self.call(self.manager("viewManager"), "CreateContainerView", root, kinds, True)
        step = vmomi.make("TraversalSpec", name="view", path="view", skip=False, type=type(view))
        start = vmomi.make("ObjectSpec", obj=view, skip=True, selectSet=[step])
        try:
            return await self._retrieve([start], properties)
        finally:
            with suppress(CollectorError):
                await self.call(view, "DestroyView")

    async def properties_of(self, kind: str, moids: Sequence[str], paths: Sequence[str]) -> list[ManagedObject]:
        """Read properties (`paths`) of the managed objects with these ids, each object once.

        An object that no longer exists is left out, and so is an object in the reply that was not requested.
        """
        objects: list[ManagedObject] = []
        for start in range(0, len(moids), _PAGE):
            page = moids[start : start + _PAGE]
            references = [self.endpoint.reference(kind, moid) for moid in page]
            try:
                specs = [vmomi.make("ObjectSpec", obj=reference) for reference in references]
                objects += await self._retrieve(specs, {kind: paths})
            except FaultError as fault:
                if fault.name != "ManagedObjectNotFound":
                    raise
                if len(page) > 1:  # one missing object fails the call for all
                    for moid in page:
                        objects += await self.properties_of(kind, [moid], paths)
        requested = frozenset(moids)
        return list({item.moid: item for item in objects if item.moid in requested}.values())

    async def _retrieve(self, start: Sequence[Any], properties: Mapping[str, Sequence[str]]) -> list[ManagedObject]:
        version = self.endpoint.version
        property_specs = [
            vmomi.make(
                "PropertySpec",
                type=vmomi.kind(kind),
                pathSet=[path for path in paths if vmomi.has(kind, path, version)],
            )
            for kind, paths in properties.items()
        ]
        filter_spec = vmomi.make(
            "PropertyFilterSpec", objectSet=list(start), propSet=property_specs, reportMissingObjectsInResults=True
        )
        collector = self.content.propertyCollector
        options = vmomi.make("RetrieveOptions", maxObjects=_PAGE)
        answer = await self.call(collector, "RetrievePropertiesEx", [filter_spec], options)
        objects: list[ManagedObject] = []
        while answer is not None:
            objects += map(_managed_object, answer.objects or ())
            if not answer.token:
                break
            answer = await self.call(collector, "ContinueRetrievePropertiesEx", answer.token)
        return objects

    async def _login(self) -> None:
        manager, password = self.manager("sessionManager"), self._password.get_secret_value()
        try:
            await self.endpoint.call(manager, "Login", self._user, password, None)
        except FaultError as fault:
            if fault.failure is not Failure.REFUSED:
                raise
            reason = "user and password are not accepted" if fault.name == "InvalidLogin" else str(fault)
            raise CollectorError(Failure.REFUSED, f"login as {self._user}: {reason}") from fault

    async def _version(self, path: str, namespace: str) -> str | None:
        reply = await self._http.request("GET", path)
        if reply.status != 200:
            return None
        try:
            root = ElementTree.fromstring(reply.body)
        except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
            message = f"{path} is not what vSphere answers: is this a vCenter or an ESXi host?"
            raise CollectorError(Failure.MISCONFIGURED, message, excerpt(reply.body)) from error
        return vmomi.supported_version(namespace, list(_offered(root, f"urn:{namespace}")))


def _offered(root: Any, namespace: str) -> Iterator[str]:
    for entry in root.iter("namespace"):
        if entry.findtext("name") == namespace:
            yield from (version.text or "" for version in entry.iter("version"))


def _managed_object(content: Any) -> ManagedObject:
    """Convert an ObjectContent of the property collector."""
    missing = {entry.path: name_of(entry.fault) for entry in content.missingSet or ()}
    values = {entry.name: plain(entry.val) for entry in content.propSet or ()}
    return ManagedObject(content.obj._wsdlName, content.obj._moId, values, missing)
