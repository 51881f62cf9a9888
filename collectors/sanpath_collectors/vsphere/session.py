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
from sanpath_collectors.vsphere import vmomi
from sanpath_collectors.vsphere.plain import Plain, plain
from sanpath_collectors.vsphere.soap import Endpoint, FaultError, Read, excerpt, name_of

_OLDEST = "vim.version.version5"  # vSphere 4.0, the first release with path policies in its API
_LOGOUT_SECONDS = 1.0
_PAGE = 50
"""Objects in one answer of the property collector."""


@dataclass(frozen=True, slots=True)
class Found:
    """A managed object as the property collector tells of it. `missing`: property → why it was not told."""

    kind: str
    moid: str
    values: Mapping[str, Plain]
    missing: Mapping[str, str] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """A property that is a string, else ""."""
        value = self.values.get(name)
        return value if isinstance(value, str) else ""

    def records(self, name: str) -> list[dict[str, Any]]:
        """A property that is a list of data objects; empty when it was not told."""
        value = self.values.get(name)
        return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


class Session:
    """One login. Calls are made one after the other: a second one would only make the server slower."""

    def __init__(self, http: Http, user: str, password: SecretStr) -> None:
        self._http, self._user, self._password = http, user, password
        self._endpoint: Endpoint | None = None
        self.content: Any = None

    async def open(self) -> None:
        """Agree on a version and log in. Raises CollectorError: MISCONFIGURED when it is no vSphere."""
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
        """One of the server's managers, as perfManager. Raises CollectorError when it told none."""
        found = getattr(self.content, name)
        if found is None:
            raise CollectorError(Failure.UNREADABLE, f"RetrieveServiceContent: the server has no {name}")
        return found

    async def beside(self, path: str, versions: str, namespace: str) -> Endpoint | None:
        """Another service of the server, with this session; None: the server has no version that is known here."""
        version = await self._version(versions, namespace)
        return None if version is None else Endpoint(self._http, path, version, self.endpoint.cookie)

    async def call(self, this: Any, method: str, *arguments: Any, read: Read | None = None) -> Any:
        """What a method returns. Logs in again, once, when the session has expired. Raises CollectorError."""
        try:
            return await self.endpoint.call(this, method, *arguments, read=read)
        except FaultError as fault:
            if fault.name != "NotAuthenticated":
                raise
        await self._login()
        return await self.endpoint.call(this, method, *arguments, read=read)

    async def now_us(self) -> int:
        """The server's clock, microseconds since the epoch."""
        instance = self.endpoint.reference("ServiceInstance", "ServiceInstance")
        told: datetime = await self.call(instance, "CurrentTime")
        return round(told.timestamp() * 1e6)

    async def all_of(self, properties: Mapping[str, Sequence[str]]) -> list[Found]:
        """Every managed object of some kinds, with these of its properties. `properties`: kind → property paths."""
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

    async def properties_of(self, kind: str, moids: Sequence[str], paths: Sequence[str]) -> list[Found]:
        """These properties of managed objects that are known, each once. One that has gone is left out, and so is one
        that was not asked for."""
        found: list[Found] = []
        for start in range(0, len(moids), _PAGE):
            here = moids[start : start + _PAGE]
            objects = [self.endpoint.reference(kind, moid) for moid in here]
            try:
                specs = [vmomi.make("ObjectSpec", obj=one) for one in objects]
                found += await self._retrieve(specs, {kind: paths})
            except FaultError as fault:
                if fault.name != "ManagedObjectNotFound":
                    raise
                if len(here) > 1:  # one of them fails the whole call
                    for moid in here:
                        found += await self.properties_of(kind, [moid], paths)
        asked = frozenset(moids)
        return list({one.moid: one for one in found if one.moid in asked}.values())

    async def _retrieve(self, start: Sequence[Any], properties: Mapping[str, Sequence[str]]) -> list[Found]:
        version = self.endpoint.version
        wanted = [
            vmomi.make(
                "PropertySpec",
                type=vmomi.kind(kind),
                pathSet=[path for path in paths if vmomi.has(kind, path, version)],
            )
            for kind, paths in properties.items()
        ]
        asked = vmomi.make(
            "PropertyFilterSpec", objectSet=list(start), propSet=wanted, reportMissingObjectsInResults=True
        )
        here = self.content.propertyCollector
        options = vmomi.make("RetrieveOptions", maxObjects=_PAGE)
        answer = await self.call(here, "RetrievePropertiesEx", [asked], options)
        found: list[Found] = []
        while answer is not None:
            found += map(_found, answer.objects or ())
            if not answer.token:
                break
            answer = await self.call(here, "ContinueRetrievePropertiesEx", answer.token)
        return found

    async def _login(self) -> None:
        manager, password = self.manager("sessionManager"), self._password.get_secret_value()
        try:
            await self.endpoint.call(manager, "Login", self._user, password, None)
        except FaultError as fault:
            if fault.failure is not Failure.REFUSED:
                raise
            said = "user and password are not accepted" if fault.name == "InvalidLogin" else str(fault)
            raise CollectorError(Failure.REFUSED, f"login as {self._user}: {said}") from fault

    async def _version(self, path: str, namespace: str) -> str | None:
        reply = await self._http.request("GET", path)
        if reply.status != 200:
            return None
        try:
            root = ElementTree.fromstring(reply.body)
        except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
            message = f"{path} is not what vSphere answers: is this a vCenter or an ESXi host?"
            raise CollectorError(Failure.MISCONFIGURED, message, excerpt(reply.body)) from error
        return vmomi.known_version(namespace, list(_offered(root, f"urn:{namespace}")))


def _offered(root: Any, namespace: str) -> Iterator[str]:
    for entry in root.iter("namespace"):
        if entry.findtext("name") == namespace:
            yield from (version.text or "" for version in entry.iter("version"))


def _found(said: Any) -> Found:
    missing = {entry.path: name_of(entry.fault) for entry in said.missingSet or ()}
    values = {entry.name: plain(entry.val) for entry in said.propSet or ()}
    return Found(said.obj._wsdlName, said.obj._moId, values, missing)
