"""A vCenter of which one reply is replaced: what the vSphere collector makes of it, and pyVmomi alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache
from random import Random
from typing import Any, Literal
from unittest.mock import patch

from pyVmomi import SoapAdapter, VmomiSupport

from sanpath.plugin import Cost, Http, HttpReply
from sanpath_collectors.vsphere.collector import Vsphere
from sanpath_collectors.vsphere.config import VsphereConfig
from sanpath_collectors.vsphere.connection import session, vmomi
from sanpath_collectors.vsphere.connection.plain import plain
from sanpath_collectors.vsphere.connection.soap import read_reply
from tests.collectors.test_cases import SteppedClock
from tests.collectors.vsphere.site import measured, site
from tests.collectors.vsphere.test_details import LINES
from tests.collectors.vsphere.vcenter import VERSION, VERSIONS, Vcenter
from tests.fuzz.loop import run
from tests.fuzz.mutation import mutated
from tests.support.replay import ReplayContext

_CONFIG = VsphereConfig.model_validate(
    {"name": "vc", "collector": "vsphere", "host": "vc", "user": "sanpath", "password": "right"}
)
_POLLS = 2
_KEPT = 1000
"""Answers of the vCenter that are kept: a changed one makes others be asked for."""
_read_once = lru_cache(_KEPT // 4)(vmomi.read)
"""Those replies of a run that are as they were are the same each time, and nobody changes what was read."""
_converted_once = lru_cache(_KEPT)(session._managed_object)
"""The same of the objects in them."""
_properties: Any = VmomiSupport.DataObject._GetPropertyList.__func__
_write: Any = SoapAdapter.SoapStubAdapterBase.SerializeRequest
_REQUESTS: dict[Any, bytes] = {}
Answer = tuple[int, dict[str, str], bytes]
_ANSWERS: dict[tuple[bytes, bool], tuple[str, Answer]] = {}
"""Request, whether its session is known → method and answer."""


def seeds() -> list[bytes]:
    """Every reply to a run, behind its number and the method that was called."""
    server = _Server(_vcenter(), -1, b"")
    run(_asked(server))
    return [json.dumps([n, called]).encode() + b"\n" + body for n, (called, body) in enumerate(server.replies)]


def drawn(random: Random, given: Any) -> bytes:
    """One of them with its body changed."""
    head, _, body = random.choice(given).partition(b"\n")
    other = random.choice(given).partition(b"\n")[2]
    return bytes(head) + b"\n" + mutated(random, (body, body, body, other))


def taken(given: bytes) -> None:
    """Open, check, inventory and polls with this reply."""
    head, _, body = given.partition(b"\n")
    number, _called = json.loads(head)
    with (
        patch.object(vmomi, "read", _read_once),
        patch.object(session, "_managed_object", _converted_once),
        patch.object(VmomiSupport.DataObject, "_GetPropertyList", _properties_once),
        patch.object(SoapAdapter.SoapStubAdapterBase, "SerializeRequest", _written_once),
    ):
        run(_asked(_Server(_vcenter(), number, body)))


@classmethod  # type: ignore[misc]  # takes the place of one
@cache
def _properties_once(kind: Any) -> Any:
    """Those of a type of pyVmomi, which makes the list for each object that is written: half of a run's time."""
    return _properties(kind)


def _written_once(stub: Any, this: Any, method: Any, arguments: Any) -> Any:
    """A request as pyVmomi writes it, once for those that are the same: most are, whatever was answered."""
    asked = stub.versionId, method.name, _key(this), _key(arguments)
    if asked not in _REQUESTS:
        if len(_REQUESTS) >= _KEPT:
            _REQUESTS.clear()
        _REQUESTS[asked] = _write(stub, this, method, arguments)
    return _REQUESTS[asked]


def _key(value: Any) -> Any:
    """Equal for values that are written alike."""
    if isinstance(value, VmomiSupport.DataObject):
        return type(value), *map(_key, vars(value).values())
    if isinstance(value, list | tuple):
        return type(value), *map(_key, value)
    return type(value), value._moId if isinstance(value, VmomiSupport.ManagedObject) else value


def read(given: bytes) -> None:
    """The reply as pyVmomi reads it, as plain values."""
    head, _, body = given.partition(b"\n")
    _number, called = json.loads(head)
    if called:
        plain(read_reply(VERSION, called, body))


def _vcenter() -> Vcenter:
    """One to which nobody has logged in yet."""
    return replace(_site(), calls=[], sessions=set())


@cache
def _site() -> Vcenter:
    vcenter = site()
    vcenter.lines.update(LINES)
    vcenter.seconds = 25.0
    measured(vcenter, [0, 20], disk_numberRead=[5, 6])
    return vcenter


class _Server:
    """`plugin.Http` that asks a Vcenter. `replies`: (method, body) of all so far."""

    def __init__(self, vcenter: Vcenter, place: int, body: bytes) -> None:
        self._vcenter, self._place, self._body = vcenter, place, body
        self.replies: list[tuple[str, bytes]] = []

    async def request(
        self,
        method: Literal["GET", "POST", "DELETE"],
        path: str,
        params: Mapping[str, str] | None = None,  # noqa: ARG002
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> HttpReply:
        if method == "GET":
            name, version = ("vsan", "8.0.0.4") if "vsan" in path else ("vim25", "8.0.3.0")
            answer = 200, {}, VERSIONS.format(name=name, version=version).encode()
        else:
            answer = self._answer(body or b"", (headers or {}).get("cookie", ""))
        status, reported, content = answer
        self.replies.append((self._vcenter.calls[-1] if method == "POST" else "", content))
        if len(self.replies) - 1 == self._place:
            content = self._body
        return HttpReply(status, {name.lower(): value for name, value in reported.items()}, content)

    def _answer(self, body: bytes, cookie: str) -> Answer:
        """What the vCenter answers, made once of requests that change nothing: its clock stands still."""
        asked = body, cookie.partition("=")[2] in self._vcenter.sessions
        if asked in _ANSWERS:
            method, answer = _ANSWERS[asked]
            self._vcenter.calls.append(method)
            return answer
        answer = self._vcenter.answer(body, cookie)
        if self._vcenter.calls[-1] not in ("Login", "Logout") and len(_ANSWERS) < _KEPT:
            _ANSWERS[asked] = self._vcenter.calls[-1], answer
        return answer

    async def close(self) -> None:
        """Nothing to free."""


class _Context(ReplayContext):
    def __init__(self, server: _Server, clock: SteppedClock) -> None:
        super().__init__(clock, None)  # type: ignore[arg-type]  # nothing is read from a folder
        self._server = server
        self.cost = Cost()

    def http(self, *_: Any, **__: Any) -> Http:
        return self._server


async def _asked(server: _Server) -> None:
    collector, clock = Vsphere(_CONFIG), SteppedClock()
    context = _Context(server, clock)
    try:
        await collector.open(context)
        await collector.check(context)
        async for _ in collector.inventory(context):
            pass
        for _ in range(_POLLS):
            clock.us += 20_000_000
            async for _ in collector.poll(context):
                pass
    finally:
        await collector.close()
