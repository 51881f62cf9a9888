"""Answers of the lab's devices without a socket: SNMP agent, REST server of an array and vCenter in this process."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn

from pyasn1.type.univ import Integer, ObjectIdentifier, OctetString

from sanpath.plugin import (
    ClientCertificate,
    Clock,
    Cost,
    Files,
    Http,
    HttpReply,
    Machine,
    Snmp,
    SnmpCredentials,
    SnmpValue,
    SshTarget,
)
from sanpath_lab.flasharray import performance as performance
from sanpath_lab.flasharray.array_state import ArrayState
from sanpath_lab.flasharray.server import NEWEST, RESOURCES
from sanpath_lab.flasharray.versions import drop_later_fields
from sanpath_lab.switch.object_tree import Getter, ObjectTree

if TYPE_CHECKING:
    from sanpath_lab.vcenter.service import VcenterService

_VERSION = ".".join(map(str, NEWEST))


class DirectContext:
    """`plugin.Context` of one source. Exactly one of `tree` (SNMP agent), `array` and `vcenter` is given."""

    def __init__(
        self,
        clock: Clock,
        tree: ObjectTree | None = None,
        array: ArrayState | None = None,
        vcenter: VcenterService | None = None,
    ) -> None:
        self._clock, self._tree, self._array, self._vcenter = clock, tree, array, vcenter
        self.cost = Cost()

    @property
    def clock(self) -> Clock:
        """The simulated clock."""
        return self._clock

    def snmp(self, credentials: SnmpCredentials) -> Snmp:  # noqa: ARG002 - there is one agent
        """Return the SNMP agent."""
        assert self._tree is not None, "no agent was given"  # noqa: S101
        return DirectSnmp(self._tree, self._clock, self.cost)

    def http(
        self,
        base_url: str,  # noqa: ARG002 - there is one server
        ca_file: Path | None = None,  # noqa: ARG002
        verify_tls: bool = True,  # noqa: ARG002
        timeout_seconds: float = 5.0,  # noqa: ARG002
        pinned_certificate: Path | None = None,  # noqa: ARG002
        client: ClientCertificate | None = None,  # noqa: ARG002
    ) -> Http:
        """Return the server of the array or of the vCenter."""
        if self._vcenter is not None:
            return DirectVcenter(self._vcenter, self.cost)
        assert self._array is not None, "no array was given"  # noqa: S101
        return DirectHttp(self._array, self.cost)

    def machine(self, ssh: SshTarget | None = None) -> Machine:
        """Raises NotImplementedError: the lab has no machine to log in to."""
        return self._none(ssh)

    @property
    def files(self) -> Files:
        """Raises NotImplementedError: the lab has no files of a machine."""
        return self._none(None)

    def _none(self, _asked: object) -> NoReturn:
        raise NotImplementedError("the lab has no machine to log in to")


class DirectSnmp:
    """`plugin.Snmp` over the objects of a simulated agent. All values of a poll are of the same instant."""

    def __init__(self, tree: ObjectTree, clock: Clock, cost: Cost) -> None:
        self._tree, self._clock, self._cost = tree, clock, cost
        self._columns: dict[str, list[tuple[str, Getter]]] = {}

    async def get(self, oids: Sequence[str]) -> dict[str, SnmpValue]:
        """Return the present values of scalars."""
        self._cost.requests += 1
        return {oid: _plain(self._tree.get(_numbers(oid))) for oid in oids}

    async def columns(
        self,
        oids: Sequence[str],
        max_rows: int = 20_000,
        alongside: str | None = None,
        row_per_pdu: bool = True,  # noqa: ARG002 - they always are
    ) -> dict[str, dict[str, SnmpValue]]:
        """Return the present values of columns, by row index."""
        now = self._clock.now_us()
        stamp: dict[str, SnmpValue] = {"seen": now}
        if alongside is not None:
            stamp["alongside"] = (await self.get([alongside]))[alongside]
        rows: dict[str, dict[str, SnmpValue]] = {}
        for oid in oids:
            for index, getter in self._instances(oid):
                rows.setdefault(index, dict(stamp))[oid] = _plain(getter())
        self._cost.requests += 1 + len(rows)
        return dict(list(rows.items())[:max_rows])

    async def close(self) -> None:
        """Nothing to free."""

    def _instances(self, oid: str) -> list[tuple[str, Getter]]:
        if oid not in self._columns:
            instances = self._tree.column(_numbers(oid))
            self._columns[oid] = [(".".join(map(str, index)), getter) for index, getter in instances]
        return self._columns[oid]


class DirectHttp:
    """`plugin.Http` of a simulated array. Any login succeeds, and every response is one page."""

    def __init__(self, array: ArrayState, cost: Cost) -> None:
        self._array, self._cost = array, cost

    async def request(
        self,
        method: Literal["GET", "POST", "DELETE"],
        path: str,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,  # noqa: ARG002 - no session is kept
        body: bytes | None = None,  # noqa: ARG002 - nothing is written
    ) -> HttpReply:
        """Return the present response."""
        self._cost.requests += 1
        if path == "/api/api_version":
            return _reply({"version": [_VERSION]})
        resource = path.removeprefix(f"/api/{_VERSION}/")
        if method != "GET":
            return _reply({"items": []}, {"x-auth-token": "direct"})
        asked = params or {}
        if resource == "arrays/performance":
            since, until = (int(asked[key]) if key in asked else None for key in ("start_time", "end_time"))
            items = performance.arrays_performance(self._array, since, until)
        elif (answer := RESOURCES.get(resource)) is not None and "resolution" not in asked:
            items = answer(self._array)
        else:
            return HttpReply(404, {}, b'{"errors": [{"message": "Not found."}]}')
        reply = _reply({"items": [drop_later_fields(NEWEST, item) for item in items], "more_items_remaining": False})
        self._cost.bytes_in += len(reply.body)
        return reply

    async def close(self) -> None:
        """Nothing to free."""


class DirectVcenter:
    """`plugin.Http` of a simulated vCenter, with the responses of its server."""

    def __init__(self, vcenter: VcenterService, cost: Cost) -> None:
        self._vcenter, self._cost = vcenter, cost

    async def request(
        self,
        method: Literal["GET", "POST", "DELETE"],
        path: str,
        params: Mapping[str, str] | None = None,  # noqa: ARG002 - SOAP has none
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> HttpReply:
        """Return the present response."""
        self._cost.requests += 1
        if method != "POST" or body is None:
            document = self._vcenter.document(path)
            return HttpReply(404, {}, b"") if document is None else HttpReply(200, {}, document)
        session = (headers or {}).get("cookie", "").partition("=")[2]
        response = self._vcenter.answer(body, session)
        self._cost.bytes_in += len(response.body)
        return HttpReply(
            response.status, {name.lower(): value for name, value in response.headers.items()}, response.body
        )

    async def close(self) -> None:
        """Nothing to free."""


def _reply(document: object, headers: Mapping[str, str] | None = None) -> HttpReply:
    return HttpReply(200, headers or {}, json.dumps(document).encode())


def _numbers(oid: str) -> tuple[int, ...]:
    return tuple(int(number) for number in oid.strip(".").split("."))


def _plain(value: object) -> SnmpValue:
    """Return an SNMP value as `plugin.Snmp` returns it."""
    match value:
        case Integer():
            return int(value)
        case ObjectIdentifier():
            return ".".join(map(str, value))
        case OctetString():
            return bytes(value)
    return None
